//! Profiles: what an installed definition requires of a resource besides its base definition.
//!
//! Read from the snapshot: cardinality, the types of a choice, fixed values and patterns, required bindings, and
//! slices that fixed values, patterns, types or the urls of extensions distinguish. Other slices, the profile's own
//! invariants, the profiles of extensions and of what references lead to, and bindings whose codes cannot be listed
//! are not judged; an issue of severity `information` says so of slices, invariants and bindings.
//!
//! # Source
//! FHIR R4, Profiling Resources; `ElementDefinition`.

mod slice;

use std::collections::HashMap;
use std::sync::Arc;

use fhir_resource::type_definitions::{self, CodesBySystem};
use fhir_store::operation_outcome::OutcomeIssue;
use serde_json::{Map, Value};

use crate::binding;
use crate::document_path::DocumentPath;
use crate::report::{IssueType, Report, shown};
use slice::SliceTest;

/// Most elements of a snapshot that is read. Not specified; the largest of R4 have under a thousand.
const MAX_ELEMENTS: usize = 5_000;

/// A profile, compiled from a `StructureDefinition`, that documents are validated against.
#[derive(Debug)]
pub struct CompiledProfile {
    resource_type: String,
    /// The first is the resource itself.
    rules: Vec<Rule>,
    /// What is not judged, with the path of the element.
    unjudged: Vec<(String, String)>,
}

/// The reason why a `StructureDefinition` cannot be used as a profile for validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusableProfileError {
    /// It is not a `StructureDefinition` with a type.
    #[error("it is no StructureDefinition with a type")]
    NoType,
    /// It has no snapshot, which alone has everything that a profile requires.
    #[error("it has no snapshot")]
    NoSnapshot,
    /// Its snapshot has more than `MAX_ELEMENTS` elements, more than any published one.
    #[error("its snapshot has more than {MAX_ELEMENTS} elements")]
    TooLarge,
}

/// The rules of one element.
#[derive(Debug, Default)]
struct Rule {
    name: String,
    /// The name, with that of the slice it is.
    label: String,
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
    /// What distinguishes its slices: the type of the discriminator, and its path.
    discriminators: Vec<(String, String)>,
    /// The slices of it, by their places.
    slices: Vec<usize>,
    /// The url of the extension that it is.
    extension: Option<String>,
    /// Of a slice, what belongs to it.
    tests: Vec<SliceTest>,
}

impl CompiledProfile {
    /// Compiles a profile from a `StructureDefinition`.
    ///
    /// # Errors
    /// See [`UnusableProfileError`].
    pub fn from_structure_definition(definition: &Value) -> Result<Self, UnusableProfileError> {
        let resource_type = text(definition, "type").ok_or(UnusableProfileError::NoType)?;
        let elements = definition.get("snapshot").and_then(|snapshot| snapshot.get("element")?.as_array());
        let elements = elements.ok_or(UnusableProfileError::NoSnapshot)?;
        if elements.len() > MAX_ELEMENTS {
            return Err(UnusableProfileError::TooLarge);
        }
        let mut profile = Self { resource_type: resource_type.to_owned(), rules: Vec::new(), unjudged: Vec::new() };
        let mut places = HashMap::new();
        for element in elements {
            profile.add(element, text(definition, "url"), &mut places);
        }
        profile.find_slice_tests();
        Ok(profile)
    }

    /// Returns the resource type that the profile constrains.
    #[must_use]
    pub fn resource_type(&self) -> &str {
        &self.resource_type
    }

    /// Returns the URLs of the value sets to which the profile requires codes to belong, each once, sorted.
    #[must_use]
    pub fn required_value_sets(&self) -> Vec<&str> {
        let mut urls: Vec<&str> = self.rules.iter().filter_map(|rule| rule.binding.as_deref()).collect();
        urls.sort_unstable();
        urls.dedup();
        urls
    }

    /// Validates a document against the profile, and returns its issues. Rules that were not checked are among them, as
    /// information. `codes` has the codes of those [`required_value_sets`](Self::required_value_sets) that can be
    /// listed.
    #[must_use]
    pub fn validate_resource(
        &self,
        document: &Value,
        codes: &HashMap<String, Arc<CodesBySystem>>,
    ) -> Vec<OutcomeIssue> {
        let mut check = ProfileCheck { profile: self, codes, report: Report::default() };
        let place = DocumentPath::root(&self.resource_type);
        if let (Some(rule), Value::Object(object)) = (self.rules.first(), document) {
            check.object(rule, object, &place);
        }
        for (path, text) in &self.unjudged {
            check.report.note(&DocumentPath::root(path), text);
        }
        let open = self.required_value_sets().into_iter().filter(|url| !codes.contains_key(*url));
        for url in open {
            check
                .report
                .note(&place, &format!("codes of {url} are required, and not judged: they cannot be listed here"));
        }
        check.report.finish()
    }

    fn add(&mut self, element: &Value, url: Option<&str>, places: &mut HashMap<String, usize>) {
        let Some(path) = text(element, "path") else { return };
        let own = constraints(element, url);
        if !own.is_empty() {
            self.unjudged.push((path.to_owned(), format!("its invariants are not judged: {}", own.join(", "))));
        }
        let id = text(element, "id").unwrap_or(path);
        let (parent, last) = id.rsplit_once('.').unwrap_or(("", id));
        let (name, slice) = last.split_once(':').map_or((last, None), |(name, slice)| (name, Some(slice)));
        let owner = match slice {
            Some(_) => id.strip_suffix(last).map(|before| format!("{before}{name}")),
            None => Some(parent.to_owned()),
        };
        let (place, is_first) = (self.rules.len(), self.rules.is_empty());
        let owner = owner.and_then(|owner| places.get(&owner)).and_then(|at| self.rules.get_mut(*at));
        match (owner, slice) {
            (Some(owner), Some(_)) => owner.slices.push(place),
            (Some(owner), None) => owner.inner.push(place),
            (None, None) if is_first => {}
            (None, _) => return,
        }
        places.insert(id.to_owned(), place);
        self.rules.push(rule(element, name, last));
    }

    /// Finds the tests of what belongs to each slice, and records the slices that have none.
    fn find_slice_tests(&mut self) {
        let slices = self.rules.iter().flat_map(|owner| owner.slices.iter().map(move |slice| (owner, *slice)));
        let found: Vec<_> = slices.map(|(owner, slice)| (slice, slice::tests(&self.rules, owner, slice))).collect();
        for (slice, tests) in found {
            let Some(rule) = self.rules.get_mut(slice) else { continue };
            match tests {
                Some(tests) => rule.tests = tests,
                None if rule.min > 0 || rule.fixed.is_some() || rule.pattern.is_some() => {
                    let text = format!("the slice {} is not judged: what belongs to it cannot be told", rule.label);
                    self.unjudged.push((self.resource_type.clone(), text));
                }
                None => {}
            }
        }
    }
}

fn rule(element: &Value, name: &str, label: &str) -> Rule {
    let starting = |prefix: &str| {
        let members = element.as_object().into_iter().flatten();
        members.into_iter().find(|(name, _)| is_choice_of(name, prefix)).map(|(_, value)| value.clone())
    };
    let binding = element.get("binding").filter(|binding| text(binding, "strength") == Some("required"));
    let types = || element.get("type").and_then(Value::as_array).into_iter().flatten();
    let slicing = element.get("slicing").and_then(|slicing| slicing.get("discriminator")?.as_array());
    let discriminators = slicing
        .into_iter()
        .flatten()
        .filter_map(|one| Some((text(one, "type")?.to_owned(), text(one, "path")?.to_owned())));
    let extension = types().find(|element_type| text(element_type, "code") == Some("Extension"));
    Rule {
        label: label.to_owned(),
        discriminators: discriminators.collect(),
        slices: Vec::new(),
        extension: extension.and_then(|element_type| element_type.get("profile")?.get(0)?.as_str()).map(str::to_owned),
        tests: Vec::new(),
        name: name.strip_suffix("[x]").unwrap_or(name).to_owned(),
        is_choice: name.ends_with("[x]"),
        min: element.get("min").and_then(Value::as_u64).and_then(|min| usize::try_from(min).ok()).unwrap_or(0),
        max: text(element, "max").and_then(|max| max.parse().ok()),
        types: types().filter_map(|element_type| text(element_type, "code")).map(str::to_owned).collect(),
        fixed: starting("fixed"),
        pattern: starting("pattern"),
        binding: binding.and_then(|binding| text(binding, "valueSet")).map(str::to_owned),
        inner: Vec::new(),
    }
}

/// `fixed` and `fixedCode`.
fn is_choice_of(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|element_type| element_type.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Returns the invariants that the profile itself adds; inherited ones name their source.
fn constraints<'a>(element: &'a Value, url: Option<&str>) -> Vec<&'a str> {
    let constraints = element.get("constraint").and_then(Value::as_array).into_iter().flatten();
    let own = constraints.filter(|constraint| text(constraint, "source").is_none_or(|source| Some(source) == url));
    own.filter_map(|constraint| text(constraint, "key")).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

struct ProfileCheck<'p> {
    profile: &'p CompiledProfile,
    codes: &'p HashMap<String, Arc<CodesBySystem>>,
    report: Report,
}

impl ProfileCheck<'_> {
    fn object(&mut self, of: &Rule, object: &Map<String, Value>, place: &DocumentPath<'_>) {
        let profile = self.profile;
        for rule in of.inner.iter().filter_map(|at| profile.rules.get(*at)) {
            if self.report.is_full() {
                return;
            }
            let mut count = 0;
            for (name, value) in object.iter().filter(|(name, _)| rule.is_about(name)) {
                let element_type = name.strip_prefix(&*rule.name).unwrap_or_default();
                let at = if rule.is_choice { place.choice(&rule.name, element_type) } else { place.named(name) };
                if rule.is_choice && !rule.allows(element_type) {
                    let text = || format!("expected one of {}, found {name}", rule.types.join(", "));
                    self.report.add(IssueType::Value, &at, text);
                }
                let element_type =
                    if rule.is_choice { element_type } else { rule.types.first().map_or("", String::as_str) };
                count += self.values(rule, element_type, value, &at);
            }
            // An extension that says why there is no value is there instead of one.
            if count == 0 && object.contains_key(&format!("_{}", rule.name)) {
                count = 1;
            }
            self.count(rule, count, place);
            for slice in rule.slices.iter().filter_map(|at| profile.rules.get(*at)) {
                self.slice(slice, object, place);
            }
        }
    }

    /// Checks what belongs to a slice, where tests of that are known.
    fn slice(&mut self, slice: &Rule, object: &Map<String, Value>, place: &DocumentPath<'_>) {
        if slice.tests.is_empty() {
            return;
        }
        let mut count = 0;
        for (name, value) in object.iter().filter(|(name, _)| slice.is_about(name)) {
            let element_type = name.strip_prefix(&*slice.name).unwrap_or_default();
            let belongs = |item: &Value| slice.tests.iter().all(|test| test.holds(element_type, item));
            let at = if slice.is_choice { place.choice(&slice.name, element_type) } else { place.named(name) };
            let element_type =
                if slice.is_choice { element_type } else { slice.types.first().map_or("", String::as_str) };
            match value {
                Value::Array(items) => {
                    for (index, item) in items.iter().enumerate().filter(|(_, item)| belongs(item)) {
                        count += 1;
                        self.value(slice, element_type, item, &at.item(index));
                    }
                }
                value if belongs(value) => {
                    count += 1;
                    self.value(slice, element_type, value, &at);
                }
                _ => {}
            }
        }
        self.count(slice, count, place);
    }

    fn count(&mut self, rule: &Rule, count: usize, place: &DocumentPath<'_>) {
        if count < rule.min {
            let text = || format!("expected {} {} at least, found {count}", rule.min, rule.label);
            self.report.add(IssueType::Required, place, text);
        }
        if let Some(max) = rule.max.filter(|max| count > *max) {
            let text = || format!("expected {max} {} at most, found {count}", rule.label);
            self.report.add(IssueType::Structure, place, text);
        }
    }

    /// Judges every value of an element, and says how many there are.
    fn values(&mut self, rule: &Rule, element_type: &str, value: &Value, place: &DocumentPath<'_>) -> usize {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(rule, element_type, item, &place.item(index));
                }
                items.len()
            }
            value => {
                self.value(rule, element_type, value, place);
                1
            }
        }
    }

    fn value(&mut self, rule: &Rule, element_type: &str, value: &Value, place: &DocumentPath<'_>) {
        if let Some(fixed) = rule.fixed.as_ref().filter(|fixed| *fixed != value) {
            self.report.add(IssueType::Value, place, || format!("expected exactly {fixed}, found {}", shown(value)));
        }
        if let Some(pattern) = rule.pattern.as_ref().filter(|pattern| !contains(value, pattern)) {
            self.report.add(IssueType::Value, place, || format!("expected at least {pattern}, found {}", shown(value)));
        }
        if let Some((url, codes)) = rule.binding.as_ref().and_then(|url| Some((url, self.codes.get(url)?)))
            && !binding::is_member(codes, &decapitalized(element_type), value)
        {
            let text = || {
                format!(
                    "expected a code of {url} ({}), found {}",
                    binding::list_codes(codes),
                    binding::describe_codes(value)
                )
            };
            self.report.add(IssueType::Binding, place, text);
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

    /// Returns whether a choice may be of this type, in the form that the name of the member has it.
    fn allows(&self, element_type: &str) -> bool {
        self.types.iter().any(|allowed| type_definitions::choice_member_name("", allowed) == element_type)
    }
}

/// Returns the name of a type as it is, of the end of a member's name: `Code` is `code`, `CodeableConcept` is itself.
fn decapitalized(element_type: &str) -> String {
    match element_type {
        "Code" | "String" | "Uri" => element_type.to_ascii_lowercase(),
        _ => element_type.to_owned(),
    }
}

/// Returns whether a value has everything a pattern has.
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

    fn profile() -> CompiledProfile {
        let url = "http://e/StructureDefinition/p";
        CompiledProfile::from_structure_definition(&json!({"resourceType": "StructureDefinition", "url": url, "type": "Observation", "snapshot": {"element": [
            {"id": "Observation", "path": "Observation", "min": 0, "max": "*",
                "constraint": [{"key": "p-1", "source": url}, {"key": "p-2"}, {"key": "dom-2", "source": "http://hl7.org/x"}]},
            {"id": "Observation.status", "path": "Observation.status", "min": 1, "max": "1", "fixedCode": "final", "type": [{"code": "code"}]},
            {"id": "Observation.category", "path": "Observation.category", "min": 1, "max": "2", "type": [{"code": "CodeableConcept"}]},
            {"id": "Observation.category:lab", "path": "Observation.category", "sliceName": "lab", "min": 1, "max": "1"},
            {"id": "Observation.note", "path": "Observation.note", "min": 0, "max": "*", "type": [{"code": "Annotation"}],
                "slicing": {"discriminator": [{"type": "value", "path": "text"}, {"type": "pattern", "path": "$this"}]}},
            {"id": "Observation.note:a", "path": "Observation.note", "sliceName": "a", "min": 0, "max": "1", "patternAnnotation": {"time": "2024"}},
            {"id": "Observation.note:a.text", "path": "Observation.note.text", "min": 1, "max": "1", "fixedMarkdown": "A"},
            {"id": "Observation.note:a.authorString", "path": "Observation.note.authorString", "min": 1, "max": "1"},
            {"id": "Observation.extension", "path": "Observation.extension", "min": 0, "max": "*", "type": [{"code": "Extension"}],
                "slicing": {"discriminator": [{"type": "value", "path": "url"}]}},
            {"id": "Observation.extension:x", "path": "Observation.extension", "sliceName": "x", "min": 1, "max": "1",
                "type": [{"code": "Extension", "profile": ["http://e/x"]}]},
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

    fn issues(document: &Value) -> Vec<String> {
        let mut codes = CodesBySystem::default();
        codes.insert("s", "arm");
        let found =
            profile().validate_resource(document, &HashMap::from([("http://e/vs".to_owned(), Arc::new(codes))]));
        found.into_iter().map(|issue| format!("{} {}", issue.code, issue.diagnostics.unwrap_or_default())).collect()
    }

    fn valid() -> Value {
        json!({"status": "final", "category": [{"text": "a"}], "code": {"text": "x", "coding": [{"code": "o"}, {"system": "s", "code": "c", "display": "d"}]},
            "valueQuantity": {"value": 1, "unit": "mg"}, "extension": [{"url": "http://e/x", "valueCode": "a"}, {"url": "u", "valueCode": "b"}]})
    }

    #[test]
    fn what_is_not_judged_is_said() {
        assert_eq!(
            issues(&valid()),
            [
                "not-supported Observation: its invariants are not judged: p-1, p-2",
                "not-supported Observation: the slice category:lab is not judged: what belongs to it cannot be told",
                "not-supported Observation: codes of http://e/open are required, and not judged: they cannot be listed here",
            ]
        );
        assert_eq!(profile().required_value_sets(), ["http://e/open", "http://e/vs"]);
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
            (without, "required Observation: expected 1 value[x] at least, found 0"),
            (other, "value Observation.value.ofType(Boolean): expected one of Quantity, string, found valueBoolean"),
            (
                with("valueQuantity", json!({"value": 1})),
                "required Observation.value.ofType(Quantity): expected 1 unit at least, found 0",
            ),
        ] {
            let issues: Vec<_> =
                issues(&document).into_iter().filter(|issue| !issue.starts_with("not-supported")).collect();
            let [only] = issues.as_slice() else { panic!("{document}: {issues:?}") };
            assert!(only.starts_with(expected), "{only}");
        }
    }

    #[test]
    fn slices_are_distinguished_by_values_patterns_and_urls() {
        let with = |name: &str, value: Value| {
            let mut document = valid();
            document[name] = value;
            let issues = issues(&document).into_iter().filter(|issue| !issue.starts_with("not-supported"));
            issues.collect::<Vec<_>>()
        };
        let a = json!({"text": "A", "time": "2024"});
        let signed = json!({"text": "A", "time": "2024", "authorString": "me"});
        let missing = "required Observation.note[0]: expected 1 authorString at least, found 0";
        assert_eq!(with("note", json!([a])), [missing]);
        assert_eq!(with("note", json!([signed, {"text": "B"}, {"text": "A"}])), Vec::<String>::new());
        let twice = "structure Observation: expected 1 note:a at most, found 2";
        assert_eq!(with("note", json!([signed, signed])), [twice]);
        let none = "required Observation: expected 1 extension:x at least, found 0";
        assert_eq!(with("extension", json!([{"url": "u", "valueCode": "b"}])), [none]);
    }

    #[test]
    fn a_definition_without_a_snapshot_validates_nothing() {
        assert_eq!(CompiledProfile::from_structure_definition(&json!({})).unwrap_err(), UnusableProfileError::NoType);
        assert_eq!(
            CompiledProfile::from_structure_definition(&json!({"type": "Patient"})).unwrap_err(),
            UnusableProfileError::NoSnapshot
        );
        let many = json!({"type": "Patient", "snapshot": {"element": vec![json!({}); MAX_ELEMENTS + 1]}});
        assert_eq!(CompiledProfile::from_structure_definition(&many).unwrap_err(), UnusableProfileError::TooLarge);
    }
}
