//! Documents: whatever is sent is judged, within the bound of issues.
#![no_main]

use fhir_validation::{limits, validate_fhir_document};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|body: &[u8]| {
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return };
    let named = document.get("resourceType").and_then(Value::as_str);
    for kind in named.into_iter().chain(["Patient", "Bundle", "Questionnaire"]) {
        if let Some(issues) = validate_fhir_document(kind, &document) {
            assert!(issues.len() <= limits::MAX_ISSUES + 1, "{kind}: {} issues", issues.len());
        }
    }
});
