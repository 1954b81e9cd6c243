//! A stored resource as a line of a file.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{ExportWork, Shape, Subjects, TypeWork, selection};
use crate::compartment;
use crate::format;
use crate::key::{ResourceId, ResourceKey, ResourceType};
use crate::payer::claims;
use crate::ports::Stored;
use crate::selection::{Selection, UnsupportedCriterion};

/// A row of a type's table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The id.
    pub id: &'a str,
    /// The number of the write.
    pub version: i64,
    /// When it was written, unix microseconds.
    pub updated_us: i64,
    /// The document as stored.
    pub text: &'a str,
}

/// What is stored is no resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stored resource cannot be read")]
pub struct UnreadableRow;

/// Decides of the rows of one type which are part of an export, and writes them.
#[derive(Debug)]
pub struct Lines<'a> {
    kind: ResourceType,
    subjects: &'a Subjects,
    /// Who may be written, where consent decides.
    consenting: Option<&'a BTreeSet<String>>,
    within: Vec<Selection>,
    shape: Shape,
    /// `{base_url}/fhir`.
    base: String,
    /// Whether stored documents are in the native spelling.
    native: bool,
}

impl<'a> Lines<'a> {
    /// The lines of one type of an export. `consenting` are the patients whose consent holds, where it is asked;
    /// `fhir_base` is the address of our own FHIR endpoint without a slash at the end, `native` whether `/fhir`
    /// stores the native spelling.
    ///
    /// # Errors
    /// When a query of the job is one that this version of the server does not apply: nothing is exported then.
    pub fn of(
        work: &'a ExportWork,
        of_type: (&TypeWork, ResourceType),
        consenting: Option<&'a BTreeSet<String>>,
        (fhir_base, native): (&str, bool),
    ) -> Result<Self, UnsupportedCriterion> {
        let (type_work, kind) = of_type;
        let within = type_work.within.iter().map(|any| selection(&kind, any)).collect::<Result<_, _>>()?;
        Ok(Self {
            kind,
            subjects: &work.subjects,
            consenting,
            within,
            shape: work.shape,
            base: fhir_base.to_owned(),
            native,
        })
    }

    /// Appends the line of a row to `out`, with its end; `false` when it is no part of the export.
    ///
    /// # Errors
    /// [`UnreadableRow`]; nothing is appended.
    pub fn write(&self, row: Row<'_>, out: &mut Vec<u8>) -> Result<bool, UnreadableRow> {
        if !self.looks_inside() && splice(&self.kind, row, self.native, out)? {
            return Ok(true);
        }
        let resource: Value = serde_json::from_str(row.text).map_err(|_| UnreadableRow)?;
        let id: ResourceId = row.id.parse().map_err(|_| UnreadableRow)?;
        let key = ResourceKey { kind: self.kind.clone(), id };
        if !self.contains(&key, &resource) {
            return Ok(false);
        }
        let stored = Stored { key, version: row.version, updated_us: row.updated_us, resource };
        let mut document = stored.document();
        if let Shape::DaVinci { claims_since_us } = self.shape {
            if !claims::is_shared(&document, claims_since_us) {
                return Ok(false);
            }
            document = claims::without_money(document);
        }
        let document = if self.native { format::to_fhir(document) } else { document };
        out.extend_from_slice(document.to_string().as_bytes());
        out.push(b'\n');
        Ok(true)
    }

    /// Whether anything of a document decides whether and how it is written.
    fn looks_inside(&self) -> bool {
        let by_subject = !matches!(self.subjects, Subjects::Everything);
        by_subject || self.consenting.is_some() || !self.within.is_empty() || self.shape != Shape::Whole
    }

    fn contains(&self, key: &ResourceKey, resource: &Value) -> bool {
        self.is_of_subject(key, resource) && self.within.iter().all(|selection| selection.contains(key, resource))
    }

    fn is_of_subject(&self, key: &ResourceKey, resource: &Value) -> bool {
        let patients = compartment::patients(&self.kind, key.id.as_str(), resource, &self.base);
        let asked = match self.subjects {
            Subjects::Everything => true,
            Subjects::Patients => !patients.is_empty(),
            Subjects::These(these) => patients.iter().any(|patient| these.contains(patient)),
        };
        // Somebody who has not consented may be named in another's record: then it is written for neither.
        asked && self.consenting.is_none_or(|consenting| patients.iter().all(|patient| consenting.contains(patient)))
    }
}

/// Appends a document as it is stored, with what names it put before; `false` when it has to be read for that.
fn splice(kind: &ResourceType, row: Row<'_>, native: bool, out: &mut Vec<u8>) -> Result<bool, UnreadableRow> {
    let text = row.text.trim_ascii();
    let body = text.strip_prefix('{').ok_or(UnreadableRow)?;
    let spelled =
        native && ["\"resourceType\"", "\"localRef\"", "\"uri\"", "\"value\""].iter().any(|name| text.contains(name));
    if spelled || text.contains("\"meta\"") || text.contains('\n') || text.contains('\r') {
        return Ok(false);
    }
    // Users' own SQL may have stored what is no JSON.
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| UnreadableRow)?;
    let at = Timestamp::from_microsecond(row.updated_us).map_err(|_| UnreadableRow)?;
    let comma = if body.trim_ascii_start().starts_with('}') { "" } else { "," };
    let head = format!(
        r#"{{"resourceType":"{kind}","id":"{}","meta":{{"versionId":"{}","lastUpdated":"{at:.6}"}}{comma}"#,
        row.id, row.version
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body.as_bytes());
    out.push(b'\n');
    Ok(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::payer::ConsentRule;

    const BASE: &str = "https://payer.example/fhir";

    fn work(subjects: Subjects, shape: Shape) -> ExportWork {
        ExportWork { types: Vec::new(), subjects, since_us: None, until_us: None, consent: None, shape }
    }

    fn type_work(within: &[&[(&str, &str)]]) -> TypeWork {
        let query = |pairs: &&[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let within = if within.is_empty() { Vec::new() } else { vec![within.iter().map(query).collect()] };
        TypeWork { kind: String::new(), within }
    }

    fn line(work: &ExportWork, kind: &str, consenting: Option<&BTreeSet<String>>, text: &str) -> Option<Value> {
        written(work, &type_work(&[]), kind, consenting, text).unwrap()
    }

    fn written(
        work: &ExportWork,
        of_type: &TypeWork,
        kind: &str,
        consenting: Option<&BTreeSet<String>>,
        text: &str,
    ) -> Result<Option<Value>, UnreadableRow> {
        let lines = Lines::of(work, (of_type, kind.parse().unwrap()), consenting, (BASE, true)).unwrap();
        let mut out = b"before\n".to_vec();
        let row = Row { id: "x", version: 7, updated_us: 1_767_225_600_000_001, text };
        let is_written = lines.write(row, &mut out)?;
        let line = out.strip_prefix(b"before\n").unwrap();
        assert_eq!(std::str::from_utf8(line).unwrap().lines().count(), usize::from(is_written));
        Ok(is_written.then(|| serde_json::from_slice(line).unwrap()))
    }

    #[test]
    fn a_line_is_what_a_read_answers_whichever_way_it_is_made() {
        let everything = work(Subjects::Everything, Shape::Whole);
        let patients = work(Subjects::Patients, Shape::Whole);
        for body in [
            json!({"gender": "female", "identifier": [{"value": "v"}]}),
            json!({}),
            json!({"meta": {"tag": []}, "gender": "female"}),
            json!({"managingOrganization": {"resourceType": "Organization", "id": "o"}}),
            json!({"link": [{"other": {"uri": "https://other.example/Patient/1"}}]}),
            json!({"extension": [{"url": "u", "value": {"Coding": {"code": "c"}}}]}),
        ] {
            let stored = Stored {
                key: "Patient/x".parse().unwrap(),
                version: 7,
                updated_us: 1_767_225_600_000_001,
                resource: body.clone(),
            };
            let read = format::to_fhir(stored.document());
            for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap(), format!(" {body} ")] {
                assert_eq!(line(&everything, "Patient", None, &text).as_ref(), Some(&read), "{text}");
                assert_eq!(line(&patients, "Patient", None, &text).as_ref(), Some(&read), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_json_is_unreadable_and_leaves_no_line() {
        let everything = work(Subjects::Everything, Shape::Whole);
        for text in ["", "{", "[]", "null", "{} {}", "{\"a\": tru}", "x{}"] {
            assert_eq!(written(&everything, &type_work(&[]), "Patient", None, text), Err(UnreadableRow), "{text}");
        }
    }

    #[test]
    fn only_what_is_of_the_subjects_is_written() {
        let these = Subjects::These(BTreeSet::from(["a".to_owned()]));
        let of = |patient: &str| json!({"subject": {"reference": format!("Patient/{patient}")}}).to_string();
        for (subjects, text, is_written) in [
            (Subjects::Patients, of("b"), true),
            (Subjects::Patients, "{}".to_owned(), false),
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
            let work = work(subjects, Shape::Whole);
            assert_eq!(line(&work, "Observation", None, &text).is_some(), is_written, "{text}");
        }
        let named_x = work(Subjects::These(BTreeSet::from(["x".to_owned()])), Shape::Whole);
        assert!(line(&named_x, "Patient", None, "{}").is_some(), "a patient is its own");
        assert!(line(&work(these, Shape::Whole), "Patient", None, "{}").is_none());
    }

    #[test]
    fn what_names_somebody_without_consent_is_written_for_nobody() {
        let these = Subjects::These(BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        let work = ExportWork { consent: Some(ConsentRule::OptOut), ..work(these, Shape::Whole) };
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
        let everything = work(Subjects::Everything, Shape::Whole);
        let coded = |code: &str| json!({"category": [{"coding": [{"code": code}]}]}).to_string();
        let filter = type_work(&[&[("category", "lab")], &[("category", "vital")]]);
        for (code, is_written) in [("lab", true), ("vital", true), ("other", false)] {
            let line = written(&everything, &filter, "Observation", None, &coded(code)).unwrap();
            assert_eq!(line.is_some(), is_written, "{code}");
        }
        let unknown = type_work(&[&[("code", "x")]]);
        let kind = "Observation".parse().unwrap();
        assert!(Lines::of(&everything, (&unknown, kind), None, (BASE, true)).is_err());
    }
}
