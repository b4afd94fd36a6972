//! The resources of the process.

use std::fmt;
use std::time::Duration;

/// Heap and resident memory in bytes, and the numbers of file descriptors and tasks.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) heap: isize,
    resident: usize,
    pub(crate) fds: isize,
    pub(crate) tasks: isize,
}

impl Figures {
    /// Returns the resources in use now.
    pub(crate) fn now() -> Self {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages = statm.split(' ').nth(1).and_then(|text| text.parse().ok());
        let fds = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
        Self {
            heap: fairwire_held::bytes(),
            resident: pages.unwrap_or(0) * 4_096,
            fds: fds.cast_signed(),
            tasks: tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks()
                .cast_signed(),
        }
    }

    /// Returns the resources in use once they no longer shrink and no task is left, or after 5 s.
    pub(crate) async fn settled() -> Self {
        let mut last = Self::now();
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = Self::now();
            if (now.heap, now.fds, now.tasks) >= (last.heap, last.fds, last.tasks) && now.tasks == 0
            {
                return now;
            }
            last = now;
        }
        last
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "heap {} kB, resident {} kB, {} descriptors, {} tasks",
            self.heap / 1_024,
            self.resident / 1_024,
            self.fds,
            self.tasks
        )
    }
}
