//! Compiles JSON into a [`CompiledPattern`] and names every error in it.

use regex::RegexBuilder;
use serde_json::{Map, Value};

use crate::pattern::{CompiledPattern, Node};

/// Deepest nesting of a pattern. Not specified; patterns in use have under ten levels.
const MAX_DEPTH: usize = 32;
/// Most conditions in one pattern, which bounds what a request can cost. Not specified.
const MAX_NODES: usize = 2000;
/// Longest regex, in bytes.
const REGEX_MAX_BYTES: usize = 1024;
/// Most memory of one compiled regex, in bytes.
const REGEX_MAX_COMPILED_BYTES: usize = 256 * 1024;
/// Most regexes in one pattern, which bounds the memory it holds.
const MAX_REGEXES: usize = 64;
/// Most segments of a path.
const MAX_SEGMENTS: usize = 16;

/// An error in a pattern, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} (at {})", if path.is_empty() { "the top" } else { path })]
pub struct PatternCompileError {
    /// The position of the error, as keys and indexes: `user.roles.$contains[0]`; empty for the pattern itself.
    pub path: String,
    /// The kind of the error.
    pub kind: PatternCompileErrorKind,
}

/// The kind of a [`PatternCompileError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternCompileErrorKind {
    /// A key starts with `$` but names no operator.
    #[error("unknown operator {0}")]
    UnknownOperator(String),
    /// An operator's operand has the wrong type.
    #[error("{operator} takes {expected}")]
    Operand {
        /// The name of the operator.
        operator: &'static str,
        /// The operand that it takes, in words.
        expected: &'static str,
    },
    /// A regex that does not compile, is too large, or uses what an engine of linear time does not have.
    #[error("not a regular expression this server runs (no look-around, no back-references): {0}")]
    Regex(String),
    /// A path with an empty segment or too many of them.
    #[error("a path is a dot and 1 to {MAX_SEGMENTS} names joined by dots")]
    Path,
    /// A pattern that is nested more deeply than `MAX_DEPTH` levels.
    #[error("a pattern is at most {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A pattern with more than `MAX_REGEXES` regular expressions.
    #[error("a pattern has at most {MAX_REGEXES} regular expressions")]
    TooManyRegexes,
    /// A pattern with more than `MAX_NODES` conditions.
    #[error("a pattern has at most {MAX_NODES} conditions")]
    TooLarge,
}

impl CompiledPattern {
    /// Compiles a matcho pattern from JSON, and returns every error in it.
    ///
    /// # Errors
    /// Every error in the pattern, in reading order. Compiling ends at the first error of depth or size.
    pub fn compile(pattern: &Value) -> Result<Self, Vec<PatternCompileError>> {
        let mut compiler = Compiler::default();
        let node = compiler.node(pattern);
        match node {
            Some(node) if compiler.errors.is_empty() => Ok(Self(node)),
            _ => Err(compiler.errors),
        }
    }
}

/// `None` from any method means that an error has been recorded.
#[derive(Default)]
struct Compiler {
    path: Vec<String>,
    nodes: usize,
    regexes: usize,
    errors: Vec<PatternCompileError>,
}

impl Compiler {
    fn node(&mut self, pattern: &Value) -> Option<Node> {
        self.nodes += 1;
        if self.path.len() > MAX_DEPTH {
            return self.refuse(PatternCompileErrorKind::TooDeep);
        }
        if self.nodes > MAX_NODES {
            // Once is enough: a large pattern would else report each condition beyond the limit.
            return if self.nodes == MAX_NODES + 1 { self.refuse(PatternCompileErrorKind::TooLarge) } else { None };
        }
        match pattern {
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(Node::Literal(pattern.clone())),
            Value::String(text) => self.string(text),
            Value::Array(items) => self.list(items).map(Node::Elements),
            Value::Object(members) => self.object(members),
        }
    }

    fn string(&mut self, text: &str) -> Option<Node> {
        match text {
            "present?" => Some(Node::Present),
            "nil?" => Some(Node::Nil),
            "not-blank?" => Some(Node::NotBlank),
            _ => match (text.strip_prefix('#'), text.strip_prefix('.')) {
                (Some(regex), _) => self.regex(regex),
                (_, Some(path)) => self.request_path(path),
                _ => Some(Node::Literal(Value::from(text))),
            },
        }
    }

    fn regex(&mut self, regex: &str) -> Option<Node> {
        self.regexes += 1;
        if self.regexes > MAX_REGEXES {
            return self.refuse(PatternCompileErrorKind::TooManyRegexes);
        }
        if regex.len() > REGEX_MAX_BYTES {
            return self.refuse(PatternCompileErrorKind::Regex(format!("longer than {REGEX_MAX_BYTES} bytes")));
        }
        let built = RegexBuilder::new(regex)
            .size_limit(REGEX_MAX_COMPILED_BYTES)
            .dfa_size_limit(REGEX_MAX_COMPILED_BYTES)
            .build();
        match built {
            Ok(regex) => Some(Node::Find(regex)),
            Err(error) => self.refuse(PatternCompileErrorKind::Regex(error.to_string())),
        }
    }

    fn request_path(&mut self, path: &str) -> Option<Node> {
        let segments: Vec<_> = path.split('.').map(str::to_owned).collect();
        if segments.len() > MAX_SEGMENTS || segments.iter().any(String::is_empty) {
            return self.refuse(PatternCompileErrorKind::Path);
        }
        Some(Node::SameAs(segments))
    }

    fn object(&mut self, members: &Map<String, Value>) -> Option<Node> {
        let mut conditions = Vec::new();
        let mut plain = Vec::new();
        let mut complete = true;
        for (key, operand) in members {
            self.path.push(key.clone());
            if key.starts_with('$') {
                complete &= self.operator(key, operand).map(|node| conditions.push(node)).is_some();
            } else {
                complete &= self.node(operand).map(|node| plain.push((key.clone(), node))).is_some();
            }
            self.path.pop();
        }
        if !plain.is_empty() {
            conditions.push(Node::Members(plain));
        }
        complete.then(|| match conditions.len() {
            0 => Node::Anything,
            1 => conditions.remove(0),
            _ => Node::All(conditions),
        })
    }

    fn operator(&mut self, name: &str, operand: &Value) -> Option<Node> {
        match name {
            "$enum" => self.operands("$enum", operand).map(|values| Node::Enum(values.clone())),
            "$one-of" => self.operands("$one-of", operand).and_then(|list| self.list(list)).map(Node::OneOf),
            "$present-all" => {
                self.operands("$present-all", operand).and_then(|list| self.list(list)).map(Node::PresentAll)
            }
            "$not" => self.node(operand).map(|node| Node::Not(Box::new(node))),
            "$contains" => self.node(operand).map(|node| Node::Contains(Box::new(node))),
            "$every" => self.node(operand).map(|node| Node::Every(Box::new(node))),
            "$reference" => self.node(operand).map(|node| Node::Reference(Box::new(node))),
            "$length" => match operand.as_u64() {
                Some(length) => Some(Node::Length(length)),
                None => self.refuse(PatternCompileErrorKind::Operand {
                    operator: "$length",
                    expected: "a whole number, 0 or more",
                }),
            },
            _ => self.refuse(PatternCompileErrorKind::UnknownOperator(name.to_owned())),
        }
    }

    fn operands<'v>(&mut self, operator: &'static str, operand: &'v Value) -> Option<&'v Vec<Value>> {
        let list = operand.as_array();
        if list.is_none() {
            self.refuse(PatternCompileErrorKind::Operand { operator, expected: "an array" });
        }
        list
    }

    /// Reads every item even after a wrong one, so that all errors are reported.
    fn list(&mut self, items: &[Value]) -> Option<Vec<Node>> {
        let mut nodes = Vec::with_capacity(items.len().min(MAX_NODES));
        for (index, item) in items.iter().enumerate() {
            self.path.push(format!("[{index}]"));
            nodes.extend(self.node(item));
            self.path.pop();
        }
        (nodes.len() == items.len()).then_some(nodes)
    }

    fn refuse(&mut self, kind: PatternCompileErrorKind) -> Option<Node> {
        let mut path = String::new();
        for segment in &self.path {
            if !path.is_empty() && !segment.starts_with('[') {
                path.push('.');
            }
            path.push_str(segment);
        }
        self.errors.push(PatternCompileError { path, kind });
        None
    }
}
