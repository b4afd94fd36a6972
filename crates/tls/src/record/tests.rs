//! Records against computations of others, and against themselves.

use super::{OVERHEAD, Opened, Opener, Sealer, Secret, Suite, Unopened, sealed};
use crate::head::{DATA, HAS_LONG_NUMBER, LONGEST_CONTENT};
use crate::record::window::SIZE;

const ALL: [Suite; 3] = [Suite::Aes128, Suite::Aes256, Suite::ChaCha20];

/// What another implementation derives from secrets of bytes 0x42, and the records of all suites that it makes with them:
/// number 0x12345 of epoch 3, with the data "hello".
const KEY: &str = "bd5a5f56d8760d45a3db2a6bcacdcf36";
const NEXT_IV: &str = "5b6b9bef368128150a0cbd44";
const SN_384: &str = "4f68a304be25e2a5845f2fc0a3c5b4dd1cc0cc126d94ee8f27ae133e47fd3618";
const RECORDS: [&str; 3] = [
    "2fdb080016782d8bf4b92f8ff0d72c07c3e1b398953c2f9da47ade",
    "2fb16d00167b16ade107212a209cc78fe2c869517a42af0970aeb0",
    "2f539500169e4b7ccdb2e52ef62f4968e6b8fb02f31027e72dafac",
];

/// A secret that nobody else has, so that its nonces are its own.
fn secret(suite: Suite, name: &str) -> Secret {
    let length = if suite == Suite::Aes256 { 48 } else { 32 };
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize(length, 7);
    Secret::new(&bytes)
}

fn ends(suite: Suite, name: &str) -> (Sealer, Opener) {
    let mut secret = secret(suite, name);
    let opener = Opener::new(suite, &secret, 3);
    (Sealer::new(suite, &mut secret, 3), opener)
}

/// Opens a copy of a record, and returns its content, too.
fn open(opener: &mut Opener, record: &[u8]) -> Result<(Opened, Vec<u8>), Unopened> {
    let mut copy = record.to_vec();
    let opened = opener.open(&mut copy)?;
    assert_eq!(copy[0], record[0], "its header stays");
    let content = copy[opened.content.clone()].to_vec();
    Ok((opened, content))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    digits.chunks(2).map(|pair| byte(pair).unwrap()).collect()
}

/// Secrets expand as another implementation computes it: Python's `hmac` with the labels of RFC 9147, section 5.9.
#[test]
fn secrets_expand_as_elsewhere() {
    let mut secret = Secret::new(&[0x42; 32]);
    let mut key = [0; 16];
    secret.expand("key", &mut key);
    assert_eq!(key[..], bytes(KEY)[..]);
    let mut iv = [0; 12];
    secret.advance();
    secret.expand("iv", &mut iv);
    assert_eq!(iv[..], bytes(NEXT_IV)[..]);
    let mut key = [0; 32];
    Secret::new(&[0x42; 48]).expand("sn", &mut key);
    assert_eq!(key[..], bytes(SN_384)[..]);
}

/// Records of all suites have the bytes that another implementation computes (Python's `cryptography`, from RFC 8446,
/// section 5.2, and RFC 9147, sections 4 and 4.2.3).
#[test]
fn records_are_those_of_elsewhere() {
    for (suite, expected) in ALL.into_iter().zip(RECORDS) {
        let length = if suite == Suite::Aes256 { 48 } else { 32 };
        let mut secret = Secret::new(&vec![0x42; length]);
        let mut sealer = Sealer::new(suite, &mut secret, 3);
        sealer.next = 0x1_2345;
        let record = sealer.seal(DATA, b"hello").expect("a key");
        assert_eq!(record[..], bytes(expected)[..], "{suite:?}");
    }
}

/// What is sealed is opened once: any length, with any header that RFC 9147, section 4, allows, and with padding.
#[test]
fn what_is_sealed_is_opened() {
    for suite in ALL {
        let (mut sealer, mut opener) = ends(suite, "what is sealed");
        for length in [0, 1, 100, 1_200, LONGEST_CONTENT] {
            let content = vec![5; length];
            let record = sealer.seal(DATA, &content).expect("a key");
            assert_eq!(record.len(), length + OVERHEAD);
            let (opened, read) = open(&mut opener, &record).expect("genuine");
            assert_eq!((opened.kind, read), (DATA, content));
            assert_eq!(open(&mut opener, &record), Err(Unopened::Useless), "a copy");
        }
        assert_eq!(sealer.seal(DATA, &vec![0; LONGEST_CONTENT + 1]), None);
        for flags in [0x23, 0x27, 0x2b, 0x2f] {
            let record = shaped(&mut sealer, flags, b"data\x17\0\0\0");
            let (opened, read) = open(&mut opener, &record).expect("genuine");
            assert_eq!((opened.kind, &read[..]), (DATA, &b"data"[..]));
        }
        let zeros = shaped(&mut sealer, 0x2f, &[0; 40]);
        let (opened, read) = open(&mut opener, &zeros).expect("genuine");
        assert_eq!((opened.kind, read.len()), (0, 0), "no type");
        for length in 0..18 {
            let mut short = vec![0x2b; length];
            assert!(open(&mut opener, &short).is_err());
            short.extend([0x23; 17]);
            assert!(open(&mut opener, &short).is_err());
        }
    }
}

/// Makes the record with the next number that has these flags and this inner content.
fn shaped(sealer: &mut Sealer, flags: u8, inner: &[u8]) -> Vec<u8> {
    use aws_lc_rs::aead::{Aad, Nonce};
    let number = sealer.next;
    sealer.next += 1;
    let [.., high, low] = number.to_be_bytes();
    let mut header = vec![flags];
    if flags & HAS_LONG_NUMBER != 0 {
        header.push(high);
    }
    header.push(low);
    let numbers = header.len();
    if flags & 0b100 != 0 {
        let length = u16::try_from(inner.len() + 16).expect("short");
        header.extend(length.to_be_bytes());
    }
    let mut text = inner.to_vec();
    let nonce = Nonce::assume_unique_for_key(sealer.cipher.nonce(number));
    let key = &sealer.cipher.records;
    key.seal_in_place_append_tag(nonce, Aad::from(&header[..]), &mut text)
        .expect("a key");
    sealer.cipher.mask(&mut header[1..numbers], &text[..16]);
    [header, text].concat()
}

/// Each changed bit is seen, and changes nothing: the record itself is still opened.
#[test]
fn what_is_changed_is_not_opened() {
    for suite in ALL {
        let (mut sealer, mut opener) = ends(suite, "what is changed");
        let record = sealer.seal(DATA, b"data").expect("a key");
        for bit in 8..record.len() * 8 {
            let mut forged = record.to_vec();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                open(&mut opener, &forged),
                Err(Unopened::Forged),
                "{suite:?} {bit}"
            );
            assert_eq!(opener.look_into(&mut forged), Err(Unopened::Forged));
        }
        assert!(
            opener.look_into(&mut record.to_vec()).is_ok(),
            "looked at only"
        );
        assert!(open(&mut opener, &record).is_ok());
    }
}

/// RFC 9147, 4.5.1: a record that is as late as the window has numbers is opened, and a later one is not.
#[test]
fn records_may_be_late() {
    let (mut sealer, mut opener) = ends(Suite::ChaCha20, "late");
    let records: Vec<_> = (0..SIZE + 2)
        .map(|_| sealer.seal(DATA, b"").expect("a key"))
        .collect();
    let last = records.last().expect("the last one");
    assert!(open(&mut opener, last).is_ok());
    assert_eq!(open(&mut opener, &records[0]), Err(Unopened::Useless));
    assert_eq!(
        open(&mut opener, &records[1]),
        Err(Unopened::Useless),
        "just outside"
    );
    for record in records[2..records.len() - 1].iter().rev() {
        assert!(open(&mut opener, record).is_ok());
        assert_eq!(open(&mut opener, record), Err(Unopened::Useless), "a copy");
    }
}

/// Numbers go on across the wrap of their two bytes, up to the limit of the key.
#[test]
fn numbers_end() {
    let (mut sealer, mut opener) = ends(Suite::ChaCha20, "numbers end");
    for next in [0, 0xfffe, 0x1_7000, 0x1_e000, 0x1_fff8] {
        sealer.next = next;
        for _ in 0..20 {
            let record = sealer.seal(DATA, b"").expect("a key");
            assert!(open(&mut opener, &record).is_ok(), "{next}");
        }
    }
    for suite in ALL {
        let (mut sealer, _) = ends(suite, "the last number");
        let limit = if suite == Suite::ChaCha20 {
            (1 << 48) - 1
        } else {
            1 << 24
        };
        assert_eq!(sealer.limit(), limit);
        sealer.next = limit - 1;
        assert!(sealer.seal(DATA, b"").is_some());
        for _ in 0..2 {
            assert_eq!(sealer.seal(DATA, b""), None);
            assert_eq!(sealer.sealed(), limit);
        }
    }
}

/// The memory of nonces panics at the second use of one.
#[test]
#[should_panic(expected = "a nonce is used twice")]
fn nonces_are_remembered() {
    let (mut sealer, _) = ends(Suite::Aes128, "nonces");
    sealer.seal(DATA, b"").expect("a key");
    assert!(sealed::count() > 0);
    sealer.next = 0;
    sealer.seal(DATA, b"");
}
