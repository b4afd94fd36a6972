//! What is compared on video.

use fairwire::{Ccid, Config, Profile, laws};

/// One way to send the video.
#[derive(Clone, Copy)]
pub struct Contender {
    pub name: &'static str,
    pub transport: Transport,
}

#[derive(Clone, Copy)]
pub enum Transport {
    Fairwire(Dccp),
    Quinn { buffer: Buffer, rate: bool },
}

/// How DCCP is used.
#[derive(Clone, Copy)]
pub struct Dccp {
    pub profile: Profile,
    pub ccid: u8,
    /// The window law of CCID 2, instead of the profile's.
    pub law: Option<&'static str>,
    /// Whether lost datagrams are sent again.
    pub resend: bool,
    /// Whether the window of CCID 2 grows although the video does not use all of it. RFC 4341, section 5.1, forbids it.
    pub growth_unused: bool,
}

impl Dccp {
    /// CCID 2 as RFC 4341 has it.
    const CCID2: Self = Self {
        profile: Profile::Rfc,
        ccid: 2,
        law: None,
        resend: false,
        growth_unused: false,
    };

    const fn of(profile: Profile, resend: bool) -> Self {
        Self {
            profile,
            resend,
            ..Self::CCID2
        }
    }

    /// Returns the settings of the connection; `None` if there is no such law.
    pub fn config(self) -> Option<Config> {
        let mut config = self.profile.config();
        config.send_ccids = vec![Ccid::new(self.ccid)];
        config.receive_ccids = vec![Ccid::new(self.ccid)];
        if let Some(law) = self.law {
            config.ccid2.law = laws::law(law).ok()?;
        }
        config.ccid2.growth_unused = self.growth_unused;
        config.resend = self.resend;
        Some(config)
    }
}

/// Quinn's buffer of datagrams that wait to be sent.
#[derive(Clone, Copy)]
pub enum Buffer {
    /// As quinn has it: 1 MiB.
    Default,
    /// What the link carries in a tenth of a second.
    Short,
}

const fn fairwire(name: &'static str, how: Dccp) -> Contender {
    Contender {
        name,
        transport: Transport::Fairwire(how),
    }
}

const fn quinn(name: &'static str, buffer: Buffer, rate: bool) -> Contender {
    Contender {
        name,
        transport: Transport::Quinn { buffer, rate },
    }
}

pub const CONTENDERS: &[Contender] = &[
    fairwire("profile live, resending", Dccp::of(Profile::Live, true)),
    fairwire("profile live", Dccp::of(Profile::Live, false)),
    fairwire(
        "profile interactive, resending",
        Dccp::of(Profile::Interactive, true),
    ),
    fairwire("profile interactive", Dccp::of(Profile::Interactive, false)),
    fairwire("CCID 2, resending", Dccp::of(Profile::Rfc, true)),
    fairwire("CCID 2", Dccp::CCID2),
    fairwire(
        "CCID 2 with Vegas, resending",
        Dccp {
            law: Some("vegas"),
            ..Dccp::of(Profile::Rfc, true)
        },
    ),
    fairwire(
        "CCID 2 with CUBIC, resending",
        Dccp {
            law: Some("cubic"),
            ..Dccp::of(Profile::Rfc, true)
        },
    ),
    fairwire(
        "CCID 2 (window grows unused), resending",
        Dccp {
            growth_unused: true,
            ..Dccp::of(Profile::Rfc, true)
        },
    ),
    fairwire(
        "CCID 3",
        Dccp {
            ccid: 3,
            ..Dccp::CCID2
        },
    ),
    quinn("quinn, defaults", Buffer::Default, false),
    quinn("quinn, rate from cwnd/RTT", Buffer::Default, true),
    quinn(
        "quinn, rate from cwnd/RTT, short buffer",
        Buffer::Short,
        true,
    ),
];
