//! Keys that two sides share: HMAC with SHA-256 (RFC 7518, section 3.2).

use aws_lc_rs::hmac;

/// A shared secret key that verifies HS256 and nothing else.
#[derive(Clone)]
pub struct Hs256Key(hmac::Key);

impl Hs256Key {
    /// Fewest bytes of a key: RFC 7518, section 3.2 demands as many as the digest has, because whoever holds
    /// one token can try shorter ones at leisure.
    pub const MIN_BYTES: usize = 32;

    /// Returns the key of these bytes, or `None` when they are fewer than [`Hs256Key::MIN_BYTES`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= Self::MIN_BYTES).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// Returns whether `tag` over `message` was made with this key. Takes the same time wherever they differ.
    #[must_use]
    pub fn verifies_tag(&self, message: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, message, tag).is_ok()
    }
}

impl std::fmt::Debug for Hs256Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 6: a key of 131 bytes.
    #[test]
    fn the_tag_of_the_standard_verifies_and_any_other_does_not() {
        let key = Hs256Key::new(&[0xaa; 131]).unwrap();
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let mut tag = [
            0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f, 0x8e, 0x0b,
            0xc6, 0x21, 0x37, 0x28, 0xc5, 0x14, 0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54,
        ];
        assert!(key.verifies_tag(message, &tag));
        assert!(!key.verifies_tag(message, &tag[..16]));
        assert!(!key.verifies_tag(message, &[]));
        tag[31] ^= 1;
        assert!(!key.verifies_tag(message, &tag));
    }

    #[test]
    fn a_short_key_is_none() {
        assert!(Hs256Key::new(&[7; 31]).is_none());
        assert!(Hs256Key::new(&[7; 32]).is_some());
    }
}
