//! The clock and the randomness of this machine, for rules that take both as values.
//!
//! The road not taken is the generator of the cryptographic library: at its first use it gathers entropy of its own,
//! which takes 25 ms and more of each start.

use std::time::SystemTime;

use chat_http::ClockAndRandomness;

/// The system's clock and the system's generator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemRuntime;

impl SystemRuntime {
    /// Seconds since the UNIX epoch.
    pub(crate) fn now_s(self) -> i64 {
        self.now_us().div_euclid(1_000_000)
    }

    /// Random bytes that nobody can guess.
    pub(crate) fn bytes<const N: usize>() -> [u8; N] {
        let mut bytes = [0; N];
        if getrandom::fill(&mut bytes).is_err() {
            // Going on would hand out secrets that can be guessed.
            tracing::error!("the system gives no random bytes");
            std::process::abort();
        }
        bytes
    }
}

impl ClockAndRandomness for SystemRuntime {
    #[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
    fn now_us(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn random_id(&self) -> u128 {
        u128::from_le_bytes(Self::bytes())
    }

    fn random_bytes(&self) -> [u8; 64] {
        Self::bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_after_the_year_2020_and_nothing_is_drawn_twice() {
        assert!(SystemRuntime.now_us() > 1_577_836_800_000_000);
        assert_ne!(SystemRuntime.random_id(), SystemRuntime.random_id());
        assert_ne!(SystemRuntime.random_bytes(), SystemRuntime.random_bytes());
    }
}
