//! Validates a document: visits every member once, together with the definition of its element.

use fhir_resource::type_definitions::{
    self, ElementDefinition, ElementJsonContent, ElementType, ObjectElements, PrimitiveType, StructureDefinition,
};
use fhir_store::limits::MAX_RESOURCE_DEPTH;
use fhir_store::operation_outcome::OutcomeIssue;
use serde_json::{Map, Value};

use crate::document_path::DocumentPath;
use crate::report::{IssueType, Report, shown};
use crate::{binding, invariants, primitive, reference};

/// The member that names the type of a resource.
const RESOURCE_TYPE: &str = "resourceType";

/// Returns every issue of a document of type `resource_type`.
pub(crate) fn validate_document(
    resource_type: &str,
    structure: &StructureDefinition,
    document: &Value,
) -> Vec<OutcomeIssue> {
    let mut walk = Walk { report: Report::default(), contained: Vec::new() };
    let place = DocumentPath::root(resource_type);
    match document {
        Value::Object(object) => {
            if object.get(RESOURCE_TYPE).is_some_and(|named| named != resource_type) {
                walk.report
                    .add(IssueType::Structure, &place.named(RESOURCE_TYPE), || format!("expected \"{resource_type}\""));
            }
            walk.contained = reference::contained(object);
            walk.resource((resource_type, structure), object, &place);
        }
        other => walk.unlike(&place, "an object", other),
    }
    walk.report.finish()
}

struct Walk<'v> {
    report: Report,
    /// The ids and types of what the resource contains that is looked at.
    contained: Vec<(&'v str, &'v str)>,
}

/// A type, and the part of it that an object is.
#[derive(Clone, Copy)]
struct Frame<'s> {
    structure: &'s StructureDefinition,
    node: &'s ObjectElements,
    is_resource: bool,
}

/// An object, and the name of a member of it.
#[derive(Clone, Copy)]
struct Member<'v> {
    object: &'v Map<String, Value>,
    name: &'v str,
    value: &'v Value,
}

impl<'v> Walk<'v> {
    fn unlike(&mut self, place: &DocumentPath<'_>, expected: &str, found: &Value) {
        let code = if found.is_null() || expected.ends_with("object") || expected.ends_with("list") {
            IssueType::Structure
        } else {
            IssueType::Value
        };
        self.report.add(code, place, || format!("expected {expected}, found {}", shown(found)));
    }

    fn resource(&mut self, is: (&str, &StructureDefinition), object: &'v Map<String, Value>, place: &DocumentPath<'_>) {
        let (resource_type, structure) = is;
        let Some(node) = structure.root_elements() else { return };
        self.object(Frame { structure, node, is_resource: true }, object, place);
        invariants::resource(resource_type, object, place, &mut self.report);
    }

    /// A resource inside of another one.
    fn nested(&mut self, element: &ElementDefinition, value: &'v Value, place: &DocumentPath<'_>) {
        let Value::Object(object) = value else { return self.unlike(place, "an object", value) };
        let resource_type = object.get(RESOURCE_TYPE).and_then(Value::as_str);
        let structure = resource_type
            .and_then(type_definitions::structure_definition)
            .filter(|structure| structure.is_concrete_resource());
        let (Some(resource_type), Some(structure)) = (resource_type, structure) else {
            let found = object.get(RESOURCE_TYPE).map_or_else(|| "none".to_owned(), shown);
            let text = || format!("expected the resourceType of a resource of R4, found {found}");
            return self.report.add(IssueType::Structure, &place.named(RESOURCE_TYPE), text);
        };
        if &*element.name == "contained" {
            invariants::contained(object, place, &mut self.report);
            return self.resource((resource_type, structure), object, place);
        }
        let around = std::mem::replace(&mut self.contained, reference::contained(object));
        self.resource((resource_type, structure), object, place);
        self.contained = around;
    }

    fn object(&mut self, frame: Frame<'_>, object: &'v Map<String, Value>, place: &DocumentPath<'_>) {
        if place.depth >= MAX_RESOURCE_DEPTH {
            return self.report.add(IssueType::Structure, place, || "is nested too deeply".to_owned());
        }
        if !frame.is_resource && !object.keys().any(|name| name != "id") {
            return self
                .report
                .add(IssueType::Structure, place, || "expected at least one element besides id".to_owned());
        }
        let mut present = Present::default();
        for (name, value) in object {
            if self.report.is_full() {
                return;
            }
            if !(frame.is_resource && name == RESOURCE_TYPE) {
                self.member(frame, Member { object, name, value }, &mut present, place);
            }
        }
        for element in frame.node.required.iter().filter(|at| !present.has(**at)) {
            let Some(element) = frame.node.elements.get(*element) else { continue };
            self.report
                .add(IssueType::Required, place, || format!("expected the element {}, found none", title(element)));
        }
    }

    fn member(&mut self, frame: Frame<'_>, member: Member<'v>, present: &mut Present<'v>, place: &DocumentPath<'_>) {
        let bare = member.name.strip_prefix('_');
        let name = bare.unwrap_or(member.name);
        let Some((at, element, element_type)) = frame.node.resolve_json_member(name) else {
            return self
                .report
                .add(IssueType::Structure, &place.named(member.name), || unknown(frame.node, member.name));
        };
        if let Some(other) = present.add(at, element, name) {
            let text = || format!("expected one of {}, found {other} and {name}", title(element));
            self.report.add(IssueType::Structure, &place.named(&element.name), text);
        }
        let place = place.element(element, element_type);
        match (bare, element_type.content) {
            (None, _) => self.element(frame, (element, element_type), member, &place),
            (Some(_), ElementJsonContent::Primitive(_)) => self.companion(element, member, &place),
            (Some(_), _) => {
                let text = || format!("there is no element {}: only primitives have one", member.name);
                self.report.add(IssueType::Structure, &place, text);
            }
        }
    }

    /// An element: one value or a list of them.
    fn element(
        &mut self,
        frame: Frame<'_>,
        is: (&ElementDefinition, &ElementType),
        member: Member<'v>,
        place: &DocumentPath<'_>,
    ) {
        let (element, element_type) = is;
        let items = match (element.is_list(), member.value) {
            (true, Value::Array(items)) if items.is_empty() => {
                return self.unlike_text(place, "expected at least one value, found an empty list");
            }
            (true, Value::Array(items)) => items,
            (true, other) => return self.unlike(place, "a list", other),
            (false, Value::Array(_)) => return self.unlike_text(place, "expected one value, found a list"),
            (false, value) => return self.value(frame, is, value, place),
        };
        let mut companions = None;
        for (index, item) in items.iter().enumerate() {
            let place = place.item(index);
            if !item.is_null() || !matches!(element_type.content, ElementJsonContent::Primitive(_)) {
                self.value(frame, is, item, &place);
                continue;
            }
            // A null keeps the place of a value that there are only extensions of.
            let companions = companions.get_or_insert_with(|| member.object.get(&format!("_{}", member.name)));
            if !companions.and_then(|list| list.get(index)).is_some_and(Value::is_object) {
                self.unlike_text(&place, "expected a value, or an extension that says why there is none, found null");
            }
        }
    }

    fn unlike_text(&mut self, place: &DocumentPath<'_>, text: &str) {
        self.report.add(IssueType::Structure, place, || text.to_owned());
    }

    /// The id and the extensions of a primitive, which stand beside its value.
    fn companion(&mut self, element: &ElementDefinition, member: Member<'v>, place: &DocumentPath<'_>) {
        let bare = member.name.strip_prefix('_').and_then(|name| member.object.get(name));
        let items = match (element.is_list(), member.value) {
            (false, value) => return self.beside(bare, value, place),
            (true, Value::Array(items)) => items,
            (true, other) => return self.unlike(place, "a list", other),
        };
        if let Some(Value::Array(values)) = bare
            && values.len() != items.len()
        {
            let text = || format!("expected {} extensions beside the values, found {}", values.len(), items.len());
            self.report.add(IssueType::Structure, place, text);
        }
        if items.iter().all(Value::is_null) {
            self.unlike_text(place, "expected at least one extension beside the values, found none");
        }
        for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_null()) {
            self.beside(bare.and_then(|values| values.get(index)), item, &place.item(index));
        }
    }

    /// What stands beside one value. An id alone is enough where there is a value.
    fn beside(&mut self, value: Option<&Value>, companion: &'v Value, place: &DocumentPath<'_>) {
        match companion {
            Value::Object(object) if object.len() == 1 && value.is_some_and(|value| !value.is_null()) => {
                match object.get("id") {
                    Some(Value::String(id)) if !id.is_empty() => {}
                    Some(other) => self.unlike(&place.named("id"), "a text", other),
                    None => self.datatype("Element", object, place),
                }
            }
            Value::Object(object) => self.datatype("Element", object, place),
            other => self.unlike(place, "an object", other),
        }
    }

    fn value(
        &mut self,
        frame: Frame<'_>,
        is: (&ElementDefinition, &ElementType),
        value: &'v Value,
        place: &DocumentPath<'_>,
    ) {
        let (element, element_type) = is;
        match (element_type.content, value) {
            (ElementJsonContent::Primitive(primitive), _) => {
                // The address of a write says what the id of its resource is.
                let is_own_id = primitive == PrimitiveType::Id && place.depth == 1 && &*element.name == "id";
                match primitive::check(primitive, value) {
                    Err(expected) if !is_own_id || !value.is_string() => self.unlike(place, expected, value),
                    _ => binding::check(element, element_type, value, place, &mut self.report),
                }
            }
            (ElementJsonContent::Resource, _) => self.nested(element, value, place),
            (ElementJsonContent::Complex, Value::Object(object)) => {
                self.datatype(&element_type.name, object, place);
                binding::check(element, element_type, value, place, &mut self.report);
                if &*element_type.name == "Reference" {
                    reference::check(element_type, object, (place, &self.contained), &mut self.report);
                }
            }
            (ElementJsonContent::Own(at), Value::Object(object)) => {
                let Some(node) = frame.structure.nested_elements(at) else { return };
                self.object(Frame { node, is_resource: false, ..frame }, object, place);
            }
            (ElementJsonContent::Complex | ElementJsonContent::Own(_), other) => self.unlike(place, "an object", other),
        }
    }

    /// An object of a type that many elements have.
    fn datatype(&mut self, name: &str, object: &'v Map<String, Value>, place: &DocumentPath<'_>) {
        let Some(structure) = type_definitions::structure_definition(name) else { return };
        let Some(node) = structure.root_elements() else { return };
        self.object(Frame { structure, node, is_resource: false }, object, place);
        invariants::datatype(name, object, place, &mut self.report);
    }
}

/// Which elements of an object are there.
#[derive(Default)]
struct Present<'v> {
    /// One bit each, by their number.
    seen: u128,
    /// Of those that have a choice of types, under which name.
    chosen: Vec<(usize, &'v str)>,
}

impl<'v> Present<'v> {
    /// Adds an element; the other name when it is there under one already.
    fn add(&mut self, at: usize, element: &ElementDefinition, name: &'v str) -> Option<&'v str> {
        self.seen |= bit(at);
        if !element.is_choice {
            return None;
        }
        let other = self.chosen.iter().find(|(other, _)| *other == at).map(|(_, other)| *other);
        if other.is_none() {
            self.chosen.push((at, name));
        }
        other.filter(|other| *other != name)
    }

    fn has(&self, at: usize) -> bool {
        self.seen & bit(at) != 0
    }
}

/// No type has more elements than bits; the tests of the data show it.
fn bit(at: usize) -> u128 {
    u32::try_from(at).ok().and_then(|at| 1_u128.checked_shl(at)).unwrap_or(0)
}

/// Returns the name of an element as the definitions have it.
fn title(element: &ElementDefinition) -> String {
    if element.is_choice { format!("{}[x]", element.name) } else { element.name.to_string() }
}

/// Returns what is wrong with a name, and what may have been meant.
fn unknown(node: &ObjectElements, name: &str) -> String {
    let meant = node.elements.iter().find(|element| element.is_choice && name.starts_with(&*element.name));
    match meant {
        Some(element) => {
            let names = element
                .types
                .iter()
                .take(8)
                .map(|element_type| type_definitions::choice_member_name(&element.name, &element_type.name));
            let more = if element.types.len() > 8 { ", …" } else { "" };
            format!("expected {}: {}{more}", title(element), names.collect::<Vec<_>>().join(", "))
        }
        None => "there is no such element".to_owned(),
    }
}
