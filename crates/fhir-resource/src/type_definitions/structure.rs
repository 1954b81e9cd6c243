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
    pub(super) nodes: Vec<ObjectElements>,
}

impl StructureDefinition {
    /// Returns whether the type is a resource type that is not abstract.
    #[must_use]
    pub fn is_concrete_resource(&self) -> bool {
        self.is_resource
    }

    /// Returns the top-level elements of the type.
    #[must_use]
    pub fn root_elements(&self) -> Option<&ObjectElements> {
        self.nodes.first()
    }

    /// Returns the elements nested in an element with content [`ElementJsonContent::Own`], by the number that it has.
    #[must_use]
    pub fn nested_elements(&self, at: usize) -> Option<&ObjectElements> {
        self.nodes.get(at)
    }
}

/// The element definitions of one JSON object: of a type, or of an element with nested elements.
#[derive(Clone, Debug, Default)]
pub struct ObjectElements {
    /// The elements in the order of their definition; a choice of types is one element.
    pub elements: Vec<ElementDefinition>,
    /// By the name of a JSON member: the number of the element and the number of the type that the name says.
    pub(crate) members: HashMap<Box<str>, (usize, usize)>,
    /// The numbers of the elements that must be present.
    pub required: Vec<usize>,
}

impl ObjectElements {
    /// Returns the element that a JSON member is named after, with its number and the type that the name says:
    /// `valueString` is the element `value` with the type `string`.
    #[must_use]
    pub fn resolve_json_member(&self, name: &str) -> Option<(usize, &ElementDefinition, &ElementType)> {
        let (element, element_type) = *self.members.get(name)?;
        let found = self.elements.get(element)?;
        Some((element, found, found.types.get(element_type)?))
    }

    /// Returns the element that a JSON member is named after. A choice element is also found by its name without a
    /// type, as in the native format.
    #[must_use]
    pub fn element_by_name_or_choice(&self, name: &str) -> Option<&ElementDefinition> {
        let named = self.resolve_json_member(name).map(|(_, element, _)| element);
        named.or_else(|| self.elements.iter().find(|element| *element.name == *name))
    }

    /// Adds an element under the names that JSON has for it.
    pub(super) fn push(&mut self, element: ElementDefinition) {
        let at = self.elements.len();
        for (number, element_type) in element.types.iter().enumerate() {
            let name = if element.is_choice {
                choice_member_name(&element.name, &element_type.name)
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

/// Returns the JSON member name of a choice element with a type: `value` and `dateTime` give `valueDateTime`.
#[must_use]
pub fn choice_member_name(element: &str, element_type: &str) -> String {
    let mut characters = element_type.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    element.chars().chain(first).chain(characters).collect()
}

/// The definition of one element: its name, cardinality, types and binding.
#[derive(Clone, Debug)]
pub struct ElementDefinition {
    /// The name, without the `[x]` of a choice.
    pub name: Box<str>,
    /// Whether its values are of one of several types, which the name of the JSON member says.
    pub is_choice: bool,
    /// The least number of values (`min`).
    pub min: u32,
    /// The greatest number of values (`max`); `u32::MAX` where there is no bound. An element with more than 1 is a list
    /// in JSON, however many values there are.
    pub max: u32,
    /// Whether it is part of a summary of the object that has it.
    pub is_summary: bool,
    /// The types its values may have, at least one.
    pub types: Vec<ElementType>,
    /// The value set its codes must be of, if one is required.
    pub binding: Option<RequiredBinding>,
}

impl ElementDefinition {
    /// Returns whether the element is an array in JSON: more than one value is allowed.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.max > 1
    }
}

/// A type that values of an element may have.
#[derive(Clone, Debug)]
pub struct ElementType {
    /// The name of the type.
    pub name: Box<str>,
    /// The JSON that a value is.
    pub content: ElementJsonContent,
    /// The types of resources a reference may lead to; none where it may lead to any.
    pub targets: Vec<Box<str>>,
}

/// The kind of JSON content of an element's type: primitive, complex type, own elements, or any resource.
#[derive(Clone, Copy, Debug)]
pub enum ElementJsonContent {
    /// A JSON scalar.
    Primitive(PrimitiveType),
    /// An object of the type of that name.
    Complex,
    /// An object whose elements the type that has the element defines; see [`StructureDefinition::nested_elements`].
    Own(usize),
    /// An object that is any resource.
    Resource,
}

/// The value set of a required binding.
#[derive(Clone, Debug)]
pub enum RequiredBinding {
    /// The codes of the value set are listed.
    Closed {
        /// The id of the value set.
        id: Box<str>,
        /// Its codes.
        codes: Arc<CodesBySystem>,
    },
    /// The codes of the value set cannot be listed, so any code is accepted.
    Open,
}
