//! Telemetry of a vehicle: the newest sample matters, an old one does not.
//!
//! The vehicle sends samples with [`report`], and the ground reads them with [`Monitor::next`]. The vehicle sends fewer
//! samples when the network carries less, so that samples do not grow old in a queue. The ground notices when it hears
//! nothing.
//!
//! All time is `tokio::time`, so that tests can pause it.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use fairwire::{
    Config, Connection, ConnectionClosed, QueuePolicy, SendError, ServiceCode, TrySendError,
};
use tokio::time::{Instant, sleep_until, timeout};

/// The service that the ground offers.
pub const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"tele");

/// The shortest time between two samples.
pub const FASTEST: Duration = Duration::from_millis(20);
/// The longest time between two samples.
pub const SLOWEST: Duration = Duration::from_millis(400);
/// The silence after which the ground stops trusting the last sample.
pub const SILENCE: Duration = Duration::from_millis(1_000);

/// The bytes of a sample: its number, its time, and 180 bytes of readings.
pub const SAMPLE: usize = 192;

/// Returns the configuration for both sides: two samples may wait, and a newer one replaces the oldest.
pub fn config() -> Config {
    let mut config = Config::default();
    config.send_queue.packets = 2;
    config.send_queue.policy = QueuePolicy::DropOldest;
    config
}

/// Reads the vehicle's instruments and reports them until `end`. Returns how many samples were sent.
///
/// Before each sample, the number of waiting ones tells whether the network keeps up. If not, the next sample is due
/// later; otherwise a little sooner.
pub async fn report(connection: &Connection, epoch: Instant, end: Instant) -> u32 {
    let mut interval = FASTEST;
    let mut due = Instant::now();
    let mut number = 0;
    while due < end {
        sleep_until(due).await;
        // Before the next sample is queued: what waits now was left behind.
        let keeps_up = connection.stats().queued_packets == 0;
        match connection.try_send(sample(number, due - epoch)) {
            Ok(_) => number += 1,
            Err(TrySendError::Send(SendError::Closed(_))) => break,
            Err(_) => {}
        }
        interval = if keeps_up {
            (interval * 15 / 16).max(FASTEST)
        } else {
            (interval * 2).min(SLOWEST)
        };
        due += interval;
    }
    number
}

fn sample(number: u32, time: Duration) -> Bytes {
    let mut sample = BytesMut::with_capacity(SAMPLE);
    sample.put_u32(number);
    sample.put_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    sample.resize(SAMPLE, 0);
    sample.freeze()
}

/// What the ground learns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard {
    /// A sample: its number, and when it was taken, after the epoch of the vehicle.
    Sample { number: u32, taken: Duration },
    /// Nothing came for [`SILENCE`].
    Silence,
}

/// The ground's end.
#[derive(Debug)]
pub struct Monitor {
    connection: Connection,
}

impl Monitor {
    /// Listens to a vehicle.
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// Waits for the next sample, at most for [`SILENCE`].
    ///
    /// # Errors
    /// The end of the connection.
    pub async fn next(&mut self) -> Result<Heard, ConnectionClosed> {
        loop {
            let Ok(received) = timeout(SILENCE, self.connection.recv()).await else {
                return Ok(Heard::Silence);
            };
            if let Some(sample) = parse(&received?.data) {
                return Ok(sample);
            }
        }
    }
}

fn parse(data: &[u8]) -> Option<Heard> {
    let (number, rest) = data.split_first_chunk()?;
    let micros = rest.first_chunk()?;
    Some(Heard::Sample {
        number: u32::from_be_bytes(*number),
        taken: Duration::from_micros(u64::from_be_bytes(*micros)),
    })
}
