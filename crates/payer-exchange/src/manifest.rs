//! The manifest of a completed job.

use serde_json::{Value, json};

use crate::jobs::{Job, JobFile};

/// The job and transaction time that a manifest is built from.
#[derive(Clone, Copy, Debug)]
pub struct ExportManifestInput<'a> {
    /// The job.
    pub job: &'a Job,
    /// The transaction time of the job, a FHIR `instant`.
    pub transaction_time: &'a str,
}

/// Builds the manifest of a completed job; `url` returns the address of a file.
///
/// # Source
/// HL7 Bulk Data Access, complete status. Every file needs the access token. `deleted` is optional there. An export of
/// changes leaves it out, because deletions are not listed and an empty list would deny them.
pub fn build_manifest(of: ExportManifestInput<'_>, url: impl Fn(&JobFile) -> String) -> Value {
    let output = |file: &JobFile| json!({"type": file.name, "url": url(file), "count": file.resources});
    let mut manifest = json!({
        "transactionTime": of.transaction_time,
        "request": of.job.url,
        "requiresAccessToken": true,
        "output": of.job.files.iter().map(output).collect::<Vec<_>>(),
        "error": [],
    });
    if let (false, Some(members)) = (of.job.incremental, manifest.as_object_mut()) {
        members.insert("deleted".to_owned(), json!([]));
    }
    manifest
}
