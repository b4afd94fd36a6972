//! Where and when runs are computed, as a store notes it.

use fairwire_sweep::Origin;

/// Returns the origin of the runs that this process computes.
pub(crate) fn origin() -> Origin {
    let host = rustix::system::uname();
    let date = time::OffsetDateTime::now_utc().date();
    Origin::here(&host.nodename().to_string_lossy(), &date.to_string())
}
