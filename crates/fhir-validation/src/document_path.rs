//! The path of an element in a document, as an issue names it.

use std::fmt;

use fhir_resource::type_definitions::{ElementDefinition, ElementType};

/// The path of an element in a document, linked to that of its parent and printed only for an issue.
#[derive(Clone, Copy)]
pub(crate) struct DocumentPath<'a> {
    parent: Option<&'a DocumentPath<'a>>,
    step: Step<'a>,
    /// The number of objects and lists around it.
    pub(crate) depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Choice { name: &'a str, element_type: &'a str },
    Item(usize),
}

impl<'a> DocumentPath<'a> {
    /// Returns the path of a document.
    pub(crate) const fn root(resource_type: &'a str) -> Self {
        Self { parent: None, step: Step::Name(resource_type), depth: 0 }
    }

    /// Returns the path of a member that no definition has.
    pub(crate) const fn named(&'a self, name: &'a str) -> Self {
        self.with(Step::Name(name))
    }

    /// Returns the path of an element that has one of its types.
    pub(crate) fn element(&'a self, element: &'a ElementDefinition, element_type: &'a ElementType) -> Self {
        let (name, element_type) = (&*element.name, &*element_type.name);
        self.with(if element.is_choice { Step::Choice { name, element_type } } else { Step::Name(name) })
    }

    /// Returns the path of an element that has one of its types, by their names.
    pub(crate) const fn choice(&'a self, name: &'a str, element_type: &'a str) -> Self {
        self.with(Step::Choice { name, element_type })
    }

    /// Returns the path of an element of a list, counted from 0.
    pub(crate) const fn item(&'a self, index: usize) -> Self {
        self.with(Step::Item(index))
    }

    const fn with(&'a self, step: Step<'a>) -> Self {
        Self { parent: Some(self), step, depth: self.depth + 1 }
    }
}

/// As a `FHIRPath`: `Observation.value.ofType(Quantity).unit`, `Patient.name[0].given[1]`.
impl fmt::Display for DocumentPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
        }
        match self.step {
            Step::Name(name) if self.parent.is_none() => f.write_str(name),
            Step::Name(name) => write!(f, ".{name}"),
            Step::Choice { name, element_type } => write!(f, ".{name}.ofType({element_type})"),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}
