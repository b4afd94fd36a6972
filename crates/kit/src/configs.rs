//! Settings and times as tests write them.

use fairwire_proto::Config;
use fairwire_units::Duration;
use fairwire_wire::{Ccid, ServiceCode};

/// The service of all tests.
pub const SERVICE: ServiceCode = ServiceCode(42);

/// The server's port in all tests.
pub const PORT: u16 = 5_001;

/// Returns a number of milliseconds.
pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns the default settings with one CCID in both directions.
pub fn config_of(ccid: impl Into<Ccid>) -> Config {
    both_ways([ccid])
}

/// Returns the default settings with these CCIDs in both directions, the preferred one first.
pub fn both_ways(ccids: impl IntoIterator<Item = impl Into<Ccid>>) -> Config {
    let mut config = Config::default();
    config.send_ccids = ccids.into_iter().map(Into::into).collect();
    config.receive_ccids.clone_from(&config.send_ccids);
    config
}
