//! The agreement of the two sides on a flow.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::PerfError;
use super::defaults::{NOT_ENCRYPTED, PATIENCE};
use super::file::Sink;
use super::link::{Incoming, Link};
use super::message::{Message, is_dtls_hello};
use super::options::Limit;
use super::text::printable;

/// The longest pause between two messages that is explained by a rate, seconds. A peer states rate and length; without
/// a bound it could make the server wait forever.
const LONGEST_GAP_S: u64 = 300;

/// The time until an unanswered message is repeated.
pub(crate) const REPEAT: Duration = Duration::from_millis(200);

/// The version of the messages.
const VERSION: u32 = 1;

/// The parameters that the client requests, for one flow.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Params {
    pub version: u32,
    /// The number that distinguishes the flows of one measurement from those of another.
    pub test: u64,
    /// The number of this flow, from 1.
    pub flow: u32,
    /// The number of flows.
    pub flows: u32,
    /// Whether the server sends.
    pub reverse: bool,
    /// The size of a message, bytes.
    pub length: u32,
    /// The rate, bits per second; zero is unlimited.
    pub rate: u64,
    /// The time after which to stop, seconds.
    pub seconds: Option<f64>,
    /// The number of bytes after which to stop.
    pub bytes: Option<u64>,
    /// The size of the file that is sent, bytes.
    pub file_size: Option<u64>,
    /// The number that a server of plain UDP asked for, which shows that its answers reach us.
    #[serde(default)]
    pub proof: Option<u64>,
    /// How long this side allows the other side to be silent.
    #[serde(skip, default = "patience")]
    pub patience: Duration,
}

fn patience() -> Duration {
    PATIENCE
}

impl Params {
    /// Makes the parameters of a client with this limit.
    pub(crate) fn new(limit: Limit) -> Self {
        let (seconds, bytes) = match limit {
            Limit::Time(time) => (Some(time.as_secs_f64()), None),
            Limit::Bytes(bytes) => (None, Some(bytes)),
            Limit::File => (None, None),
        };
        Self {
            version: VERSION,
            test: 0,
            flow: 1,
            flows: 1,
            reverse: false,
            length: 0,
            rate: 0,
            seconds,
            bytes,
            file_size: None,
            proof: None,
            patience: PATIENCE,
        }
    }

    /// Returns how long a correct peer can be silent at this rate: at most five minutes longer than without a rate.
    pub(crate) fn max_silence(&self) -> Duration {
        let gap_s = u64::from(self.length)
            .saturating_mul(8 * 3)
            .checked_div(self.rate)
            .unwrap_or(0)
            .min(LONGEST_GAP_S);
        self.patience + Duration::from_secs(gap_s)
    }

    fn hello(&self) -> Bytes {
        let json = serde_json::to_vec(self).unwrap_or_default();
        Message::Params(json.into()).encode()
    }

    pub(super) fn decode(json: &Bytes) -> Result<Self, String> {
        let params: Self =
            serde_json::from_slice(json).map_err(|error| format!("invalid parameters: {error}"))?;
        if params.version != VERSION {
            let theirs = params.version;
            return Err(format!(
                "the client's perf has version {theirs}, this one has version {VERSION}"
            ));
        }
        if !(1..=128).contains(&params.flows) || !(1..=params.flows).contains(&params.flow) {
            return Err("the number of flows must be 1 to 128".to_owned());
        }
        if params.reverse && params.file_size.is_some() {
            return Err("this server sends no files".to_owned());
        }
        Ok(params)
    }
}

/// The server's answer to the parameters, for one flow.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Answer {
    /// Whether the server saves the file that the client sends. `None` without a file, and from older servers.
    #[serde(default)]
    pub saves: Option<bool>,
}

impl Answer {
    /// Returns the answer of a server that stores the client's file in `sink`.
    pub(crate) fn of(sink: Option<&Sink>) -> Self {
        let saves = sink.map(Sink::saves);
        Self { saves }
    }

    /// Returns the message with the answer.
    pub(crate) fn encode(&self) -> Bytes {
        let json = serde_json::to_vec(self).unwrap_or_default();
        Message::Ready(json.into()).encode()
    }

    /// Returns the answer in a message; that of an older server is empty.
    fn decode(json: &Bytes) -> Self {
        serde_json::from_slice(json).unwrap_or_default()
    }
}

/// Sends the parameters to the server until it is ready. Returns its answer, and the first message of the flow if it
/// has already arrived.
pub(crate) async fn send_params(
    link: &Link,
    params: &Params,
) -> Result<(Answer, Option<Incoming>), PerfError> {
    let mut hello = params.hello();
    let until = Instant::now() + params.patience;
    while Instant::now() < until {
        link.send(hello.clone()).await?;
        let Ok(incoming) = timeout(REPEAT, link.recv()).await else {
            continue;
        };
        let incoming = incoming?;
        match Message::decode(&incoming.bytes) {
            Some(Message::Ready(json)) => return Ok((Answer::decode(&json), None)),
            // The answer was lost, but data shows that the server is ready.
            Some(Message::Data(_) | Message::Finish(_)) => {
                return Ok((Answer::default(), Some(incoming)));
            }
            Some(Message::Abort(why)) => return Err(refusal(&why)),
            Some(Message::Challenge(proof)) => {
                let proof = Some(proof);
                let params = params.clone();
                hello = Params { proof, ..params }.hello();
            }
            _ => {}
        }
    }
    Err(PerfError::Peer(format!(
        "no answer to the parameters within {} s: is `fairwire perf -s` running there with the same --proto?",
        params.patience.as_secs()
    )))
}

/// Waits for a client's parameters. Returns `None` if they never arrive, and the reason if they are refused.
///
/// A source address of plain UDP is easily forged. Before the server believes it, and perhaps sends data at any rate,
/// the client must repeat a number that only the owner of the address receives.
pub(crate) async fn recv_params(link: &Link) -> Option<Result<Params, String>> {
    let until = Instant::now() + PATIENCE;
    let asked = link.is_forgeable().then(random);
    loop {
        let incoming = timeout_at(until, link.recv()).await.ok()?.ok()?;
        let Some(Message::Params(json)) = Message::decode(&incoming.bytes) else {
            if is_dtls_hello(&incoming.bytes) {
                link.abort(NOT_ENCRYPTED);
                let why = "it wants DTLS, which this server offers only with --dtls ID ('fairwire keygen' makes an ID)";
                return Some(Err(why.to_owned()));
            }
            continue;
        };
        match Params::decode(&json) {
            Ok(params) => match asked {
                Some(proof) if params.proof != asked => {
                    link.send(Message::Challenge(proof).encode()).await.ok()?;
                }
                _ => return Some(Ok(params)),
            },
            Err(why) => {
                refuse(link, &why).await;
                return Some(Err(why));
            }
        }
    }
}

/// Returns a number that nobody can guess: the keys of the system's hasher are random.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Refuses a client, and repeats it to a client that asks again.
pub(crate) async fn refuse(link: &Link, why: &str) {
    let no = Message::Abort(Bytes::copy_from_slice(why.as_bytes())).encode();
    let until = Instant::now() + Duration::from_secs(1);
    let _ = link.send(no.clone()).await;
    while let Ok(Ok(_)) = timeout_at(until, link.recv()).await {
        if link.send(no.clone()).await.is_err() {
            break;
        }
    }
    link.close().await;
}

/// Returns the error for a peer's refusal, in the peer's words.
pub(crate) fn refusal(why: &[u8]) -> PerfError {
    PerfError::Peer(format!(
        "the other side says: {}",
        printable(&String::from_utf8_lossy(why))
    ))
}

/// Tells the peer that we cannot go on.
pub(crate) async fn abort(link: &Link, why: &str) {
    let message = Message::Abort(Bytes::copy_from_slice(why.as_bytes())).encode();
    // A full queue before it must not delay us.
    let _ = timeout(Duration::from_secs(1), link.send(message)).await;
}

/// A flag that is set when the user presses Ctrl-C.
#[derive(Clone, Debug)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Makes a flag, and the sender that sets it.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// Waits until the flag is set.
    pub(crate) async fn requested(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Limit, Params};
    use bytes::Bytes;
    use std::time::Duration;

    fn encoded(params: &Params) -> Bytes {
        serde_json::to_vec(params).expect("plain values").into()
    }

    /// Encoded parameters are decoded to the same values; those of another version or with invalid values are refused.
    #[test]
    fn parameters_are_checked() {
        let mut params = Params::new(Limit::Time(Duration::from_secs(2)));
        assert_eq!(Params::decode(&encoded(&params)), Ok(params.clone()));
        params.flow = 2;
        assert!(Params::decode(&encoded(&params)).is_err(), "flow 2 of 1");
        params.flow = 1;
        params.version += 1;
        let error = Params::decode(&encoded(&params)).expect_err("another version");
        assert!(error.contains("version"), "{error}");
        assert!(Params::decode(&Bytes::from_static(b"{}")).is_err());
    }

    /// An answer is decoded to the same value. One that is empty or not understood says nothing about the file.
    #[test]
    fn an_answer_may_be_empty() {
        let saves = Answer { saves: Some(true) };
        assert_eq!(Answer::decode(&saves.encode().slice(4..)), saves);
        for none in ["", "{}", "{\"more\":1}", "?"] {
            let json = Bytes::from_static(none.as_bytes());
            assert_eq!(Answer::decode(&json), Answer::default(), "{none}");
        }
    }

    /// Pauses of a slow flow are not taken for a peer that is gone.
    #[test]
    fn patience_grows_with_the_gap() {
        let mut params = Params::new(Limit::Bytes(1));
        params.length = 1_000;
        assert_eq!(params.max_silence(), Duration::from_secs(10));
        params.rate = 1_000;
        assert_eq!(params.max_silence(), Duration::from_secs(10 + 24));
        (params.length, params.rate) = (u32::MAX, 1);
        assert_eq!(params.max_silence(), Duration::from_secs(10 + 300));
    }
}
