//! All profiles by number, and the lists of CCIDs in settings and texts.

use std::sync::{LazyLock, OnceLock};

use fairwire_units::registry;
use fairwire_wire::Ccid;

use super::built_in;
use super::profile::CcidProfile;
use crate::config::Config;
use crate::error::ConfigError;

/// One place for each number. A profile stays for the rest of the process, so connections need no lock to find theirs.
type Places = [OnceLock<CcidProfile>; 256];

fn places() -> &'static Places {
    static PLACES: LazyLock<Places> = LazyLock::new(|| {
        let places = [const { OnceLock::new() }; 256];
        for profile in built_in::profiles() {
            let place: &OnceLock<CcidProfile> = &places[usize::from(profile.ccid.number())];
            let is_new = place.set(profile).is_ok();
            debug_assert!(is_new, "each built-in CCID has a number of its own");
        }
        places
    });
    &PLACES
}

/// Adds a profile for the rest of the process; configurations and scenarios read from then on may name its CCID.
///
/// # Errors
/// If the CCID is reserved or exists already.
pub fn register_ccid(profile: CcidProfile) -> Result<(), RegisterCcidError> {
    let ccid = profile.ccid;
    // RFC 4340, 19.5: 0, 1 and 255 are reserved.
    if matches!(ccid.number(), 0 | 1 | 255) {
        return Err(RegisterCcidError::Reserved { ccid });
    }
    let place = &places()[usize::from(ccid.number())];
    place
        .set(profile)
        .map_err(|_| RegisterCcidError::Taken { ccid })?;
    registry::note_registration();
    Ok(())
}

/// Returns the profile of a CCID, if it is built in or registered.
pub fn ccid_profile(ccid: Ccid) -> Option<&'static CcidProfile> {
    places()[usize::from(ccid.number())].get()
}

/// Returns all profiles, in the order of their numbers.
pub fn ccid_profiles() -> impl Iterator<Item = &'static CcidProfile> {
    places().iter().filter_map(OnceLock::get)
}

/// Returns a list for texts of the CCIDs with a property, such as "2 (TCP-like), 3 (TFRC) or 4 (TFRC for small
/// packets)" with the word "or".
pub fn list_ccids(word: &str, has: impl Fn(&CcidProfile) -> bool) -> String {
    let all: Vec<String> = ccid_profiles()
        .filter(|profile| has(profile))
        .map(ToString::to_string)
        .collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

impl Config {
    /// Returns an error if a list of CCIDs is empty or names one without a profile.
    pub(crate) fn check_ccids(&self) -> Result<(), ConfigError> {
        let lists = [
            ("send_ccids", &self.send_ccids),
            ("receive_ccids", &self.receive_ccids),
        ];
        let is_valid = |ccids: &[Ccid]| {
            !ccids.is_empty() && ccids.iter().all(|ccid| ccid_profile(*ccid).is_some())
        };
        match lists.into_iter().find(|(_, ccids)| !is_valid(ccids)) {
            Some((key, _)) => {
                let all = list_ccids("and", |_| true);
                Err(ConfigError::new(key, format!("use one or more of {all}")))
            }
            None => Ok(()),
        }
    }
}

/// Why a CCID cannot be registered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterCcidError {
    /// There is a profile with this number.
    #[error("{ccid} exists already: take another of the numbers for experiments, 248 to 254")]
    Taken {
        /// That CCID.
        ccid: Ccid,
    },
    /// The number never has a meaning.
    #[error("{ccid} is reserved: take one of the numbers for experiments, 248 to 254")]
    Reserved {
        /// That CCID.
        ccid: Ccid,
    },
}
