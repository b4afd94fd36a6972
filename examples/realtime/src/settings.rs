//! The settings that thin flows are compared with.

use fairwire::{Ccid, Config, Profile, laws};

/// One way to send a thin flow.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    Profile(Profile),
    /// As the RFCs have it.
    Ccid(u8),
    /// CCID 2 as RFC 4341 has it, with another window law.
    Law(&'static str),
    Quinn,
}

pub const THIN: &[Setting] = &[
    Setting::Profile(Profile::Interactive),
    Setting::Profile(Profile::Live),
    Setting::Profile(Profile::Bulk),
    Setting::Ccid(2),
    Setting::Law("vegas"),
    Setting::Ccid(3),
    Setting::Ccid(4),
];

impl Setting {
    pub fn name(self) -> String {
        match self {
            Self::Profile(profile) => format!("profile {profile}"),
            Self::Ccid(ccid) => format!("CCID {ccid}"),
            Self::Law(law) => format!("CCID 2 with {law}"),
            Self::Quinn => "quinn".to_owned(),
        }
    }

    /// Returns the settings of the connection; `None` for quinn.
    pub fn config(self) -> Option<Config> {
        let mut config = Config::default();
        match self {
            Self::Profile(profile) => return Some(profile.config()),
            Self::Ccid(ccid) => {
                config.send_ccids = vec![Ccid::new(ccid)];
                config.receive_ccids = vec![Ccid::new(ccid)];
            }
            Self::Law(law) => config.ccid2.law = laws::law(law).ok()?,
            Self::Quinn => return None,
        }
        Some(config)
    }
}
