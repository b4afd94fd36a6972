//! Links between real sockets.

mod commands;
mod fate;
mod words;
mod world;
