//! Expressions of search parameters: whatever an installed package brings is compiled or refused, and what
//! is compiled has an answer on any resource.
#![no_main]

use fhir_search::{FIRST_INSTALLED_PARAMETER_NUMBER, IndexedDocument, SearchParameterCatalog};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

/// Definitions of one run; R4's own are looked into once for all of them.
const DEFINITIONS_MAX: usize = 64;

fuzz_target!(|text: &str| {
    // The last line is a resource, the others are expressions.
    let (expressions, resource) = text.rsplit_once('\n').unwrap_or((text, "{}"));
    let numbered = (FIRST_INSTALLED_PARAMETER_NUMBER..).zip(expressions.lines().take(DEFINITIONS_MAX));
    let definition = |(number, expression): (i64, &str)| {
        let (code, url) = (code(number), format!("http://p/{number}"));
        let base = ["Patient"];
        (number, json!({"url": url, "code": code, "base": base, "type": "token", "expression": expression}))
    };
    let definitions: Vec<(i64, Value)> = numbered.map(definition).collect();
    let (catalog, refused) =
        SearchParameterCatalog::with_installed(definitions.iter().map(|(number, definition)| (*number, definition)));
    let Ok(kind) = "Patient".parse() else { return };
    let is_used = |number: i64| catalog.find_parameter_by_code(&kind, &code(number)).is_some();
    let used = definitions.iter().filter(|(number, _)| is_used(*number)).count();
    assert_eq!(used + refused.len(), definitions.len(), "each is used or refused");
    if let Ok(body) = serde_json::from_str::<Value>(resource) {
        let document = IndexedDocument { resource_type: &kind, id: "1", updated_us: 0, body: &body, base_url: "" };
        let _ = catalog.index_entries_of(&document);
    }
});

fn code(number: i64) -> String {
    format!("x{number}")
}
