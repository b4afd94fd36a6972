//! The state transitions of one connection in RFC 4340, section 8.4 (and RFC 5596, section 2.2.2).

use crate::connection::State;

/// Returns whether one step may take a connection from `before` to `after`.
pub(super) fn is_allowed(before: State, after: State, server: bool) -> bool {
    use State::*;
    match (before, after) {
        // RFC 4340, 8.3 and 8.5: a Reset ends every state.
        (_, Closed) => true,
        // RFC 4340, 8.1.4: with an Init Cookie LISTEN leads to OPEN.
        (Closed, Respond | Open | Invited)
        | (Invited, Listen1 | Respond)
        | (Listen1, Respond)
        | (Respond, Open)
        | (Open, CloseReq) => server,
        (Closed, Request) | (Request, PartOpen) | (PartOpen, Open) | (PartOpen | Open, Closing) => {
            !server
        }
        _ => false,
    }
}

/// RFC 4340, 8.4: only servers are in CLOSEREQ, only clients in REQUEST, PARTOPEN and CLOSING.
#[test]
fn some_moves_are_not_allowed() {
    use State::*;
    assert!(is_allowed(Open, Closing, false) && !is_allowed(Open, Closing, true));
    assert!(is_allowed(Open, CloseReq, true) && !is_allowed(Open, CloseReq, false));
    assert!(!is_allowed(Closing, Open, false) && !is_allowed(Open, PartOpen, false));
}
