//! A type as a validator asks for it.

use std::collections::HashMap;
use std::sync::Arc;

use super::codes::CodesBySystem;
use super::primitive::PrimitiveType;

/// What a type is made of.
#[derive(Debug)]
pub(crate) struct Structure {
    pub(super) is_resource: bool,
    /// Whether it is a resource or the base of some.
    pub(super) is_a_resource: bool,
    /// The first is the type itself, the others are elements inside of which are elements of their own.
    pub(super) nodes: Vec<Node>,
}

impl Structure {
    /// Returns whether it is a resource that there can be, so no abstract one.
    pub(crate) fn is_resource(&self) -> bool {
        self.is_resource
    }

    /// Returns the type itself.
    pub(crate) fn root(&self) -> Option<&Node> {
        self.nodes.first()
    }

    /// An element's own elements.
    pub(crate) fn node(&self, at: usize) -> Option<&Node> {
        self.nodes.get(at)
    }
}

/// The elements of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// As they are defined; a choice of types is one.
    pub(crate) elements: Vec<Element>,
    /// By the names that JSON has for them: the element and which of its types the name says.
    pub(crate) members: HashMap<Box<str>, (usize, usize)>,
    /// Those that have to be there.
    pub(crate) required: Vec<usize>,
}

impl Node {
    /// Returns the element that a member of a JSON object is, the number of the element, and its type.
    pub(crate) fn member(&self, name: &str) -> Option<(usize, &Element, &Type)> {
        let (element, kind) = *self.members.get(name)?;
        let found = self.elements.get(element)?;
        Some((element, found, found.types.get(kind)?))
    }

    /// Returns the element a member of a JSON object belongs to: that of this name, or a choice whose type the name
    /// does not say, as in the native spelling.
    pub(crate) fn element(&self, name: &str) -> Option<&Element> {
        let named = self.member(name).map(|(_, element, _)| element);
        named.or_else(|| self.elements.iter().find(|element| *element.name == *name))
    }

    /// Adds an element under the names that JSON has for it.
    pub(super) fn push(&mut self, element: Element) {
        let at = self.elements.len();
        for (number, kind) in element.types.iter().enumerate() {
            let name = if element.is_choice { choice(&element.name, &kind.name) } else { element.name.to_string() };
            self.members.insert(name.into(), (at, number));
        }
        if element.min > 0 {
            self.required.push(at);
        }
        self.elements.push(element);
    }
}

/// `value` and `dateTime` as `valueDateTime`.
pub(crate) fn choice(element: &str, kind: &str) -> String {
    let mut characters = kind.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    element.chars().chain(first).chain(characters).collect()
}

/// An element: its name without the `[x]` of a choice, and what it may be.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) name: Box<str>,
    pub(crate) is_choice: bool,
    pub(crate) min: u32,
    /// `u32::MAX` where there is no bound. More than 1 is a list in JSON, however many there are.
    pub(crate) max: u32,
    /// Whether it is part of a summary of what it belongs to.
    pub(crate) is_summary: bool,
    /// At least one.
    pub(crate) types: Vec<Type>,
    pub(crate) binding: Option<Binding>,
}

impl Element {
    /// Returns whether JSON has a list for it.
    pub(crate) fn is_list(&self) -> bool {
        self.max > 1
    }
}

/// One type that an element may have.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) name: Box<str>,
    pub(crate) content: Content,
    /// The types of resources a reference may lead to; none where it may lead to any.
    pub(crate) targets: Vec<Box<str>>,
}

/// What a value of a type is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// A JSON scalar.
    Primitive(PrimitiveType),
    /// An object of the type of that name.
    Complex,
    /// An object with elements of its own: their place among the nodes of the type that has them.
    Own(usize),
    /// Any resource.
    Resource,
}

/// The value set a code has to be of.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    /// Its codes are listed.
    Closed {
        /// The id of the value set.
        id: Box<str>,
        codes: Arc<CodesBySystem>,
    },
    /// They cannot be.
    Open,
}
