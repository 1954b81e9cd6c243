//! Where passwords and short secrets are hashed: on threads that give way to all others.
//!
//! A hash takes a core for 15 ms, and a request that becomes ready on that core would wait until the
//! scheduler takes it away. With a lower priority it is taken away sooner, but not at once: whoever runs is let run
//! for some milliseconds. So half of the cores have none.

use std::{io, thread};

use tokio::runtime::{Builder, Runtime};

/// How far the threads give way, from 0 to 19. While every core is wanted by others as well, one that is 10
/// below gets a tenth of what they get, so people still sign in on a server that issues as many tokens as it can.
#[cfg(target_os = "linux")]
const GIVES_WAY: i32 = 10;

/// Most hashes at once, each with 19 MiB of memory.
const AT_ONCE_MAX: usize = 4;

/// Returns how many hashes are made at once: half of the cores are for requests.
fn at_once() -> usize {
    thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).clamp(1, AT_ONCE_MAX))
}

/// A runtime for its threads for blocking work, which are started when there is some; it runs nothing else.
///
/// # Errors
/// When the system gives it no resources.
pub(crate) fn threads() -> io::Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.thread_name("hashing").max_blocking_threads(at_once());
    // Only here is a priority one thread's, where POSIX makes it the whole process'.
    #[cfg(target_os = "linux")]
    builder.on_thread_start(|| {
        if let Err(error) = rustix::process::nice(GIVES_WAY) {
            tracing::warn!(%error, "hashing has the priority of requests");
        }
    });
    builder.build()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn hashing_gives_way_and_nothing_else_does() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let threads = threads().unwrap();
        let there = threads.block_on(async { threads.spawn_blocking(priority).await.unwrap() });
        assert_eq!((there, priority()), ((before + GIVES_WAY).min(19), before));
    }
}
