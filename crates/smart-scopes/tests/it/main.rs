//! Scope rules, through the public face alone.

#[cfg(test)]
mod model;
#[cfg(test)]
mod restriction;
#[cfg(test)]
mod specification;
#[cfg(test)]
mod text;

/// The same cases on every run and machine; nothing is written beside the tests.
#[cfg(test)]
fn seeded() -> proptest::test_runner::Config {
    use proptest::test_runner::{Config, RngSeed};
    Config { cases: 400, rng_seed: RngSeed::Fixed(0x5ca1_ab1e), failure_persistence: None, ..Config::default() }
}
