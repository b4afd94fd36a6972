//! The events that an application may receive for one connection.
//!
//! The connection opens at most once, and `Closed` is its last event. Each datagram gets one fate if fates are
//! reported, and none otherwise. Datagrams leave at most once and in order.

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

    /// Records that the endpoint accepted a datagram with the id `name`.
    pub(super) fn on_taken(&mut self, name: u64) {
        assert!(!self.is_closed, "nothing is taken after Closed");
        assert_eq!(name, self.taken, "names count up");
        self.taken += 1;
        self.fates.push(false);
    }

    /// Records that a datagram leaves.
    pub(super) fn on_left(&mut self, name: u64) {
        assert!(
            name >= self.left && name < self.taken,
            "{name} leaves again"
        );
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
