//! What a sender does, packet by packet, computed by hand from the RFCs and written as tables.
//!
//! A real endpoint opens a connection to another; then the other one is taken away, and the table
//! says which feedback arrives, when, and what must follow from it.

mod ccid2;
mod ccid3;
mod ccid4;
mod sender;
mod tfrc;
