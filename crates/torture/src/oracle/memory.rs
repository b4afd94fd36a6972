//! What an endpoint takes and answers at most (`EndpointConfig`). Hard.

use fairwire_proto::{EndpointInspection, EndpointStats, Inspection};

use super::Verdict;
use super::books::Books;

/// `EndpointConfig::max_memory`: what is remembered of packets cannot be refused, and may take so much
/// for each connection beside the budget.
const REMEMBERED: usize = 200_000;

/// What a connection counts is looked at every 32 events, so it lags by what these add; histories that
/// double add as much as there was.
const LAG: usize = 64 * 1024;

/// The statistics of an endpoint after a step.
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
        // RFC 4340, 8.1.3: Resets are limited; by what is configured, and a sixteenth of a second's at once.
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

/// The sum over all connections is what the endpoint says that it takes.
pub(crate) fn see_inside(books: &mut Books, host: usize, inside: &EndpointInspection) -> Verdict {
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
    // `EndpointConfig::max_connections`: what has a place are half-open connections, and those that the application
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

/// Connections that the application began or was told of, and has not released.
fn known(books: &Books, host: usize) -> usize {
    let life = books.hosts.get(&host).map(|host| host.life);
    let known = books.conns.values().filter(|conn| {
        let told = conn.heard.open || conn.heard.closed.is_some();
        let knows = !conn.is_server || conn.is_invited || told;
        (conn.key.0, Some(conn.key.1)) == (host, life) && knows && !conn.heard.released
    });
    known.count()
}

/// What one connection counts is what it takes, but for the lag.
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
