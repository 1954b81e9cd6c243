//! The assertion path: whatever bytes a stranger sends as `client_assertion`, it is read, its claims
//! are checked and its signature is refused, without a panic and with a printable description.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oauth_core::client_assertion::{ClientAssertionError, UnverifiedClientAssertion};
use oauth_core::jose::{UsableJwkSet, encode_base64url};
use oauth_core::time_and_randomness::{RandomSource, TimeAndRandomness};
use serde_json::json;

const TOKEN_ENDPOINT: &str = "https://payer.example/auth/token";

struct NoRandom;

impl RandomSource for NoRandom {
    fn fill_bytes(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn check(text: &str) -> Result<(), ClientAssertionError> {
    let env = TimeAndRandomness { now_us: 1_767_225_600_000_000, random: &NoRandom };
    let assertion = UnverifiedClientAssertion::parse(text)?;
    let keys = [json!({ "kty": "EC", "kid": assertion.key_selector().kid, "crv": "P-384", "x": "AA", "y": "AA" })];
    assertion.check_claims(&env, TOKEN_ENDPOINT)?;
    assertion.check_registered_jku(Some("https://partner.example/jwks"))?;
    assertion.verify_signature(&[&UsableJwkSet::from_jwk_values(&keys).unwrap_or_default()])
}

fn refused(text: &str) {
    let fault = check(text).expect_err("no assertion verifies without a key");
    let description = fault.to_string();
    assert!(description.chars().all(|c| (c == ' ' || c.is_ascii_graphic()) && c != '"' && c != '\\'), "{description}");
}

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        refused(text);
    }
    // Past the base64: the first line is the header, the rest the payload.
    let split = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (header, payload) = data.split_at(split);
    refused(&format!("{}.{}.{}", encode_base64url(header), encode_base64url(payload), encode_base64url(&[7; 96])));
    let _ = UsableJwkSet::parse(data);
});
