//! The keys from which a connection draws what nobody may predict.

use zeroize::Zeroize;

/// A key of a hash, whose values look random to everybody who does not have it; overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct DrawKey(pub(crate) [u64; 2]);

impl Drop for DrawKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for DrawKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DrawKey")
    }
}
