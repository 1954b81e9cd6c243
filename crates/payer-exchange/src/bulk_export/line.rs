//! A stored resource as a line of a file.

use std::collections::BTreeSet;

use fhir_resource::format_conversion::{self, DocumentHead, append_document_line};
use fhir_resource::patient_compartment::{self, CompartmentMembership, patient_compartment_membership};
use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource, format_instant};
use fhir_search::SummaryMode;
use fhir_store::AccessFilter;
use fhir_store::access_filter::UnsupportedCriterionError;
use fhir_store::resource_subset::apply_summary_and_elements;
use serde_json::Value;

use super::{ElementSelection, ExportQueryContext, ExportSubjects, ExportWork, ExportedType, access_filter_of_queries};
use crate::claim_filter;

/// A row of a resource table that an export reads.
#[derive(Clone, Copy, Debug)]
pub struct ExportRow<'a> {
    /// The id.
    pub id: &'a str,
    /// The number of the write.
    pub version: i64,
    /// The time at which it was written, UNIX microseconds.
    pub updated_us: i64,
    /// The document as stored.
    pub text: &'a str,
}

/// The error of a stored row that is not a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored resource cannot be read")]
pub struct UnreadableRowError;

/// A writer of the export lines of one resource type, for the rows that belong to the export.
#[derive(Debug)]
pub struct ExportLineWriter<'a> {
    resource_type: ResourceType,
    subjects: &'a ExportSubjects,
    /// Who may be written, where consent decides.
    consenting: Option<&'a BTreeSet<String>>,
    within: Vec<AccessFilter>,
    shape: ElementSelection,
    elements: &'a [String],
    /// `{base_url}/fhir`.
    base: String,
    /// Whether stored documents are in the native format.
    native: bool,
}

impl<'a> ExportLineWriter<'a> {
    /// Creates the writer for one type of an export. `consenting` are the patients whose consent holds, where the
    /// export requires consent; `terms` is the context that its queries are parsed with; `native` says whether `/fhir`
    /// stores the native format.
    ///
    /// # Errors
    /// [`UnsupportedCriterionError`] for a query that this version of the server does not support: nothing is exported
    /// then.
    pub fn for_type(
        work: &'a ExportWork,
        of_type: (&'a ExportedType, ResourceType),
        consenting: Option<&'a BTreeSet<String>>,
        (terms, native): (ExportQueryContext<'_>, bool),
    ) -> Result<Self, UnsupportedCriterionError> {
        let (type_work, resource_type) = of_type;
        let mut within: Vec<AccessFilter> = type_work
            .within
            .iter()
            .map(|any| access_filter_of_queries(&resource_type, any, terms))
            .collect::<Result<_, _>>()?;
        within.extend(type_work.ownership.clone().map(AccessFilter::of_owned_groups));
        Ok(Self {
            resource_type,
            subjects: &work.subjects,
            consenting,
            within,
            shape: work.shape,
            elements: &type_work.elements,
            base: terms.base_url.to_owned(),
            native,
        })
    }

    /// Appends the line of a row to `out`, and returns whether the row belongs to the export; when it does not, nothing
    /// is appended.
    ///
    /// # Errors
    /// [`UnreadableRowError`]; nothing is appended.
    pub fn write_line(&self, row: ExportRow<'_>, out: &mut Vec<u8>) -> Result<bool, UnreadableRowError> {
        let id: ResourceId = row.id.parse().map_err(|_| UnreadableRowError)?;
        let key = ResourceKey { resource_type: self.resource_type.clone(), id };
        if !self.looks_inside() && self.copy(&key, row, out) {
            return Ok(true);
        }
        let resource: Value = serde_json::from_str(row.text).map_err(|_| UnreadableRowError)?;
        if !resource.is_object() {
            return Err(UnreadableRowError);
        }
        if !self.contains(&key, &resource) {
            return Ok(false);
        }
        if self.is_whole() && self.copy(&key, row, out) {
            return Ok(true);
        }
        let stored = StoredResource { key, version: row.version, updated_us: row.updated_us, resource };
        let mut document = stored.to_document();
        if let ElementSelection::DaVinci { claims_since_us } = self.shape {
            if !claim_filter::is_in_davinci_export(&document, claims_since_us) {
                return Ok(false);
            }
            document = claim_filter::strip_money_amounts(document);
        }
        let document = if self.native { format_conversion::convert_to_fhir(document) } else { document };
        let document = apply_summary_and_elements(document, SummaryMode::False, self.elements);
        out.extend_from_slice(document.to_string().as_bytes());
        out.push(b'\n');
        Ok(true)
    }

    /// Appends the line without taking the document apart; `false` when it has to be.
    fn copy(&self, key: &ResourceKey, row: ExportRow<'_>, out: &mut Vec<u8>) -> bool {
        let head = DocumentHead { key, version: row.version, last_updated: &format_instant(row.updated_us) };
        let copied = append_document_line(head, row.text, self.native, out).is_ok();
        out.extend(copied.then_some(b'\n'));
        copied
    }

    /// Returns whether anything of a document decides whether and how it is written. A patient is its own.
    fn looks_inside(&self) -> bool {
        let is_anybodys = match self.subjects {
            ExportSubjects::Everything => true,
            ExportSubjects::Patients => {
                patient_compartment_membership(&self.resource_type) == CompartmentMembership::Itself
            }
            ExportSubjects::These(_) => false,
        };
        !is_anybodys || self.consenting.is_some() || !self.within.is_empty() || !self.is_whole()
    }

    /// Returns whether nothing is left out of a resource.
    fn is_whole(&self) -> bool {
        self.shape == ElementSelection::Whole && self.elements.is_empty()
    }

    fn contains(&self, key: &ResourceKey, resource: &Value) -> bool {
        self.is_of_subject(key, resource)
            && self.within.iter().all(|selection| selection.contains_resource(key, resource))
    }

    fn is_of_subject(&self, key: &ResourceKey, resource: &Value) -> bool {
        let patients =
            patient_compartment::compartment_patient_ids(&self.resource_type, key.id.as_str(), resource, &self.base);
        let asked = match self.subjects {
            ExportSubjects::Everything => true,
            ExportSubjects::Patients => !patients.is_empty(),
            ExportSubjects::These(these) => patients.iter().any(|patient| these.contains(patient)),
        };
        // A patient who has not consented may be named in another's record: then it is written for neither.
        asked && self.consenting.is_none_or(|consenting| patients.iter().all(|patient| consenting.contains(patient)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::consent::ExportConsentRule;

    const BASE: &str = "https://payer.example/fhir";
    const TERMS: ExportQueryContext<'_> = ExportQueryContext { base_url: BASE, now_us: 0 };

    fn work(subjects: ExportSubjects, shape: ElementSelection) -> ExportWork {
        ExportWork { types: Vec::new(), subjects, since_us: None, until_us: None, consent: None, shape }
    }

    fn type_work(within: &[&[(&str, &str)]]) -> ExportedType {
        let query = |pairs: &&[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let within = if within.is_empty() { Vec::new() } else { vec![within.iter().map(query).collect()] };
        ExportedType { resource_type: String::new(), within, elements: Vec::new(), ownership: None }
    }

    fn line(
        work: &ExportWork,
        resource_type: &str,
        consenting: Option<&BTreeSet<String>>,
        text: &str,
    ) -> Option<Value> {
        written(work, &type_work(&[]), resource_type, consenting, text).unwrap()
    }

    fn written(
        work: &ExportWork,
        of_type: &ExportedType,
        resource_type: &str,
        consenting: Option<&BTreeSet<String>>,
        text: &str,
    ) -> Result<Option<Value>, UnreadableRowError> {
        let lines =
            ExportLineWriter::for_type(work, (of_type, resource_type.parse().unwrap()), consenting, (TERMS, true))
                .unwrap();
        let mut out = b"before\n".to_vec();
        let row = ExportRow { id: "x", version: 7, updated_us: 1_767_225_600_000_001, text };
        let is_written = lines.write_line(row, &mut out)?;
        let line = out.strip_prefix(b"before\n").unwrap();
        assert_eq!(std::str::from_utf8(line).unwrap().lines().count(), usize::from(is_written));
        Ok(is_written.then(|| serde_json::from_slice(line).unwrap()))
    }

    #[test]
    fn a_line_is_what_a_read_answers_whichever_way_it_is_made() {
        let everything = work(ExportSubjects::Everything, ElementSelection::Whole);
        let patients = work(ExportSubjects::Patients, ElementSelection::Whole);
        for body in [
            json!({"gender": "female", "identifier": [{"value": "v"}]}),
            json!({}),
            json!({"meta": {"tag": []}, "gender": "female"}),
            json!({"managingOrganization": {"resourceType": "Organization", "id": "o"}}),
            json!({"link": [{"other": {"uri": "https://other.example/Patient/1"}}]}),
            json!({"extension": [{"url": "u", "value": {"Coding": {"code": "c"}}}]}),
        ] {
            let stored = StoredResource {
                key: "Patient/x".parse().unwrap(),
                version: 7,
                updated_us: 1_767_225_600_000_001,
                resource: body.clone(),
            };
            let read = format_conversion::convert_to_fhir(stored.to_document());
            for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap(), format!(" {body} ")] {
                assert_eq!(line(&everything, "Patient", None, &text).as_ref(), Some(&read), "{text}");
                assert_eq!(line(&patients, "Patient", None, &text).as_ref(), Some(&read), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_json_is_unreadable_and_leaves_no_line() {
        let everything = work(ExportSubjects::Everything, ElementSelection::Whole);
        for text in ["", "{", "[]", "null", "{} {}", "{\"a\": tru}", "x{}"] {
            assert_eq!(written(&everything, &type_work(&[]), "Patient", None, text), Err(UnreadableRowError), "{text}");
        }
    }

    #[test]
    fn only_what_is_of_the_subjects_is_written() {
        let these = ExportSubjects::These(BTreeSet::from(["a".to_owned()]));
        let of = |patient: &str| json!({"subject": {"reference": format!("Patient/{patient}")}}).to_string();
        for (subjects, text, is_written) in [
            (ExportSubjects::Patients, of("b"), true),
            (ExportSubjects::Patients, "{}".to_owned(), false),
            (these.clone(), of("a"), true),
            (these.clone(), of("b"), false),
            (these.clone(), json!({"subject": {"resourceType": "Patient", "id": "a"}}).to_string(), true),
            (these.clone(), json!({"subject": {"reference": format!("{BASE}/Patient/a")}}).to_string(), true),
            (
                these.clone(),
                json!({"subject": {"reference": "https://other.example/fhir/Patient/a"}}).to_string(),
                false,
            ),
        ] {
            let work = work(subjects, ElementSelection::Whole);
            assert_eq!(line(&work, "Observation", None, &text).is_some(), is_written, "{text}");
        }
        let named_x = work(ExportSubjects::These(BTreeSet::from(["x".to_owned()])), ElementSelection::Whole);
        assert!(line(&named_x, "Patient", None, "{}").is_some(), "a patient is its own");
        assert!(line(&work(these, ElementSelection::Whole), "Patient", None, "{}").is_none());
    }

    #[test]
    fn what_names_somebody_without_consent_is_written_for_nobody() {
        let these = ExportSubjects::These(BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        let work = ExportWork { consent: Some(ExportConsentRule::OptOut), ..work(these, ElementSelection::Whole) };
        let consenting = BTreeSet::from(["a".to_owned()]);
        let of = |patient: &str| json!({"subject": {"reference": format!("Patient/{patient}")}}).to_string();
        assert!(line(&work, "Observation", Some(&consenting), &of("a")).is_some());
        assert!(line(&work, "Observation", Some(&consenting), &of("b")).is_none());
        let both =
            json!({"subject": {"reference": "Patient/a"}, "performer": [{"reference": "Patient/b"}]}).to_string();
        assert!(line(&work, "Observation", Some(&consenting), &both).is_none());
    }

    #[test]
    fn a_query_is_applied_and_one_that_is_not_known_stops_the_export() {
        let everything = work(ExportSubjects::Everything, ElementSelection::Whole);
        let coded = |code: &str| json!({"category": [{"coding": [{"code": code}]}]}).to_string();
        let filter = type_work(&[&[("category", "lab")], &[("category", "vital")]]);
        for (code, is_written) in [("lab", true), ("vital", true), ("other", false)] {
            let line = written(&everything, &filter, "Observation", None, &coded(code)).unwrap();
            assert_eq!(line.is_some(), is_written, "{code}");
        }
        let both = type_work(&[&[("code", "718-7"), ("date", "ge2026")]]);
        for (date, is_written) in [("2026-03-04", true), ("2025-12-31", false)] {
            let text = json!({"code": {"coding": [{"code": "718-7"}]}, "effectiveDateTime": date}).to_string();
            let line = written(&everything, &both, "Observation", None, &text).unwrap();
            assert_eq!(line.is_some(), is_written, "{date}");
        }
        let unknown = type_work(&[&[("no-such", "x")]]);
        let resource_type = "Observation".parse().unwrap();
        assert!(ExportLineWriter::for_type(&everything, (&unknown, resource_type), None, (TERMS, true)).is_err());
    }

    #[test]
    fn of_a_resource_the_elements_are_left_that_are_asked_for() {
        let everything = work(ExportSubjects::Everything, ElementSelection::Whole);
        let some = ExportedType { elements: vec!["status".to_owned(), "subject".to_owned()], ..type_work(&[]) };
        let text =
            json!({"status": "final", "note": [], "subject": {"resourceType": "Patient", "id": "a"}}).to_string();
        let line = written(&everything, &some, "Observation", None, &text).unwrap().unwrap();
        assert_eq!((&line["status"], &line["note"]), (&json!("final"), &Value::Null));
        assert_eq!(line["subject"], json!({"reference": "Patient/a"}));
        assert_eq!(line["meta"]["tag"][0]["code"], "SUBSETTED");
        assert_eq!(line["id"], "x");
    }
}
