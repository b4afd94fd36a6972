//! Init Cookies (RFC 4340, section 8.1.4): what a listener would have to remember, kept by the
//! client.
//!
//! A cookie is the Request, as far as the connection depends on it, and when it came. Whoever
//! takes the first steps of the connection again with these arrives at the Response that was
//! sent, agreed features included, so nothing of the answer needs to be in there. A keyed hash
//! over all of it and over the flow proves that it is ours, unchanged and from the same client.

use fairwire_units::{Duration, Instant};
use fairwire_wire::{DccpOption, Options, RawOption, Seq, ServiceCode, option_type};

use super::secret::Secret;
use crate::flow::Flow;

/// How long a cookie is good, and how often the key changes. A client repeats its Ack after 0.2,
/// 0.4, ... seconds, so five of them fit in; and an old copy of one cannot begin a connection
/// after it.
pub(super) const LIFETIME: Duration = Duration::from_secs(64);

/// Cookie options of one packet at most, bytes: half a head on the smallest path (see
/// `keep_cookie`), so that a client of ours can echo all that we send.
pub(super) const MAX_OPTIONS: usize = 264;

/// Data bytes of one option at most.
const MAX_DATA: usize = 253;

/// Bytes of an option before its data.
const OPTION_HEAD: usize = 2;

/// Key number, time, sequence number, Service Code, whether there was data, hash.
const FIXED: usize = 1 + 8 + 6 + 4 + 1 + 16;

/// What a connection depends on of the Request with which it begins.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Request {
    /// When it came.
    pub(super) at: Instant,
    pub(super) seq: Seq,
    pub(super) service: ServiceCode,
    /// Did it carry data, which went with our memory of it?
    pub(super) data: bool,
    /// Its options but for padding.
    pub(super) options: Vec<u8>,
}

/// What a cookie is bound to beside its contents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding<'a> {
    pub(super) secret: &'a Secret,
    pub(super) flow: &'a Flow,
    /// Tells listeners apart that follow each other on one port: another configuration would
    /// have answered otherwise.
    pub(super) listener: u64,
}

/// The options of a packet but for padding, and for the checksum of data that are not kept; `None`
/// if there are too many for a cookie.
pub(super) fn kept_options(options: Options<'_>) -> Option<Vec<u8>> {
    let mut walk = options.iter();
    let mut kept = keep(walk.by_ref())?;
    // What makes no sense ends the options, and may have to be answered.
    kept.extend_from_slice(walk.remainder());
    let len = FIXED + kept.len();
    (len + OPTION_HEAD * len.div_ceil(MAX_DATA) <= MAX_OPTIONS).then_some(kept)
}

/// Keeps options as they come, each looked at once: a Request may be all padding. `None` as soon
/// as they are too many.
fn keep<'a>(options: impl Iterator<Item = RawOption<'a>>) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    // Options Mandatory in a row just before.
    let mut mandatory = 0u32;
    for raw in options {
        let of_data = matches!(raw.decode(), Ok(DccpOption::DataChecksum(_)));
        if raw.option_type == option_type::PADDING || of_data {
            // RFC 4340, 5.8.2: Mandatory Padding is two bytes of Padding. Two Mandatory end the
            // connection, whatever comes behind them.
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

/// The cookie options for `request`, ready to be sent.
pub(super) fn seal(binding: Binding<'_>, request: &Request) -> Vec<u8> {
    let period = period(request.at);
    let keys = binding.secret.cookie_keys(period);
    let hash = hash(binding, keys.hash, request);
    // The time goes hidden by the hash: nobody is to read our clock from it.
    let time = request.at.as_nanos() ^ keys.mask(&hash);
    let mut cookie = Vec::with_capacity(MAX_OPTIONS);
    cookie.push((period & 0xFF) as u8);
    cookie.extend(time.to_be_bytes());
    cookie.extend(&request.seq.get().to_be_bytes()[2..]);
    cookie.extend(request.service.0.to_be_bytes());
    cookie.push(u8::from(request.data));
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

/// The cookie in the options of a packet, put together in their order; `None` if there is none.
pub(super) fn echoed(options: Options<'_>) -> Option<Vec<u8>> {
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

/// The Request of a cookie that is ours, and not too old at `now`.
pub(super) fn open(binding: Binding<'_>, now: Instant, cookie: &[u8]) -> Option<Request> {
    let (&[tag], rest) = cookie.split_first_chunk()?;
    let (&time, rest) = rest.split_first_chunk()?;
    let (&[s0, s1, s2, s3, s4, s5], rest) = rest.split_first_chunk()?;
    let (&service, rest) = rest.split_first_chunk()?;
    let (&[data @ 0..=1], rest) = rest.split_first_chunk()? else {
        return None;
    };
    let (&proof, options) = rest.split_first_chunk::<16>()?;
    let newest = period(now);
    let period = [Some(newest), newest.checked_sub(1)]
        .into_iter()
        .flatten()
        .find(|&period| (period & 0xFF) as u8 == tag)?;
    let keys = binding.secret.cookie_keys(period);
    let request = Request {
        at: Instant::from_nanos(u64::from_be_bytes(time) ^ keys.mask(&proof)),
        seq: Seq::new(u64::from_be_bytes([0, 0, s0, s1, s2, s3, s4, s5])),
        service: ServiceCode(u32::from_be_bytes(service)),
        data: data == 1,
        options: options.to_vec(),
    };
    let expected = hash(binding, keys.hash, &request);
    // Every byte is compared, so that the time it takes tells nothing.
    let differs = expected.iter().zip(proof).fold(0, |d, (a, b)| d | (a ^ b));
    let fresh = request.at <= now && now.saturating_since(request.at) < LIFETIME;
    (differs == 0 && fresh).then_some(request)
}

/// Which key is used at `at`.
fn period(at: Instant) -> u64 {
    at.as_nanos() / LIFETIME.as_nanos()
}

fn hash(binding: Binding<'_>, key: (u64, u64), request: &Request) -> [u8; 16] {
    let numbers = [
        binding.listener,
        request.at.as_nanos(),
        request.seq.get(),
        u64::from(request.service.0) | u64::from(request.data) << 32,
    ];
    super::secret::authenticate(key, binding.flow, &numbers, &request.options)
}

#[cfg(test)]
mod tests {
    use super::{Binding, LIFETIME, MAX_OPTIONS, Request, echoed, keep, kept_options, open, seal};
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

    /// A cookie gives back what went in; one bit of it, another part of the flow, another
    /// listener, another secret or its age make it worthless.
    #[test]
    fn only_the_same_cookie_from_the_same_client_in_time() {
        let (secret, flow, request) = (Secret::new(&[1; 32]), flow(), request());
        let binding = Binding {
            secret: &secret,
            flow: &flow,
            listener: 3,
        };
        let sealed = seal(binding, &request);
        let cookie = echoed(Options::new(&sealed)).unwrap();
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

    /// What is kept has a bound, one byte more is not kept, and the longest takes two options.
    #[test]
    fn no_larger_than_half_a_small_head() {
        let (secret, flow) = (Secret::new(&[1; 32]), flow());
        let binding = Binding {
            secret: &secret,
            flow: &flow,
            listener: 0,
        };
        // 264 bytes, less two option heads of two bytes and 36 bytes of our own.
        let (fits, long) = (vec![200; 224], vec![200; 225]);
        for (filler, kept) in [(fits, true), (long, false)] {
            let mut options = filler;
            options[1] = u8::try_from(options.len()).unwrap();
            let options = kept_options(Options::new(&options));
            assert_eq!(options.is_some(), kept);
            if let Some(options) = options {
                let request = Request {
                    options,
                    ..request()
                };
                let sealed = seal(binding, &request);
                assert_eq!(sealed.len(), MAX_OPTIONS);
                assert_eq!(Options::new(&sealed).iter().count(), 2);
                let cookie = echoed(Options::new(&sealed)).unwrap();
                assert_eq!(open(binding, request.at, &cookie), Some(request));
            }
        }
    }

    /// Whatever a Request holds, each of its options is looked at once, and no more are looked at than
    /// fit into a cookie: a head full of padding costs a step for each byte.
    #[test]
    fn finding_6_each_option_is_looked_at_once() {
        let heads: [(&[u8], usize); 5] = [
            (&[0; 1_000], 1_000),
            (&[1, 0].repeat(500), 1_000),
            (&[[1; 200].as_slice(), &[0; 800]].concat(), 1_000),
            // Types of one byte that are kept: given up behind the 264th.
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

    /// Padding is not kept, and what follows Mandatory Padding is not mandatory.
    #[test]
    fn padding_is_left_out() {
        let bytes = [0, 1, 0, 32, 4, 1, 2, 1, 34, 4, 1, 0, 0, 0];
        let kept = kept_options(Options::new(&bytes));
        assert_eq!(kept, Some(vec![32, 4, 1, 2, 1, 34, 4, 1, 0]));
        // The 1 before this padding is the end of an option.
        let kept = kept_options(Options::new(&[32, 4, 1, 1, 0]));
        assert_eq!(kept, Some(vec![32, 4, 1, 1]));
    }
}
