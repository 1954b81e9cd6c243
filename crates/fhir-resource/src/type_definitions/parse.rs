//! Reading the data: lines into structures and value sets.

use std::collections::HashMap;
use std::sync::Arc;

use super::codes::CodesBySystem;
use super::primitive::PrimitiveType;
use super::structure::{
    ElementDefinition, ElementJsonContent, ElementType, ObjectElements, RequiredBinding, StructureDefinition,
};
use super::{structure_definition as inherited, value_set};

/// Resources that there are only as bases of others.
pub(super) const ABSTRACT: [&str; 2] = ["Resource", "DomainResource"];

/// A type or a value set, and its lines.
pub(super) enum Section {
    Structure { name: &'static str, text: &'static str },
    ValueSet { id: &'static str, url: &'static str, text: &'static str },
}

/// Every section of the data, found by the lines that open them.
pub(super) fn sections(data: &'static str) -> impl Iterator<Item = Section> {
    let structures = data.split("\n=").skip(1).filter_map(|section| {
        // The last type is followed by the value sets.
        let section = section.split_once("\n!").map_or(section, |(structure, _)| structure);
        Some(Section::Structure { name: section.split(['\n', ' ']).next()?, text: section })
    });
    let value_sets = data.split("\n!").skip(1).filter_map(|section| {
        let (head, text) = section.split_once('\n')?;
        let (id, url) = head.split_once(' ')?;
        Some(Section::ValueSet { id, url, text })
    });
    structures.chain(value_sets)
}

/// Returns the codes of a value set.
pub(super) fn codes(text: &str) -> CodesBySystem {
    let mut codes = CodesBySystem::default();
    for line in text.lines() {
        let mut parts = line.split('\t');
        let Some(system) = parts.next() else { continue };
        for code in parts {
            codes.insert(system, code);
        }
    }
    codes
}

/// A type; `None` when a line is not what it should be, which the tests show of none.
pub(super) fn structure(text: &'static str) -> Option<StructureDefinition> {
    let mut lines = text.lines();
    let (name, base) = match lines.next()?.split_once(' ') {
        Some((name, base)) => (name, Some(inherited(base)?)),
        None => (text.lines().next()?, None),
    };
    let mut reader = Reader::default();
    for line in lines {
        reader.read(line)?;
    }
    let is_resource = base.is_some_and(|base| base.is_a_resource) || name == "Resource";
    Some(StructureDefinition {
        is_resource: is_resource && !ABSTRACT.contains(&name),
        is_a_resource: is_resource,
        nodes: reader.nodes(base.and_then(StructureDefinition::root_elements))?,
    })
}

/// The lines of one type as they are read.
#[derive(Default)]
struct Reader {
    /// The elements, each by its path, in their order.
    elements: Vec<(String, Line)>,
    /// The paths of the elements that the last one is inside of, and its own.
    open: Vec<String>,
}

/// An element of which it is not yet known what it refers to.
struct Line {
    element: ElementDefinition,
    /// The path of the element that this one is made like.
    like: Option<String>,
}

impl Reader {
    fn read(&mut self, line: &str) -> Option<()> {
        let depth = line.bytes().take_while(|byte| *byte == b' ').count();
        let mut words = line.split_whitespace();
        let (name, bounds, types, bound) = (words.next()?, words.next()?, words.next()?, words.next());
        self.open.truncate(depth);
        let path = match self.open.last() {
            Some(parent) => format!("{parent}.{name}"),
            None => name.to_owned(),
        };
        self.open.push(path.clone());
        let (bounds, is_summary) = bounds.strip_suffix('+').map_or((bounds, false), |bounds| (bounds, true));
        let (min, max) = bounds.split_once("..")?;
        let model = types.strip_prefix('#').map(str::to_owned);
        let choice = name.strip_suffix("[x]");
        let element = ElementDefinition {
            name: choice.unwrap_or(name).into(),
            is_choice: choice.is_some(),
            min: min.parse().ok()?,
            max: if max == "*" { u32::MAX } else { max.parse().ok()? },
            is_summary,
            types: if model.is_some() { Vec::new() } else { types.split(',').map(element_type).collect() },
            binding: match bound {
                Some(bound) => Some(binding(bound)?),
                None => None,
            },
        };
        self.elements.push((path, Line { element, like: model }));
        Some(())
    }

    /// Returns the elements by what they are inside of: first the type itself, which begins with what it inherits.
    fn nodes(self, base: Option<&ObjectElements>) -> Option<Vec<ObjectElements>> {
        let mut places: HashMap<String, usize> = HashMap::from([(String::new(), 0)]);
        let mut nodes = vec![base.cloned().unwrap_or_default()];
        for (path, _) in &self.elements {
            let parent = parent(path);
            if !places.contains_key(parent) {
                let (_, of) = self.elements.iter().find(|(path, _)| path == parent)?;
                let element_type = of.element.types.first()?;
                places.insert(parent.to_owned(), nodes.len());
                nodes.push(inherited(&element_type.name)?.root_elements()?.clone());
            }
        }
        for (path, Line { mut element, like }) in self.elements {
            match places.get(like.as_deref().unwrap_or(&path)) {
                Some(at) => {
                    let name = Box::from("BackboneElement");
                    element.types =
                        vec![ElementType { name, content: ElementJsonContent::Own(*at), targets: Vec::new() }];
                }
                None if like.is_some() => return None,
                None => {}
            }
            nodes.get_mut(*places.get(parent(&path))?)?.push(element);
        }
        Some(nodes)
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// `Reference(Patient|Group)` or the name of a type.
fn element_type(text: &str) -> ElementType {
    let (name, targets) = match text.split_once('(') {
        Some((name, targets)) => (name, targets.trim_end_matches(')').split('|').map(Box::from).collect()),
        None => (text, Vec::new()),
    };
    let content = match PrimitiveType::from_name(name) {
        Some(primitive) => ElementJsonContent::Primitive(primitive),
        None if name == "Resource" => ElementJsonContent::Resource,
        None => ElementJsonContent::Complex,
    };
    ElementType { name: name.into(), content, targets }
}

fn binding(text: &str) -> Option<RequiredBinding> {
    let Some(id) = text.strip_prefix('!') else { return Some(RequiredBinding::Open) };
    Some(RequiredBinding::Closed { id: id.into(), codes: Arc::clone(value_set(id)?) })
}
