//! A TCP segment in flight, and its form in a capture.

use std::io;

use etherparse::{IpNumber, TcpHeader, TcpOptionElement};
use fairwire_tcp::TcpSegment;

use super::super::content::{Content, Parts};

/// A TCP segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TcpPacket(pub(super) TcpSegment);

impl Content for TcpPacket {
    fn protocol(&self) -> IpNumber {
        IpNumber::TCP
    }

    fn counted(&self) -> &'static str {
        "tcp"
    }

    fn write(&self, packet: &Parts<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        let segment = &self.0;
        let mut header = TcpHeader::new(
            packet.port,
            packet.port,
            segment.seq_field(),
            segment.window_field(),
        );
        header.syn = segment.flags.syn;
        header.ack = segment.flags.ack;
        header.psh = segment.flags.psh;
        header.ece = segment.flags.ece;
        header.cwr = segment.flags.cwr;
        header.acknowledgment_number = segment.ack_field();
        let mut options = Vec::new();
        if segment.flags.syn {
            options.extend([
                TcpOptionElement::MaximumSegmentSize(segment.mss),
                TcpOptionElement::WindowScale(segment.window_shift),
                TcpOptionElement::Noop,
            ]);
            if segment.sack_permitted && segment.timestamps.is_some() {
                options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
            } else if segment.sack_permitted {
                let noop = TcpOptionElement::Noop;
                let permitted = TcpOptionElement::SelectiveAcknowledgementPermitted;
                options.extend([noop.clone(), noop, permitted]);
            }
        } else {
            let mut blocks = segment.sack_fields();
            if let Some(first) = blocks.next() {
                let rest = [blocks.next(), blocks.next(), None];
                let sack = TcpOptionElement::SelectiveAcknowledgement(first, rest);
                options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, sack]);
            }
        }
        if let Some(stamps) = segment.timestamps {
            let beside_sack = segment.flags.syn && segment.sack_permitted;
            if !beside_sack {
                options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop]);
            }
            options.push(TcpOptionElement::Timestamp(stamps.value, stamps.echo));
        }
        header.set_options(&options).map_err(io::Error::other)?;
        let start = out.len();
        packet.write_payload(out);
        header.checksum = header
            .calc_checksum_ipv4(packet.ip, &out[start..])
            .map_err(io::Error::other)?;
        out.splice(start..start, header.to_bytes());
        Ok(())
    }
}
