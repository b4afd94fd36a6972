//! Limits of what an endpoint stores and sends (`EndpointConfig`). Hard invariants.

use fairwire_proto::{EndpointInspection, EndpointStats, Inspection};

use super::Verdict;
use super::books::Books;

/// Bytes per connection that may be used beyond `EndpointConfig::max_memory`, because records of packets cannot be
/// refused.
const REMEMBERED: usize = 200_000;

/// Bytes by which a connection's count may lag. The count is updated every 32 events, and histories that double add as
/// much as there was.
const LAG: usize = 64 * 1024;

/// Checks the statistics of an endpoint after a step.
pub(crate) fn see(books: &mut Books, host: usize, stats: &EndpointStats) -> Verdict {
    let local = books.local;
    let host = books.host_mut(host);
    let Some(config) = &host.config else {
        return Ok(());
    };
    let most = config.max_memory + REMEMBERED * stats.connections;
    hold!(
        stats.memory <= most,
        "memory-endpoint",
        "{} bytes with {} connections, and {} are allowed",
        stats.memory,
        stats.connections,
        config.max_memory
    );
    hold!(
        stats.connections <= config.max_connections && stats.half_open <= config.max_half_open,
        "memory-connections",
        "{} connections, {} of them half open",
        stats.connections,
        stats.half_open
    );
    if let Some((at, before)) = &host.last {
        // RFC 4340, 8.1.3: Resets are limited to the configured rate, with a burst of a sixteenth of a second.
        let passed = local.saturating_since(*at).as_secs_f64();
        let per_s = f64::from(config.max_resets_per_s);
        let most = passed * per_s + per_s / 16.0 + 2.0;
        let resets = stats.resets_sent.saturating_sub(before.resets_sent);
        hold!(
            stats.resets_sent >= before.resets_sent && resets as f64 <= most,
            "memory-resets",
            "{resets} Resets to strangers within {passed} s"
        );
    }
    host.last = Some((local, *stats));
    Ok(())
}

/// Checks that the memory of all connections adds up to the endpoint's statistics.
pub(crate) fn check_inspection(
    books: &mut Books,
    host: usize,
    inside: &EndpointInspection,
) -> Verdict {
    let said = books.host_mut(host).last.as_ref().map(|(_, stats)| *stats);
    if let Some(stats) = said {
        hold!(
            stats.memory == inside.counted,
            "memory-sum",
            "{} bytes are counted, and the connections add up to {}",
            stats.memory,
            inside.counted
        );
        hold!(
            stats.connections <= inside.records,
            "memory-records",
            "{} connections, and {} records",
            stats.connections,
            inside.records
        );
    }
    // `EndpointConfig::max_connections`: places are taken by half-open connections, and by those that the application
    // began or was told of and has not released.
    let known = known(books, host);
    let half_open = said.map_or(0, |stats| stats.half_open);
    hold!(
        said.is_none() || inside.records <= half_open + known,
        "memory-unannounced",
        "{} records, {half_open} half-open connections, and the application knows of {known}",
        inside.records
    );
    hold!(
        inside.all_timed,
        "memory-timers",
        "a connection that is not open has no timer"
    );
    Ok(())
}

/// Returns the number of connections that the application began or was told of, and has not released.
fn known(books: &Books, host: usize) -> usize {
    let life = books.hosts.get(&host).map(|host| host.life);
    let known = books.conns.values().filter(|conn| {
        let told = conn.heard.open || conn.heard.closed.is_some();
        let knows = !conn.is_server || conn.is_invited || told;
        (conn.key.0, Some(conn.key.1)) == (host, life) && knows && !conn.heard.released
    });
    known.count()
}

/// Checks that a connection counts the memory that it holds, except for the lag.
pub(crate) fn see_connection(seen: &Inspection) -> Verdict {
    hold!(
        seen.held <= 2 * seen.counted + LAG,
        "memory-counted",
        "a connection takes {} bytes and counts {}",
        seen.held,
        seen.counted
    );
    Ok(())
}
