//! Sockets that share one UDP port, and the rule by which the system spreads datagrams over them.
//!
//! Linux spreads them by a hash of the addresses, or by a program that it runs for each datagram
//! (`SO_ATTACH_REUSEPORT_CBPF`, socket(7)). Ours computes [`fairwire_proto::Shard::of_packet`].

use std::io;

/// Lets later sockets of this user bind to the port of a bound socket, if they ask for it too.
///
/// It is set after the first socket is bound. So that bind still fails if another program has the port.
pub(super) fn share(socket: &socket2::SockRef<'_>) -> io::Result<()> {
    #[cfg(unix)]
    return socket.set_reuse_port(true);
    #[cfg(not(unix))]
    {
        let _ = socket;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Tells the system by which rule to spread datagrams over `count` sockets, in the order in which they were bound.
#[cfg(target_os = "linux")]
pub(super) fn steer(socket: &socket2::SockRef<'_>, count: u16) -> io::Result<()> {
    use libc::{
        BPF_A, BPF_ABS, BPF_ALU, BPF_H, BPF_K, BPF_LD, BPF_MISC, BPF_MOD, BPF_RET, BPF_TAX, BPF_X,
        BPF_XOR, SO_ATTACH_REUSEPORT_CBPF, SOL_SOCKET, sock_filter, sock_fprog,
    };
    use std::os::fd::AsRawFd;
    const SOURCE_PORT: u32 = 0;
    const DESTINATION_PORT: u32 = 2;
    // The program sees the UDP payload. A load behind its end returns 0: the first socket.
    let line = |code: u32, k: u32| sock_filter {
        code: u16::try_from(code).unwrap_or_default(),
        jt: 0,
        jf: 0,
        k,
    };
    let mut lines = [
        line(BPF_LD | BPF_H | BPF_ABS, SOURCE_PORT),
        line(BPF_MISC | BPF_TAX, 0),
        line(BPF_LD | BPF_H | BPF_ABS, DESTINATION_PORT),
        line(BPF_ALU | BPF_XOR | BPF_X, 0),
        line(BPF_ALU | BPF_MOD | BPF_K, u32::from(count.max(1))),
        line(BPF_RET | BPF_A, 0),
    ];
    let program = sock_fprog {
        len: u16::try_from(lines.len()).unwrap_or_default(),
        filter: lines.as_mut_ptr(),
    };
    #[expect(unsafe_code, reason = "no safe wrapper knows this option")]
    // SAFETY: the descriptor is open, because `socket` is borrowed. `program` has the type that the option wants, is
    // passed with its true length, and points to as many lines as it says. Both outlive the call, and the kernel copies
    // what it needs.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            SOL_SOCKET,
            SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            libc::socklen_t::try_from(size_of::<sock_fprog>()).unwrap_or_default(),
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Always fails: the system has no such rule.
#[cfg(not(target_os = "linux"))]
pub(super) fn steer(_socket: &socket2::SockRef<'_>, _count: u16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::socket::{Socket, SocketOptions};
    use fairwire_proto::Shard;
    use std::net::UdpSocket;

    /// Each datagram arrives at the socket of its shard, also from one UDP address. Others do not vanish.
    #[tokio::test]
    async fn datagrams_arrive_at_their_shard() {
        const COUNT: u16 = 3;
        let options = SocketOptions {
            buffer: 1 << 16,
            interface: None,
        };
        let first = Socket::bind(([127, 0, 0, 1], 0).into(), &options).expect("a free port");
        let others = first.share(COUNT, &options).expect("a shared port");
        let sockets: Vec<_> = std::iter::once(first).chain(others).collect();
        let client = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        for source in 1_000..1_020_u16 {
            let destination = 5_001_u16;
            let mut packet = source.to_be_bytes().to_vec();
            packet.extend(destination.to_be_bytes());
            client.send_to(&packet, sockets[0].local()).expect("sent");
            let own = &sockets[Shard::of(COUNT, (source, destination))];
            let mut buffer = [0; 16];
            let got = own.udp.get().recv(&mut buffer).expect("it is here");
            assert_eq!(buffer[..got], packet);
        }
        client.send_to(&[1], sockets[0].local()).expect("sent");
        let got = sockets[0].udp.get().recv(&mut [0; 16]);
        assert_eq!(got.expect("the first socket takes it"), 1);
    }
}
