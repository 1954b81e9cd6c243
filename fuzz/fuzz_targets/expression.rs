//! Expressions of search parameters: whatever an installed package brings is compiled or refused, and what
//! is compiled has an answer on any resource.
#![no_main]

use fhir_store::search::{Catalog, Document, FIRST_INSTALLED};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|text: &str| {
    // The first line is the expression, the rest a resource.
    let (expression, resource) = text.split_once('\n').unwrap_or((text, "{}"));
    let definition = json!({
        "url": "http://p/x", "code": "x", "base": ["Patient"], "type": "token", "expression": expression,
    });
    let (catalog, refused) = Catalog::with([(FIRST_INSTALLED, &definition)]);
    let Ok(kind) = "Patient".parse() else { return };
    assert_eq!(refused.is_empty(), catalog.parameter(&kind, "x").is_some());
    if let Ok(body) = serde_json::from_str::<Value>(resource) {
        let document = Document { kind: &kind, id: "1", updated_us: 0, body: &body, own: "" };
        let _ = catalog.entries(&document);
    }
});
