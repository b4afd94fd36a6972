//! Links that have a name.

/// A link with a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its description: first the way from the client, which is the slow one of an access line.
    pub words: &'static str,
    /// Where the numbers come from.
    pub source: &'static str,
}

/// All presets. Half of the round trip is each direction's delay.
pub const ALL: &[Preset] = &[
    Preset {
        name: "3g",
        words: "rate 768kbit delay 150ms back rate 1.6mbit",
        source: "WebPageTest's profile '3G': 1.6 Mbit/s down, 768 kbit/s up, round trip 300 ms",
    },
    Preset {
        name: "dsl",
        words: "rate 384kbit delay 25ms back rate 1.5mbit",
        source: "WebPageTest's profile 'DSL': 1.5 Mbit/s down, 384 kbit/s up, round trip 50 ms",
    },
    Preset {
        name: "lte",
        words: "rate 12mbit delay 35ms",
        source: "WebPageTest's profile 'LTE': 12 Mbit/s both ways, round trip 70 ms",
    },
    Preset {
        name: "wifi",
        words: "rate 50mbit delay 10ms 2.5ms distribution normal",
        source: "the pair 'jit_5' of mqvpn's link tests, taken as a round trip: 50 Mbit/s, 20 ms with 5 ms of jitter",
    },
    Preset {
        name: "starlink",
        words: "rate 17mbit delay 25ms 5ms distribution normal back rate 178mbit",
        source: "Michel and others, A First Look at Starlink Performance (IMC 2022): median round trip 50 ms, 178 \
                 Mbit/s down, 17 Mbit/s up",
    },
    Preset {
        name: "geo-satellite",
        words: "rate 20mbit delay 320ms 20ms distribution normal loss 0.5%",
        source: "the pair 'lte_geo' of mqvpn's link tests: 320 ms with 20 ms of jitter each way, 0.5 % lost, 20 Mbit/s",
    },
];

/// Returns the preset of this name.
pub(crate) fn named(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}
