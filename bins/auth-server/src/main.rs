//! Authorization server of a FHIR data platform for health payers.

fn main() {}
