//! What the applications say as they close: a code and a text (`docs/close.md`).

use bytes::Bytes;
use fairwire_wire::{DccpOption, Encoder, MAX_OPTION_DATA};

use crate::error_text::ErrorText;

/// The bytes of a code.
const CODE: usize = 4;

/// A code and a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CloseCode {
    pub(crate) code: u32,
    pub(crate) text: Option<ErrorText>,
}

impl CloseCode {
    pub(crate) fn new(code: u32, text: &str) -> Self {
        let text = ErrorText::new(text);
        Self { code, text }
    }

    /// Reads the value of an option, or what a record of an encrypted connection held in its place.
    pub(crate) fn read(value: &[u8]) -> Option<Self> {
        let (code, text) = value.split_first_chunk::<CODE>()?;
        Some(Self {
            code: u32::from_be_bytes(*code),
            text: ErrorText::of_data(text),
        })
    }

    /// Returns it as at most `room` bytes, with a text that is cut between characters; `None` if not even the code fits.
    pub(crate) fn bytes(&self, room: usize) -> Option<Vec<u8>> {
        let room = room.checked_sub(CODE)?;
        let text = self.text.as_ref().map_or("", ErrorText::as_str);
        let text = ErrorText::cut(text, room);
        Some([&self.code.to_be_bytes()[..], text.as_bytes()].concat())
    }
}

/// What both ends of a connection say as they close.
#[derive(Debug, Default)]
pub(crate) struct CloseCodes {
    /// What this end's application says. The first word counts.
    own: Option<CloseCode>,
    /// The value of this end's option, if it is an encrypted one.
    sealed: Option<Bytes>,
    /// What the peer's application has said.
    theirs: Option<CloseCode>,
}

impl CloseCodes {
    pub(crate) fn say(&mut self, own: CloseCode) {
        self.own.get_or_insert(own);
    }

    /// Returns what this end says, if it has not been sealed.
    pub(crate) fn unsealed(&self) -> Option<&CloseCode> {
        self.own.as_ref().filter(|_| self.sealed.is_none())
    }

    pub(crate) fn set_sealed(&mut self, value: Bytes) {
        self.sealed = Some(value);
    }

    /// Writes the option. If it does not fit, the packet is sent without it.
    pub(crate) fn write(&self, is_encrypted: bool, encoder: &mut Encoder<'_>) {
        let clear = || self.own.as_ref()?.bytes(MAX_OPTION_DATA).map(Bytes::from);
        let value = if is_encrypted {
            self.sealed.clone()
        } else {
            clear()
        };
        if let Some(value) = value {
            let _ = encoder.option(&DccpOption::CloseCode(&value));
        }
    }

    pub(crate) fn hear(&mut self, theirs: CloseCode) {
        self.theirs = Some(theirs);
    }

    pub(crate) fn theirs(&self) -> Option<&CloseCode> {
        self.theirs.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::CloseCode;

    /// A text is cut between characters, and a value that is too short for a code is none.
    #[test]
    fn values_are_cut_and_read() {
        let said = CloseCode::new(7, "étage");
        assert_eq!(said.bytes(253), Some(b"\0\0\0\x07\xc3\xa9tage".to_vec()));
        assert_eq!(said.bytes(6), Some(b"\0\0\0\x07\xc3\xa9".to_vec()));
        for (room, bytes) in [
            (5, Some(&b"\0\0\0\x07"[..])),
            (4, Some(b"\0\0\0\x07")),
            (3, None),
        ] {
            assert_eq!(said.bytes(room).as_deref(), bytes, "{room}");
        }
        assert_eq!(CloseCode::read(&said.bytes(253).unwrap()), Some(said));
        assert_eq!(CloseCode::read(&[0; 3]), None);
        let odd = CloseCode::read(b"\xff\xff\xff\xff\xff").expect("a code");
        assert_eq!(
            (odd.code, odd.text.unwrap().as_str()),
            (u32::MAX, "\u{fffd}")
        );
    }
}
