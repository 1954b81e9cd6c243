//! The signatures of a token request without a server around them.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        EcdsaSigningAlgorithm, KeyPair, UnparsedPublicKey,
    },
};

use super::{Row, cpu::Meter};

/// Long enough that a tick of 10 ms is less than 1 % of it.
const LASTS: Duration = Duration::from_secs(2);
/// About the size of an encoded header and payload.
const MESSAGE: [u8; 512] = [b'a'; 512];

/// ES384 verification (the assertion) and signing, ES256 signing (the tokens).
///
/// # Errors
/// When a key cannot be made or `/proc` cannot be read.
pub(super) fn run() -> Result<Vec<Row>> {
    let random = SystemRandom::new();
    let p384 = key(&ECDSA_P384_SHA384_FIXED_SIGNING)?;
    let p256 = key(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
    let signed = p384.sign(&random, &MESSAGE).context("cannot sign")?;
    let public = UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, p384.public_key().as_ref());
    Ok(vec![
        measure("ES384 verify", || public.verify(&MESSAGE, signed.as_ref()).is_ok())?,
        measure("ES384 sign", || p384.sign(&random, &MESSAGE).is_ok())?,
        measure("ES256 sign", || p256.sign(&random, &MESSAGE).is_ok())?,
    ])
}

fn key(algorithm: &'static EcdsaSigningAlgorithm) -> Result<EcdsaKeyPair> {
    EcdsaKeyPair::generate(algorithm).context("cannot generate a key")
}

fn measure(work: &str, operation: impl Fn() -> bool) -> Result<Row> {
    let meter = Meter::of(std::process::id())?;
    let (started, from) = (Instant::now(), meter.read()?);
    let mut operations = 0;
    while started.elapsed() < LASTS {
        anyhow::ensure!(black_box(operation()), "{work} failed");
        operations += 1;
    }
    Ok(Row {
        work: format!("{work} ×{operations}"),
        ours_us: None,
        limit_us: meter.micros_each((from, meter.read()?), operations),
        target_us: None,
    })
}
