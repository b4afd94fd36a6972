//! What must hold, step by step.

use std::collections::BTreeSet;
use std::fmt;

use fairwire_units::Instant;

use crate::seen::{Call, Origin, Seen, TAG_LEN};

/// An invariant that does not hold.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Its name.
    pub invariant: &'static str,
    /// What was seen, and what should have been.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.text)
    }
}

/// The omniscient observer.
#[derive(Debug, Default)]
pub struct Oracle {
    sent: BTreeSet<Vec<u8>>,
    tampered: bool,
}

impl Oracle {
    /// An observer who has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sees the next thing.
    ///
    /// # Errors
    /// The invariant that it breaks.
    pub fn see(&mut self, _now: Instant, _host: usize, seen: &Seen<'_>) -> Result<(), Violation> {
        match seen {
            Seen::Call(Call::Send { payload, .. }) if payload.len() >= TAG_LEN => {
                self.sent.insert(payload.to_vec());
            }
            Seen::Arrived {
                origin: Origin::Damaged(_) | Origin::Forged,
                ..
            } => self.tampered = true,
            Seen::Received { payload, .. } if payload.len() >= TAG_LEN => {
                if !self.tampered && !self.sent.contains(*payload) {
                    return Err(Violation {
                        invariant: "data was sent",
                        text: format!("{} bytes were delivered and never sent", payload.len()),
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }
}
