//! What endpoints say where tokio cannot run them.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use fairwire::tls::{ClientConfig, Fingerprint};
use fairwire::{BindError, ConnectError, ConnectOptions, Endpoint, Security};
use tokio::runtime::Builder;

use crate::SERVICE;

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

/// Outside of a runtime, an endpoint cannot be bound and nothing connects. Each call says why.
#[test]
fn outside_of_a_runtime() {
    let bound = Endpoint::bind(any()).map(|_| ());
    assert!(matches!(bound, Err(BindError::NoRuntime)), "{bound:?}");
    let (address, options) = ("127.0.0.1:9", ConnectOptions::new());
    assert!(is_without_runtime(fairwire::connect(
        address,
        SERVICE,
        Security::None
    )));
    let native = fairwire::connect_native(address, SERVICE, Security::None, options.clone());
    assert!(is_without_runtime(native));
    let addresses = [address.parse().expect("an address")];
    let racing = fairwire::connect_any(&addresses, SERVICE, Security::None, options.clone());
    assert!(is_without_runtime(racing));

    let mut runtime = Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let endpoint = runtime.block_on(async { Endpoint::bind(any()).expect("bound") });
    let nobody = Security::dtls(ClientConfig::pinned([Fingerprint::from_bytes([7; 32])]));
    assert!(is_without_runtime(endpoint.connect(
        addresses[0],
        SERVICE,
        nobody
    )));
    let remotes = [addresses[0].into()];
    let racing = endpoint.connect_any(&remotes, SERVICE, Security::None, options);
    assert!(is_without_runtime(racing));
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
        let bound = builder
            .build()
            .expect("a runtime")
            .block_on(async { Endpoint::bind(any()).map(|_| ()) });
        let error = bound.expect_err("incomplete");
        assert!(matches!(error, BindError::NoRuntime), "{error}");
        assert!(error.to_string().contains("enable_all"), "{error}");
    }
}
