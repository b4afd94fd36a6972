//! What needs a look inside a session, or numbers that would take a test too long to reach.

mod in_place;
mod nonces;
mod rules;

use fairwire_units::{Duration, Instant};

use super::{MAX_ANSWERS, MAX_FORGED, Output, Session, State};
use crate::provider::HAS_AES;
use crate::record::Suite;
use crate::{ClientConfig, Date, Identity, SealError, ServerConfig, SessionError, Validity};

const TODAY: Date = Date::from_unix_seconds(1_795_000_000);

/// Makes two connected ends, whose keys protect `records_per_key` records, or as many as usual.
fn connected(records_per_key: Option<u64>) -> [Session; 2] {
    let mut ends = begun(records_per_key);
    exchange(&mut ends, Instant::START);
    for end in &ends {
        assert_eq!(end.state, State::Open { sends: true });
    }
    ends
}

/// Makes the same ends before their handshake.
fn begun(records_per_key: Option<u64>) -> [Session; 2] {
    let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
    let mut client = ClientConfig::pinned([identity.fingerprint()]);
    let mut server = ServerConfig::new(identity);
    if let Some(records) = records_per_key {
        client = client.records_per_key(records);
        server = server.records_per_key(records);
    }
    [
        Session::client(&client, 1_400, Instant::START, TODAY).expect("a client"),
        Session::server(&server, 1_400, Instant::START, TODAY).expect("a server"),
    ]
}

/// Delivers what the ends send until they rest, and returns the data that arrive.
fn exchange(ends: &mut [Session; 2], now: Instant) -> Vec<Vec<u8>> {
    let mut data = Vec::new();
    loop {
        let mut idle = true;
        for from in [0, 1] {
            loop {
                match ends[from].poll() {
                    Output::Idle => break,
                    Output::Send(datagram) => {
                        ends[1 - from]
                            .handle_datagram(now, &datagram)
                            .expect("a good peer");
                    }
                    Output::Data(bytes) => data.push(bytes.to_vec()),
                    Output::Connected { .. } | Output::Closed | Output::Check(_) => {}
                }
                idle = false;
            }
        }
        if idle {
            return data;
        }
    }
}

/// An end that only sends replaces its keys before their limit, again and again, and no data are lost.
///
/// RFC 9147, section 8, and RFC 8446, section 5.5.
#[test]
fn keys_are_replaced() {
    let mut ends = connected(Some(4_096));
    let mut epochs = Vec::new();
    for number in 0..40_000_u32 {
        let datagram = ends[0].seal(&number.to_be_bytes()).expect("connected");
        let epoch_bits = datagram[0] & 0b11;
        if epochs.last() != Some(&epoch_bits) {
            epochs.push(epoch_bits);
        }
        ends[1]
            .handle_datagram(Instant::START, &datagram)
            .expect("genuine");
        assert_eq!(exchange(&mut ends, Instant::START), [number.to_be_bytes()]);
    }
    // Each update of the client asks the server for one, too. Epochs begin with 3 and show their two lowest bits.
    assert!(epochs.starts_with(&[3, 0, 1, 2, 3, 0]), "{epochs:?}");
    let datagram = ends[1].seal(b"back").expect("connected");
    assert_ne!(datagram[0] & 0b11, 3, "the server replaced its key, too");
    ends[0]
        .handle_datagram(Instant::START, &datagram)
        .expect("genuine");
    assert_eq!(exchange(&mut ends, Instant::START), [b"back"]);
}

/// If nobody acknowledges a new key, the session goes on with the old one, and fails in the end.
#[test]
fn a_key_that_nobody_acknowledges_ends_the_session() {
    let mut ends = connected(Some(4));
    for _ in 0..100 {
        ends[0].seal(b"data").expect("connected");
    }
    let mut sent = 0;
    let (error, ended) = loop {
        while let Output::Send(_) = ends[0].poll() {
            sent += 1;
        }
        let now = ends[0]
            .next_timeout()
            .expect("it waits for an acknowledgement");
        assert!(now < Instant::START + Duration::from_secs(3_600));
        if let Err(error) = ends[0].handle_timeout(now) {
            break (error, now);
        }
    };
    assert_eq!(error, SessionError::Unacknowledged);
    assert_eq!(sent, 9, "once, and eight times again");
    assert!(ended > Instant::START + Duration::from_secs(300));
}

/// If the acknowledgement of a new key gets lost, the old one goes on and is read, and the announcement that is sent again
/// is acknowledged again (RFC 9147, sections 7 and 8).
#[test]
fn a_lost_acknowledgement_only_delays_a_key() {
    let mut ends = connected(Some(4));
    let mut sealed = 0_u8;
    let mut seal = |ends: &mut [Session; 2], epoch_bits: u8| {
        sealed += 1;
        let datagram = ends[0].seal(&[sealed]).expect("connected");
        assert_eq!(datagram[0] & 0b11, epoch_bits, "{sealed}");
        ends[1]
            .handle_datagram(Instant::START, &datagram)
            .expect("genuine");
        assert_eq!(ends[1].poll(), Output::Data(vec![sealed].into()));
    };
    for _ in 0..4 {
        seal(&mut ends, 3);
    }
    let mut now = Instant::START;
    for times in 0..3 {
        let Output::Send(update) = ends[0].poll() else {
            panic!("no new key");
        };
        ends[1].handle_datagram(now, &update).expect("genuine");
        let Output::Send(acknowledgement) = ends[1].poll() else {
            panic!("no acknowledgement");
        };
        // The first one is followed by the key that it asks for, in the same datagram.
        assert_eq!(acknowledgement.len(), if times == 0 { 40 + 35 } else { 40 });
        assert_eq!(
            (ends[1].poll(), ends[0].poll()),
            (Output::Idle, Output::Idle)
        );
        if times == 2 {
            ends[0]
                .handle_datagram(now, &acknowledgement)
                .expect("genuine");
            break;
        }
        seal(&mut ends, 3);
        now = ends[0].next_timeout().expect("it waits");
        ends[0].handle_timeout(now).expect("it is announced again");
    }
    seal(&mut ends, 0);
    assert_eq!(ends[0].next_timeout(), None);
    assert!(
        ends[1].next_timeout().is_some(),
        "its own key is not acknowledged"
    );
}

/// When a key has protected as many records as its cipher allows and the peer has not acknowledged another, the session
/// ends: nothing more is protected with it (RFC 9147, section 4.5.3).
#[test]
fn a_key_is_not_used_beyond_its_limit() {
    let limit = 30;
    let mut ends = connected(Some(4));
    let channel = ends[0].channel.as_mut().expect("it is connected");
    channel.sending.set_limit(limit);
    let mut sealed = 0;
    let error = loop {
        match ends[0].seal(b"data") {
            Ok(_) => sealed += 1,
            Err(error) => break error,
        }
    };
    // Each record with data is one, and the one that announced the next key.
    assert_eq!(sealed, limit - 1);
    let expected = SessionError::KeyUsedUp { limit };
    assert_eq!(error, SealError::Failed(expected.clone()));
    assert!(expected.to_string().contains("30 records"), "{expected}");
    assert_eq!(ends[0].handle_timeout(Instant::START), Err(expected));
    assert_eq!(ends[0].next_timeout(), None);
}

/// A session ends when more records failed authentication than RFC 9147, section 4.5.3, allows.
#[test]
fn too_many_forgeries_end_a_session() {
    let mut ends = connected(None);
    let mut forged = ends[0].seal(b"genuine").expect("connected").to_vec();
    forged[10] ^= 1;
    let channel = ends[1].channel.as_mut().expect("it is connected");
    channel.receiving.set_forged(MAX_FORGED - 1);
    ends[1]
        .handle_datagram(Instant::START, &forged)
        .expect("the last one");
    let error = SessionError::TooManyForgeries { limit: MAX_FORGED };
    let result = ends[1].handle_datagram(Instant::START, &forged);
    assert_eq!(result, Err(error.clone()));
    assert!(error.to_string().contains("68719476736"), "{error}");
    let result = ends[1].handle_datagram(Instant::START, b"");
    assert_eq!(result, Err(error), "it stays failed");
}

/// A peer that makes an end answer for ever is stopped, and one that replaces its keys now and then is not.
#[test]
fn too_many_answers_end_a_session() {
    let mut ends = connected(Some(1));
    ends[1].answers = MAX_ANSWERS - 3;
    let mut result = Ok(());
    let mut rounds = 0;
    while result.is_ok() {
        rounds += 1;
        ends[0].seal(b"data").expect("connected");
        while let Output::Send(datagram) = ends[0].poll() {
            result = ends[1].handle_datagram(Instant::START, &datagram);
        }
        while let Output::Send(datagram) = ends[1].poll() {
            ends[0]
                .handle_datagram(Instant::START, &datagram)
                .expect("genuine");
        }
    }
    assert_eq!(
        result,
        Err(SessionError::TooManyAnswers { limit: MAX_ANSWERS })
    );
    assert!((2..=4).contains(&rounds), "{rounds}");
}

/// A handshake with more bytes than any honest one has is given up, and so is one of very many records.
#[test]
fn an_endless_handshake_is_given_up() {
    for bytes in [1, 1_000] {
        let config = ClientConfig::pinned([]);
        let mut client = Session::client(&config, 1_400, Instant::START, TODAY).expect("a client");
        // The same part of a server's hello again and again.
        let [high, low] = u16::to_be_bytes(12 + bytes);
        let mut record = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, high, low];
        let [part_high, part_low] = bytes.to_be_bytes();
        record.extend_from_slice(&[2, 0, 8, 0, 0, 0, 0, 0, 0, 0, part_high, part_low]);
        record.resize(record.len() + usize::from(bytes), 0);
        let mut result = Ok(());
        let mut count = 0;
        while result.is_ok() {
            count += 1;
            result = client.handle_datagram(Instant::START, &record);
        }
        assert_eq!(
            result,
            Err(SessionError::HandshakeTooLarge { limit: 256 << 10 })
        );
        assert_eq!(count, (256 << 10) / (record.len() + 64) + 1);
    }
}

/// A panic inside the library ends its session with an error that says so, and nothing else: neither the thread, nor
/// another session. The library is not called again.
#[test]
fn a_panic_of_the_library_ends_one_session() {
    let mut ends = connected(None);
    let config = ClientConfig::pinned([]);
    let mut client = Session::client(&config, 1_400, Instant::START, TODAY).expect("a client");
    while client.poll() != Output::Idle {}
    let result = client.call(|_| -> () { panic!("a bound of {} records", 12) });
    let error = SessionError::Library {
        message: "a bound of 12 records".to_owned(),
    };
    assert_eq!(result, Err(error.clone()));
    assert!(error.to_string().contains("12 records"), "{error}");
    let datagram = ends[1].seal(b"data").expect("the other session goes on");
    let now = Instant::START;
    assert_eq!(client.handle_datagram(now, &datagram), Err(error.clone()));
    assert_eq!(client.handle_timeout(now), Err(error.clone()));
    assert!(client.seal(b"data").is_err());
    let calls = client.stats().calls;
    client.close();
    assert_eq!((client.poll(), client.next_timeout()), (Output::Idle, None));
    assert_eq!(client.stats().calls, calls);
    ends[0].handle_datagram(now, &datagram).expect("genuine");
    assert_eq!(exchange(&mut ends, now), [b"data"]);
}

/// A session that has to check its peer does not connect before it has, whatever the library says.
#[test]
fn nobody_connects_unchecked() {
    let config = ClientConfig::pinned([]);
    let mut client = Session::client(&config, 1_400, Instant::START, TODAY).expect("a client");
    let result = client.connect();
    assert!(
        matches!(result, Err(SessionError::Unproven { .. })),
        "{result:?}"
    );
    assert!(!client.is_connected());
}

/// Sessions have the cipher that is the faster one at the client, and data and new keys pass with each.
#[test]
fn the_client_chooses_the_cipher() {
    for (has_aes, suite) in [(true, Suite::Aes128), (false, Suite::ChaCha20)] {
        HAS_AES.set(Some(has_aes));
        let mut ends = connected(Some(4));
        HAS_AES.set(None);
        for end in &ends {
            assert_eq!(end.secrets.suite, Some(suite));
        }
        for number in 0..20_u8 {
            let from = usize::from(number % 2);
            let datagram = ends[from].seal(&[number]).expect("connected");
            ends[1 - from]
                .handle_datagram(Instant::START, &datagram)
                .expect("genuine");
            assert_eq!(exchange(&mut ends, Instant::START), [[number]]);
        }
    }
}

/// Paths of all widths share few configurations of the library, which takes long to make one.
#[test]
fn paths_share_configurations() {
    let config = ClientConfig::pinned([]);
    let same = |one: usize, two: usize| {
        let [one, two] = [one, two].map(|size| {
            let size = size / crate::config::DATAGRAM_STEP * crate::config::DATAGRAM_STEP;
            config.common.for_library(size)
        });
        std::sync::Arc::ptr_eq(&one, &two)
    };
    assert!(same(300, 310) && same(480, 480));
    assert!(!same(480, 300));
    assert!(same(480, 480), "another size does not replace it");
}
