//! Traffic: when applications send, and how much.

mod adaptive_video;
mod short_flows;
mod talk;
mod video;
