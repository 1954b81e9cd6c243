//! Profiles: what an installed definition asks of a resource besides its base definition.
//!
//! Read from the snapshot: cardinality, the types of a choice, fixed values and patterns, required bindings.
//! Slices, the profile's own invariants, the profiles that references lead to, and bindings whose codes
//! cannot be listed are not judged; an issue of severity `information` says so of all but references.
//!
//! # Source
//! FHIR R4, Profiling Resources; `ElementDefinition`.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::bound;
use super::place::Place;
use super::report::{Code, Report, shown};
use crate::definitions::{self, Codes};
use crate::outcome::Issue;

/// Most elements of a snapshot that is read. Not specified; the largest of R4 have under a thousand.
const MAX_ELEMENTS: usize = 5_000;

/// A profile, ready to judge.
#[derive(Debug)]
pub struct Profile {
    kind: String,
    /// The first is the resource itself.
    rules: Vec<Rule>,
    /// What is not judged, with the path of the element.
    unjudged: Vec<(String, String)>,
}

/// The definition is none that a resource can be judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAProfile {
    /// It is no `StructureDefinition` of a type.
    #[error("it is no StructureDefinition with a type")]
    NoType,
    /// Only a snapshot says everything that a profile asks for.
    #[error("it has no snapshot")]
    NoSnapshot,
    /// The snapshot is larger than any that is published.
    #[error("its snapshot has more than {MAX_ELEMENTS} elements")]
    TooLarge,
}

/// What is asked of an element.
#[derive(Debug, Default)]
struct Rule {
    name: String,
    is_choice: bool,
    min: usize,
    /// `None` where there is no bound.
    max: Option<usize>,
    types: Vec<String>,
    fixed: Option<Value>,
    pattern: Option<Value>,
    /// The url of the value set that is required.
    binding: Option<String>,
    /// Those inside of it, by their places.
    inner: Vec<usize>,
}

impl Profile {
    /// Reads a `StructureDefinition`.
    ///
    /// # Errors
    /// When it is none, or has no snapshot.
    pub fn read(definition: &Value) -> Result<Self, NotAProfile> {
        let kind = text(definition, "type").ok_or(NotAProfile::NoType)?;
        let elements = definition.get("snapshot").and_then(|snapshot| snapshot.get("element")?.as_array());
        let elements = elements.ok_or(NotAProfile::NoSnapshot)?;
        if elements.len() > MAX_ELEMENTS {
            return Err(NotAProfile::TooLarge);
        }
        let mut profile = Self { kind: kind.to_owned(), rules: Vec::new(), unjudged: Vec::new() };
        let mut places = HashMap::new();
        for element in elements {
            profile.add(element, text(definition, "url"), &mut places);
        }
        Ok(profile)
    }

    /// The type it is about.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The value sets it requires codes of, each once.
    #[must_use]
    pub fn value_sets(&self) -> Vec<&str> {
        let mut urls: Vec<&str> = self.rules.iter().filter_map(|rule| rule.binding.as_deref()).collect();
        urls.sort_unstable();
        urls.dedup();
        urls
    }

    /// What is wrong with a document that is valid by its base definition, and what of the profile is not judged.
    /// `codes` are the value sets whose codes can be listed, by the urls of [`Profile::value_sets`].
    #[must_use]
    pub fn judge(&self, document: &Value, codes: &HashMap<String, Arc<Codes>>) -> Vec<Issue> {
        let mut judge = Judge { profile: self, codes, report: Report::default() };
        let place = Place::root(&self.kind);
        if let (Some(rule), Value::Object(object)) = (self.rules.first(), document) {
            judge.object(rule, object, &place);
        }
        for (path, text) in &self.unjudged {
            judge.report.note(&Place::root(path), text);
        }
        let open = self.value_sets().into_iter().filter(|url| !codes.contains_key(*url) && !is_bound_anyway(url));
        for url in open {
            judge
                .report
                .note(&place, &format!("codes of {url} are required, and not judged: they cannot be listed here"));
        }
        judge.report.finish()
    }

    fn add(&mut self, element: &Value, url: Option<&str>, places: &mut HashMap<String, usize>) {
        let Some(path) = text(element, "path") else { return };
        if text(element, "id").is_some_and(|id| id.contains(':')) {
            if let Some(slice) = text(element, "sliceName").filter(|_| is_asked_for(element)) {
                self.unjudged.push((path.to_owned(), format!("the slice {slice} is not judged")));
            }
            return;
        }
        let own = constraints(element, url);
        if !own.is_empty() {
            self.unjudged.push((path.to_owned(), format!("its invariants are not judged: {}", own.join(", "))));
        }
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let place = self.rules.len();
        if let Some(parent) = places.get(parent).and_then(|at: &usize| self.rules.get_mut(*at)) {
            parent.inner.push(place);
        } else if !self.rules.is_empty() {
            return;
        }
        places.insert(path.to_owned(), place);
        self.rules.push(rule(element, name));
    }
}

fn rule(element: &Value, name: &str) -> Rule {
    let starting = |prefix: &str| {
        let members = element.as_object().into_iter().flatten();
        members.into_iter().find(|(name, _)| is_choice_of(name, prefix)).map(|(_, value)| value.clone())
    };
    let binding = element.get("binding").filter(|binding| text(binding, "strength") == Some("required"));
    let types = element.get("type").and_then(Value::as_array).into_iter().flatten();
    Rule {
        name: name.strip_suffix("[x]").unwrap_or(name).to_owned(),
        is_choice: name.ends_with("[x]"),
        min: element.get("min").and_then(Value::as_u64).and_then(|min| usize::try_from(min).ok()).unwrap_or(0),
        max: text(element, "max").and_then(|max| max.parse().ok()),
        types: types.filter_map(|kind| text(kind, "code")).map(str::to_owned).collect(),
        fixed: starting("fixed"),
        pattern: starting("pattern"),
        binding: binding.and_then(|binding| text(binding, "valueSet")).map(str::to_owned),
        inner: Vec::new(),
    }
}

/// Whether a slice asks for something to be there, or for what is there to be something.
fn is_asked_for(slice: &Value) -> bool {
    let least = slice.get("min").and_then(Value::as_u64).unwrap_or(0);
    least > 0
        || slice
            .as_object()
            .into_iter()
            .flatten()
            .any(|(name, _)| is_choice_of(name, "fixed") || is_choice_of(name, "pattern"))
}

/// `fixed` and `fixedCode`.
fn is_choice_of(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|kind| kind.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// The invariants that the profile itself adds.
fn constraints<'a>(element: &'a Value, url: Option<&str>) -> Vec<&'a str> {
    let constraints = element.get("constraint").and_then(Value::as_array).into_iter().flatten();
    let own = constraints.filter(|constraint| url.is_some() && text(constraint, "source") == url);
    own.filter_map(|constraint| text(constraint, "key")).collect()
}

/// Whether the base definition requires the same and cannot list it either.
fn is_bound_anyway(url: &str) -> bool {
    url.starts_with("http://hl7.org/fhir/ValueSet/")
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

struct Judge<'p> {
    profile: &'p Profile,
    codes: &'p HashMap<String, Arc<Codes>>,
    report: Report,
}

impl Judge<'_> {
    fn object(&mut self, of: &Rule, object: &Map<String, Value>, place: &Place<'_>) {
        let profile = self.profile;
        for rule in of.inner.iter().filter_map(|at| profile.rules.get(*at)) {
            if self.report.is_full() {
                return;
            }
            let mut count = 0;
            for (name, value) in object.iter().filter(|(name, _)| rule.is_about(name)) {
                let kind = name.strip_prefix(&*rule.name).unwrap_or_default();
                let at = if rule.is_choice { place.choice(&rule.name, kind) } else { place.named(name) };
                if rule.is_choice && !rule.allows(kind) {
                    let text = || format!("expected one of {}, found {name}", rule.types.join(", "));
                    self.report.add(Code::Value, &at, text);
                }
                let kind = if rule.is_choice { kind } else { rule.types.first().map_or("", String::as_str) };
                count += self.values(rule, kind, value, &at);
            }
            // An extension that says why there is no value is there instead of one.
            if count == 0 && object.contains_key(&format!("_{}", rule.name)) {
                count = 1;
            }
            self.count(rule, count, place);
        }
    }

    fn count(&mut self, rule: &Rule, count: usize, place: &Place<'_>) {
        if count < rule.min {
            let text = || format!("expected {} {} at least, found {count}", rule.min, rule.name);
            self.report.add(Code::Required, place, text);
        }
        if let Some(max) = rule.max.filter(|max| count > *max) {
            let text = || format!("expected {max} {} at most, found {count}", rule.name);
            self.report.add(Code::Structure, place, text);
        }
    }

    /// Judges every value of an element, and says how many there are.
    fn values(&mut self, rule: &Rule, kind: &str, value: &Value, place: &Place<'_>) -> usize {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(rule, kind, item, &place.item(index));
                }
                items.len()
            }
            value => {
                self.value(rule, kind, value, place);
                1
            }
        }
    }

    fn value(&mut self, rule: &Rule, kind: &str, value: &Value, place: &Place<'_>) {
        if let Some(fixed) = rule.fixed.as_ref().filter(|fixed| *fixed != value) {
            self.report.add(Code::Value, place, || format!("expected exactly {fixed}, found {}", shown(value)));
        }
        if let Some(pattern) = rule.pattern.as_ref().filter(|pattern| !contains(value, pattern)) {
            self.report.add(Code::Value, place, || format!("expected at least {pattern}, found {}", shown(value)));
        }
        if let Some((url, codes)) = rule.binding.as_ref().and_then(|url| Some((url, self.codes.get(url)?)))
            && !bound::is_member(codes, &decapitalized(kind), value)
        {
            let text = || format!("expected a code of {url} ({}), found {}", bound::listed(codes), bound::told(value));
            self.report.add(Code::Binding, place, text);
        }
        if let Value::Object(object) = value {
            self.object(rule, object, place);
        }
    }
}

impl Rule {
    fn is_about(&self, name: &str) -> bool {
        if self.is_choice { is_choice_of(name, &self.name) } else { name == self.name }
    }

    /// Whether a choice may be of this type, as the name of the member spells it.
    fn allows(&self, kind: &str) -> bool {
        self.types.iter().any(|allowed| definitions::choice("", allowed) == kind)
    }
}

/// The name of a type as it is, of the end of a member's name: `Code` is `code`, `CodeableConcept` is itself.
fn decapitalized(kind: &str) -> String {
    match kind {
        "Code" | "String" | "Uri" => kind.to_ascii_lowercase(),
        _ => kind.to_owned(),
    }
}

/// Whether a value has everything a pattern has.
fn contains(value: &Value, pattern: &Value) -> bool {
    match (value, pattern) {
        (Value::Object(value), Value::Object(pattern)) => {
            pattern.iter().all(|(name, inner)| value.get(name).is_some_and(|value| contains(value, inner)))
        }
        (Value::Array(values), Value::Array(patterns)) => {
            patterns.iter().all(|pattern| values.iter().any(|value| contains(value, pattern)))
        }
        _ => value == pattern,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn profile() -> Profile {
        let url = "http://e/StructureDefinition/p";
        Profile::read(&json!({"resourceType": "StructureDefinition", "url": url, "type": "Observation", "snapshot": {"element": [
            {"id": "Observation", "path": "Observation", "min": 0, "max": "*",
                "constraint": [{"key": "p-1", "source": url}, {"key": "dom-2", "source": "http://hl7.org/x"}]},
            {"id": "Observation.status", "path": "Observation.status", "min": 1, "max": "1", "fixedCode": "final", "type": [{"code": "code"}]},
            {"id": "Observation.category", "path": "Observation.category", "min": 1, "max": "2", "type": [{"code": "CodeableConcept"}]},
            {"id": "Observation.category:lab", "path": "Observation.category", "sliceName": "lab", "min": 1, "max": "1"},
            {"id": "Observation.code", "path": "Observation.code", "min": 1, "max": "1", "type": [{"code": "CodeableConcept"}],
                "patternCodeableConcept": {"coding": [{"system": "s", "code": "c"}]}},
            {"id": "Observation.method", "path": "Observation.method", "min": 0, "max": "0"},
            {"id": "Observation.bodySite", "path": "Observation.bodySite", "min": 0, "max": "1", "type": [{"code": "CodeableConcept"}],
                "binding": {"strength": "required", "valueSet": "http://e/vs"}},
            {"id": "Observation.interpretation", "path": "Observation.interpretation", "min": 0, "max": "*",
                "type": [{"code": "CodeableConcept"}], "binding": {"strength": "required", "valueSet": "http://e/open"}},
            {"id": "Observation.value[x]", "path": "Observation.value[x]", "min": 1, "max": "1", "type": [{"code": "Quantity"}, {"code": "string"}]},
            {"id": "Observation.value[x].unit", "path": "Observation.value[x].unit", "min": 1, "max": "1", "type": [{"code": "string"}]},
        ]}})).unwrap()
    }

    fn told(document: &Value) -> Vec<String> {
        let mut codes = Codes::default();
        codes.insert("s", "arm");
        let issues = profile().judge(document, &HashMap::from([("http://e/vs".to_owned(), Arc::new(codes))]));
        issues.into_iter().map(|issue| format!("{} {}", issue.code, issue.diagnostics.unwrap_or_default())).collect()
    }

    fn valid() -> Value {
        json!({"status": "final", "category": [{"text": "a"}], "code": {"text": "x", "coding": [{"code": "o"}, {"system": "s", "code": "c", "display": "d"}]},
            "valueQuantity": {"value": 1, "unit": "mg"}})
    }

    #[test]
    fn what_is_not_judged_is_said() {
        assert_eq!(
            told(&valid()),
            [
                "not-supported Observation: its invariants are not judged: p-1",
                "not-supported Observation.category: the slice lab is not judged",
                "not-supported Observation: codes of http://e/open are required, and not judged: they cannot be listed here",
            ]
        );
        assert_eq!(profile().value_sets(), ["http://e/open", "http://e/vs"]);
    }

    #[test]
    fn cardinality_values_types_and_bindings_are_judged() {
        let with = |name: &str, value: Value| {
            let mut document = valid();
            document[name] = value;
            document
        };
        let mut without = valid();
        without.as_object_mut().unwrap().shift_remove("valueQuantity");
        let mut other = without.clone();
        other["valueBoolean"] = true.into();
        for (document, expected) in [
            (
                with("status", json!("amended")),
                "value Observation.status: expected exactly \"final\", found \"amended\"",
            ),
            (with("category", json!([{}, {}, {}])), "structure Observation: expected 2 category at most, found 3"),
            (with("method", json!({"text": "a"})), "structure Observation: expected 0 method at most, found 1"),
            (with("code", json!({"coding": [{"code": "c"}]})), "value Observation.code: expected at least {"),
            (
                with("bodySite", json!({"coding": [{"system": "s", "code": "leg"}]})),
                "code-invalid Observation.bodySite: expected a code of http://e/vs (arm), found \"s|leg\"",
            ),
            (without, "required Observation: expected 1 value at least, found 0"),
            (other, "value Observation.value.ofType(Boolean): expected one of Quantity, string, found valueBoolean"),
            (
                with("valueQuantity", json!({"value": 1})),
                "required Observation.value.ofType(Quantity): expected 1 unit at least, found 0",
            ),
        ] {
            let told: Vec<_> =
                told(&document).into_iter().filter(|issue| !issue.starts_with("not-supported")).collect();
            let [only] = told.as_slice() else { panic!("{document}: {told:?}") };
            assert!(only.starts_with(expected), "{only}");
        }
    }

    #[test]
    fn a_definition_without_a_snapshot_judges_nothing() {
        assert_eq!(Profile::read(&json!({})).unwrap_err(), NotAProfile::NoType);
        assert_eq!(Profile::read(&json!({"type": "Patient"})).unwrap_err(), NotAProfile::NoSnapshot);
        let many = json!({"type": "Patient", "snapshot": {"element": vec![json!({}); MAX_ELEMENTS + 1]}});
        assert_eq!(Profile::read(&many).unwrap_err(), NotAProfile::TooLarge);
    }
}
