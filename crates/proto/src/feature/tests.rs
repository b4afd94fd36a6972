//! Two negotiations connected through real packet heads, and hostile peers.

mod ccid;
mod hostile;
mod linux;
mod pair;

use fairwire_units::{Duration, Instant};
use fairwire_wire::feature::Feature;
use fairwire_wire::{
    Ccid, DccpOption, Encoder, HeadBuf, Kind, Options, Packet, PacketType, Ports, ResetCode, Seq,
    SeqNo, ServiceCode,
};

use super::{Fatal, Handled, Location, Negotiation, Role};
use crate::config::Config;

const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

fn config(send: &[u8], receive: &[u8]) -> Config {
    let ccids = |numbers: &[u8]| numbers.iter().copied().map(Ccid::new).collect();
    Config {
        send_ccids: ccids(send),
        receive_ccids: ccids(receive),
        ..Config::default()
    }
}

/// One end, with the sequence numbers that negotiation uses.
#[derive(Clone)]
struct End {
    negotiation: Negotiation,
    gss: Seq,
    gsr: Seq,
}

impl End {
    fn new(role: Role, config: &Config) -> Self {
        let iss = match role {
            Role::Client => 1_000,
            Role::Server => 9_000,
        };
        Self {
            negotiation: Negotiation::new(role, config),
            gss: Seq::new(iss),
            gsr: Seq::ZERO,
        }
    }

    /// Writes the next packet's options.
    fn send(&mut self, now: Instant, packet_type: PacketType) -> Vec<u8> {
        self.gss = self.gss.next();
        let mut buf = HeadBuf::new();
        let mut encoder = Encoder::new(
            &mut buf,
            Ports {
                source: 1,
                destination: 2,
            },
            SeqNo::Long(self.gss),
            &kind(packet_type, self.gsr),
            0,
            0,
        );
        self.negotiation
            .write(now, self.gss, packet_type, RTT, &mut encoder)
            .unwrap();
        encoder.finish().as_slice().to_vec()
    }

    /// Processes a received head.
    fn receive(&mut self, head: &[u8]) -> Result<Vec<Handled>, Fatal> {
        let packet = Packet::decode(head).unwrap();
        let seq = packet.seq.long().unwrap();
        let ackno = packet.ack().and_then(SeqNo::long);
        self.receive_options(packet.packet_type(), seq, ackno, packet.options)
    }

    fn receive_options(
        &mut self,
        packet_type: PacketType,
        seq: Seq,
        ackno: Option<Seq>,
        options: Options<'_>,
    ) -> Result<Vec<Handled>, Fatal> {
        if self.gsr == Seq::ZERO || seq.is_after(self.gsr) {
            self.gsr = seq;
        }
        self.negotiation
            .begin_packet(packet_type, seq, ackno, self.gsr, self.gss);
        let mut mandatory = false;
        let mut handled = Vec::new();
        for raw in options {
            let option = raw.decode().unwrap();
            match option {
                DccpOption::Mandatory => mandatory = true,
                DccpOption::Padding => {}
                option => {
                    handled.push(self.negotiation.handle(&option, mandatory)?);
                    mandatory = false;
                }
            }
        }
        self.negotiation.end_packet();
        Ok(handled)
    }

    /// Processes option bytes on an Ack that acknowledges everything, with the next number.
    fn receive_bytes(&mut self, bytes: &[u8]) -> Result<Vec<Handled>, Fatal> {
        let seq = self.gsr.next();
        self.receive_options(PacketType::Ack, seq, Some(self.gss), Options::new(bytes))
    }

    fn current(&self, feature: Feature, location: Location) -> u64 {
        self.negotiation.current(feature, location)
    }
}

fn kind(packet_type: PacketType, acked: Seq) -> Kind {
    let ack = SeqNo::Long(acked);
    let service = ServiceCode(42);
    match packet_type {
        PacketType::Request => Kind::Request { service },
        PacketType::Response => Kind::Response { ack, service },
        PacketType::Data => Kind::Data,
        PacketType::DataAck => Kind::DataAck { ack },
        PacketType::Sync => Kind::Sync { ack },
        PacketType::SyncAck => Kind::SyncAck { ack },
        _ => Kind::Ack { ack },
    }
}

/// Returns the options of a head, without padding.
fn options(head: &[u8]) -> Vec<DccpOption<'_>> {
    Packet::decode(head)
        .unwrap()
        .options
        .iter()
        .map(|raw| raw.decode().unwrap())
        .filter(|option| *option != DccpOption::Padding)
        .collect()
}

/// Exchanges Request, Response and Ack; both ends are then open.
fn shake_hands(client: &mut End, server: &mut End) {
    let request = client.send(at(0), PacketType::Request);
    server.receive(&request).unwrap();
    let response = server.send(at(50), PacketType::Response);
    client.receive(&response).unwrap();
    let ack = client.send(at(100), PacketType::Ack);
    server.receive(&ack).unwrap();
    server.negotiation.on_open();
    client.negotiation.on_open();
}

/// Returns two open ends with default settings.
fn open_pair() -> (End, End) {
    let mut client = End::new(Role::Client, &Config::default());
    let mut server = End::new(Role::Server, &Config::default());
    shake_hands(&mut client, &mut server);
    (client, server)
}
