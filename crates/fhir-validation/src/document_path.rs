//! Where in a document an issue is.

use std::fmt;

use crate::definitions::{Element, Type};

/// A place in a document: the way to it, one step each, written out only when there is an issue.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
    /// Objects and lists on the way here.
    pub(super) depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Choice { name: &'a str, kind: &'a str },
    Item(usize),
}

impl<'a> Place<'a> {
    /// A resource of its own.
    pub(super) const fn root(kind: &'a str) -> Self {
        Self { parent: None, step: Step::Name(kind), depth: 0 }
    }

    /// A member that no definition knows.
    pub(super) const fn named(&'a self, name: &'a str) -> Self {
        self.with(Step::Name(name))
    }

    /// An element that has one of its types.
    pub(super) fn element(&'a self, element: &'a Element, kind: &'a Type) -> Self {
        let (name, kind) = (&*element.name, &*kind.name);
        self.with(if element.is_choice { Step::Choice { name, kind } } else { Step::Name(name) })
    }

    /// An element that has one of its types, by their names.
    pub(super) const fn choice(&'a self, name: &'a str, kind: &'a str) -> Self {
        self.with(Step::Choice { name, kind })
    }

    /// An element of a list, counted from 0.
    pub(super) const fn item(&'a self, index: usize) -> Self {
        self.with(Step::Item(index))
    }

    const fn with(&'a self, step: Step<'a>) -> Self {
        Self { parent: Some(self), step, depth: self.depth + 1 }
    }
}

/// As a `FHIRPath`: `Observation.value.ofType(Quantity).unit`, `Patient.name[0].given[1]`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}")?;
        }
        match self.step {
            Step::Name(name) if self.parent.is_none() => f.write_str(name),
            Step::Name(name) => write!(f, ".{name}"),
            Step::Choice { name, kind } => write!(f, ".{name}.ofType({kind})"),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}
