//! Init Cookies (RFC 4340, section 8.1.4): the client keeps the state that a listener would otherwise keep.
//!
//! A cookie contains the parts of the Request that the connection depends on, and the time when the Request arrived.
//! When the listener repeats the first steps of the connection with these, it produces the same Response, agreed
//! features included. So the cookie need not contain anything of the Response. A keyed hash over the cookie and the
//! flow proves that we issued it, that it is unchanged, and that it comes from the same client.

use fairwire_units::{Duration, Instant};
use fairwire_wire::{DccpOption, Options, RawOption, Seq, ServiceCode, option_type};

use super::secret::Secret;
use crate::flow::Flow;

/// The lifetime of a cookie, and the interval at which the key changes.
///
/// A client repeats its Ack after 0.2, 0.4, ... seconds, so at least five of them fit into it. After this time an old
/// copy of a cookie cannot begin a connection.
pub(super) const LIFETIME: Duration = Duration::from_secs(64);

/// The largest total size of the cookie options of one packet, bytes.
///
/// It is half a header on the smallest path (see `keep_cookie`), so that a Fairwire client can echo all that we send.
pub(super) const MAX_OPTIONS: usize = 264;

/// The largest number of data bytes in one option.
const MAX_DATA: usize = 253;

/// Bytes of an option before its data.
const OPTION_HEAD: usize = 2;

/// Bytes of the time within the lifetime of a key.
const TIME: usize = 5;

/// Bytes of the hash. A guess is right once in 2^112.
const HASH: usize = 14;

/// Fixed part, bytes: key number and data flag, time, sequence number, Service Code, hash.
///
/// With it the Response to a Request of the smallest size, 20 bytes, is three times as long as the Request.
const FIXED: usize = 1 + TIME + 6 + 4 + HASH;

/// The flag of a Request with data, in the byte of the key number.
const HAD_DATA: u8 = 0x80;

/// The parts of the first Request that a connection depends on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Request {
    /// When it arrived.
    pub(super) at: Instant,
    pub(super) seq: Seq,
    pub(super) service: ServiceCode,
    /// Whether it carried data, which is not kept.
    pub(super) data: bool,
    /// Its options without padding.
    pub(super) options: Vec<u8>,
}

/// What a cookie is bound to, apart from its contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding<'a> {
    pub(super) secret: &'a Secret,
    pub(super) flow: &'a Flow,
    /// The number of the listener.
    ///
    /// It distinguishes successive listeners on one port: another configuration could have given another answer.
    pub(super) listener: u64,
}

/// Returns the options of a packet without padding and without the checksum of data that are not kept.
///
/// `None` if they are too long for a cookie.
pub(super) fn options_to_keep(options: Options<'_>) -> Option<Vec<u8>> {
    let mut walk = options.iter();
    let mut kept = keep(walk.by_ref())?;
    // An undecodable rest ends the options, and may have to be answered.
    kept.extend_from_slice(walk.remainder());
    let len = FIXED + kept.len();
    (len + OPTION_HEAD * len.div_ceil(MAX_DATA) <= MAX_OPTIONS).then_some(kept)
}

/// Copies the options to keep; `None` as soon as they are too long.
///
/// It visits each option once, because a Request may consist of padding.
fn keep<'a>(options: impl Iterator<Item = RawOption<'a>>) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    // Number of consecutive Mandatory options just before this one.
    let mut mandatory = 0u32;
    for raw in options {
        let of_data = matches!(raw.decode(), Ok(DccpOption::DataChecksum(_)));
        if raw.option_type == option_type::PADDING || of_data {
            // RFC 4340, 5.8.2: a Mandatory option before Padding is treated as Padding. Two Mandatory options in a row
            // end the connection, whatever follows them.
            if mandatory == 1 {
                kept.pop();
                mandatory = 0;
            }
            continue;
        }
        kept.push(raw.option_type);
        mandatory = match raw.option_type {
            option_type::MANDATORY => mandatory + 1,
            _ => 0,
        };
        if raw.option_type >= option_type::FIRST_WITH_LENGTH {
            kept.push(u8::try_from(OPTION_HEAD + raw.data.len()).ok()?);
            kept.extend_from_slice(raw.data);
        }
        if kept.len() > MAX_OPTIONS {
            return None;
        }
    }
    Some(kept)
}

/// Returns the cookie options for `request`, ready to send.
pub(super) fn seal(binding: Binding<'_>, request: &Request) -> Vec<u8> {
    let period = period(request.at);
    let keys = binding.secret.cookie_keys(period);
    let hash = hash(binding, keys.hash, request);
    // The time is masked with a value derived from the hash, so that nobody can read our clock.
    let time = (request.at.as_nanos() % LIFETIME.as_nanos()) ^ keys.mask(&hash);
    let data = if request.data { HAD_DATA } else { 0 };
    let mut cookie = Vec::with_capacity(MAX_OPTIONS);
    cookie.push(tag(period) | data);
    cookie.extend(&time.to_be_bytes()[8 - TIME..]);
    cookie.extend(&request.seq.get().to_be_bytes()[2..]);
    cookie.extend(request.service.0.to_be_bytes());
    cookie.extend(hash);
    cookie.extend(&request.options);
    let mut options = Vec::with_capacity(MAX_OPTIONS);
    for data in cookie.chunks(MAX_DATA) {
        let len = OPTION_HEAD + data.len();
        options.extend([
            option_type::INIT_COOKIE,
            u8::try_from(len).unwrap_or(u8::MAX),
        ]);
        options.extend(data);
    }
    options
}

/// Returns the cookie in the options of a packet, its parts joined in order; `None` if there is none.
pub(super) fn collect(options: Options<'_>) -> Option<Vec<u8>> {
    let mut cookie = None;
    for raw in options {
        if raw.option_type == option_type::INIT_COOKIE {
            let cookie: &mut Vec<u8> = cookie.get_or_insert_default();
            if cookie.len() <= MAX_OPTIONS {
                cookie.extend(raw.data);
            }
        }
    }
    cookie
}

/// Returns the Request in a cookie, if we issued the cookie and it is not too old at `now`.
pub(super) fn open(binding: Binding<'_>, now: Instant, cookie: &[u8]) -> Option<Request> {
    let (&[first], rest) = cookie.split_first_chunk()?;
    let (&[t0, t1, t2, t3, t4], rest) = rest.split_first_chunk()?;
    let (&[s0, s1, s2, s3, s4, s5], rest) = rest.split_first_chunk()?;
    let (&service, rest) = rest.split_first_chunk()?;
    let (&proof, options) = rest.split_first_chunk::<HASH>()?;
    let newest = period(now);
    let period = [Some(newest), newest.checked_sub(1)]
        .into_iter()
        .flatten()
        .find(|&period| tag(period) == first & !HAD_DATA)?;
    let keys = binding.secret.cookie_keys(period);
    let masked = u64::from_be_bytes([0, 0, 0, t0, t1, t2, t3, t4]);
    let time = masked ^ (keys.mask(&proof) & ((1 << (8 * TIME)) - 1));
    let request = Request {
        at: Instant::from_nanos(period * LIFETIME.as_nanos() + time),
        seq: Seq::new(u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5])),
        service: ServiceCode(u32::from_be_bytes(service)),
        data: first & HAD_DATA != 0,
        options: options.to_vec(),
    };
    let expected = hash(binding, keys.hash, &request);
    // Every byte is compared, so that the time that this takes reveals nothing.
    let differs = expected.iter().zip(proof).fold(0, |d, (a, b)| d | (a ^ b));
    let fresh = request.at <= now && now.saturating_since(request.at) < LIFETIME;
    (differs == 0 && fresh).then_some(request)
}

/// Returns the number of the key that is used at `at`.
fn period(at: Instant) -> u64 {
    at.as_nanos() / LIFETIME.as_nanos()
}

/// Returns the number of a key in a cookie.
fn tag(period: u64) -> u8 {
    (period & 0x7F) as u8
}

fn hash(binding: Binding<'_>, key: (u64, u64), request: &Request) -> [u8; HASH] {
    let numbers = [
        binding.listener,
        request.at.as_nanos(),
        request.seq.get(),
        u64::from(request.service.0) | u64::from(request.data) << 32,
    ];
    let whole = super::secret::authenticate(key, binding.flow, &numbers, &request.options);
    let mut hash = [0; HASH];
    hash.copy_from_slice(&whole[..HASH]);
    hash
}

#[cfg(test)]
mod tests {
    use super::{
        Binding, LIFETIME, MAX_OPTIONS, Request, collect, keep, open, options_to_keep, seal,
    };
    use crate::endpoint::secret::Secret;
    use crate::flow::Flow;
    use crate::transmit::{Encapsulation, Path};
    use fairwire_units::{Duration, Instant};
    use fairwire_wire::{Options, Seq, ServiceCode};

    fn flow() -> Flow {
        Flow {
            path: Path {
                encapsulation: Encapsulation::Udp,
                local: "192.0.2.1:6511".parse().unwrap(),
                remote: "192.0.2.2:6511".parse().unwrap(),
            },
            local_port: 5_001,
            remote_port: 49_152,
        }
    }

    fn request() -> Request {
        Request {
            at: Instant::START + Duration::from_secs(70),
            seq: Seq::new(0xFFFF_FFFF_FFFE),
            service: ServiceCode(42),
            data: true,
            options: vec![32, 4, 1, 2],
        }
    }

    /// A cookie returns its contents; any change of a bit, flow, listener or secret, or its age, makes it invalid.
    #[test]
    fn only_the_same_cookie_from_the_same_client_in_time() {
        let (secret, flow, request) = (Secret::new(&[1; 32]), flow(), request());
        let binding = Binding {
            secret: &secret,
            flow: &flow,
            listener: 3,
        };
        let sealed = seal(binding, &request);
        let cookie = collect(Options::new(&sealed)).unwrap();
        assert_eq!(open(binding, request.at, &cookie).as_ref(), Some(&request));
        for bit in 0..cookie.len() * 8 {
            let mut other = cookie.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(binding, request.at, &other), None, "bit {bit}");
        }
        for len in 0..cookie.len() {
            assert_eq!(open(binding, request.at, &cookie[..len]), None, "{len}");
        }
        let last = request.at + Duration::from_nanos(LIFETIME.as_nanos() - 1);
        assert_eq!(open(binding, last, &cookie).as_ref(), Some(&request));
        assert_eq!(open(binding, request.at + LIFETIME, &cookie), None);
        let early = request.at.saturating_before(Duration::from_nanos(1));
        assert_eq!(open(binding, early, &cookie), None);
        let mut flows = [flow; 6];
        flows[0].local_port += 1;
        flows[1].remote_port += 1;
        flows[2].path.local.set_port(1);
        flows[3].path.remote.set_port(1);
        flows[4].path.local.set_ip([192, 0, 2, 9].into());
        flows[5].path.remote.set_ip([192, 0, 2, 9].into());
        for flow in &flows {
            let other = Binding { flow, ..binding };
            assert_eq!(open(other, request.at, &cookie), None, "{flow:?}");
        }
        let other = Binding {
            listener: 4,
            ..binding
        };
        assert_eq!(open(other, request.at, &cookie), None);
        let secret = &Secret::new(&[2; 32]);
        let other = Binding { secret, ..binding };
        assert_eq!(open(other, request.at, &cookie), None);
    }

    /// Kept options have a size limit: one byte more is not kept, and the largest cookie takes two options.
    #[test]
    fn no_larger_than_half_a_small_head() {
        let (secret, flow) = (Secret::new(&[1; 32]), flow());
        let binding = Binding {
            secret: &secret,
            flow: &flow,
            listener: 0,
        };
        // 264 bytes, less two option headers of two bytes each and 30 bytes of the fixed part.
        let (fits, long) = (vec![200; 230], vec![200; 231]);
        for (filler, kept) in [(fits, true), (long, false)] {
            let mut options = filler;
            options[1] = u8::try_from(options.len()).unwrap();
            let options = options_to_keep(Options::new(&options));
            assert_eq!(options.is_some(), kept);
            if let Some(options) = options {
                let request = Request {
                    options,
                    ..request()
                };
                let sealed = seal(binding, &request);
                assert_eq!(sealed.len(), MAX_OPTIONS);
                assert_eq!(Options::new(&sealed).iter().count(), 2);
                let cookie = collect(Options::new(&sealed)).unwrap();
                assert_eq!(open(binding, request.at, &cookie), Some(request));
            }
        }
    }

    /// Each option of a Request is visited once, and no more options than fit into a cookie.
    ///
    /// A header full of padding costs one step per byte.
    #[test]
    fn finding_6_each_option_is_looked_at_once() {
        let heads: [(&[u8], usize); 5] = [
            (&[0; 1_000], 1_000),
            (&[1, 0].repeat(500), 1_000),
            (&[[1; 200].as_slice(), &[0; 800]].concat(), 1_000),
            // Types of one byte that are kept: the copy stops after the 265th.
            (&[2; 1_000], MAX_OPTIONS + 1),
            (&[45, 8, 0, 0, 0, 0, 0, 0].repeat(125), MAX_OPTIONS / 8 + 1),
        ];
        for (area, most) in heads {
            let mut steps = 0;
            let walk = Options::new(area).iter().inspect(|_| steps += 1);
            let kept = keep(walk);
            assert!(kept.is_none_or(|kept| kept.len() <= MAX_OPTIONS));
            assert!(steps <= most, "{steps} steps for {:?}", &area[..2]);
        }
    }

    /// Padding is not kept, and the option after Mandatory Padding is not mandatory.
    #[test]
    fn padding_is_left_out() {
        let bytes = [0, 1, 0, 32, 4, 1, 2, 1, 34, 4, 1, 0, 0, 0];
        let kept = options_to_keep(Options::new(&bytes));
        assert_eq!(kept, Some(vec![32, 4, 1, 2, 1, 34, 4, 1, 0]));
        // The 1 before this padding is the last data byte of an option.
        let kept = options_to_keep(Options::new(&[32, 4, 1, 1, 0]));
        assert_eq!(kept, Some(vec![32, 4, 1, 1]));
    }
}
