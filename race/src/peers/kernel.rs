//! The kernel's UDP on blocking sockets: the floor below which no library gets.

use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, recvmsg,
    sendmmsg, sendmsg, setsockopt, sockopt,
};

use crate::board::Board;
use crate::socket;
use crate::transport::Result;
use crate::works::flow::{Due, SIZE, TICK};

/// How many datagrams a call of sendmmsg or recvmmsg takes at most.
const CALL: usize = 64;
/// How many segments one call takes with GSO: as many as fit into the largest datagram.
const SEGMENTS: usize = 54;

/// How the kernel is called.
#[derive(Clone, Copy, Debug)]
pub enum Calls {
    /// One datagram a call.
    Single,
    /// sendmmsg and recvmmsg.
    Many,
    /// Segmentation offload: GSO and GRO.
    Segments,
}

pub fn listen() -> Result<(UdpSocket, SocketAddr)> {
    let socket = socket::bind()?;
    let addr = socket.local_addr()?;
    Ok((socket, addr))
}

pub fn connect(to: SocketAddr) -> Result<UdpSocket> {
    let socket = socket::bind()?;
    socket.connect(to)?;
    Ok(socket)
}

/// Receives for ever.
pub fn receive(socket: &UdpSocket, calls: Calls, board: &Board) -> Result<()> {
    match calls {
        Calls::Single => {
            let mut buffer = [0; 2_048];
            loop {
                socket.recv(&mut buffer)?;
                board.received(1);
            }
        }
        Calls::Many => receive_many(socket, board),
        Calls::Segments => receive_segments(socket, board),
    }
}

fn receive_many(socket: &UdpSocket, board: &Board) -> Result<()> {
    let mut buffers = vec![[0; 2_048]; CALL];
    loop {
        // The borrow of the buffers ends with each call, so their list is made anew: some 50 ns for 64 datagrams.
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(CALL, None);
        let mut slices: Vec<_> = buffers
            .iter_mut()
            .map(|buffer| [IoSliceMut::new(buffer)])
            .collect();
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_WAITFORONE);
        let received = recvmmsg(fd, &mut headers, &mut slices, flags, None)?;
        board.received(received.count() as u64);
    }
}

fn receive_segments(socket: &UdpSocket, board: &Board) -> Result<()> {
    setsockopt(socket, sockopt::UdpGroSegment, &true)?;
    let mut buffer = vec![0; 1 << 16];
    let mut control = nix::cmsg_space!(i32);
    loop {
        let mut slices = [IoSliceMut::new(&mut buffer)];
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::empty());
        let message = recvmsg::<SockaddrIn>(fd, &mut slices, Some(&mut control), flags)?;
        let segment = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::UdpGroSegments(size) => usize::try_from(size).ok(),
            _ => None,
        });
        let segment = segment.unwrap_or(SIZE).max(1);
        board.received(message.bytes.div_ceil(segment) as u64);
    }
}

/// Sends for ever: all that the kernel takes, or at a rate what is due each millisecond.
pub fn send(socket: &UdpSocket, calls: Calls, rate: Option<u32>, board: &Board) -> Result<()> {
    let most = match calls {
        Calls::Single => 1,
        Calls::Many => CALL,
        Calls::Segments => SEGMENTS,
    };
    let data = vec![0; SIZE * most];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(CALL, None);
    let slices: Vec<_> = data.chunks(SIZE).map(|one| [IoSlice::new(one)]).collect();
    let addresses = vec![None; most];
    let mut due = rate.map(Due::at);
    loop {
        let mut left = match &mut due {
            Some(due) => {
                std::thread::sleep(TICK);
                due.now()
            }
            None => most,
        };
        while left > 0 {
            let count = left.min(most);
            match calls {
                Calls::Single => drop(socket.send(&data)?),
                Calls::Many => {
                    let (fd, flags) = (socket.as_raw_fd(), MsgFlags::empty());
                    let slices = &slices[..count];
                    sendmmsg(fd, &mut headers, slices, &addresses, [], flags)?;
                }
                Calls::Segments => send_segments(socket, &data[..count * SIZE])?,
            }
            board.sent(count as u64);
            left -= count;
        }
    }
}

fn send_segments(socket: &UdpSocket, data: &[u8]) -> Result<()> {
    let size = SIZE as u16;
    let control = [ControlMessage::UdpGsoSegments(&size)];
    let (slices, flags) = ([IoSlice::new(data)], MsgFlags::empty());
    sendmsg::<SockaddrIn>(socket.as_raw_fd(), &slices, &control, flags, None)?;
    Ok(())
}
