//! Tests of the network through its public interface: agents, observers and results.

mod behaviour;
mod disciplines;
mod models;
mod support;
mod theory;
