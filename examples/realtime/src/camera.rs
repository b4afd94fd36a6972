//! The encoder: frames whose sizes follow a bitrate, cut into datagrams.
//!
//! It is a model. Every fiftieth frame is a key frame, four times as large as the mean. Sizes vary by up to a fifth, by
//! the random stream "encoder", so every contender has the same encoder for the same seed.

use fairwire::emulated::net::{Stream, Streams};
use fairwire::{Bytes, Rate};

use crate::FRAME_INTERVAL;

/// A key frame comes every two seconds.
const KEY_INTERVAL: u32 = 50;
/// The size of a key frame, relative to the mean.
const KEY_WEIGHT: f64 = 4.0;
/// By how much a frame's size varies at most, relative to itself.
const VARIATION: f64 = 0.2;
/// The largest datagram, bytes. Both transports take it on a path of 1,280 bytes and more.
const DATAGRAM: usize = 1_100;
/// The header of a datagram, bytes.
const HEADER: usize = 20;

/// The source of frames.
pub struct Camera {
    next: u32,
    noise: Stream,
}

/// A frame, cut into datagrams.
pub struct Frame {
    pub number: u32,
    pub parts: Vec<Bytes>,
}

/// The header of a datagram.
#[derive(Clone, Copy)]
pub struct Part {
    pub frame: u32,
    pub part: u16,
    pub parts: u16,
    /// When the frame was captured, nanoseconds since the start of the run.
    pub captured_ns: u64,
    /// The size of the whole datagram, bytes.
    pub size: usize,
}

impl Camera {
    pub fn new(seed: u64) -> Self {
        Self {
            next: 0,
            noise: Streams::new(seed).stream("encoder"),
        }
    }

    /// Encodes the next frame at this bitrate.
    pub fn frame(&mut self, captured_ns: u64, bitrate: Rate) -> Frame {
        let number = self.next;
        self.next += 1;
        let weight = if number.is_multiple_of(KEY_INTERVAL) {
            KEY_WEIGHT
        } else {
            (f64::from(KEY_INTERVAL) - KEY_WEIGHT) / f64::from(KEY_INTERVAL - 1)
        };
        let varied = 1.0 + VARIATION * (2.0 * self.noise.uniform() - 1.0);
        let mean = bitrate.bytes_per_s() * FRAME_INTERVAL.as_secs_f64();
        let bytes = (mean * weight * varied) as usize;
        let count = bytes.div_ceil(DATAGRAM - HEADER).clamp(1, u16::MAX.into());
        let share = bytes / count;
        let parts = (0..count).map(|part| {
            let mut datagram = Vec::with_capacity(HEADER + share);
            datagram.extend_from_slice(&number.to_be_bytes());
            datagram.extend_from_slice(&(part as u16).to_be_bytes());
            datagram.extend_from_slice(&(count as u16).to_be_bytes());
            datagram.extend_from_slice(&captured_ns.to_be_bytes());
            datagram.resize(HEADER + share, 0);
            datagram.into()
        });
        Frame {
            number,
            parts: parts.collect(),
        }
    }

    /// Returns how many frames were captured.
    pub fn frames(&self) -> u32 {
        self.next
    }
}

impl Part {
    /// Reads a datagram; `None` if it is not one of ours.
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let (frame, rest) = datagram.split_first_chunk()?;
        let (part, rest) = rest.split_first_chunk()?;
        let (parts, rest) = rest.split_first_chunk()?;
        let captured_ns = rest.first_chunk()?;
        Some(Self {
            frame: u32::from_be_bytes(*frame),
            part: u16::from_be_bytes(*part),
            parts: u16::from_be_bytes(*parts),
            captured_ns: u64::from_be_bytes(*captured_ns),
            size: datagram.len(),
        })
    }
}
