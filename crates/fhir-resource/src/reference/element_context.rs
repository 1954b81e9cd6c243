//! The element that a value of a document is, and what R4's definitions say of it.
//!
//! A reference in the native format differs from other objects by its members, and some elements that are not
//! references have such members too: a policy of a `Consent` is `{"uri": …}`. So the definitions decide where they
//! know the element. Names decide below elements that R4 does not have: of the types of the platform, and of types
//! and members that users add.
//!
//! A path is resolved only when an object has the members of a reference, because few objects do.

use crate::type_definitions::{
    self, ElementDefinition, ElementJsonContent, ElementType, ObjectElements, StructureDefinition,
};

/// Names of elements that hold a whole resource. The tests compare them with the definitions.
const RESOURCE_ELEMENTS: [&[u8]; 4] = [b"contained", b"resource", b"outcome", b"params"];

/// Elements unknown to R4 whose `uri` is a member: a union of types (`value`), and what R4 has under these names.
const URI_ELEMENTS: [&[u8]; 4] = [b"value", b"dependsOn", b"codeSystem", b"mapping"];

/// The name of the element that a document as a whole is under.
const ROOT: &[u8] = b"resource";

/// The position of an element in a document, with what R4 defines there.
#[derive(Clone, Copy, Debug)]
pub struct ElementContext<'a> {
    parent: Option<&'a ElementContext<'a>>,
    /// The name, UTF-8 where it is anything that R4 has.
    element: &'a [u8],
    /// The type that the object itself names, where it may be a resource.
    resource: Option<&'static StructureDefinition>,
}

/// What R4 says of an element.
#[derive(Clone, Copy)]
enum Definition {
    /// R4 does not have it.
    Unknown,
    /// A resource of any type.
    Resource,
    /// An element of several types; in the native format its object names the type.
    Choice(&'static StructureDefinition, &'static ElementDefinition),
    /// An object with these elements.
    Object { structure: &'static StructureDefinition, node: &'static ObjectElements, is_reference: bool },
    /// A JSON scalar.
    Primitive,
}

impl<'a> ElementContext<'a> {
    /// Returns the context of the root of a document, which is a resource of type `resource_type`.
    #[must_use]
    pub fn document_root(resource_type: Option<&str>) -> Self {
        Self { parent: None, element: ROOT, resource: resource_type.and_then(type_definitions::structure_definition) }
    }

    /// Returns the context of a member of this object.
    #[must_use]
    pub const fn child_member(&'a self, element: &'a [u8]) -> Self {
        Self { parent: Some(self), element, resource: None }
    }

    /// Returns the context with the resource type that the object declares.
    ///
    /// `resource_type` is called only where the object may be a resource.
    #[must_use]
    pub fn with_object_type<'k>(self, resource_type: impl FnOnce() -> Option<&'k str>) -> Self {
        if self.parent.is_none() || !self.has_resource_element_name() {
            return self;
        }
        Self { resource: resource_type().and_then(type_definitions::structure_definition), ..self }
    }

    /// Returns whether the element has the name of an element that contains resources, such as `contained`.
    #[must_use]
    pub fn has_resource_element_name(&self) -> bool {
        RESOURCE_ELEMENTS.contains(&self.element)
    }

    /// Returns the name of the element.
    #[must_use]
    pub const fn element_name(&self) -> &'a [u8] {
        self.element
    }

    /// Returns whether the object here may be a resource, so that its type and id do not make it a reference.
    #[must_use]
    pub fn may_be_resource(&self) -> bool {
        self.has_resource_element_name() && matches!(self.declared(), Definition::Unknown | Definition::Resource)
    }

    /// Returns whether the object here may be a reference in FHIR's format.
    #[must_use]
    pub fn may_be_reference(&self) -> bool {
        match self.declared() {
            Definition::Unknown => !self.has_resource_element_name(),
            Definition::Object { is_reference, .. } => is_reference,
            Definition::Choice(_, element) => has_type(element, "Reference"),
            Definition::Resource | Definition::Primitive => false,
        }
    }

    /// Returns whether `uri` may be the target of a native reference here.
    #[must_use]
    pub fn may_be_uri_reference(&self) -> bool {
        match self.declared() {
            Definition::Unknown => !self.has_resource_element_name() && !URI_ELEMENTS.contains(&self.element),
            // Here `uri` may be the name of a type.
            Definition::Choice(_, element) => self.may_be_reference() && !has_type(element, "uri"),
            _ => self.may_be_reference(),
        }
    }

    /// Returns what R4 says the element is.
    fn declared(&self) -> Definition {
        match self.parent {
            None => Definition::Resource,
            Some(parent) => {
                std::str::from_utf8(self.element).map_or(Definition::Unknown, |name| parent.content().member(name))
            }
        }
    }

    /// Returns what R4 says the object here is made of.
    fn content(&self) -> Definition {
        let resource = self.resource.and_then(|structure| Some((structure, structure.root_elements()?)));
        match (self.declared(), resource) {
            (Definition::Resource, Some((structure, node))) => {
                Definition::Object { structure, node, is_reference: false }
            }
            (declared, _) => declared,
        }
    }
}

impl Definition {
    /// Returns what R4 says of a member of an object that it says this of.
    fn member(self, name: &str) -> Self {
        match self {
            Self::Object { structure, node, .. } => of_member(structure, node, name),
            Self::Choice(structure, element) => {
                let element_type = element.types.iter().find(|element_type| *element_type.name == *name);
                element_type.map_or(Self::Unknown, |element_type| Self::of_type(structure, element_type))
            }
            Self::Unknown | Self::Resource | Self::Primitive => Self::Unknown,
        }
    }

    fn of_type(structure: &'static StructureDefinition, element_type: &ElementType) -> Self {
        match element_type.content {
            ElementJsonContent::Primitive(_) => Self::Primitive,
            ElementJsonContent::Resource => Self::Resource,
            ElementJsonContent::Complex => Self::of_datatype(&element_type.name),
            ElementJsonContent::Own(at) => structure.nested_elements(at).map_or(Self::Unknown, |node| Self::Object {
                structure,
                node,
                is_reference: false,
            }),
        }
    }

    fn of_datatype(name: &str) -> Self {
        let found = type_definitions::structure_definition(name)
            .and_then(|structure| Some((structure, structure.root_elements()?)));
        found.map_or(Self::Unknown, |(structure, node)| Self::Object {
            structure,
            node,
            is_reference: name == "Reference",
        })
    }
}

fn has_type(element: &ElementDefinition, name: &str) -> bool {
    element.types.iter().any(|element_type| *element_type.name == *name)
}

fn of_member(structure: &'static StructureDefinition, node: &'static ObjectElements, name: &str) -> Definition {
    if let Some((_, _, element_type)) = node.resolve_json_member(name) {
        return Definition::of_type(structure, element_type);
    }
    // The id and the extensions of a primitive stand beside it.
    if let Some((_, _, element_type)) = name.strip_prefix('_').and_then(|bare| node.resolve_json_member(bare)) {
        let is_primitive = matches!(element_type.content, ElementJsonContent::Primitive(_));
        return if is_primitive { Definition::of_datatype("Element") } else { Definition::Unknown };
    }
    node.element_by_name_or_choice(name).map_or(Definition::Unknown, |element| Definition::Choice(structure, element))
}

#[cfg(test)]
mod tests;
