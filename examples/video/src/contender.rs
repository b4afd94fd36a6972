//! What is compared.

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
    pub ccid: u8,
    /// The window law of CCID 2.
    pub law: &'static str,
    /// Whether lost datagrams are sent again.
    pub resend: bool,
    /// Whether the window of CCID 2 grows although the video does not use all of it. RFC 4341, section 5.1, forbids it.
    pub growth_unused: bool,
}

impl Dccp {
    const CCID2: Self = Self {
        ccid: 2,
        law: "newreno",
        resend: false,
        growth_unused: false,
    };
}

/// Quinn's buffer of datagrams that wait to be sent.
#[derive(Clone, Copy)]
pub enum Buffer {
    /// As quinn has it: 1 MiB.
    Default,
    /// What the link carries in a tenth of a second.
    Short,
}

pub const CONTENDERS: &[Contender] = &[
    Contender {
        name: "Fairwire, CCID 2, resending",
        transport: Transport::Fairwire(Dccp {
            resend: true,
            ..Dccp::CCID2
        }),
    },
    Contender {
        name: "Fairwire, CCID 2",
        transport: Transport::Fairwire(Dccp::CCID2),
    },
    Contender {
        name: "Fairwire, CCID 2 with CUBIC, resending",
        transport: Transport::Fairwire(Dccp {
            law: "cubic",
            resend: true,
            ..Dccp::CCID2
        }),
    },
    Contender {
        name: "Fairwire, CCID 2 (window grows unused), resending",
        transport: Transport::Fairwire(Dccp {
            resend: true,
            growth_unused: true,
            ..Dccp::CCID2
        }),
    },
    Contender {
        name: "Fairwire, CCID 3",
        transport: Transport::Fairwire(Dccp {
            ccid: 3,
            ..Dccp::CCID2
        }),
    },
    Contender {
        name: "quinn, defaults",
        transport: Transport::Quinn {
            buffer: Buffer::Default,
            rate: false,
        },
    },
    Contender {
        name: "quinn, rate from cwnd/RTT",
        transport: Transport::Quinn {
            buffer: Buffer::Default,
            rate: true,
        },
    },
    Contender {
        name: "quinn, rate from cwnd/RTT, short buffer",
        transport: Transport::Quinn {
            buffer: Buffer::Short,
            rate: true,
        },
    },
];
