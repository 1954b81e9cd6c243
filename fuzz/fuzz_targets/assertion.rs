//! The assertion path: whatever bytes a stranger sends as `client_assertion`, it is read, its claims
//! are checked and its signature is refused, without a panic and with a printable description.
#![no_main]

use libfuzzer_sys::fuzz_target;
use oauth_core::assertion::{ClientAssertion, AssertionError};
use oauth_core::env::{Env, Random};
use oauth_core::jose::{KeySet, base64url};
use serde_json::json;

const TOKEN_ENDPOINT: &str = "https://payer.example/auth/token";

struct NoRandom;

impl Random for NoRandom {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

fn check(text: &str) -> Result<(), AssertionError> {
    let env = Env { now_us: 1_767_225_600_000_000, random: &NoRandom };
    let assertion = ClientAssertion::read(text)?;
    let keys = [json!({ "kty": "EC", "kid": assertion.key().kid, "crv": "P-384", "x": "AA", "y": "AA" })];
    assertion.check_claims(&env, TOKEN_ENDPOINT)?;
    assertion.check_jku(Some("https://partner.example/jwks"))?;
    assertion.check_signature(&[&KeySet::from_values(&keys).unwrap_or_default()])
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
    refused(&format!("{}.{}.{}", base64url(header), base64url(payload), base64url(&[7; 96])));
    let _ = KeySet::parse(data);
});
