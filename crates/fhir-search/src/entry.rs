//! What a resource puts into the index.

mod quantity;
mod text;
mod token;

use std::collections::HashSet;
use std::sync::Arc;

use fhir_resource::{ResourceType, patient_compartment};
use serde_json::Value;

use crate::date::period;
use crate::fold::fold_case_and_accents;
use crate::limits;
use crate::parameter::{
    COMPARTMENT_PARAMETER_NUMBER, CompiledSearchParameter, CompositeComponent, ResourceColumn, SearchParameterType,
};
use crate::target::{self, Target};

/// A resource document with the context that its index entries are computed from.
#[derive(Clone, Copy, Debug)]
pub struct IndexedDocument<'a> {
    /// The resource type.
    pub resource_type: &'a ResourceType,
    /// The id.
    pub id: &'a str,
    /// The time at which this version was written, in UNIX microseconds.
    pub updated_us: i64,
    /// The body as stored or in FHIR's format.
    pub body: &'a Value,
    /// The base URL of this server's FHIR endpoint, without a slash at the end: absolute references that begin with it
    /// are to resources of this server.
    pub base_url: &'a str,
}

/// One entry of the search index: a value that a resource has for a search parameter.
///
/// Text longer than [`MAX_INDEX_TEXT_BYTES`](crate::limits::MAX_INDEX_TEXT_BYTES) is cut there. Values of a query are
/// shorter than that, so a cut text equals none of them and begins as the whole text does; only `:contains` does not
/// see what is behind the cut.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexEntry {
    /// A code, of a system or of none: token parameters, and the logical identifiers of references
    /// (`:identifier`).
    Token {
        /// The system; none when the element has none. Booleans have the system R4 gives them.
        system: Option<String>,
        /// The code or value; none when there is a system alone.
        code: Option<String>,
    },
    /// The words for a token, folded (`:text`).
    Display {
        /// Without case and accents.
        folded: String,
    },
    /// An identifier with one coding of its type (`:of-type`).
    TypedIdentifier {
        /// The system of the type.
        system: Option<String>,
        /// The code of the type.
        code: String,
        /// The value of the identifier.
        value: String,
    },
    /// A string.
    Text {
        /// Without case and accents.
        folded: String,
        /// As it stands in the resource.
        exact: String,
    },
    /// A reference to a resource of this server; also the compartments a resource is in.
    Reference {
        /// The type.
        resource_type: String,
        /// The id.
        id: String,
    },
    /// A URI: uri parameters, canonical references, and references to elsewhere.
    Uri {
        /// Without the version.
        uri: String,
        /// What stands behind the bar of a canonical reference.
        version: Option<String>,
    },
    /// A time as a range in unix microseconds; both ends are inside.
    Period {
        /// [`i64::MIN`] for an open beginning.
        from_us: i64,
        /// [`i64::MAX`] for an open end.
        to_us: i64,
    },
    /// A number as a range; both ends are inside.
    Number {
        /// [`f64::MIN`] for an open beginning.
        low: f64,
        /// [`f64::MAX`] for an open end.
        high: f64,
    },
    /// A number with a unit.
    Quantity {
        /// [`f64::MIN`] for an open beginning.
        low: f64,
        /// [`f64::MAX`] for an open end.
        high: f64,
        /// The system of the code.
        system: Option<String>,
        /// The coded unit, or the currency.
        code: Option<String>,
        /// The unit as people read it.
        unit: Option<String>,
    },
    /// The values of a composite parameter that belong together, one for each part.
    Composite(Vec<IndexEntry>),
}

/// What takes the entries of a parameter.
type Out<'o> = &'o mut dyn FnMut(IndexEntry);

/// Returns what a resource has for these parameters, and its compartments; see
/// [`SearchParameterCatalog::index_entries_of`](crate::SearchParameterCatalog::index_entries_of).
pub(super) fn all<'a>(
    parameters: impl Iterator<Item = &'a Arc<CompiledSearchParameter>>,
    document: &IndexedDocument<'_>,
) -> Vec<(i64, IndexEntry)> {
    let mut entries = Vec::new();
    let patients = patient_compartment::compartment_patient_ids(
        document.resource_type,
        document.id,
        document.body,
        document.base_url,
    );
    let resource_type = || "Patient".to_owned();
    entries.extend(
        patients
            .into_iter()
            .map(|id| (COMPARTMENT_PARAMETER_NUMBER, IndexEntry::Reference { resource_type: resource_type(), id })),
    );
    for parameter in parameters.filter(|parameter| parameter.resource_column().is_none()) {
        let mut distinct =
            Distinct { number: parameter.number, first: entries.len(), entries: &mut entries, seen: None };
        parameter.each(document, &mut |entry| distinct.push(entry));
    }
    entries
}

/// The entries of one parameter, each once.
struct Distinct<'a> {
    number: i64,
    first: usize,
    entries: &'a mut Vec<(i64, IndexEntry)>,
    /// The entries spelled out, once there are many.
    seen: Option<HashSet<String>>,
}

impl Distinct<'_> {
    /// From how many entries on comparing with each costs more than remembering them.
    const MANY: usize = 32;

    fn push(&mut self, entry: IndexEntry) {
        if self.entries.len() < limits::MAX_INDEX_ENTRIES_PER_RESOURCE && self.is_new(&entry) {
            self.entries.push((self.number, entry));
        }
    }

    fn is_new(&mut self, entry: &IndexEntry) -> bool {
        let of_parameter = self.entries.get(self.first..).unwrap_or_default();
        if of_parameter.len() < Self::MANY {
            return of_parameter.iter().all(|(_, other)| other != entry);
        }
        let spelled = |entry: &IndexEntry| format!("{entry:?}");
        let seen = self.seen.get_or_insert_with(|| of_parameter.iter().map(|(_, entry)| spelled(entry)).collect());
        seen.insert(spelled(entry))
    }
}

impl CompiledSearchParameter {
    /// Hands every entry of the parameter to `out`, some of them more than once; those of columns too.
    pub(super) fn each(&self, document: &IndexedDocument<'_>, out: Out<'_>) {
        match self.resource_column() {
            Some(ResourceColumn::Id) => out(IndexEntry::Token { system: None, code: Some(document.id.to_owned()) }),
            Some(ResourceColumn::LastUpdated) => {
                out(IndexEntry::Period { from_us: document.updated_us, to_us: document.updated_us });
            }
            None if self.parameter_type == SearchParameterType::Composite => self.tuples(document, out),
            None => self.expression.each(document.body, document.body, &mut |value| {
                of_value(self.parameter_type, value, document.base_url, out);
            }),
        }
    }

    /// The values of each element that belong together, in all their combinations.
    fn tuples(&self, document: &IndexedDocument<'_>, out: Out<'_>) {
        self.expression.each(document.body, document.body, &mut |element| {
            let mut tuples = vec![Vec::new()];
            for component in &self.components {
                let values = component.values(element, document);
                let longer = tuples.iter().flat_map(|tuple| {
                    values.iter().map(move |value| tuple.iter().chain([value]).cloned().collect::<Vec<IndexEntry>>())
                });
                tuples = longer.take(limits::MAX_COMPOSITE_COMBINATIONS).collect();
            }
            tuples.into_iter().map(IndexEntry::Composite).for_each(&mut *out);
        });
    }
}

impl CompositeComponent {
    fn values(&self, element: &Value, document: &IndexedDocument<'_>) -> Vec<IndexEntry> {
        let mut values = Vec::new();
        self.expression.each(element, document.body, &mut |value| {
            of_value(self.parameter_type, value, document.base_url, &mut |entry| {
                let compared = !matches!(entry, IndexEntry::Display { .. } | IndexEntry::TypedIdentifier { .. });
                if compared && values.len() < limits::MAX_COMPOSITE_COMBINATIONS {
                    values.push(entry);
                }
            });
        });
        values
    }
}

/// The entries of one value of an element; none for what no parameter of the kind compares.
fn of_value(parameter_type: SearchParameterType, value: &Value, base_url: &str, out: Out<'_>) {
    match parameter_type {
        SearchParameterType::Token => token::each(value, out),
        SearchParameterType::String => text::each(value, out),
        SearchParameterType::Reference => references(value, base_url, out),
        SearchParameterType::Date => times(value, out),
        SearchParameterType::Number => quantity::numbers(value, out),
        SearchParameterType::Quantity => quantity::each(value, out),
        SearchParameterType::Uri => value.as_str().map(uri).into_iter().for_each(out),
        SearchParameterType::Composite => {}
    }
}

/// Returns the beginning of a text that the index keeps.
fn kept(text: &str) -> &str {
    text.get(..text.floor_char_boundary(limits::MAX_INDEX_TEXT_BYTES)).unwrap_or(text)
}

fn cut(text: &str) -> String {
    kept(text).to_owned()
}

/// Returns what is stored of a text, folded; folding may make it longer than it was.
fn cut_folded(text: &str) -> String {
    let mut folded = fold_case_and_accents(kept(text));
    folded.truncate(folded.floor_char_boundary(limits::MAX_INDEX_TEXT_BYTES));
    folded
}

fn uri(text: &str) -> IndexEntry {
    let (uri, version) = text.rsplit_once('|').map_or((text, None), |(uri, version)| (uri, Some(version)));
    IndexEntry::Uri { uri: cut(uri), version: version.map(cut) }
}

fn references(value: &Value, base_url: &str, out: Out<'_>) {
    let local = |resource_type: &str, id: &str| IndexEntry::Reference {
        resource_type: resource_type.to_owned(),
        id: id.to_owned(),
    };
    if let Value::String(canonical) = value {
        let unversioned = canonical.rsplit_once('|').map_or(canonical.as_str(), |(uri, _)| uri);
        if let Some(Target::Resource { resource_type, id }) = Target::read(unversioned, base_url) {
            out(local(resource_type, id));
        }
        out(uri(canonical));
        return;
    }
    target::each(value, base_url, &mut |target| match target {
        Target::Resource { resource_type, id } => out(local(resource_type, id)),
        Target::Elsewhere(address) => out(uri(address)),
    });
    if let Some(identifier) = value.get("identifier") {
        token::identifier(identifier, &mut |entry| {
            if matches!(entry, IndexEntry::Token { .. }) {
                out(entry);
            }
        });
    }
}

/// Not specified for a Timing beyond "the details of the schedule"; its range is that of its events and its
/// bounds.
fn times(value: &Value, out: Out<'_>) {
    let at = |name: &str| value.get(name).and_then(Value::as_str).and_then(period);
    let range = match value {
        Value::String(text) => period(text),
        Value::Object(object) if object.contains_key("start") || object.contains_key("end") => {
            let open = |name: &str| object.get(name).is_none();
            let from = if open("start") { Some(i64::MIN) } else { at("start").map(|(from, _)| from) };
            let to = if open("end") { Some(i64::MAX) } else { at("end").map(|(_, to)| to) };
            from.zip(to)
        }
        Value::Object(_) => timing(value),
        _ => None,
    };
    if let Some((from_us, to_us)) = range {
        out(IndexEntry::Period { from_us, to_us });
    }
}

fn timing(value: &Value) -> Option<(i64, i64)> {
    let mut range = None;
    let mut widen = |(from, to): (i64, i64)| {
        let (low, high) = range.unwrap_or((from, to));
        range = Some((from.min(low), to.max(high)));
    };
    let events = value.get("event").and_then(Value::as_array).into_iter().flatten();
    events.filter_map(Value::as_str).filter_map(period).for_each(&mut widen);
    if let Some(bounds) = value.get("repeat").and_then(|repeat| repeat.get("boundsPeriod")) {
        times(bounds, &mut |entry| {
            if let IndexEntry::Period { from_us, to_us } = entry {
                widen((from_us, to_us));
            }
        });
    }
    range
}

#[cfg(test)]
mod tests;
