//! BoringSSL on a DCCP connection: its datagrams are our datagrams.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use boring::ssl::{ErrorCode, HandshakeError, MidHandshakeSslStream, SslStream};
use bytes::Bytes;
use fairwire::Connection;

use crate::Failure;

/// The datagrams that wait on either side of BoringSSL, which reads and writes one at a time.
#[derive(Debug, Default)]
pub struct Queues {
    arrived: VecDeque<Bytes>,
    leaving: VecDeque<Bytes>,
}

impl Read for Queues {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let datagram = self.arrived.pop_front();
        let datagram = datagram.ok_or(io::ErrorKind::WouldBlock)?;
        let fits = datagram.len().min(buffer.len());
        buffer[..fits].copy_from_slice(&datagram[..fits]);
        Ok(fits)
    }
}

impl Write for Queues {
    fn write(&mut self, datagram: &[u8]) -> io::Result<usize> {
        self.leaving.push_back(Bytes::copy_from_slice(datagram));
        Ok(datagram.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A BoringSSL session over a DCCP connection in clear text.
pub struct Boring {
    stream: SslStream<Queues>,
    connection: Connection,
}

impl Boring {
    /// Does the handshake.
    pub async fn shake_hands(
        connection: Connection,
        mut handshake: MidHandshakeSslStream<Queues>,
    ) -> Result<Self, Failure> {
        loop {
            let mut middle = match handshake.handshake() {
                Ok(mut stream) => {
                    send_all(&connection, stream.get_mut()).await?;
                    return Ok(Self { stream, connection });
                }
                Err(HandshakeError::WouldBlock(middle)) => middle,
                Err(HandshakeError::Failure(mut middle)) => {
                    let error = middle.error().to_string();
                    send_all(&connection, middle.get_mut()).await?;
                    return Err(error.into());
                }
                Err(HandshakeError::SetupFailure(error)) => return Err(error.into()),
            };
            send_all(&connection, middle.get_mut()).await?;
            let received = connection.recv().await?;
            middle.get_mut().arrived.push_back(received.data);
            handshake = middle;
        }
    }

    /// Sends one datagram of data.
    pub async fn send(&mut self, data: &[u8]) -> Result<(), Failure> {
        self.stream.write_all(data)?;
        send_all(&self.connection, self.stream.get_mut()).await
    }

    /// Waits for one datagram of data; `None` once the peer has announced its end.
    pub async fn recv(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut buffer = vec![0; 2_048];
        loop {
            let read = self.stream.ssl_read(&mut buffer);
            send_all(&self.connection, self.stream.get_mut()).await?;
            match read {
                Ok(len) => {
                    buffer.truncate(len);
                    return Ok(Some(buffer));
                }
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => return Ok(None),
                Err(error) if error.code() == ErrorCode::WANT_READ => {}
                Err(error) => return Err(error.into()),
            }
            let received = self.connection.recv().await?;
            self.stream.get_mut().arrived.push_back(received.data);
        }
    }

    /// Announces the end and closes the connection.
    pub async fn close(mut self) -> Result<(), Failure> {
        self.stream.shutdown()?;
        send_all(&self.connection, self.stream.get_mut()).await?;
        self.connection.close().await?;
        Ok(())
    }

    /// Returns what was agreed on.
    pub fn words(&self) -> String {
        let ssl = self.stream.ssl();
        let cipher = ssl
            .current_cipher()
            .map_or("no cipher", |cipher| cipher.name());
        format!("{} {cipher}", ssl.version_str())
    }
}

async fn send_all(connection: &Connection, queues: &mut Queues) -> Result<(), Failure> {
    while let Some(datagram) = queues.leaving.pop_front() {
        connection.send(datagram).await?;
    }
    Ok(())
}
