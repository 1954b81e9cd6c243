//! Time and randomness, passed to the rules as values.
//!
//! No rule of this crate reads a clock or a generator of its own: the caller makes one [`TimeAndRandomness`] per
//! request and passes it first. Tests pass a fixed instant and a seeded generator.

/// The current time and the source of randomness of one request.
#[derive(Clone, Copy)]
pub struct TimeAndRandomness<'a> {
    /// Microseconds since the UNIX epoch.
    pub now_us: i64,
    /// Where identifiers, secrets and nonces come from.
    pub random: &'a dyn RandomSource,
}

impl TimeAndRandomness<'_> {
    /// Returns the current time in whole seconds since the UNIX epoch, the unit of every time claim of a JWT (RFC 7519,
    /// section 2).
    #[must_use]
    pub fn now_s(&self) -> i64 {
        self.now_us.div_euclid(1_000_000)
    }

    /// Returns `N` fresh random bytes.
    #[must_use]
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.fill_bytes(&mut bytes);
        bytes
    }

    /// Returns a random identifier of 128 bits, as 22 characters of base64url, safe in URLs and headers.
    #[must_use]
    pub fn random_identifier(&self) -> String {
        use base64::Engine as _;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(self.random_bytes::<16>())
    }
}

impl std::fmt::Debug for TimeAndRandomness<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").field("now_us", &self.now_us).finish_non_exhaustive()
    }
}

/// A source of random bytes. In the servers it is the operating system's; in tests a seeded one.
pub trait RandomSource: Send + Sync {
    /// Fills `bytes` completely.
    fn fill_bytes(&self, bytes: &mut [u8]);
}
