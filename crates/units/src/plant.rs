//! Planted bugs: known defects that a build can put back, to show that a test finds them.
//!
//! Each bug has one name and, unless several checks mended it, one site: an `if planted(..)` beside
//! the right branch. Without the feature `plant` that is a constant `false`, so an ordinary build
//! contains none of them. With the feature nothing is planted until [`set`] names a bug.

#[cfg(feature = "plant")]
use std::sync::atomic::{AtomicU8, Ordering};

/// The one that is planted, counted from 1; 0 if none is. It holds for all threads of the process.
#[cfg(feature = "plant")]
static PLANTED: AtomicU8 = AtomicU8::new(0);

macro_rules! plants {
    ($($(#[$doc:meta])* $plant:ident = $name:literal,)*) => {
        /// A bug that can be planted.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Plant {
            $($(#[$doc])* $plant,)*
        }

        #[cfg(feature = "plant")]
        impl Plant {
            /// All bugs that can be planted.
            pub const ALL: &[Self] = &[$(Self::$plant,)*];

            /// Returns the name by which a command line or an environment names it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$plant => $name,)*
                }
            }
        }
    };
}

plants! {
    /// Finding 1 of `docs/adversarial.md`: a forged Request widens the Sequence Window before the
    /// handshake is complete, and a Data Dropped report walks every number between two packets.
    EndlessReport = "endless-report",
    /// Finding 2: one packet makes a loss event of each stated round trip of the hole before it.
    EndlessEvents = "endless-events",
    /// Finding 4: no keep-alive, so a connection that only receives never notices that its peer is
    /// gone.
    NoKeepAlive = "no-keep-alive",
}

#[cfg(feature = "plant")]
impl Plant {
    /// Returns the bug of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|plant| plant.name() == name)
    }
}

/// Plants one bug, or none, in place of the one before.
#[cfg(feature = "plant")]
pub fn set(plant: Option<Plant>) {
    PLANTED.store(plant.map_or(0, |plant| plant as u8 + 1), Ordering::Relaxed);
}

/// Is this bug planted?
#[cfg(feature = "plant")]
#[inline]
pub fn planted(plant: Plant) -> bool {
    PLANTED.load(Ordering::Relaxed) == plant as u8 + 1
}

/// Is this bug planted? Never, without the feature.
#[cfg(not(feature = "plant"))]
#[inline]
pub const fn planted(_: Plant) -> bool {
    false
}

#[cfg(all(test, feature = "plant"))]
mod tests {
    use super::{Plant, planted, set};

    /// Each bug has a name of its own and is planted alone.
    #[test]
    fn one_at_a_time() {
        for &plant in Plant::ALL {
            assert_eq!(Plant::from_name(plant.name()), Some(plant));
            set(Some(plant));
            let now: Vec<_> = Plant::ALL.iter().filter(|p| planted(**p)).collect();
            assert_eq!(now, [&plant]);
        }
        set(None);
        assert!(!Plant::ALL.iter().any(|plant| planted(*plant)));
    }
}
