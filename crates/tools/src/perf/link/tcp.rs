//! TCP: messages in a stream, each after its length in four bytes.

use std::io;
use std::net::SocketAddr;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use socket2::Type;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;

use super::error::{LinkError, failed};
use crate::perf::PerfError;
use crate::perf::local::{self, Local};
use crate::perf::message::MAX_FRAME;

/// A TCP connection.
#[derive(Debug)]
pub(crate) struct Tcp {
    peer: Option<SocketAddr>,
    read: Mutex<(OwnedReadHalf, BytesMut)>,
    /// The bytes that the system has not accepted yet.
    write: Mutex<(OwnedWriteHalf, BytesMut)>,
}

impl Tcp {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr().ok();
        let (read, write) = stream.into_split();
        Self {
            peer,
            read: Mutex::new((read, BytesMut::new())),
            write: Mutex::new((write, BytesMut::new())),
        }
    }

    /// Connects to the first of the server's addresses that answers.
    pub(crate) async fn connect(
        target: &str,
        addrs: &[SocketAddr],
        local: Option<&Local>,
    ) -> Result<Self, PerfError> {
        let limit = std::time::Duration::from_secs(10);
        let mut last = None;
        let connecting = async {
            for addr in addrs {
                match open(*addr, local).await {
                    Ok(stream) => return Some(stream),
                    Err(error) => last = Some(error),
                }
            }
            None
        };
        match tokio::time::timeout(limit, connecting).await {
            Ok(Some(stream)) => Ok(Self::new(stream)),
            Ok(None) => Err(not_connected(target, last)),
            Err(_) => Err(PerfError::Peer(format!(
                "{target} did not answer within 10s"
            ))),
        }
    }

    /// Sends a message once the previous one has left. Bytes that the system does not accept at once are sent by the
    /// next call. So a cancelled call has sent no part of its message.
    pub(super) async fn send(&self, bytes: &[u8]) -> Result<(), LinkError> {
        let mut guard = self.write.lock().await;
        let (stream, pending) = &mut *guard;
        flush(stream, pending).await?;
        // A longer message never occurs: the options and the reports are bounded.
        let len = u32::try_from(bytes.len()).unwrap_or(MAX_FRAME);
        pending.put_u32(len);
        pending.put_slice(bytes);
        while !pending.is_empty() {
            match stream.try_write(pending) {
                Ok(written) => pending.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(link_error(&error)),
            }
        }
        Ok(())
    }

    pub(super) async fn recv(&self) -> Result<Bytes, LinkError> {
        let mut guard = self.read.lock().await;
        let (stream, buffer) = &mut *guard;
        loop {
            if let Some(message) = next_frame(buffer)? {
                return Ok(message);
            }
            match stream.read_buf(buffer).await {
                Ok(0) => return Err(LinkError("the peer closed the connection".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(link_error(&error)),
            }
        }
    }

    pub(super) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    pub(super) async fn close(&self) {
        let mut guard = self.write.lock().await;
        let (stream, pending) = &mut *guard;
        if flush(stream, pending).await.is_ok() {
            let _ = stream.shutdown().await;
        }
    }
}

async fn open(addr: SocketAddr, local: Option<&Local>) -> io::Result<TcpStream> {
    let socket = local::socket(addr, Type::STREAM, local)?;
    if local.is_some() {
        socket.bind(&local::source(addr, local)?.into())?;
    }
    TcpSocket::from_std_stream(socket.into())
        .connect(addr)
        .await
}

fn not_connected(target: &str, error: Option<io::Error>) -> PerfError {
    let error = error.unwrap_or_else(|| io::ErrorKind::NotFound.into());
    match error.kind() {
        io::ErrorKind::ConnectionRefused => PerfError::Peer(format!(
            "{target} refused: is the server running with --proto tcp, and is the port right?"
        )),
        _ => failed(target, &error),
    }
}

/// Takes the first message from `buffer`. Returns `None` if it is incomplete, and reserves room for the rest.
pub(in crate::perf) fn next_frame(buffer: &mut BytesMut) -> Result<Option<Bytes>, LinkError> {
    let Some(&head) = buffer.first_chunk() else {
        return Ok(None);
    };
    let len = u32::from_be_bytes(head);
    if len > MAX_FRAME {
        return Err(LinkError(
            "the peer does not speak the protocol of fairwire perf".to_owned(),
        ));
    }
    let len = len as usize;
    if buffer.len() < 4 + len {
        buffer.reserve(4 + len - buffer.len());
        return Ok(None);
    }
    buffer.advance(4);
    Ok(Some(buffer.split_to(len).freeze()))
}

async fn flush(stream: &mut OwnedWriteHalf, pending: &mut BytesMut) -> Result<(), LinkError> {
    while !pending.is_empty() {
        stream
            .write_buf(pending)
            .await
            .map_err(|e| link_error(&e))?;
    }
    Ok(())
}

fn link_error(error: &io::Error) -> LinkError {
    LinkError(match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the peer is gone".to_owned(),
        _ => format!("TCP: {error}"),
    })
}
