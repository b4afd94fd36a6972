//! The events that an application may receive for one connection.
//!
//! The connection opens at most once, and `Closed` is its last event. Each datagram gets one fate if fates are
//! reported, and none otherwise. Datagrams leave in order, and at most once unless they may be sent again.

use fairwire_proto::Event;

/// The state of one connection as its application knows it.
#[derive(Debug, Default)]
pub(super) struct App {
    is_accepted: bool,
    is_connected: bool,
    is_closed: bool,
    /// The number of datagrams that the endpoint accepted.
    taken: u64,
    /// The number below which every datagram that will ever leave has left.
    left: u64,
    /// Which datagrams have their fate.
    fates: Vec<bool>,
    /// Which datagrams may be sent again.
    resends: Vec<bool>,
    told: u64,
}

impl App {
    pub(super) fn accepted() -> Self {
        Self {
            is_accepted: true,
            ..Self::default()
        }
    }

    pub(super) fn is_open(&self) -> bool {
        (self.is_accepted || self.is_connected) && !self.is_closed
    }

    pub(super) fn has_sent_newest(&self) -> bool {
        self.left == self.taken
    }

    /// Records that the endpoint accepted a datagram with the id `name`, which may be sent again if `resends`.
    pub(super) fn on_taken(&mut self, name: u64, resends: bool) {
        assert!(!self.is_closed, "nothing is taken after Closed");
        assert_eq!(name, self.taken, "names count up");
        self.taken += 1;
        self.fates.push(false);
        self.resends.push(resends);
    }

    /// Records that a datagram leaves.
    pub(super) fn on_left(&mut self, name: u64) {
        assert!(name < self.taken, "{name} was never given");
        if name < self.left {
            let place = usize::try_from(name).expect("a small number");
            let may = self.resends[place] && !self.fates[place];
            assert!(may, "{name} leaves again");
            return;
        }
        self.left = name + 1;
    }

    pub(super) fn on_event(&mut self, event: &Event, reports_fates: bool) {
        assert!(!self.is_closed, "{event:?} after Closed");
        match event {
            Event::Connected => {
                assert!(!self.is_connected && !self.is_accepted, "open twice");
                self.is_connected = true;
            }
            Event::Fate { id, .. } => {
                assert!(reports_fates, "nobody asked for fates");
                let place = usize::try_from(id.0).ok();
                let told = place.and_then(|place| self.fates.get_mut(place));
                let told = told.expect("a fate is that of a datagram");
                assert!(!*told, "{event:?} twice");
                *told = true;
                self.told += 1;
            }
            Event::Closed { .. } => {
                let told = if reports_fates { self.taken } else { 0 };
                assert_eq!(self.told, told, "fates of {} datagrams", self.taken);
                self.is_closed = true;
            }
            _ => {}
        }
    }
}
