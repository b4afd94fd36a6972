//! A memory of all nonces, which panics when one is used twice with a key. It belongs to the thread of a test.

use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static SEALED: RefCell<BTreeSet<(Vec<u8>, [u8; 12])>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes that a key protects something with this nonce.
pub(crate) fn note(key: &[u8], nonce: [u8; 12]) {
    let is_new = SEALED.with_borrow_mut(|sealed| sealed.insert((key.to_vec(), nonce)));
    assert!(is_new, "a nonce is used twice");
}

/// Returns how many were noted.
pub(crate) fn count() -> usize {
    SEALED.with_borrow(BTreeSet::len)
}
