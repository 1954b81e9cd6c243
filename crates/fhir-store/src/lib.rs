//! FHIR resources as JSON: references, bundles, conditional writes, format rewriting, outcomes.
