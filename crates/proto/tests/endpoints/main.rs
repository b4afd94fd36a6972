//! Endpoints and connections through their public interface, on a virtual clock.

mod calls;
mod liars;
mod option_floods;
mod requirements;
mod traces;

/// Counts for each thread what it holds: the tests here run beside each other.
#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;
