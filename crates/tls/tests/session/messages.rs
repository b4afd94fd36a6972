//! Messages of several datagrams on an encrypted connection (`docs/messages.md`).

use bytes::Bytes;
use fairwire_proto::{Config, EndpointConfig, Resend, SendError, SendOptions};
use fairwire_units::Duration;

use crate::ends::{Both, config, dtls};
use crate::net::{CLIENT, SERVER};

fn with_messages(resend: bool) -> Config {
    let mut config = config();
    (config.messages, config.resend) = (true, resend);
    config
}

fn send(ends: &mut Both, data: &[u8], options: SendOptions) -> Result<usize, SendError> {
    let (now, id) = (ends.now, ends.id(CLIENT));
    let data = Bytes::copy_from_slice(data);
    let sent = ends.ends[CLIENT].send_message(now, id, &data, options);
    sent.map(|ids| ids.len())
}

/// Messages arrive whole, whether lost datagrams are sent again or not, and none is readable on the path.
#[test]
fn messages_arrive_whole() {
    for resend in [false, true] {
        let mut ends = Both::secured(with_messages(resend));
        let begun = ends.sent[CLIENT].len();
        ends.loses = Box::new(move |from, number, _| {
            resend && from == CLIENT && number > begun && number % 7 == 0
        });
        let mut options = SendOptions::default();
        if resend {
            options.resend = Resend::Until(ends.now + Duration::from_secs(9));
        }
        let sent: Vec<Vec<u8>> = [100, 3_000, 65_536]
            .into_iter()
            .map(|size| b"secret".iter().copied().cycle().take(size).collect())
            .collect();
        for message in &sent {
            send(&mut ends, message, options).expect("there is room");
        }
        ends.run_for(Duration::from_secs(10));
        let mut read = ends.data(SERVER);
        read.sort_by_key(Vec::len);
        assert_eq!(read, sent, "{resend}");
        let is_clear = |packet: &Vec<u8>| packet.windows(6).any(|part| part == b"secret");
        assert!(!ends.sent[CLIENT].iter().any(is_clear));
    }
}

/// A lost part leaves nothing of its message to be read.
#[test]
fn a_missing_part_takes_the_message_with_it() {
    let mut ends = Both::secured(with_messages(false));
    let lost = ends.sent[CLIENT].len() + 2;
    ends.loses = Box::new(move |from, number, _| from == CLIENT && number == lost);
    send(&mut ends, &vec![7; 20_000], SendOptions::default()).expect("there is room");
    send(&mut ends, b"next", SendOptions::default()).expect("there is room");
    ends.run_for(Duration::from_secs(20));
    assert_eq!(ends.data(SERVER), [b"next"]);
    let stats = ends.ends[SERVER]
        .stats(ends.id(SERVER))
        .expect("a connection");
    assert_eq!(stats.incomplete_messages, 1);
}

/// Both ends have to want it: the agreement is inside the session as well.
#[test]
fn both_ends_have_to_agree() {
    for (client, server) in [(true, false), (false, true), (false, false)] {
        let mut configs = [config(), config()];
        (configs[CLIENT].messages, configs[SERVER].messages) = (client, server);
        let mut ends = Both::encrypted(dtls(), configs, EndpointConfig::default());
        ends.run_for(Duration::from_secs(3));
        let refused = send(&mut ends, &vec![7; 20_000], SendOptions::default());
        assert_eq!(refused, Err(SendError::MessagesNotAgreed));
        // Sending again is agreed on all the same.
        let mut options = SendOptions::default();
        options.resend = Resend::Until(ends.now + Duration::from_secs(9));
        assert_eq!(send(&mut ends, b"small", options), Ok(1));
        ends.run_for(Duration::from_secs(1));
        assert_eq!(ends.data(SERVER), [b"small"]);
    }
}
