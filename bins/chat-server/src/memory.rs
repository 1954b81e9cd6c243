//! Memory that goes back to the system.
//!
//! The allocator keeps what was freed for a tenth of a second and gives it back when it is next asked for a large
//! piece. A server at rest never asks, so after a burst of pictures it would hold their memory until the next one. Its
//! own call for this needs unsafe code, which we forbid ourselves; asking for a large piece does the same.

use std::hint::black_box;
use std::time::Duration;

/// How often memory is given back.
const INTERVAL: Duration = Duration::from_secs(2);
/// Bytes that make the allocator look what it can give back. They are not written to, so they take no memory.
const PIECE_BYTES: usize = 2 << 20;

/// Gives back what was freed, for as long as the task runs.
pub(crate) async fn keep_giving_back() {
    let mut tick = tokio::time::interval(INTERVAL);
    loop {
        tick.tick().await;
        give_back();
    }
}

fn give_back() {
    drop(black_box(Vec::<u8>::with_capacity(PIECE_BYTES)));
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Bytes of this process in memory.
    fn resident_bytes() -> u64 {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    #[test]
    fn memory_of_a_burst_goes_back_to_the_system() {
        const BURST_BYTES: usize = 600 << 20;
        let burst = || {
            let pictures: Vec<Vec<u8>> = (1..=6).map(|shade| vec![shade; BURST_BYTES / 6]).collect();
            black_box(&pictures);
            resident_bytes()
        };
        let most = std::thread::spawn(burst).join().unwrap();
        let begun = Instant::now();
        while resident_bytes() + (BURST_BYTES as u64) * 3 / 4 > most {
            assert!(begun.elapsed() < Duration::from_secs(20), "{most} bytes stay");
            give_back();
            std::thread::park_timeout(INTERVAL / 4);
        }
    }
}
