//! What the applications say as they close, sealed for the option Close Code and opened.

use bytes::Bytes;
use fairwire_units::Instant;
use fairwire_wire::MAX_OPTION_DATA;

use super::Secure;
use super::copies::{close_code, close_message};
use crate::connection::parts::close_code::CloseCode;
use crate::records::Records;

impl Secure {
    /// Seals what the application says as it closes, for an option. `None` if nothing can be sealed any more, or not even
    /// a code fits into what packets carry.
    pub(crate) fn seal_close_code(
        &mut self,
        now: Instant,
        said: &CloseCode,
        max_datagram: usize,
        records: &mut Records,
    ) -> Option<Bytes> {
        // A session whose peer has announced its end seals nothing more.
        if !self.can_speak() || self.is_end_announced {
            return None;
        }
        let room = self.with.max_data(max_datagram.min(MAX_OPTION_DATA));
        let said = close_message(said, room)?;
        match self.seal(now, &[&said], records) {
            Ok(record) => Some(record).filter(|record| record.len() <= MAX_OPTION_DATA),
            Err(error) => {
                self.note(Err(error));
                None
            }
        }
    }

    /// Opens what the peer's application says as it closes. It is authentic, so the peer has ended the session.
    pub(crate) fn open_close_code(
        &mut self,
        now: Instant,
        sealed: &[u8],
        records: &mut Records,
    ) -> Option<CloseCode> {
        if !self.stage().is_complete() || self.failure.is_some() {
            return None;
        }
        let (data, _) = self.open(now, sealed, records);
        let said = close_code(&data?)?;
        self.is_end_announced = true;
        Some(said)
    }
}
