//! What the property tests share, here and in the crates above.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Returns a property test configuration with this number of cases and a fixed seed.
#[must_use]
pub fn seeded_proptest_config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(0xF41E), failure_persistence: None, ..ProptestConfig::default() }
}

/// Returns a strategy for arbitrary JSON, in which some members have names that Bundles have.
pub fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let words = ["resourceType", "type", "entry", "request", "method", "url", "resource", "id"];
    let key = prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), ".{0,6}"];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        ".{0,12}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::Array),
            proptest::collection::vec((key.clone(), inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}
