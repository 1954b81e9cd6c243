//! The signatures of a token request without a server around them.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use anyhow::Result;
use aws_lc_rs::rand::SystemRandom;

use super::{
    Bench, Row,
    cpu::Stopwatch,
    crypto::{Algorithm, Key},
    slices,
};

/// How long one slice lasts.
const LASTS: Duration = Duration::from_millis(150);
/// Operations between two looks at the clock.
const AT_ONCE: u32 = 8;
/// About the size of an encoded header and payload.
const MESSAGE: [u8; 512] = [b'a'; 512];

/// Keys, and signatures made with them, ready before anything is measured.
#[derive(Debug)]
pub(super) struct Signatures {
    random: SystemRandom,
    es256: Key,
    es384: Key,
    rs384: Key,
    ecdsa: Vec<u8>,
    es256_signature: Vec<u8>,
    rsa: Vec<u8>,
}

/// ES384 and RS384 verification (assertions), ES384 and ES256 signing (tokens).
///
/// # Errors
/// When a key cannot be made or `/proc` cannot be read.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let signatures = Signatures::generate()?;
    let row = |work: &str, operation: fn(&Signatures) -> bool| -> Result<Row> {
        let limit_us = slices::repeat(|| signatures.slice_us(bench, operation))?;
        Ok(Row { limit: Some(limit_us), ..Row::cpu(work) })
    };
    Ok(vec![
        row("ES384 verify", Signatures::verify_es384)?,
        row("ES384 sign", Signatures::sign_es384)?,
        row("RS384 verify", Signatures::verify_rs384)?,
        row("ES256 sign", Signatures::sign_es256)?,
    ])
}

impl Signatures {
    /// Fresh keys.
    ///
    /// # Errors
    /// When the system gives no randomness.
    pub(super) fn generate() -> Result<Self> {
        let random = SystemRandom::new();
        let (es256, es384) = (Key::generate(Algorithm::Es256)?, Key::generate(Algorithm::Es384)?);
        let rs384 = Key::generate(Algorithm::Rs384)?;
        let (ecdsa, rsa) = (es384.sign(&random, &MESSAGE)?, rs384.sign(&random, &MESSAGE)?);
        let es256_signature = es256.sign(&random, &MESSAGE)?;
        Ok(Self { random, es256, es384, rs384, ecdsa, es256_signature, rsa })
    }

    /// What an operation costs here and now on the measured core, in microseconds of CPU; for a moment only,
    /// so that it can be asked again and again between slices of something else.
    ///
    /// # Errors
    /// When an operation fails or `/proc` cannot be read.
    pub(super) fn slice_us(&self, bench: &Bench<'_>, operation: impl Fn(&Self) -> bool) -> Result<f64> {
        bench.take_measured_core()?;
        let (started, watch) = (Instant::now(), Stopwatch::start(std::process::id())?);
        let mut operations = 0;
        while started.elapsed() < LASTS {
            for _ in 0..AT_ONCE {
                anyhow::ensure!(black_box(operation(black_box(self))), "a signature failed");
            }
            operations += AT_ONCE;
        }
        let each_us = watch.micros_each(operations)?;
        bench.take_other_core()?;
        Ok(each_us)
    }

    pub(super) fn verify_es384(&self) -> bool {
        self.es384.verifies(&MESSAGE, &self.ecdsa)
    }

    pub(super) fn sign_es384(&self) -> bool {
        self.es384.sign(&self.random, &MESSAGE).is_ok()
    }

    pub(super) fn verify_rs384(&self) -> bool {
        self.rs384.verifies(&MESSAGE, &self.rsa)
    }

    pub(super) fn verify_es256(&self) -> bool {
        self.es256.verifies(&MESSAGE, &self.es256_signature)
    }

    pub(super) fn sign_es256(&self) -> bool {
        self.es256.sign(&self.random, &MESSAGE).is_ok()
    }
}
