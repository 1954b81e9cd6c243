//! The conditions of a pattern that a value does not meet.

use serde_json::{Map, Value, json};

use crate::pattern::{CompiledPattern, Node, elements, is_nil, member};

/// A condition of a pattern that a value does not meet.
#[derive(Debug, Clone, PartialEq)]
pub struct UnmetCondition {
    /// The place in the value: keys as strings, indices as numbers.
    pub path: Vec<Value>,
    /// The condition, in the form of the pattern.
    pub expected: Value,
    /// The value found there; null when there is none.
    pub but: Value,
}

impl CompiledPattern {
    /// Returns every condition of the pattern that `value` does not meet; empty exactly when the pattern matches.
    ///
    /// It copies the values it reports, so it belongs to endpoints for debugging only.
    #[must_use]
    pub fn unmet_conditions(&self, value: Option<&Value>, request: &Value) -> Vec<UnmetCondition> {
        let mut report = Report { request, path: Vec::new(), mismatches: Vec::new() };
        report.node(&self.0, value);
        report.mismatches
    }
}

struct Report<'a> {
    request: &'a Value,
    path: Vec<Value>,
    mismatches: Vec<UnmetCondition>,
}

impl Report<'_> {
    fn node(&mut self, node: &Node, value: Option<&Value>) {
        match node {
            Node::All(nodes) => nodes.iter().for_each(|node| self.node(node, value)),
            Node::Members(members) if is_nil(value) || value.is_some_and(Value::is_object) => {
                for (key, node) in members {
                    self.below(Value::from(key.as_str()), node, member(value, key));
                }
            }
            Node::Elements(nodes) if elements(value).is_some() => {
                for (index, node) in nodes.iter().enumerate() {
                    self.below(Value::from(index), node, value.and_then(|items| items.get(index)));
                }
            }
            _ if node.matches(value, self.request) => {}
            _ => self.mismatches.push(UnmetCondition {
                path: self.path.clone(),
                expected: node.to_json(),
                but: value.cloned().unwrap_or_default(),
            }),
        }
    }

    fn below(&mut self, segment: Value, node: &Node, value: Option<&Value>) {
        self.path.push(segment);
        self.node(node, value);
        self.path.pop();
    }
}

impl Node {
    /// Returns the pattern this was compiled from.
    fn to_json(&self) -> Value {
        let list = |nodes: &[Self]| Value::Array(nodes.iter().map(Self::to_json).collect());
        match self {
            Self::Anything => json!({}),
            Self::Literal(value) => value.clone(),
            Self::Find(regex) => Value::from(format!("#{}", regex.as_str())),
            Self::SameAs(path) => Value::from(format!(".{}", path.join("."))),
            Self::Present => json!("present?"),
            Self::Nil => json!("nil?"),
            Self::NotBlank => json!("not-blank?"),
            Self::Members(members) => {
                Value::Object(members.iter().map(|(key, node)| (key.clone(), node.to_json())).collect())
            }
            Self::Elements(nodes) => list(nodes),
            Self::All(nodes) => Value::Object(nodes.iter().map(Self::to_json).flat_map(into_members).collect()),
            Self::Enum(values) => json!({"$enum": values}),
            Self::OneOf(nodes) => json!({"$one-of": list(nodes)}),
            Self::Not(node) => json!({"$not": node.to_json()}),
            Self::Contains(node) => json!({"$contains": node.to_json()}),
            Self::Every(node) => json!({"$every": node.to_json()}),
            Self::PresentAll(nodes) => json!({"$present-all": list(nodes)}),
            Self::Length(length) => json!({"$length": length}),
            Self::Reference(node) => json!({"$reference": node.to_json()}),
        }
    }
}

/// The conditions of one level are objects with distinct keys, as the compiler made them.
fn into_members(condition: Value) -> Map<String, Value> {
    match condition {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
