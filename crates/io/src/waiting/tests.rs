//! Waits that are cancelled.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fairwire_proto::Config;
use fairwire_wire::ServiceCode;
use tokio::task::coop::unconstrained;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::listener::Listener;
use crate::options::ConnectOptions;
use crate::security::Security;

const SERVICE: ServiceCode = ServiceCode(42);

/// A task's waker, which records whether it was woken.
#[derive(Default)]
struct Task(AtomicBool);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Task {
    fn poll<F: Future>(self: &Arc<Self>, future: Pin<&mut F>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::clone(self));
        future.poll(&mut Context::from_waker(&waker))
    }

    async fn is_woken(&self) {
        while !self.0.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Starts a wait in a new task, and cancels it.
fn cancel<T>(future: impl Future<Output = T>) {
    let polled = Arc::new(Task::default()).poll(pin!(future));
    assert!(polled.is_pending());
}

struct Ends {
    server: Endpoint,
    listener: Listener,
    here: Connection,
    there: Connection,
}

/// Makes both ends of a connection; the client can queue one datagram.
async fn ends() -> Ends {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Endpoint::bind(any).expect("a free port");
    let listener = server
        .listen(5_001, &[SERVICE], Security::None)
        .expect("a free port");
    let remote = DccpAddr {
        addr: server.local_addr(),
        dccp_port: 5_001,
    };
    let client = Endpoint::bind(any).expect("a free port");
    let mut config = Config::default();
    config.send_queue.packets = 1;
    config.report_fates = true;
    let options = ConnectOptions::new().config(config);
    let (here, there) = tokio::join!(
        client.connect_with(remote, SERVICE, Security::None, options),
        listener.accept()
    );
    Ends {
        server,
        listener,
        here: here.expect("connected"),
        there: there.expect("accepted"),
    }
}

/// Returns how many tasks wait for anything on a connection: readers, writers and watchers.
fn waiting(connection: &Connection) -> [usize; 3] {
    let mut state = connection.handle().lock();
    let link = state
        .connections
        .get_mut(&connection.id())
        .expect("a handle is alive");
    [link.readers.len(), link.writers.len(), link.watchers.len()]
}

/// Returns how many tasks wait for the server's endpoint to be idle, and how many wait to accept.
fn waiting_at_server(connection: &Connection) -> [usize; 2] {
    let mut state = connection.handle().lock();
    let idlers = state.idlers.len();
    let backlog = state.backlogs.get_mut(&5_001).expect("it listens");
    [idlers, backlog.acceptors.len()]
}

/// Finding 16: 100,000 cancelled waits of each kind, each in its own task, leave no waker in any list. A later wait
/// still works.
#[tokio::test]
async fn finding_16_cancelled_waits_leave_nothing() {
    let ends = ends().await;
    unconstrained(async {
        while ends.here.try_send(vec![1]).is_ok() {}
        for _ in 0..100_000 {
            cancel(ends.here.recv());
            cancel(ends.here.send(vec![1]));
            cancel(ends.here.fate());
            cancel(ends.here.closed());
            cancel(ends.here.event());
            cancel(ends.listener.accept());
            cancel(ends.server.wait_idle());
        }
    })
    .await;
    assert_eq!(waiting(&ends.here), [0; 3]);
    assert_eq!(waiting_at_server(&ends.there), [0; 2]);
    ends.here.send(vec![2]).await.expect("room again");
    let first = ends.there.recv().await.expect("data");
    assert!(!first.data.is_empty());
}

/// Finding 16: two tasks wait for one datagram, and one is cancelled after it was woken. The other still gets the
/// datagram. The same holds for two tasks that accept.
#[tokio::test]
async fn finding_16_no_wake_up_is_lost() {
    let ends = ends().await;
    let (first, second) = (Arc::<Task>::default(), Arc::<Task>::default());
    let mut other = pin!(unconstrained(ends.there.recv()));
    {
        let mut one = pin!(unconstrained(ends.there.recv()));
        assert!(first.poll(one.as_mut()).is_pending());
        assert!(second.poll(other.as_mut()).is_pending());
        assert_eq!(waiting(&ends.there), [2, 0, 0]);
        ends.here.send(vec![1]).await.expect("sent");
        first.is_woken().await;
    }
    second.is_woken().await;
    assert!(second.poll(other.as_mut()).is_ready());

    let (first, second) = (Arc::<Task>::default(), Arc::<Task>::default());
    let mut other = pin!(unconstrained(ends.listener.accept()));
    let client = Endpoint::bind("127.0.0.1:0".parse().expect("an address"));
    let client = client.expect("a free port");
    let remote = DccpAddr {
        addr: ends.server.local_addr(),
        dccp_port: 5_001,
    };
    {
        let mut one = pin!(unconstrained(ends.listener.accept()));
        assert!(first.poll(one.as_mut()).is_pending());
        assert!(second.poll(other.as_mut()).is_pending());
        let connected = client.connect(remote, SERVICE, Security::None).await;
        assert!(connected.is_ok());
        first.is_woken().await;
        second.is_woken().await;
        drop(connected);
    }
    assert!(second.poll(other.as_mut()).is_ready());
}

/// A task that is polled again keeps its slot, with its newest waker. Dropping a wait does not free a slot that another
/// task got since.
#[tokio::test]
async fn a_slot_is_its_task_s_own() {
    let ends = ends().await;
    let (first, second) = (Arc::<Task>::default(), Arc::<Task>::default());
    let mut early = Box::pin(unconstrained(ends.there.recv()));
    assert!(first.poll(early.as_mut()).is_pending());
    assert!(second.poll(early.as_mut()).is_pending());
    assert_eq!(waiting(&ends.there), [1, 0, 0]);
    ends.here.send(vec![1]).await.expect("sent");
    second.is_woken().await;
    assert!(!first.0.load(Ordering::Relaxed), "it waits no more");
    ends.there.recv().await.expect("the datagram");
    let late_task = Arc::<Task>::default();
    let mut late = Box::pin(unconstrained(ends.there.recv()));
    assert!(late_task.poll(late.as_mut()).is_pending());
    drop(early);
    assert_eq!(waiting(&ends.there), [1, 0, 0], "the later one's slot");
}
