//! Records of what is sent under CCIDs 3 and 4.

use fairwire_units::Instant;

/// What a connection sent.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Rates {
    pub(in crate::oracle) data: u64,
}

impl Rates {
    /// Records a packet that is sent, with this many bytes of data.
    pub(in crate::oracle) fn sent(&mut self, _at: Instant, data: Option<usize>) {
        self.data += u64::from(data.is_some());
    }
}
