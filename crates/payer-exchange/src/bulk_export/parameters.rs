//! The parameters of a kick-off.

use std::collections::BTreeSet;

use fhir_resource::{ResourceId, ResourceType};
use fhir_store::access_filter::UnsupportedCriterionError;
use jiff::Timestamp;
use serde_json::Value;

use super::{ExportQueryContext, SearchParameterPairs, access_filter_of_queries};

/// The media type of export files.
pub const NDJSON_MEDIA_TYPE: &str = "application/fhir+ndjson";
/// What a request may call it as well.
///
/// # Source
/// HL7 Bulk Data Access, `_outputFormat`.
const ALSO_NDJSON: [&str; 2] = ["application/ndjson", "ndjson"];
/// Most values of one parameter. Not specified; a thousand patients are a list, more are a Group.
const VALUES_MAX: usize = 1000;

/// The parsed parameters of a bulk export request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportParameters {
    /// `_type`, in the order sent, each once; `None` when it is not sent.
    pub types: Option<Vec<ResourceType>>,
    /// `_since`, unix microseconds.
    pub since_us: Option<i64>,
    /// `_until`, unix microseconds.
    pub until_us: Option<i64>,
    /// `_typeFilter`: queries with their types, of which a resource of the type must meet one.
    pub filters: Vec<(ResourceType, SearchParameterPairs)>,
    /// `_elements`: names of elements, each of one type or of every type.
    pub elements: Vec<(Option<ResourceType>, String)>,
    /// `patient`: the ids; `None` when it is not sent.
    pub patients: Option<BTreeSet<String>>,
    /// `exportType`, as it was sent.
    pub export_type: Option<String>,
}

/// The reason why the parameters of an export request are invalid. The texts are those of the platform where it has
/// one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportParametersError {
    /// The body is not a `Parameters` resource.
    #[error("Request body must be a FHIR Parameters resource")]
    NotParameters,
    /// A `parameter` without a name or a value.
    #[error("Every parameter needs a name and a value")]
    Malformed,
    /// Parameters that this operation does not take.
    #[error("Unsupported parameter(s): {}", .0.join(", "))]
    Unsupported(Vec<String>),
    /// A parameter that may occur once occurs several times.
    #[error("Parameter {0} must appear at most once")]
    Repeated(&'static str),
    /// A parameter has more values than a request may have.
    #[error("Parameter {0} has more than {VALUES_MAX} values")]
    TooMany(&'static str),
    /// A value of another type.
    #[error("Parameter {name} must use {element}")]
    Element {
        /// The parameter.
        name: String,
        /// The element that must hold the value.
        element: &'static str,
    },
    /// A value that is not an instant.
    #[error("{name} must be an instant such as 2026-01-31T12:00:00Z, got: {value}")]
    Instant {
        /// The parameter.
        name: String,
        /// The value that was sent.
        value: String,
    },
    /// An output format other than NDJSON.
    #[error("_outputFormat must be {NDJSON_MEDIA_TYPE}, got: {0}")]
    OutputFormat(String),
    /// A value of `_type` that is not the name of a resource type.
    #[error("_type names no resource type: {0}")]
    Type(String),
    /// A filter without a type.
    #[error("_typeFilter must be a type and a query such as Observation?category=laboratory, got: {0}")]
    FilterForm(String),
    /// A filter with a parameter that is not supported.
    #[error("_typeFilter: {0}")]
    Filter(#[from] UnsupportedCriterionError),
    /// A filter of a type that `_type` does not name.
    #[error("_typeFilter is about {0}, which _type does not name")]
    FilterOfOther(ResourceType),
    /// A value of `_elements` that is not the name of an element.
    #[error("_elements must be names such as birthDate or Patient.birthDate, got: {0}")]
    Elements(String),
    /// A value of `patient` that is not a reference to a patient.
    #[error("patient must be a reference such as Patient/123, got: {0}")]
    Patient(String),
}

/// A parameter as sent: its name, the element that held its value (`None` in an address), the value.
type Sent = (String, Option<String>, String);

impl ExportParameters {
    /// The names of the parameters that every bulk export supports.
    pub const COMMON_PARAMETER_NAMES: &'static [&'static str] =
        &["_type", "_since", "_until", "_typeFilter", "_elements", "_outputFormat", "patient"];

    /// Parses the query parameters of an export request; `takes` lists the supported ones.
    ///
    /// # Errors
    /// [`ExportParametersError`].
    pub fn from_query(pairs: &[(String, String)], takes: &[&str]) -> Result<Self, ExportParametersError> {
        let sent: Vec<Sent> = pairs.iter().map(|(name, value)| (name.clone(), None, value.clone())).collect();
        Self::of(&sent, takes)
    }

    /// Parses the `Parameters` body of an export request; `takes` lists the supported ones.
    ///
    /// # Errors
    /// [`ExportParametersError`].
    pub fn from_body(body: &Value, takes: &[&str]) -> Result<Self, ExportParametersError> {
        if body.get("resourceType").and_then(Value::as_str) != Some("Parameters") {
            return Err(ExportParametersError::NotParameters);
        }
        let none = Vec::new();
        let sent = match body.get("parameter") {
            None => &none,
            Some(sent) => sent.as_array().ok_or(ExportParametersError::NotParameters)?,
        };
        Self::of(&sent.iter().map(sent_in_body).collect::<Result<Vec<_>, _>>()?, takes)
    }

    fn of(sent: &[Sent], takes: &[&str]) -> Result<Self, ExportParametersError> {
        let unsupported: BTreeSet<&String> =
            sent.iter().map(|(name, ..)| name).filter(|name| !takes.contains(&name.as_str())).collect();
        if !unsupported.is_empty() {
            return Err(ExportParametersError::Unsupported(unsupported.into_iter().cloned().collect()));
        }
        let mut asked = Self::default();
        let (mut formats, mut since, mut until, mut uses) = (0, 0, 0, 0);
        for (name, element, value) in sent {
            match name.as_str() {
                "_type" => asked.add_types(value)?,
                "_since" => asked.since_us = Some(instant(name, value, once(&mut since, "_since")?)?),
                "_until" => asked.until_us = Some(instant(name, value, once(&mut until, "_until")?)?),
                "_typeFilter" => asked.add_filter(value)?,
                "_elements" => asked.add_elements(value)?,
                "_outputFormat" => check_format(value, element.is_some(), once(&mut formats, "_outputFormat")?)?,
                "patient" => asked.add_patient(value)?,
                _ => asked.export_type = Some(export_type(element.as_deref(), value, once(&mut uses, "exportType")?)?),
            }
        }
        asked.check()
    }

    fn check(self) -> Result<Self, ExportParametersError> {
        let named =
            |resource_type: &ResourceType| self.types.as_ref().is_none_or(|types| types.contains(resource_type));
        match self.filters.iter().find(|(resource_type, _)| !named(resource_type)) {
            Some((resource_type, _)) => Err(ExportParametersError::FilterOfOther(resource_type.clone())),
            None => Ok(self),
        }
    }

    fn add_types(&mut self, list: &str) -> Result<(), ExportParametersError> {
        let types = self.types.get_or_insert_default();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let resource_type: ResourceType = name.parse().map_err(|_| ExportParametersError::Type(name.to_owned()))?;
            if !types.contains(&resource_type) {
                types.push(resource_type);
            }
        }
        if types.is_empty() { Err(ExportParametersError::Type(list.to_owned())) } else { bounded(types.len(), "_type") }
    }

    fn add_filter(&mut self, filter: &str) -> Result<(), ExportParametersError> {
        let form = || ExportParametersError::FilterForm(filter.to_owned());
        let (resource_type, query) = filter.split_once('?').ok_or_else(form)?;
        let resource_type: ResourceType = resource_type.parse().map_err(|_| form())?;
        let query: SearchParameterPairs = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        if query.is_empty() {
            return Err(form());
        }
        // Whether it is applied depends on nothing but its words.
        access_filter_of_queries(
            &resource_type,
            std::slice::from_ref(&query),
            ExportQueryContext { base_url: "", now_us: 0 },
        )?;
        self.filters.push((resource_type, query));
        bounded(self.filters.len(), "_typeFilter")
    }

    fn add_elements(&mut self, list: &str) -> Result<(), ExportParametersError> {
        for one in list.split(',').map(str::trim) {
            let fault = || ExportParametersError::Elements(one.to_owned());
            let (resource_type, name) = match one.split_once('.') {
                Some((resource_type, name)) => (Some(resource_type.parse().map_err(|_| fault())?), name),
                None => (None, one),
            };
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            self.elements.push(is_name.then(|| (resource_type, name.to_owned())).ok_or_else(fault)?);
        }
        bounded(self.elements.len(), "_elements")
    }

    /// Returns the `_elements` that the export writes of resources of a type; empty for all elements.
    #[must_use]
    pub fn elements_of_type(&self, resource_type: &ResourceType) -> Vec<String> {
        let of = self.elements.iter().filter(|(of, _)| of.as_ref().is_none_or(|of| of == resource_type));
        of.map(|(_, name)| name.clone()).collect()
    }

    fn add_patient(&mut self, reference: &str) -> Result<(), ExportParametersError> {
        let patients = self.patients.get_or_insert_default();
        for one in reference.split(',') {
            let id = one.trim().strip_prefix("Patient/").and_then(|id| id.parse::<ResourceId>().ok());
            patients.insert(id.ok_or_else(|| ExportParametersError::Patient(one.to_owned()))?.to_string());
        }
        bounded(patients.len(), "patient")
    }
}

fn once(seen: &mut u8, name: &'static str) -> Result<(), ExportParametersError> {
    *seen = seen.saturating_add(1);
    if *seen > 1 { Err(ExportParametersError::Repeated(name)) } else { Ok(()) }
}

fn bounded(count: usize, name: &'static str) -> Result<(), ExportParametersError> {
    if count > VALUES_MAX { Err(ExportParametersError::TooMany(name)) } else { Ok(()) }
}

fn instant(name: &str, value: &str, (): ()) -> Result<i64, ExportParametersError> {
    let at: Result<Timestamp, _> = value.parse();
    at.map(Timestamp::as_microsecond)
        .map_err(|_| ExportParametersError::Instant { name: name.to_owned(), value: value.to_owned() })
}

/// In a body the platform takes the full name alone.
fn check_format(value: &str, in_body: bool, (): ()) -> Result<(), ExportParametersError> {
    let known = value == NDJSON_MEDIA_TYPE || (!in_body && ALSO_NDJSON.contains(&value));
    if known { Ok(()) } else { Err(ExportParametersError::OutputFormat(value.to_owned())) }
}

fn export_type(element: Option<&str>, value: &str, (): ()) -> Result<String, ExportParametersError> {
    match element {
        Some("valueCanonical") => Ok(value.to_owned()),
        _ => Err(ExportParametersError::Element { name: "exportType".to_owned(), element: "valueCanonical" }),
    }
}

fn sent_in_body(parameter: &Value) -> Result<Sent, ExportParametersError> {
    let name = parameter.get("name").and_then(Value::as_str).ok_or(ExportParametersError::Malformed)?;
    let values = parameter.as_object().into_iter().flatten().filter(|(key, _)| key.starts_with("value"));
    let mut values = values.map(|(key, value)| {
        let text = value.as_str().or_else(|| value.get("reference").and_then(Value::as_str));
        (key.clone(), text.map(str::to_owned))
    });
    match (values.next(), values.next()) {
        (Some((element, Some(text))), None) => Ok((name.to_owned(), Some(element), text)),
        // An unknown parameter is refused by its name, whatever it holds.
        _ if !ExportParameters::COMMON_PARAMETER_NAMES.contains(&name) && name != "exportType" => {
            Ok((name.to_owned(), None, String::new()))
        }
        _ => Err(ExportParametersError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn query(text: &str) -> Result<ExportParameters, ExportParametersError> {
        let pairs: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        ExportParameters::from_query(&pairs, ExportParameters::COMMON_PARAMETER_NAMES)
    }

    fn refused(text: &str) -> String {
        query(text).unwrap_err().to_string()
    }

    #[test]
    fn everything_an_address_asks_for_is_read() {
        let asked = query(
            "_type=Patient,Observation&_type=Patient&_since=2026-01-01T00:00:00Z\
             &_typeFilter=Observation%3Fcategory%3Dlaboratory&_outputFormat=ndjson&patient=Patient/a,Patient/b",
        )
        .unwrap();
        assert_eq!(
            asked.types.unwrap().iter().map(ResourceType::as_str).collect::<Vec<_>>(),
            ["Patient", "Observation"]
        );
        assert_eq!(asked.since_us, Some(1_767_225_600_000_000));
        assert_eq!(asked.filters[0].1, [("category".to_owned(), "laboratory".to_owned())]);
        assert_eq!(asked.patients.unwrap().into_iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(query("").unwrap(), ExportParameters::default());
        let asked = query("_elements=id,Patient.birthDate&_elements=Observation.code").unwrap();
        assert_eq!(asked.elements_of_type(&"Patient".parse().unwrap()), ["id", "birthDate"]);
        assert_eq!(asked.elements_of_type(&"Observation".parse().unwrap()), ["id", "code"]);
    }

    #[test]
    fn what_is_not_served_is_refused_by_name() {
        for (text, told) in [
            ("_summary=true&includeAssociatedData=x", "Unsupported parameter(s): _summary, includeAssociatedData"),
            ("_elements=a.b.c", "_elements must be names such as birthDate or Patient.birthDate, got: a.b.c"),
            ("exportType=x", "Unsupported parameter(s): exportType"),
            ("_since=yesterday", "_since must be an instant such as 2026-01-31T12:00:00Z, got: yesterday"),
            ("_since=2026-01-01T00:00:00Z&_since=2026-01-01T00:00:00Z", "Parameter _since must appear at most once"),
            ("_outputFormat=text/csv", "_outputFormat must be application/fhir+ndjson, got: text/csv"),
            ("_type=", "_type names no resource type: "),
            ("_type=a/b", "_type names no resource type: a/b"),
            (
                "_typeFilter=Observation?no-such=x",
                "_typeFilter: the parameter no-such of Observation is not applied by this server",
            ),
            (
                "_typeFilter=Observation",
                "_typeFilter must be a type and a query such as Observation?category=laboratory, got: Observation",
            ),
            (
                "_type=Patient&_typeFilter=Observation?category=a",
                "_typeFilter is about Observation, which _type does not name",
            ),
            ("patient=Group/a", "patient must be a reference such as Patient/123, got: Group/a"),
        ] {
            assert_eq!(refused(text), told, "{text}");
        }
        let many = (0..=VALUES_MAX).map(|n| format!("Patient/{n}")).collect::<Vec<_>>().join(",");
        assert_eq!(refused(&format!("patient={many}")), "Parameter patient has more than 1000 values");
    }

    #[test]
    fn a_body_says_the_same_and_nothing_is_passed_over() {
        let takes: Vec<&str> = ExportParameters::COMMON_PARAMETER_NAMES.iter().copied().chain(["exportType"]).collect();
        let read = |parameters: Value| {
            ExportParameters::from_body(&json!({"resourceType": "Parameters", "parameter": parameters}), &takes)
        };
        let asked = read(json!([
            {"name": "exportType", "valueCanonical": "hl7.fhir.us.davinci-pdex#payertopayer"},
            {"name": "patient", "valueReference": {"reference": "Patient/a"}},
            {"name": "_type", "valueString": "Patient"},
        ]))
        .unwrap();
        assert_eq!(asked.export_type.as_deref(), Some("hl7.fhir.us.davinci-pdex#payertopayer"));
        assert!(asked.patients.unwrap().contains("a"));
        for (parameters, told) in [
            (json!([{"name": "exportType", "valueString": "x"}]), "Parameter exportType must use valueCanonical"),
            (
                json!([{"name": "exportType", "valueCanonical": "x"}, {"name": "exportType", "valueCanonical": "x"}]),
                "Parameter exportType must appear at most once",
            ),
            (json!([{"name": "organize", "part": []}]), "Unsupported parameter(s): organize"),
            (
                json!([{"name": "_outputFormat", "valueString": "ndjson"}]),
                "_outputFormat must be application/fhir+ndjson, got: ndjson",
            ),
            (json!([{"valueString": "ndjson"}]), "Every parameter needs a name and a value"),
            (json!([{"name": "_since"}]), "Every parameter needs a name and a value"),
            (json!({}), "Request body must be a FHIR Parameters resource"),
        ] {
            assert_eq!(read(parameters).unwrap_err().to_string(), told);
        }
        assert_eq!(
            ExportParameters::from_body(&json!({"resourceType": "Bundle"}), &takes),
            Err(ExportParametersError::NotParameters)
        );
    }
}
