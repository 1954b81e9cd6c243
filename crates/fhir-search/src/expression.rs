//! The part of `FHIRPath` that the expressions of search parameters use, compiled for one type.
//!
//! Paths, unions, `[n]`, `first()`, `where(…)`, `exists()`, `empty()`, `not()`, `extension('url')`,
//! `resolve() is Type` as a condition, `as`, `as()` and `ofType()`, `=`, `!=`, `and`, `or`, `is`,
//! `%resource`. Anything else is refused by name.
//!
//! There are no definitions of types here, so three things go by the names of JSON: a choice of types
//! (`value`) is the element `value` or `value` and the name of a type (`valueQuantity`); `as` picks that
//! element, and passes on what no element says otherwise of; and whether a reference is to a Patient is
//! read from the reference, since what it is to may be anywhere.
//!
//! # Source
//! FHIR R4, `SearchParameter`; `FHIRPath` N1.

mod evaluate;
mod lexer;
mod parser;

use fhir_resource::ResourceType;

/// An expression of a search parameter, compiled for one resource type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expression(Node);

/// The reason why the `FHIRPath` expression of a search parameter does not compile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionCompileError {
    /// A function of `FHIRPath` that search parameters rarely use.
    #[error("the function {0}() is not supported in the expression of a search parameter")]
    Function(String),
    /// Something else that is not supported.
    #[error("{0:?} is not supported in the expression of a search parameter")]
    Unsupported(String),
    /// The expression ends in the middle.
    #[error("the expression ends unexpectedly")]
    End,
    /// Longer or deeper than an expression may be.
    #[error("the expression is too long or too deep")]
    TooLarge,
}

impl Expression {
    /// Compiles the alternatives of `text` that are about `type_name`.
    ///
    /// # Errors
    /// See [`ExpressionCompileError`].
    pub(super) fn compile(type_name: &str, text: &str) -> Result<Self, ExpressionCompileError> {
        parser::parse(type_name, text).map(Self)
    }

    /// Returns the names of the elements from the root, where the expression is a path and nothing else.
    pub(super) fn path(&self) -> Option<Vec<&str>> {
        let (mut path, mut node) = (Vec::new(), &self.0);
        while let Node::Child(of, name) = node {
            path.push(&**name);
            node = of;
        }
        path.reverse();
        (*node == Node::This).then_some(path)
    }

    /// Returns whether it is the resource itself.
    pub(super) fn is_whole(&self) -> bool {
        self.0 == Node::This
    }

    /// Returns whether both are the union of the same.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (self.alternatives(), other.alternatives());
        own.iter().all(|node| others.contains(node)) && others.iter().all(|node| own.contains(node))
    }

    /// The same without the alternatives that are a choice of elements of this type.
    pub(super) fn without_choice(self, type_name: &str) -> Self {
        let Node::Union(nodes) = self.0 else { return self };
        let is_choice = |node: &Node| matches!(node, Node::Choice(_, choice) if &*choice.type_name == type_name);
        Self(Node::Union(nodes.into_iter().filter(|node| !is_choice(node)).collect()))
    }

    /// Returns what it is the union of: itself, where it is none.
    pub(super) fn alternatives(&self) -> Vec<&Node> {
        let mut alternatives = Vec::new();
        self.0.add_alternatives(&mut alternatives);
        alternatives
    }

    /// Returns whether nothing of the expression is about the type it was compiled for.
    pub(super) fn is_empty(&self) -> bool {
        self.0 == Node::Nothing
    }
}

/// One step, with what it is applied to inside.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// No value: an alternative about another type.
    Nothing,
    /// What the expression is evaluated on.
    This,
    /// The resource (`%resource`).
    Resource,
    /// A constant.
    Literal(Literal),
    /// An element, of whichever type if it is a choice.
    Child(Box<Node>, Box<str>),
    /// An element that is a choice, of one type: its name, the name in JSON and the type.
    Choice(Box<Node>, Box<Choice>),
    /// Values that are of a type as far as JSON shows.
    OfType(Box<Node>, Box<str>),
    /// Values for which the condition holds.
    Where(Box<Node>, Box<Node>),
    /// The value at a position.
    At(Box<Node>, usize),
    /// The values of all.
    Union(Vec<Node>),
    /// Whether there is a value.
    Exists(Box<Node>),
    /// The contrary.
    Not(Box<Node>),
    /// Whether both hold.
    And(Box<Node>, Box<Node>),
    /// Whether one holds.
    Or(Box<Node>, Box<Node>),
    /// Whether both sides have the same value; nothing when one has none.
    Equals(Box<Node>, Box<Node>),
    /// Whether a reference is to a resource of this type.
    RefersTo(Box<Node>, Box<str>),
    /// Whether a value is of this type as far as JSON shows.
    Is(Box<Node>, Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice {
    name: Box<str>,
    json: Box<str>,
    type_name: Box<str>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(serde_json::Value),
    Flag(bool),
}

impl Node {
    fn add_alternatives<'a>(&'a self, alternatives: &mut Vec<&'a Self>) {
        match self {
            Self::Union(nodes) => nodes.iter().for_each(|node| node.add_alternatives(alternatives)),
            Self::Nothing => {}
            other => alternatives.push(other),
        }
    }

    /// `name` as one of `type_name`: `value`, `Quantity` → `valueQuantity`.
    fn choice(of: Self, name: &str, type_name: &str) -> Self {
        let json = format!("{name}{}", capitalized(type_name));
        // `value.as(DateTime)` stands in R4 itself.
        let type_name = evaluate::type_named(type_name).unwrap_or(type_name);
        Self::Choice(
            Box::new(of),
            Box::new(Choice { name: name.into(), json: json.into(), type_name: type_name.into() }),
        )
    }
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// Returns whether a name is that of a resource type or of the types all of them are of.
fn is_type(name: &str) -> bool {
    ResourceType::is_valid(name)
}

#[cfg(test)]
mod tests;
