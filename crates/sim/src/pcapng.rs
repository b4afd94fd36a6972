//! The three blocks of pcapng that a capture needs (draft-ietf-opsawg-pcapng, 4.1 to 4.3), in the machine's byte order.

use std::io::{self, Write};

/// The types of blocks.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

/// The link type of packets that begin with their IP header.
const RAW_IP: u16 = 101;

/// The options of an interface: its name, and the resolution of its timestamps as a power of ten.
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;

/// A writer of one section.
pub(super) struct Pcapng<W> {
    pub(super) out: W,
    /// The body of the current block; the buffer is reused.
    body: Vec<u8>,
}

impl<W: Write> Pcapng<W> {
    /// Writes the section's header.
    pub(super) fn new(out: W) -> io::Result<Self> {
        let mut writer = Self {
            out,
            body: Vec::new(),
        };
        // The byte-order magic, version 1.0, and an unknown length of the section.
        writer.body.extend(0x1a2b_3c4d_u32.to_ne_bytes());
        writer.body.extend(1_u16.to_ne_bytes());
        writer.body.extend(0_u16.to_ne_bytes());
        writer.body.extend((-1_i64).to_ne_bytes());
        writer.block(SECTION)?;
        Ok(writer)
    }

    /// Describes the next interface; the first has number 0.
    pub(super) fn interface(&mut self, name: &str) -> io::Result<()> {
        self.body.extend(RAW_IP.to_ne_bytes());
        // Reserved bytes, and no limit of captured bytes.
        self.body.extend([0; 6]);
        self.option(IF_NAME, name.as_bytes())?;
        self.option(IF_TSRESOL, &[NANOSECONDS])?;
        self.option(0, &[])?;
        self.block(INTERFACE)
    }

    /// Writes a whole packet that was seen at `at`, in nanoseconds.
    pub(super) fn packet(&mut self, interface: u32, at: u64, packet: &[u8]) -> io::Result<()> {
        let length = u32::try_from(packet.len()).map_err(io::Error::other)?;
        let half = |half: u64| u32::try_from(half).map_err(io::Error::other);
        let (high, low) = (half(at >> 32)?, half(at & 0xffff_ffff)?);
        for word in [interface, high, low, length, length] {
            self.body.extend(word.to_ne_bytes());
        }
        self.body.extend(packet);
        self.block(PACKET)
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let length = u16::try_from(value.len()).map_err(io::Error::other)?;
        self.body.extend(code.to_ne_bytes());
        self.body.extend(length.to_ne_bytes());
        self.body.extend(value);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    /// Writes the body as a block of this type and empties it.
    fn block(&mut self, kind: u32) -> io::Result<()> {
        self.pad();
        let length = u32::try_from(self.body.len() + 12).map_err(io::Error::other)?;
        self.out.write_all(&kind.to_ne_bytes())?;
        self.out.write_all(&length.to_ne_bytes())?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&length.to_ne_bytes())?;
        self.body.clear();
        Ok(())
    }
}
