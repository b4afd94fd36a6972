//! The network as its users see it: through agents, observers and results.

mod behaviour;
mod disciplines;
mod models;
mod support;
mod theory;
