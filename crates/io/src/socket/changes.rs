//! Changes of the host's addresses, routes and interfaces.
//!
//! Linux tells of them on a netlink socket. Where there is none, a second passes between two looks.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::transport::Changes;

/// The time between two looks where the system does not tell.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The shortest time between two changes that are told. Those in between are told as one.
#[cfg(target_os = "linux")]
const PAUSE: Duration = Duration::from_millis(20);

/// Returns what tells of changes.
pub(super) fn watch() -> Box<dyn Changes> {
    #[cfg(target_os = "linux")]
    if let Ok(told) = Told::new() {
        return Box::new(told);
    }
    Box::new(Looks::new(LOOK_EVERY))
}

/// Something that may have changed, every so often.
#[derive(Debug)]
struct Looks(Interval);

impl Looks {
    fn new(every: Duration) -> Self {
        let mut looks = interval(every);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        Self(looks)
    }
}

impl Changes for Looks {
    fn poll_changed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll_tick(context).map(|_| ())
    }
}

/// A netlink socket.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Told {
    socket: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
    /// Ends when the next change may be told.
    pause: std::pin::Pin<Box<tokio::time::Sleep>>,
    is_changed: bool,
    /// What tells in place of the socket once that is broken.
    instead: Option<Looks>,
}

#[cfg(target_os = "linux")]
impl Told {
    fn new() -> io::Result<Self> {
        use nix::sys::socket::{
            AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket,
        };
        use std::os::fd::AsRawFd;
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let protocol = SockProtocol::NetlinkRoute;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, protocol)?;
        let groups = [
            libc::RTMGRP_LINK,
            libc::RTMGRP_IPV4_IFADDR,
            libc::RTMGRP_IPV6_IFADDR,
            libc::RTMGRP_IPV4_ROUTE,
            libc::RTMGRP_IPV6_ROUTE,
        ];
        let groups = groups.into_iter().fold(0, |all, one| all | one);
        bind(
            socket.as_raw_fd(),
            &NetlinkAddr::new(0, groups.cast_unsigned()),
        )?;
        let interest = tokio::io::Interest::READABLE;
        #[expect(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
        // SAFETY: until it is dropped, an `OwnedFd` is one valid, open descriptor, which does not change. The `AsyncFd`
        // owns it and nobody takes it out.
        let socket = unsafe { tokio::io::unix::AsyncFd::register_with_interest(socket, interest) }?;
        Ok(Self::on(socket))
    }

    fn on(socket: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>) -> Self {
        Self {
            socket,
            pause: Box::pin(tokio::time::sleep(Duration::ZERO)),
            is_changed: false,
            instead: None,
        }
    }

    /// Reads all messages. What they say does not matter: the system is asked.
    fn drain(socket: &std::os::fd::OwnedFd) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let mut message = [0; 4_096];
        let flags = nix::sys::socket::MsgFlags::empty();
        loop {
            match nix::sys::socket::recv(socket.as_raw_fd(), &mut message, flags) {
                // `ENOBUFS` says that messages were lost, and clears it.
                Ok(_) | Err(nix::errno::Errno::ENOBUFS | nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl Changes for Told {
    fn poll_changed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(looks) = &mut self.instead {
            return looks.poll_changed(context);
        }
        while let Poll::Ready(ready) = self.socket.poll_read_ready(context) {
            self.is_changed = true;
            let drained = ready.map(|mut guard| {
                let drained = guard.try_io(|socket| Self::drain(socket.get_ref()));
                drained.is_err() // It would block: it is empty, and no longer ready.
            });
            if !drained.unwrap_or(false) {
                // A socket that is broken tells of nothing, and would stay ready.
                self.instead = Some(Looks::new(LOOK_EVERY));
                break;
            }
        }
        if self.is_changed && self.pause.as_mut().poll(context).is_ready() {
            self.is_changed = false;
            let until = tokio::time::Instant::now() + PAUSE;
            self.pause.as_mut().reset(until);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Changes, Duration, Looks, Told};
    use std::future::poll_fn;
    use std::io::Write;
    use tokio::time::timeout;

    /// Longer than the pause between two changes that are told.
    const A_WHILE: Duration = Duration::from_millis(30);

    /// Without a change nothing is told. Another program may change something now and then.
    #[tokio::test]
    async fn without_a_change_nothing_is_told() {
        let mut told = Told::new().expect("a netlink socket");
        let mut is_silent = false;
        for _ in 0..100 {
            let changed = poll_fn(|context| told.poll_changed(context));
            is_silent |= timeout(A_WHILE, changed).await.is_err();
            if is_silent {
                break;
            }
        }
        assert!(is_silent, "a hundred changes in a row");
    }

    /// Where the system does not tell, time does.
    #[tokio::test]
    async fn where_the_system_is_silent_time_tells() {
        let mut looks = Looks::new(Duration::from_millis(10));
        for _ in 0..2 {
            poll_fn(|context| looks.poll_changed(context)).await;
        }
    }

    /// A socket that fails for good is not read again and again: time tells in its place.
    #[tokio::test]
    async fn a_broken_socket_is_given_up() {
        // Not a socket: it can be polled, but each attempt to receive fails.
        let (read, mut write) = std::io::pipe().expect("a pipe");
        write.write_all(&[0]).expect("room");
        let read = std::os::fd::OwnedFd::from(read);
        #[expect(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
        // SAFETY: an `OwnedFd` is one valid, open descriptor until it is dropped. The `AsyncFd` owns it.
        let socket = unsafe { tokio::io::unix::AsyncFd::register(read) };
        let socket = socket.expect("a pipe can be polled");
        let mut told = Told::on(socket);
        poll_fn(|context| told.poll_changed(context)).await;
        let mut polls = 0;
        let again = poll_fn(|context| {
            polls += 1;
            told.poll_changed(context)
        });
        assert!(
            timeout(A_WHILE * 3, again).await.is_err(),
            "a second has not passed"
        );
        assert!(polls < 10, "{polls}");
    }
}
