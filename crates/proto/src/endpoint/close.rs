//! The calls of the application that end a connection.

use fairwire_units::Instant;

use super::Endpoint;
use crate::connection::{CloseCode, Subflow};
use crate::error_text::ErrorText;
use crate::id::ConnectionId;

/// Closing.
impl Endpoint {
    /// Sends the queue for at most [`Config::drain_timeout`](crate::Config::drain_timeout), then closes.
    ///
    /// If datagrams of an encrypted connection have left and the peer has not acknowledged the end of the handshake by
    /// then, it may never read them. The connection is reset instead ([`CloseTimeout`](crate::CloseReason::CloseTimeout)).
    ///
    /// `Closed` is the last event of the connection.
    pub fn close(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, |subflow, call| {
                let until = now + subflow.drain_timeout();
                subflow.close(call, until);
            });
        });
    }

    /// Closes as [`close`](Self::close) does, and tells the peer's application why
    /// ([`CloseReason::ApplicationClosed`](crate::CloseReason::ApplicationClosed)). The first call with a code counts.
    ///
    /// Each Close carries the code and the text, so a lost packet loses neither. The text is cut between characters
    /// after at most 249 bytes, or 211 with DTLS. A peer that does not know the option ignores it (RFC 4340, section
    /// 5.8).
    ///
    /// The peer does not learn the code if the connection is reset and not closed, as one that is not open yet is. With
    /// DTLS it does not either if the handshake is not complete, or if it has announced its own end before.
    pub fn close_with(&mut self, now: Instant, id: ConnectionId, code: u32, text: &str) {
        let said = CloseCode::new(code, text);
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, |subflow, call| {
                let until = now + subflow.drain_timeout();
                subflow.close_with(call, until, said);
            });
        });
    }

    /// Abandons a connection, as when a program drops it or panics.
    ///
    /// A connection that is not closing is reset at once (Reset 2, Aborted), so that the peer does not take the end for
    /// a success. One that is already closing continues to close.
    pub fn abandon(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, Subflow::abandon);
        });
    }

    /// Discards the send queue and closes at once with a normal Close, or a Reset where [`close`](Self::close) resets.
    pub fn discard(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, Subflow::discard);
        });
    }

    /// Resets the connection at once (Reset 2, Aborted).
    pub fn abort(&mut self, now: Instant, id: ConnectionId) {
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, Subflow::abort);
        });
    }

    /// Resets the connection at once (Reset 2, Aborted) and tells the peer why.
    ///
    /// The Reset carries the first [`ErrorText::MAX`] bytes of `text`. It may be lost.
    pub fn abort_with(&mut self, now: Instant, id: ConnectionId, text: &str) {
        let text = ErrorText::new(text);
        self.act(now, id, |connection, ctx| {
            connection.with(ctx, |subflow, call| subflow.abort_with(call, text));
        });
    }
}
