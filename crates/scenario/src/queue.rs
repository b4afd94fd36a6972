//! The default kind of queue of links and radios.

use std::sync::Arc;

use fairwire_net::{DropTailConfig, QueueModel};
use fairwire_units::registry::Chosen;

/// Returns a DropTail queue with this configuration.
pub(super) fn droptail(config: DropTailConfig) -> Chosen<dyn QueueModel> {
    Chosen::with_settings("droptail", Arc::new(config), &config)
}
