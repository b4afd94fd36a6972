//! The whole packets at the beginning of an incomplete capture.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// The type of a block of pcapng and its length, both of 4 bytes. The length is repeated at the end of the block.
const HEAD: usize = 8;

/// Returns how many bytes of `capture`, a file that we began to write, hold whole packets. What follows is a part of one.
///
/// # Errors
/// If it cannot be read.
pub fn whole_packets(capture: impl Read + Seek) -> io::Result<u64> {
    let mut capture = BufReader::new(capture);
    let end = capture.seek(SeekFrom::End(0))?;
    capture.rewind()?;
    let mut whole = 0;
    while end - whole >= HEAD as u64 {
        let mut head = [0; HEAD];
        capture.read_exact(&mut head)?;
        let [_, _, _, _, length @ ..] = head;
        let length = u64::from(u32::from_ne_bytes(length));
        if length < HEAD as u64 || whole + length > end {
            break;
        }
        whole += length;
        capture.seek_relative((length - HEAD as u64).cast_signed())?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::io::Cursor;

    use pcap_file::DataLink;
    use pcap_file::pcapng::PcapNgWriter;
    use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock;
    use pcap_file::pcapng::blocks::simple_packet::SimplePacketBlock;

    use super::whole_packets;

    /// Wherever a capture is cut off, all blocks before that place are whole.
    #[test]
    fn a_cut_capture_has_whole_packets() {
        let mut writer = PcapNgWriter::new(Vec::new()).expect("writes");
        let mut ends = vec![0, writer.get_ref().len()];
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![],
        };
        writer.write_pcapng_block(interface).expect("writes");
        ends.push(writer.get_ref().len());
        for length in [1, 40, 999] {
            let packet = SimplePacketBlock {
                original_len: length,
                data: Cow::Owned(vec![7; length as usize]),
            };
            writer.write_pcapng_block(packet).expect("writes");
            ends.push(writer.get_ref().len());
        }
        let all = writer.into_inner();
        for cut in 0..=all.len() {
            let whole = ends
                .iter()
                .rfind(|end| **end <= cut)
                .expect("the beginning");
            assert_eq!(
                whole_packets(Cursor::new(&all[..cut])).expect("reads"),
                *whole as u64,
                "{cut}"
            );
        }
    }
}
