//! What the types of FHIR R4 (4.0.1) are made of: their elements, what each may hold and how often, and the
//! codes that bindings require.
//!
//! The data is text that `cargo xtask definitions` makes of HL7's definitions and that is part of the program. A
//! type is parsed when it is first asked for, so that a server at rest holds none of it; what was parsed is
//! cached, about a megabyte once every type was asked for.
//!
//! # How the data is written
//! A line that begins with `=` opens a type: its name and the type it inherits from. The lines below are its own
//! elements, indented by one space for every element they are inside of:
//!
//! ```text
//! =Patient DomainResource
//! gender 0..1+ code !administrative-gender
//! deceased[x] 0..1+ boolean,dateTime
//! contact 0..* BackboneElement
//!  relationship 0..* CodeableConcept
//! generalPractitioner 0..* Reference(Organization|Practitioner|PractitionerRole)
//! ```
//!
//! A `+` behind the bounds marks what is part of a summary. After the types comes the value set a code has to be of:
//! `!` where its codes are listed, `?` where they cannot be. `#` instead of types names an element that this one is
//! made like. A line that begins with `!` opens a value set: its id and its url. Each line below is a code system and
//! its codes, with tabs between them.
//!
//! # Source
//! HL7 FHIR R4 (4.0.1), Downloads, FHIR definitions in JSON; placed in the public domain (CC0).

mod codes;
mod parse;
mod primitive;
mod structure;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

pub use codes::CodesBySystem;
pub use primitive::PrimitiveType;
pub use structure::{
    ElementDefinition, ElementJsonContent, ElementType, ObjectElements, RequiredBinding, StructureDefinition,
    choice_member_name,
};

/// The data, in the form the module documentation describes.
const DATA: &str = include_str!("../data/r4-structures.txt");

/// A part of [`DATA`], parsed when it is first read.
struct Lazy<T> {
    text: &'static str,
    parsed: OnceLock<Option<Arc<T>>>,
}

impl<T> Lazy<T> {
    const fn new(text: &'static str) -> Self {
        Self { text, parsed: OnceLock::new() }
    }

    fn get(&self, parse: impl FnOnce(&'static str) -> Option<T>) -> Option<&Arc<T>> {
        self.parsed.get_or_init(|| parse(self.text).map(Arc::new)).as_ref()
    }
}

/// Where in the data everything is.
struct Index {
    structures: HashMap<&'static str, Lazy<StructureDefinition>>,
    value_sets: HashMap<&'static str, Lazy<CodesBySystem>>,
    /// Of value sets, by url.
    ids: HashMap<&'static str, &'static str>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = Index { structures: HashMap::new(), value_sets: HashMap::new(), ids: HashMap::new() };
        for section in parse::sections(DATA) {
            match section {
                parse::Section::Structure { name, text } => drop(index.structures.insert(name, Lazy::new(text))),
                parse::Section::ValueSet { id, url, text } => {
                    index.value_sets.insert(id, Lazy::new(text));
                    index.ids.insert(url, id);
                }
            }
        }
        index
    })
}

/// Returns the definition of an R4 type by its name; `None` for primitives and unknown names.
#[must_use]
pub fn structure_definition(name: &str) -> Option<&'static StructureDefinition> {
    index().structures.get(name)?.get(parse::structure).map(Arc::as_ref)
}

/// A value set by its id, as bindings in the data name it.
pub(crate) fn value_set(id: &str) -> Option<&'static Arc<CodesBySystem>> {
    index().value_sets.get(id)?.get(|text| Some(parse::codes(text)))
}

/// Returns the names of the R4 resource types, in no order.
pub fn r4_resource_types() -> impl Iterator<Item = &'static str> {
    let is_concrete = |name: &str| !parse::ABSTRACT.contains(&name);
    let of_a_resource = |text: &str| {
        let base = text.lines().next().and_then(|line| Some(line.split_once(' ')?.1));
        base.is_some_and(|base| parse::ABSTRACT.contains(&base))
    };
    let named = index().structures.iter().filter(move |(name, lazy)| is_concrete(name) && of_a_resource(lazy.text));
    named.map(|(name, _)| *name)
}

/// Returns whether R4 has a concrete resource type of this name. False for its abstract types and for the platform's
/// own types.
#[must_use]
pub fn is_r4_resource_type(name: &str) -> bool {
    structure_definition(name).is_some_and(StructureDefinition::is_concrete_resource)
}

/// Returns the codes of the R4 value set of this URL; `None` unless some R4 element has a required binding to it and
/// its codes can be listed.
#[must_use]
pub fn value_set_codes(url: &str) -> Option<Arc<CodesBySystem>> {
    let url = url.split_once('|').map_or(url, |(url, _)| url);
    index().ids.get(url).and_then(|id| value_set(id)).map(Arc::clone)
}

#[cfg(test)]
mod tests;
