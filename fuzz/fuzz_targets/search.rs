//! Search strings: whatever stands in a query, it is read or refused, what is refused says so, and what is
//! read has an answer on a resource and asks for nothing that was not there.
#![no_main]

use std::sync::{Arc, LazyLock};

use fhir_search::{
    IndexedDocument, SearchClause, SearchError, SearchParameterCatalog, SearchParseContext, UnknownParameterHandling,
    parse_search,
};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const OWN: &str = "https://payer.example/fhir";
static CATALOG: LazyLock<Arc<SearchParameterCatalog>> = LazyLock::new(SearchParameterCatalog::with_r4_only);
static BODY: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "status": "final", "code": {"coding": [{"system": "http://loinc.org", "code": "8867-4"}], "text": "Heart rate"},
        "subject": {"reference": "Patient/p"}, "effectiveDateTime": "2024-05-05T10:11:12Z",
        "valueQuantity": {"value": 72, "unit": "beats/minute", "system": "http://unitsofmeasure.org", "code": "/min"},
    })
});

fn check(kind: &str, query: &str) -> Result<(), SearchError> {
    let Ok(kind) = kind.parse() else { return Ok(()) };
    let request = SearchParseContext {
        resource_type: &kind,
        handling: UnknownParameterHandling::Strict,
        now_us: 1_767_225_600_000_000,
        base_url: OWN,
    };
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    let pairs = pairs.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
    let (search, ignored) = parse_search(&CATALOG, &request, pairs)?;
    assert!(ignored.is_empty(), "a strict search ignores nothing");
    for clause in &search.clauses {
        if let SearchClause::Any { tests, .. } | SearchClause::None { tests, .. } = clause {
            assert!(!tests.is_empty(), "a clause without a test would find everything or nothing");
        }
    }
    let document = IndexedDocument { resource_type: &kind, id: "1", updated_us: 0, body: &BODY, base_url: OWN };
    let _ = search.matches(&document, None);
    Ok(())
}

fuzz_target!(|text: &str| {
    // The first line is the type, the rest the query.
    let (kind, query) = text.split_once('\n').unwrap_or(("Observation", text));
    if let Err(fault) = check(kind, query) {
        assert!(!fault.to_string().is_empty());
    }
});
