//! Received datagrams.

use fairwire::{Ecn, Received};
use fairwire_measure::counted;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A received datagram.
#[pyclass(frozen, get_all, module = "fairwire")]
pub(crate) struct Datagram {
    /// The data; it may be empty.
    data: Py<PyBytes>,
    /// How many of the peer's datagrams are missing between the datagram read before and this one.
    lost_before: u64,
    /// Whether a router signalled congestion on it (ECN).
    marked: bool,
    /// Whether it does not match its Data Checksum, and was delivered all the same.
    corrupt: bool,
    /// Whether the peer sent it again after a loss, so that newer ones may have been read before it.
    resent: bool,
}

impl Datagram {
    pub(crate) fn new(py: Python<'_>, received: &Received) -> Self {
        Self {
            data: PyBytes::new(py, &received.data).unbind(),
            lost_before: received.lost_before,
            marked: received.ecn == Ecn::Ce,
            corrupt: received.corrupt,
            resent: received.resent,
        }
    }
}

#[pymethods]
impl Datagram {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.data.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let lost = self.lost_before;
        Ok(format!(
            "<fairwire.Datagram of {}, {lost} lost before>",
            counted(self.__len__(py)? as u64, "byte")
        ))
    }
}
