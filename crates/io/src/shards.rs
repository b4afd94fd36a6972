//! An endpoint in shards, which share nothing, so that its connections use several processors.
//!
//! Each shard has its own socket on the endpoint's port, its own driver and its own lock. Which shard a connection
//! belongs to follows from its DCCP ports ([`fairwire_proto::Shard`]). Where the system can be told that rule, it
//! delivers each packet to the right socket; elsewhere the driver that receives a packet hands it over. Most endpoints
//! have one shard.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use fairwire_proto::{EndpointStats, Shard};

use crate::state::{Handle, Shared, State};
use crate::waiting::Awaited;

/// Handles of all shards of an endpoint. Clones refer to the same endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Shards(Arc<Set>);

#[derive(Debug)]
struct Set {
    /// At least one.
    handles: Box<[Handle]>,
    /// Counts connections whose shard was free to choose.
    chosen: AtomicUsize,
    /// Counts rounds through all shards.
    rounds: AtomicUsize,
}

impl Shards {
    /// Makes handles of all shards, of which there is one at least.
    pub(crate) fn new(shards: &[Arc<Shared>]) -> Self {
        debug_assert!(!shards.is_empty(), "an endpoint has a shard");
        let handles = shards.iter().map(|shared| Handle::new(Arc::clone(shared)));
        Self(Arc::new(Set {
            handles: handles.collect(),
            chosen: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
        }))
    }

    /// Returns the first shard. What belongs to no connection is the same in all of them.
    pub(crate) fn first(&self) -> &Handle {
        &self.0.handles[0]
    }

    /// Returns all shards.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Handle> {
        self.0.handles.iter()
    }

    /// Returns how many shards there are.
    pub(crate) fn count(&self) -> usize {
        self.0.handles.len()
    }

    /// Returns the shard of a connection between these DCCP ports; if one of them is not chosen yet, the shard whose
    /// turn it is.
    pub(crate) fn of(&self, local: Option<u16>, remote: u16) -> &Handle {
        let count = self.count();
        let at = match local {
            Some(local) => Shard::of(u16::try_from(count).unwrap_or(u16::MAX), (local, remote)),
            None => self.0.chosen.fetch_add(1, Ordering::Relaxed) % count,
        };
        &self.0.handles[at]
    }

    /// Waits until `take` returns a value in one of the shards, and returns it with its shard. Shards take turns.
    ///
    /// `take` is called with the lock of the shard held.
    pub(crate) async fn wait<T>(
        &self,
        awaited: Awaited,
        take: impl Fn(&Shared, &mut State) -> Option<T> + Sync,
    ) -> (&Handle, T) {
        let take = &take;
        if self.count() == 1 {
            return wait_in(self.first(), awaited, take).await;
        }
        let waits = self.in_turn().map(|shard| wait_in(shard, awaited, take));
        let mut waits: Vec<_> = waits.map(Box::pin).collect();
        poll_fn(|context| {
            let mut polled = waits.iter_mut().map(|wait| wait.as_mut().poll(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }

    /// Does the same for futures written by hand.
    pub(crate) fn poll<T>(
        &self,
        awaited: Awaited,
        context: &mut Context<'_>,
        take: impl Fn(&Shared, &mut State) -> Option<T>,
    ) -> Poll<(&Handle, T)> {
        let mut polled = self.in_turn().map(|shard| {
            let taken = shard.poll(awaited, context, |state| take(shard, state));
            taken.map(|taken| (shard, taken))
        });
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    }

    /// Returns all shards, each time beginning with another one.
    fn in_turn(&self) -> impl Iterator<Item = &Handle> {
        let handles = &self.0.handles;
        let first = self.0.rounds.fetch_add(1, Ordering::Relaxed);
        (0..handles.len()).map(move |at| &handles[(first.wrapping_add(at)) % handles.len()])
    }

    /// Returns the counters and gauges of all shards together.
    pub(crate) fn stats(&self) -> EndpointStats {
        let mut sum = EndpointStats::default();
        for handle in self.iter() {
            sum += handle.lock().proto.endpoint_stats();
        }
        sum
    }
}

/// Waits in one shard.
async fn wait_in<'a, T>(
    shard: &'a Handle,
    awaited: Awaited,
    take: &(impl Fn(&Shared, &mut State) -> Option<T> + Sync),
) -> (&'a Handle, T) {
    (shard, shard.wait(awaited, |state| take(shard, state)).await)
}
