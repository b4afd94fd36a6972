//! Tests that look into an endpoint. Those of its public interface are in `tests/endpoints`, with the same kit.

#![expect(
    clippy::field_reassign_with_default,
    reason = "a test sets only the fields that it changes, one per line"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers of tests are small"
)]

#[path = "../../../kit/src/lib.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "tests outside this crate use the rest"
)]
mod kit;

mod ccid;
mod full_acks;
mod gsr_rollback;
mod memory;
mod room;
mod silent_errors;
mod subflows;
mod turns;
mod worlds;
