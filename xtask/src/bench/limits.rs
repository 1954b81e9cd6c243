//! The signatures of a token request without a server around them.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use anyhow::Result;
use aws_lc_rs::rand::SystemRandom;

use super::{
    Bench, Row,
    cpu::Meter,
    crypto::{Algorithm, Key},
};

/// Long enough that a tick of 10 ms is less than 1 % of it.
const LASTS: Duration = Duration::from_millis(1500);
/// About the size of an encoded header and payload.
const MESSAGE: [u8; 512] = [b'a'; 512];

/// What each operation costs here and now, in microseconds of CPU.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "a name ends with its unit")]
pub(super) struct Limits {
    pub(super) es384_verify_us: f64,
    pub(super) es384_sign_us: f64,
    pub(super) rs384_verify_us: f64,
    pub(super) es256_sign_us: f64,
}

/// ES384 and RS384 verification (assertions), ES384 and ES256 signing (tokens).
///
/// # Errors
/// When a key cannot be made or `/proc` cannot be read.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let limits = measure(bench)?;
    let row = |work: &str, limit_us| Row { limit: Some(limit_us), ..Row::cpu(work) };
    Ok(vec![
        row("ES384 verify", limits.es384_verify_us),
        row("ES384 sign", limits.es384_sign_us),
        row("RS384 verify", limits.rs384_verify_us),
        row("ES256 sign", limits.es256_sign_us),
    ])
}

/// The same as values, for the benches that compare with them.
///
/// # Errors
/// As [`run`].
pub(super) fn measure(bench: &Bench<'_>) -> Result<Limits> {
    bench.take_measured_core()?;
    let random = SystemRandom::new();
    let (es256, es384) = (Key::generate(Algorithm::Es256)?, Key::generate(Algorithm::Es384)?);
    let rs384 = Key::generate(Algorithm::Rs384)?;
    let (ecdsa, rsa) = (es384.sign(&random, &MESSAGE)?, rs384.sign(&random, &MESSAGE)?);
    let limits = Limits {
        es384_verify_us: micros_each(|| es384.verifies(&MESSAGE, &ecdsa))?,
        es384_sign_us: micros_each(|| es384.sign(&random, &MESSAGE).is_ok())?,
        rs384_verify_us: micros_each(|| rs384.verifies(&MESSAGE, &rsa))?,
        es256_sign_us: micros_each(|| es256.sign(&random, &MESSAGE).is_ok())?,
    };
    bench.take_other_core()?;
    Ok(limits)
}

fn micros_each(operation: impl Fn() -> bool) -> Result<f64> {
    let meter = Meter::of(std::process::id())?;
    let (started, from) = (Instant::now(), meter.read()?);
    let mut operations = 0;
    while started.elapsed() < LASTS {
        anyhow::ensure!(black_box(operation()), "a signature failed");
        operations += 1;
    }
    Ok(meter.micros_each((from, meter.read()?), operations))
}
