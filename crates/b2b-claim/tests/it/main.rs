//! The claim, its omission and the check on write, through the public face alone.

#[cfg(test)]
mod claim;
#[cfg(test)]
mod omission;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod validation;

/// The base address the fixtures publish their extension under.
#[cfg(test)]
const EXT_BASE: &str = "http://platform.example/fhir";

/// The identifier system the fixtures register.
#[cfg(test)]
const NPI: &str = "http://hl7.org/fhir/sid/us-npi";

/// A backend Client with these sub-extensions.
#[cfg(test)]
fn client_with(parts: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "resourceType": "Client",
        "id": "partner",
        "auth": {"client_credentials": {"token_format": "jwt"}},
        "extension": [
            {"url": "http://elsewhere.example/other", "valueString": "x"},
            {"url": b2b_claim::extension_url(EXT_BASE), "extension": parts}
        ]
    })
}

/// `organization` and `organizationIdentifierSystem` as the native endpoint stores them.
#[cfg(test)]
fn complete_parts() -> serde_json::Value {
    serde_json::json!([
        {"url": "organization", "valueReference": {"reference": "Organization/payer-a"}},
        {"url": "organizationIdentifierSystem", "valueUri": NPI}
    ])
}

/// The Organization that [`complete_parts`] refers to.
#[cfg(test)]
fn organization() -> serde_json::Value {
    serde_json::json!({
        "resourceType": "Organization",
        "id": "payer-a",
        "name": "Payer A",
        "identifier": [{"system": "urn:oid:1.2", "value": "x"}, {"system": NPI, "value": "1234567893"}]
    })
}
