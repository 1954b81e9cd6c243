//! Expressions on resources, without copying anything of them.

use std::ops::ControlFlow;

use serde_json::{Map, Value};

use super::{Choice, Expression, Literal, Node};
use crate::target;

static TRUE: Value = Value::Bool(true);
static FALSE: Value = Value::Bool(false);

/// The names of data types as they stand behind the name of a choice in JSON, sorted.
///
/// # Source
/// FHIR R4, Data Types; Extensibility, `value[x]`.
const TYPES: [&str; 50] = [
    "Address",
    "Age",
    "Annotation",
    "Attachment",
    "Base64Binary",
    "Boolean",
    "Canonical",
    "Code",
    "CodeableConcept",
    "Coding",
    "ContactDetail",
    "ContactPoint",
    "Contributor",
    "Count",
    "DataRequirement",
    "Date",
    "DateTime",
    "Decimal",
    "Distance",
    "Dosage",
    "Duration",
    "Expression",
    "HumanName",
    "Id",
    "Identifier",
    "Instant",
    "Integer",
    "Markdown",
    "Meta",
    "Money",
    "Oid",
    "ParameterDefinition",
    "Period",
    "PositiveInt",
    "Quantity",
    "Range",
    "Ratio",
    "Reference",
    "RelatedArtifact",
    "SampledData",
    "Signature",
    "String",
    "Time",
    "Timing",
    "TriggerDefinition",
    "UnsignedInt",
    "Uri",
    "Url",
    "UsageContext",
    "Uuid",
];

/// The primitive types, as they stand in a definition.
const PRIMITIVES: [&str; 19] = [
    "base64Binary",
    "boolean",
    "canonical",
    "code",
    "date",
    "dateTime",
    "decimal",
    "id",
    "instant",
    "integer",
    "markdown",
    "oid",
    "positiveInt",
    "string",
    "time",
    "unsignedInt",
    "uri",
    "url",
    "uuid",
];

/// The element of an extension whose type the native format puts inside: `{"value": {"code": …}}`.
const UNION: &str = "value";

/// Returns the name of a primitive type from its name at the end of a choice; `None` for another type.
pub(super) fn type_named(capital: &str) -> Option<&'static str> {
    PRIMITIVES.into_iter().find(|primitive| primitive.eq_ignore_ascii_case(capital))
}

fn is_type(name: &str) -> bool {
    TYPES.binary_search(&name).is_ok()
}

type Flow = ControlFlow<()>;
type Out<'o, 'a> = &'o mut dyn FnMut(&'a Value) -> Flow;

/// What names in an expression are about.
#[derive(Clone, Copy)]
struct Scope<'a> {
    this: &'a Value,
    resource: &'a Value,
}

impl Expression {
    /// Hands every value of the expression to `out`. Lists are entered, at any depth.
    ///
    /// `this` is the resource itself, or what a part of a composite is about.
    pub(crate) fn each<'a>(&'a self, this: &'a Value, resource: &'a Value, out: &mut dyn FnMut(&'a Value)) {
        let scope = Scope { this, resource };
        let _ = self.0.each(scope, &mut |value| {
            out(value);
            Flow::Continue(())
        });
    }
}

impl Node {
    fn each<'a>(&'a self, scope: Scope<'a>, out: Out<'_, 'a>) -> Flow {
        match self {
            Self::Nothing => Flow::Continue(()),
            Self::This => flat(scope.this, out),
            Self::Resource => flat(scope.resource, out),
            Self::Literal(Literal::Text(text)) => out(text),
            Self::Literal(Literal::Flag(flag)) => out(constant(*flag)),
            Self::Child(of, name) => of.each(scope, &mut |value| child(value, name, out)),
            Self::Choice(of, choice) => of.each(scope, &mut |value| choice.each(value, out)),
            Self::OfType(of, type_name) => {
                of.each(scope, &mut |value| if may_be(value, type_name) { out(value) } else { Flow::Continue(()) })
            }
            Self::Where(of, condition) => of.each(scope, &mut |value| {
                let inner = Scope { this: value, ..scope };
                if condition.is_true(inner) { out(value) } else { Flow::Continue(()) }
            }),
            Self::At(of, index) => of.nth(scope, *index).map_or(Flow::Continue(()), out),
            Self::Union(nodes) => nodes.iter().try_for_each(|node| node.each(scope, out)),
            condition => condition.truth(scope).map_or(Flow::Continue(()), |truth| out(constant(truth))),
        }
    }

    fn nth<'a>(&'a self, scope: Scope<'a>, index: usize) -> Option<&'a Value> {
        let (mut found, mut left) = (None, index);
        let _ = self.each(scope, &mut |value| {
            if left == 0 {
                found = Some(value);
                return Flow::Break(());
            }
            left -= 1;
            Flow::Continue(())
        });
        found
    }

    fn is_true(&self, scope: Scope<'_>) -> bool {
        self.truth(scope) == Some(true)
    }

    /// Returns what a condition says; nothing when it has nothing to say.
    fn truth(&self, scope: Scope<'_>) -> Option<bool> {
        match self {
            Self::Exists(of) => Some(of.nth(scope, 0).is_some()),
            Self::Not(of) => of.truth(scope).map(|truth| !truth),
            Self::And(left, right) => Some(left.is_true(scope) && right.is_true(scope)),
            Self::Or(left, right) => Some(left.is_true(scope) || right.is_true(scope)),
            Self::Equals(left, right) => Some(left.nth(scope, 0)? == right.nth(scope, 0)?),
            Self::RefersTo(of, type_name) => Some(
                of.each(scope, &mut |value| stop_if(target::kind_of(value, scope.resource) == Some(type_name)))
                    .is_break(),
            ),
            Self::Is(of, type_name) => of.nth(scope, 0).map(|value| may_be(value, type_name)),
            values => values.nth(scope, 0).map(|value| *value != FALSE),
        }
    }
}

fn stop_if(holds: bool) -> Flow {
    if holds { Flow::Break(()) } else { Flow::Continue(()) }
}

fn constant(flag: bool) -> &'static Value {
    if flag { &TRUE } else { &FALSE }
}

fn flat<'a>(value: &'a Value, out: Out<'_, 'a>) -> Flow {
    match value {
        Value::Array(elements) => elements.iter().try_for_each(|element| flat(element, out)),
        Value::Null => Flow::Continue(()),
        value => out(value),
    }
}

fn child<'a>(value: &'a Value, name: &str, out: Out<'_, 'a>) -> Flow {
    let Value::Object(object) = value else { return Flow::Continue(()) };
    let Some(found) = member(object, name) else { return choices(object, name, out) };
    let union = found.as_object().filter(|_| name == UNION).and_then(inside);
    flat(union.unwrap_or(found), out)
}

/// Up to how many members an object is searched from its beginning: hashing the name costs more.
const FEW: usize = 24;

fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if object.len() > FEW {
        return object.get(name);
    }
    object.iter().find_map(|(key, value)| (key == name).then_some(value))
}

/// Returns what a native union holds: one member, named for its type.
fn inside(union: &Map<String, Value>) -> Option<&Value> {
    let (type_name, value) = union.iter().next()?;
    (union.len() == 1 && (is_type(type_name) || PRIMITIVES.contains(&type_name.as_str()))).then_some(value)
}

/// Returns the elements of a choice, or one element of a choice that the native format holds.
fn choices<'a>(object: &'a Map<String, Value>, name: &str, out: Out<'_, 'a>) -> Flow {
    if let Some(type_name) = name.strip_prefix(UNION)
        && is_type(type_name)
    {
        return Choice {
            name: UNION.into(),
            json: name.into(),
            type_name: type_named(type_name).unwrap_or(type_name).into(),
        }
        .native(object)
        .map_or(Flow::Continue(()), |value| flat(value, out));
    }
    for (key, value) in object {
        let goes_on = key.as_bytes().get(name.len()).is_some_and(u8::is_ascii_uppercase);
        if goes_on && key.strip_prefix(name).is_some_and(is_type) {
            flat(value, out)?;
        }
    }
    Flow::Continue(())
}

impl Choice {
    fn each<'a>(&'a self, value: &'a Value, out: Out<'_, 'a>) -> Flow {
        let Value::Object(object) = value else { return Flow::Continue(()) };
        let found = member(object, &self.json).or_else(|| self.native(object)).or_else(|| self.plain(object));
        found.map_or(Flow::Continue(()), |value| flat(value, out))
    }

    fn native<'a>(&self, object: &'a Map<String, Value>) -> Option<&'a Value> {
        member(object, &self.name)?.get(&*self.type_name)
    }

    /// Returns the element itself, where it is no choice and may be of the type.
    fn plain<'a>(&self, object: &'a Map<String, Value>) -> Option<&'a Value> {
        let value = member(object, &self.name)?;
        let first = value.as_array().map_or(Some(value), |elements| elements.first())?;
        let is_union = first.as_object().is_some_and(|object| inside(object).is_some());
        (!is_union && may_be(first, &self.type_name)).then_some(value)
    }
}

/// Returns whether a value may be of a type, as far as JSON shows.
fn may_be(value: &Value, type_name: &str) -> bool {
    const NUMBERS: [&str; 4] = ["decimal", "integer", "positiveInt", "unsignedInt"];
    let type_name = type_named(type_name).unwrap_or(type_name);
    let complex = type_name.bytes().next().is_some_and(|first| first.is_ascii_uppercase());
    match value {
        Value::Object(object) => complex && object.get("resourceType").is_none_or(|named| named == type_name),
        Value::Bool(_) => type_name == "boolean",
        Value::Number(_) => NUMBERS.contains(&type_name),
        Value::String(_) => !complex && type_name != "boolean" && !NUMBERS.contains(&type_name),
        Value::Array(_) | Value::Null => false,
    }
}
