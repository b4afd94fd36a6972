//! The application's hook that decides who may begin a connection.

use std::sync::{Arc, Mutex};

use fairwire_kit::{PORT, Pair, SERVICE, Wire, ms};
use fairwire_wire::{PacketType, ResetCode};

use fairwire_proto::{Admit, AdmitHook, Attempt, Config, InitCookies};

/// Connects a client to a listener whose hook accepts `from` calls and then returns `word`.
///
/// Returns the pair and the attempts that the hook was asked about.
fn outcome(policy: InitCookies, word: Admit, from: usize) -> (Pair, Vec<Attempt>) {
    let mut pair = Pair::new();
    pair.ends[1].reconfigure(|config| config.init_cookies = policy);
    pair.ends[1]
        .listen(PORT, &[SERVICE], Config::default())
        .unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&asked);
    let hook = AdmitHook::new(move |attempt| {
        let mut told = told.lock().unwrap();
        told.push(*attempt);
        if told.len() > from {
            word
        } else {
            Admit::Accept
        }
    });
    assert!(pair.ends[1].set_admit(PORT, Some(hook)));
    pair.connect_only(Config::default());
    pair.run_for(ms(500));
    let asked = asked.lock().unwrap().clone();
    (pair, asked)
}

/// A listener's hook decides about each client before any state is kept.
///
/// It is asked for a Request, and again for an Init Cookie that comes back. It accepts, refuses with Reset 9, or
/// ignores the client.
#[test]
fn a_hook_says_who_may_begin() {
    for (policy, from) in [
        (InitCookies::Never, 0),
        (InitCookies::Always, 0),
        (InitCookies::Always, 1),
    ] {
        for word in [Admit::Accept, Admit::Refuse, Admit::Ignore] {
            let (pair, asked) = outcome(policy, word, from);
            let (_, ports) = pair.last_of(0);
            for attempt in &asked {
                assert_eq!(attempt.remote, pair.path(1).remote);
                assert_eq!(attempt.remote_port, ports.source);
                assert_eq!((attempt.local_port, attempt.service), (PORT, SERVICE));
            }
            let stats = pair.ends[1].endpoint_stats();
            let accepted = word == Admit::Accept;
            assert_eq!(stats.connections, usize::from(accepted), "{word:?}");
            assert_eq!(stats.refused > 0, !accepted, "{word:?}");
            let sent = pair.log.iter().filter(|wire| wire.from == 1);
            let codes: Vec<_> = sent.clone().filter_map(Wire::reset).collect();
            match word {
                Admit::Refuse => assert_eq!(codes, [(ResetCode::TooBusy, [0; 3])]),
                Admit::Accept | Admit::Ignore => assert_eq!(codes, []),
            }
            if word == Admit::Ignore {
                let types: Vec<_> = sent.map(Wire::packet_type).collect();
                assert_eq!(types, vec![PacketType::Response; from], "{policy:?}");
            }
        }
    }
}

/// A hook cannot be set without a listener, and it is removed with its listener.
#[test]
fn a_hook_belongs_to_its_listener() {
    let mut pair = Pair::new();
    let nobody = || Some(AdmitHook::new(|_| Admit::Ignore));
    assert!(!pair.ends[1].set_admit(PORT, nobody()));
    for hook in [nobody(), None] {
        pair.ends[1]
            .listen(PORT, &[SERVICE], Config::default())
            .unwrap();
        let asks = hook.is_some();
        assert!(pair.ends[1].set_admit(PORT, hook));
        pair.connect_only(Config::default());
        pair.run_for(ms(200));
        assert_eq!(
            pair.ends[1].endpoint_stats().connections,
            usize::from(!asks)
        );
        pair.ends[1].unlisten(PORT);
    }
}

/// A hook that panics refuses the client that it was asked about; other connections are not affected.
#[test]
fn a_hook_that_panics_refuses() {
    let (mut pair, _) = Pair::opened();
    let hook = AdmitHook::new(|_: &Attempt| -> Admit { panic!("on purpose") });
    assert!(pair.ends[1].set_admit(PORT, Some(hook)));
    pair.connect_only(Config::default());
    pair.run_for(ms(500));
    let codes: Vec<_> = pair.log.iter().filter_map(Wire::reset).collect();
    assert_eq!(codes, [(ResetCode::TooBusy, [0; 3])]);
    assert_eq!(pair.ends[1].endpoint_stats().connections, 1);
}
