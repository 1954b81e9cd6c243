//! The definition of a type: its elements, what each may hold and how often.

use std::collections::HashMap;
use std::sync::Arc;

use super::codes::CodesBySystem;
use super::primitive::PrimitiveType;

/// The definition of a type: the elements of its objects.
///
/// It has what validation, references and summaries need of the `StructureDefinition` of a type in R4.
#[derive(Debug)]
pub struct StructureDefinition {
    pub(super) is_resource: bool,
    /// Whether it is a resource or the base of resources.
    pub(super) is_a_resource: bool,
    /// The first is the type itself, the others are elements that have elements.
    pub(super) nodes: Vec<ObjectDefinition>,
}

impl StructureDefinition {
    /// Returns whether the type is a resource type that is not abstract.
    #[must_use]
    pub fn is_resource(&self) -> bool {
        self.is_resource
    }

    /// Returns the elements of the type itself.
    #[must_use]
    pub fn root(&self) -> Option<&ObjectDefinition> {
        self.nodes.first()
    }

    /// Returns the elements of an element whose content is [`ElementContent::Own`], by the number there.
    #[must_use]
    pub fn node(&self, at: usize) -> Option<&ObjectDefinition> {
        self.nodes.get(at)
    }
}

/// The elements of a JSON object: of a type, or of an element that has elements.
#[derive(Clone, Debug, Default)]
pub struct ObjectDefinition {
    /// The elements in the order of their definition; a choice of types is one element.
    pub elements: Vec<ElementDefinition>,
    /// By the name of a JSON member: the number of the element and the number of the type that the name says.
    pub(crate) members: HashMap<Box<str>, (usize, usize)>,
    /// The numbers of the elements that must be present.
    pub required: Vec<usize>,
}

impl ObjectDefinition {
    /// Returns the element that a member of a JSON object is, the number of the element, and its type.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<(usize, &ElementDefinition, &ElementType)> {
        let (element, element_type) = *self.members.get(name)?;
        let found = self.elements.get(element)?;
        Some((element, found, found.types.get(element_type)?))
    }

    /// Returns the element a member of a JSON object belongs to: that of this name, or a choice whose type the name
    /// does not say, as in the native format.
    #[must_use]
    pub fn element(&self, name: &str) -> Option<&ElementDefinition> {
        let named = self.member(name).map(|(_, element, _)| element);
        named.or_else(|| self.elements.iter().find(|element| *element.name == *name))
    }

    /// Adds an element under the names that JSON has for it.
    pub(super) fn push(&mut self, element: ElementDefinition) {
        let at = self.elements.len();
        for (number, element_type) in element.types.iter().enumerate() {
            let name = if element.is_choice {
                choice_member(&element.name, &element_type.name)
            } else {
                element.name.to_string()
            };
            self.members.insert(name.into(), (at, number));
        }
        if element.min > 0 {
            self.required.push(at);
        }
        self.elements.push(element);
    }
}

/// Returns the name of the JSON member for one type of a choice: `value` and `dateTime` give `valueDateTime`.
#[must_use]
pub fn choice_member(element: &str, element_type: &str) -> String {
    let mut characters = element_type.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    element.chars().chain(first).chain(characters).collect()
}

/// The definition of an element.
#[derive(Clone, Debug)]
pub struct ElementDefinition {
    /// The name, without the `[x]` of a choice.
    pub name: Box<str>,
    /// Whether its values are of one of several types, which the name of the JSON member says.
    pub is_choice: bool,
    /// The least number of values.
    pub min: u32,
    /// The greatest number of values; `u32::MAX` where there is no bound. An element with more than 1 is a list in JSON,
    /// however many values there are.
    pub max: u32,
    /// Whether it is part of a summary of the object that has it.
    pub is_summary: bool,
    /// The types its values may have, at least one.
    pub types: Vec<ElementType>,
    /// The value set its codes must be of, if one is required.
    pub binding: Option<RequiredBinding>,
}

impl ElementDefinition {
    /// Returns whether it is a list in JSON.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.max > 1
    }
}

/// A type that the values of an element may have.
#[derive(Clone, Debug)]
pub struct ElementType {
    /// The name of the type.
    pub name: Box<str>,
    /// The JSON that a value is.
    pub content: ElementContent,
    /// The types of resources a reference may lead to; none where it may lead to any.
    pub targets: Vec<Box<str>>,
}

/// The JSON that a value of a type is.
#[derive(Clone, Copy, Debug)]
pub enum ElementContent {
    /// A JSON scalar.
    Primitive(PrimitiveType),
    /// An object of the type of that name.
    Complex,
    /// An object whose elements the type that has the element defines; see [`StructureDefinition::node`].
    Own(usize),
    /// Any resource.
    Resource,
}

/// The value set that a code must be of.
#[derive(Clone, Debug)]
pub enum RequiredBinding {
    /// Its codes are listed.
    Closed {
        /// The id of the value set.
        id: Box<str>,
        /// Its codes.
        codes: Arc<CodesBySystem>,
    },
    /// Its codes cannot be listed.
    Open,
}
