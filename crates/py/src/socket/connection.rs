//! Connections.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use fairwire::{
    Bytes, ConnectOptions, Connection as Io, ConnectionEvent, DccpAddr, Direction, Fate, FateError,
    Rate, SendOptions, TrySendError, Waiting, connect_with,
};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMemoryView};

use crate::socket::config::{config, service};
use crate::socket::datagram::Datagram;
use crate::socket::errors::{SendError, closed, not_connected, not_sent, reason};
use crate::socket::operation::{Operation, argument, seconds};
use crate::socket::runtime::{Owned, within};
use crate::socket::security::ClientDtls;
use crate::socket::stats;

/// A host, its UDP port, and its DCCP port.
type Address = (String, u16, u16);

/// A connection. It is reset when it is dropped without a close.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Connection {
    io: Owned<Io>,
}

/// Connects to a service at `host:port`. The operation gives a `Connection`.
#[pyfunction]
#[pyo3(signature = (address, service, security, settings=None, own_endpoint=false))]
pub(crate) fn connect(
    address: String,
    service: &Bound<'_, PyAny>,
    security: Option<&ClientDtls>,
    settings: Option<&Bound<'_, PyDict>>,
    own_endpoint: bool,
) -> PyResult<Operation> {
    within(|| ())?;
    let service = self::service(service)?;
    let security = ClientDtls::security(security);
    let options = ConnectOptions::new()
        .config(config(settings)?)
        .own_endpoint(own_endpoint);
    Ok(Operation::new(
        async move { connect_with(&address, service, security, options).await },
        |_, connected| match connected {
            Ok(connection) => Ok(Connection::new(connection)),
            Err(error) => Err(not_connected(&error)),
        },
    ))
}

impl Connection {
    pub(crate) fn new(connection: Io) -> Self {
        Self {
            io: Owned::new(connection),
        }
    }

    /// Returns another handle for an operation.
    fn handle(&self) -> PyResult<Io> {
        self.io.with(Io::clone)
    }
}

#[pymethods]
impl Connection {
    /// Queues a datagram if there is room, and returns its id.
    #[pyo3(signature = (data, deadline=None, priority=0, group=None, resend=None))]
    fn try_send(
        &self,
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = deadline_of)] deadline: Option<Duration>,
        #[pyo3(from_py_with = priority_of)] priority: i8,
        #[pyo3(from_py_with = group_of)] group: Option<u64>,
        #[pyo3(from_py_with = resend_of)] resend: Option<Duration>,
    ) -> PyResult<Option<u64>> {
        let options = options(deadline, priority, group, resend);
        let data = bytes(data)?;
        match self
            .io
            .with(|connection| connection.try_send_with(data, options))?
        {
            Ok(id) => Ok(Some(id.0)),
            Err(TrySendError::Full) => Ok(None),
            Err(TrySendError::Send(error)) => Err(not_sent(&error)),
            Err(error) => Err(SendError::new_err((error.to_string(), "other"))),
        }
    }

    /// Queues a datagram when there is room. The operation gives its id.
    #[pyo3(signature = (data, deadline=None, priority=0, group=None, resend=None))]
    fn send(
        &self,
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = deadline_of)] deadline: Option<Duration>,
        #[pyo3(from_py_with = priority_of)] priority: i8,
        #[pyo3(from_py_with = group_of)] group: Option<u64>,
        #[pyo3(from_py_with = resend_of)] resend: Option<Duration>,
    ) -> PyResult<Operation> {
        let options = options(deadline, priority, group, resend);
        let (connection, data) = (self.handle()?, bytes(data)?);
        Ok(Operation::new(
            async move { connection.send_with(data, options).await },
            |_, sent| sent.map(|id| id.0).map_err(|error| not_sent(&error)),
        ))
    }

    /// Queues a message when there is room. The operation gives the ids of its datagrams.
    #[pyo3(signature = (data, deadline=None, priority=0, group=None, resend=None))]
    fn send_message(
        &self,
        data: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = deadline_of)] deadline: Option<Duration>,
        #[pyo3(from_py_with = priority_of)] priority: i8,
        #[pyo3(from_py_with = group_of)] group: Option<u64>,
        #[pyo3(from_py_with = resend_of)] resend: Option<Duration>,
    ) -> PyResult<Operation> {
        let options = options(deadline, priority, group, resend);
        let (connection, data) = (self.handle()?, bytes(data)?);
        Ok(Operation::new(
            async move { connection.send_message(data, options).await },
            |_, sent| match sent {
                Ok(ids) => Ok(ids.into_iter().map(|id| id.0).collect::<Vec<_>>()),
                Err(error) => Err(not_sent(&error)),
            },
        ))
    }

    /// Receives what has arrived, at least one datagram and at most `limit`. The operation gives a list.
    fn recv(&self, limit: usize) -> PyResult<Operation> {
        let connection = self.handle()?;
        let receive = async move {
            let mut received = Vec::new();
            connection.recv_many(&mut received, limit.max(1)).await?;
            Ok(received)
        };
        Ok(Operation::new(receive, |py, received| match received {
            Ok(received) => Ok(received
                .iter()
                .map(|received| Datagram::new(py, received))
                .collect::<Vec<_>>()),
            Err(error) => Err(closed(&error)),
        }))
    }

    /// Waits for fates: at least one and at most `limit`. The operation gives a list; each is the id, the name of the
    /// fate, and the Drop Code if there is one.
    fn fates(&self, limit: usize) -> PyResult<Operation> {
        let connection = self.handle()?;
        let wait = async move {
            let (id, fate) = connection.fate().await?;
            let mut fates = vec![(id.0, named(fate))];
            // Nothing here waits, so cancelling loses none of them.
            while fates.len() < limit
                && let Some(Ok((id, fate))) = now(connection.fate()).await
            {
                fates.push((id.0, named(fate)));
            }
            Ok(fates)
        };
        Ok(Operation::new(wait, |_, fates| match fates {
            Ok(fates) => Ok(fates
                .into_iter()
                .map(|(id, (name, code))| (id, name, code))
                .collect::<Vec<_>>()),
            Err(FateError::Closed(error)) => Err(closed(&error)),
            Err(error) => Err(PyRuntimeError::new_err(error.to_string())),
        }))
    }

    /// Waits for the next event. The operation gives its name and its number, if it has one.
    fn event(&self) -> PyResult<Operation> {
        let connection = self.handle()?;
        Ok(Operation::new(
            async move { connection.event().await },
            |_, event| match event {
                Ok(event) => Ok(described(event)),
                Err(error) => Err(closed(&error)),
            },
        ))
    }

    /// Waits until the target bitrate has changed. The operation gives it as `target_bitrate` does.
    fn rate_changed(&self) -> PyResult<Operation> {
        let connection = self.handle()?;
        Ok(Operation::new(
            async move { connection.rate_changed().await },
            |_, target| match target {
                Ok(target) => Ok(stats::target(target)),
                Err(error) => Err(closed(&error)),
            },
        ))
    }

    /// Sends what is queued and closes, with a code and a text if there is one.
    #[pyo3(signature = (said=None))]
    fn close(&self, said: Option<(u32, String)>) -> PyResult<Operation> {
        let connection = self.handle()?;
        Ok(Operation::new(
            async move {
                match said {
                    Some((code, text)) => connection.close_with(code, &text).await,
                    None => connection.close().await,
                }
            },
            |_, done| done.map_err(|error| closed(&error)),
        ))
    }

    /// Waits for the end. The operation gives the name of the reason.
    fn closed(&self) -> PyResult<Operation> {
        let connection = self.handle()?;
        Ok(Operation::new(
            async move { connection.closed().await },
            |_, why| Ok(reason(&why)),
        ))
    }

    // What follows does not wait.

    #[pyo3(signature = (reason=None))]
    fn abort(&self, reason: Option<&str>) -> PyResult<()> {
        self.io.with(|connection| match reason {
            Some(text) => connection.abort_with(text),
            None => connection.abort(),
        })
    }

    fn purge(&self) -> PyResult<usize> {
        self.io.with(Io::purge)
    }

    fn stop_reading(&self) -> PyResult<()> {
        self.io.with(Io::stop_reading)
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats::dict(py, &self.io.with(Io::stats)?)
    }

    /// In bits per second.
    fn allowed_rate(&self) -> PyResult<Option<u64>> {
        let rate = self.io.with(Io::allowed_rate)?;
        Ok(rate.map(Rate::bits_per_s))
    }

    /// In bits per second, and the name of what limits it.
    fn target_bitrate(&self) -> PyResult<Option<(u64, &'static str)>> {
        let target = self.io.with(Io::target_bitrate)?;
        Ok(target.map(stats::target))
    }

    /// In bits per second.
    fn set_max_rate(&self, rate: Option<u64>) -> PyResult<()> {
        let rate = rate.map(Rate::from_bits_per_s);
        self.io.with(|connection| connection.set_max_rate(rate))
    }

    /// In seconds.
    fn queue_age(&self) -> PyResult<f64> {
        self.io
            .with(|connection| connection.queue_age().as_secs_f64())
    }

    fn waits_for(&self) -> PyResult<&'static str> {
        self.io.with(|connection| match connection.waits_for() {
            Waiting::Window => "window",
            Waiting::Pacing => "pacing",
            Waiting::Peer => "peer",
            _ => "nothing",
        })
    }

    fn max_datagram_size(&self) -> PyResult<usize> {
        self.io.with(Io::max_datagram_size)
    }

    fn service(&self) -> PyResult<String> {
        self.io.with(|connection| connection.service().to_string())
    }

    fn local(&self) -> PyResult<Option<Address>> {
        self.io.with(|connection| connection.local().map(address))
    }

    fn remote(&self) -> PyResult<Option<Address>> {
        self.io.with(|connection| connection.remote().map(address))
    }

    fn is_encrypted(&self) -> PyResult<bool> {
        self.io.with(Io::is_encrypted)
    }

    fn peer_fingerprint(&self) -> PyResult<Option<String>> {
        self.io.with(|connection| {
            let fingerprint = connection.peer_fingerprint();
            fingerprint.map(|fingerprint| fingerprint.to_string())
        })
    }
}

/// Returns what a future has without waiting.
async fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn address(addr: DccpAddr) -> Address {
    let user = addr.user_addr();
    (user.ip().to_string(), user.port(), addr.dccp_port)
}

fn options(
    deadline: Option<Duration>,
    priority: i8,
    group: Option<u64>,
    resend: Option<Duration>,
) -> SendOptions {
    let mut options = SendOptions::new().priority(priority);
    if let Some(time) = deadline {
        options = options.within(time);
    }
    if let Some(group) = group {
        options = options.group(group);
    }
    if let Some(time) = resend {
        options = options.resend_within(time);
    }
    options
}

// Each argument, so that what is wrong with it names it.

fn deadline_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    seconds("deadline", value)
}

fn resend_of(value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    seconds("resend", value)
}

fn priority_of(value: &Bound<'_, PyAny>) -> PyResult<i8> {
    argument("priority is a number from -128 to 127", value)
}

fn group_of(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    argument("group is a number from 0 to 18446744073709551615", value)
}

/// Copies the bytes of an object that has some.
fn bytes(data: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(data) = data.cast::<PyBytes>() {
        return Ok(Bytes::copy_from_slice(data.as_bytes()));
    }
    let Ok(view) = PyMemoryView::from(data) else {
        let kind = data.get_type().name()?;
        let text = format!("data is bytes, a bytearray or a memoryview, and not of type {kind}");
        return Err(PyTypeError::new_err(text));
    };
    let copy = view.call_method0("tobytes")?;
    Ok(Bytes::copy_from_slice(copy.cast::<PyBytes>()?.as_bytes()))
}

fn named(fate: Fate) -> (&'static str, Option<u8>) {
    match fate {
        Fate::Expired => ("expired", None),
        Fate::Refused => ("refused", None),
        Fate::GroupBroken => ("group-broken", None),
        Fate::TooLarge => ("too-large", None),
        Fate::Acknowledged => ("acknowledged", None),
        Fate::Marked => ("marked", None),
        Fate::Lost => ("lost", None),
        Fate::Dropped { code } => ("dropped", Some(code.number())),
        _ => ("sent", None),
    }
}

fn described(event: ConnectionEvent) -> (&'static str, Option<u64>) {
    match event {
        ConnectionEvent::MaxDatagramSize { bytes } => ("max-datagram-size", Some(bytes as u64)),
        ConnectionEvent::Ccid {
            direction: Direction::Send,
            ccid,
        } => ("send-ccid", Some(ccid.number().into())),
        ConnectionEvent::Ccid { ccid, .. } => ("receive-ccid", Some(ccid.number().into())),
        ConnectionEvent::SlowReceiver => ("slow-receiver", None),
        ConnectionEvent::NotListening => ("not-listening", None),
        ConnectionEvent::PathChanged { .. } => ("path-changed", None),
        _ => ("other", None),
    }
}
