//! Time and chance of this machine, for rules that take both as values.

use std::time::SystemTime;

use oauth_core::time_and_randomness::{RandomSource, TimeAndRandomness};

/// The system's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemClock;

/// The generator of the cryptographic library, seeded by the operating system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemRandom;

impl SystemClock {
    /// This moment, for libraries that want it in the standard library's type.
    #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
    pub(crate) fn now() -> SystemTime {
        SystemTime::now()
    }

    /// Microseconds since the UNIX epoch; 0 on a machine whose clock is before it.
    pub(crate) fn now_us() -> i64 {
        let since = Self::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

impl RandomSource for SystemRandom {
    fn fill_bytes(&self, bytes: &mut [u8]) {
        if aws_lc_rs::rand::fill(bytes).is_err() {
            // Going on would hand out secrets that can be guessed.
            tracing::error!("the system gives no random bytes");
            std::process::abort();
        }
    }
}

/// Time and chance of this moment, for work that is no request.
pub(crate) fn env() -> TimeAndRandomness<'static> {
    TimeAndRandomness { now_us: SystemClock::now_us(), random: &SystemRandom }
}
