//! What endpoints say where tokio cannot run them.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use fairwire::tls::{ClientConfig, Fingerprint, ServerConfig};
use fairwire::{
    AcceptError, BindError, ConnectError, ConnectOptions, Endpoint, HandshakeError, Security,
};
use tokio::runtime::Builder;

use crate::{SERVICE, identity};

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Polls once, as another executor does.
fn polled<T>(future: impl Future<Output = T>) -> Poll<T> {
    let mut context = Context::from_waker(Waker::noop());
    pin!(future).as_mut().poll(&mut context)
}

fn is_without_runtime<T>(connecting: impl Future<Output = Result<T, ConnectError>>) -> bool {
    matches!(
        polled(connecting),
        Poll::Ready(Err(ConnectError::Bind(BindError::NoRuntime)))
    )
}

/// Asserts that nothing can be bound here and that nothing connects, and that each call says why.
fn nothing_works() {
    let ip = any().ip();
    let bound = [
        Endpoint::bind(any()).map(drop),
        Endpoint::builder().shards(2).bind(any()).map(drop),
        fairwire::listen(any(), &[SERVICE], Security::None).map(drop),
    ];
    for bound in bound {
        let error = bound.expect_err("no runtime");
        assert!(matches!(error, BindError::NoRuntime), "{error}");
        assert!(error.to_string().contains("enable_all"), "{error}");
    }
    let (name, options) = ("127.0.0.1:9", ConnectOptions::new());
    let clear = || Security::None;
    let at = [name.parse().expect("an address")];
    assert!(is_without_runtime(fairwire::connect(
        name,
        SERVICE,
        clear()
    )));
    let racing = fairwire::connect_any(&at, SERVICE, clear(), options.clone());
    assert!(is_without_runtime(racing));
    // Without the right to open raw sockets, that is what the caller is told first.
    let without = |error: BindError| {
        matches!(
            error,
            BindError::NoRuntime | BindError::NotPrivileged { .. } | BindError::NativeUnsupported
        )
    };
    assert!(Endpoint::bind_native(ip).is_err_and(without));
    let native = fairwire::connect_native(name, SERVICE, clear(), options);
    let Poll::Ready(Err(ConnectError::Bind(error))) = polled(native) else {
        panic!("connected");
    };
    assert!(without(error));
}

/// Outside of a runtime, an endpoint cannot be bound, nothing connects, and no name is looked up.
#[test]
fn outside_of_a_runtime() {
    nothing_works();
    let looked_up = polled(fairwire::resolve("localhost:9")).map(|found| found.expect_err("none"));
    let Poll::Ready(error) = looked_up else {
        panic!("waits");
    };
    assert!(error.to_string().contains("enable_all"), "{error}");

    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let endpoint = runtime.block_on(async { Endpoint::bind(any()).expect("bound") });
    let to: SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let nobody = Security::dtls(ClientConfig::pinned([Fingerprint::from_bytes([7; 32])]));
    assert!(is_without_runtime(endpoint.connect(to, SERVICE, nobody)));
    let (remotes, options) = ([to.into()], ConnectOptions::new());
    let racing = endpoint.connect_any(&remotes, SERVICE, Security::None, options);
    assert!(is_without_runtime(racing));
}

/// Outside of a runtime, no DTLS handshake begins; the client is reset.
#[test]
fn accepting_outside_of_a_runtime() {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let identity = identity();
    let trust = Security::dtls(ClientConfig::pinned([identity.fingerprint()]));
    let within = runtime.enter();
    let security = Security::dtls(ServerConfig::new(identity));
    let listener = fairwire::listen(any(), &[SERVICE], security).expect("bound");
    drop(within);
    let to = listener.local_addr().to_string();
    let client = runtime.spawn(async move { fairwire::connect(&to, SERVICE, trust).await });
    let incoming = pollster::block_on(listener.incoming()).expect("a client");
    let accepted = pollster::block_on(incoming.accept()).map(drop);
    assert_eq!(accepted, Err(HandshakeError::NoRuntime));
    let connected = runtime.block_on(client).expect("no panic");
    assert!(matches!(connected, Err(ConnectError::Handshake { .. })));
    let accepted = polled(listener.accept()).map(|accepted| accepted.map(drop));
    assert_eq!(accepted, Poll::Ready(Err(AcceptError::NoRuntime)));
}

/// A runtime without I/O or without timers does not do; the error says what it needs.
#[test]
fn runtimes_without_io_or_timers() {
    let incomplete: [fn(&mut Builder); 3] = [
        |_| (),
        |builder| {
            builder.enable_io();
        },
        |builder| {
            builder.enable_time();
        },
    ];
    for enable in incomplete {
        let mut builder = Builder::new_current_thread();
        enable(&mut builder);
        let runtime = builder.build().expect("a runtime");
        let _within = runtime.enter();
        nothing_works();
    }
}
