//! Traces of a sender, packet by packet, computed by hand from the RFCs and written as tables.
//!
//! A real endpoint opens a connection to another one. Then the other one is removed, and the table says which feedback
//! arrives when, and how the sender must react.

mod ccid2;
mod ccid3;
mod ccid4;
mod sender;
mod tfrc;
