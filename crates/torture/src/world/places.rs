//! Times and addresses of a plan.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use fairwire_units::{Duration, Instant};

use crate::plan::Plan;

/// Returns the time `ms` milliseconds after the start.
pub(super) fn at_ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Returns the address of a host. `alias` is zero, or the number of an address that a NAT assigned.
pub(super) fn address(plan: &Plan, host: usize, alias: u16) -> SocketAddr {
    let [high, low] = alias.to_be_bytes();
    let number = u8::try_from(host + 1).unwrap_or(u8::MAX);
    let ip: IpAddr = if plan.ipv6 {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, alias, u16::from(number)).into()
    } else {
        Ipv4Addr::new(10, high, low, number).into()
    };
    SocketAddr::new(ip, if plan.udp { 6_511 } else { 0 })
}

/// Returns the length in bytes of the headers below DCCP.
pub(super) fn below(plan: &Plan) -> usize {
    (if plan.ipv6 { 40 } else { 20 }) + (if plan.udp { 8 } else { 0 })
}
