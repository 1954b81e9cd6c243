//! Definitions of parameters, before they are compiled for a type.

use std::collections::{BTreeMap, HashMap};

use fhir_resource::ResourceType;
use serde_json::Value;

use super::base::Known;
use super::{FIRST_INSTALLED_PARAMETER_NUMBER, ROOTS};
use crate::expression::{Expression, ExpressionCompileError};
use crate::limits;
use crate::parameter::{CompiledSearchParameter, CompositeComponent, SearchParameterType};

/// A parameter as it is defined, for all the types it is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Definition {
    pub(super) number: i64,
    pub(super) url: String,
    pub(super) code: String,
    pub(super) parameter_type: SearchParameterType,
    pub(super) bases: Vec<String>,
    pub(super) expression: String,
    pub(super) targets: Vec<ResourceType>,
    pub(super) components: Vec<(SearchParameterType, String)>,
}

/// A `SearchParameter` resource that is not used, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableSearchParameter {
    /// Its URL; empty when it has none.
    pub url: String,
    /// The reason.
    pub fault: SearchParameterDefinitionError,
}

/// The reason why a `SearchParameter` resource is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchParameterDefinitionError {
    /// A required element is missing or has an unexpected value.
    #[error("the element {0} is missing or not what it has to be")]
    Element(&'static str),
    /// The type is not supported: `special`.
    #[error("parameters of type {0} are not supported")]
    Kind(String),
    /// The expression does not compile for one of its resource types.
    #[error(transparent)]
    Expression(#[from] ExpressionCompileError),
    /// The expression selects nothing of its resource types.
    #[error("the expression selects nothing of {0}")]
    Empty(String),
    /// A component of a composite is not a known parameter.
    #[error("the component {0} is no search parameter that is known")]
    Component(String),
    /// The resource type already has a parameter of this code.
    #[error("{resource_type} has a search parameter {code} already: {url}")]
    Taken {
        /// The type.
        resource_type: String,
        /// The code.
        code: String,
        /// The URL of the parameter that has it.
        url: String,
    },
    /// The number belongs to R4, or to another parameter.
    #[error("the number {0} is taken")]
    Number(i64),
}

/// The type that the expressions of quantities name and that no quantity is: it is many values, and R4 does not say
/// which of them would count.
const UNCOMPARED: &str = "SampledData";

/// The longest list of types one definition has.
const MAX_TYPES: usize = 200;

impl Definition {
    pub(super) fn is_about(&self, resource_type: &str) -> bool {
        self.bases.iter().any(|base| base == resource_type || ROOTS.contains(&base.as_str()))
    }

    /// Returns the parameter of one type; `None` when its expression is about other types alone.
    pub(super) fn compile(
        &self,
        resource_type: &str,
    ) -> Result<Option<CompiledSearchParameter>, ExpressionCompileError> {
        let compiled = |of: SearchParameterType, text: &str| {
            let expression = Expression::compile(resource_type, text)?;
            Ok(if of == SearchParameterType::Quantity { expression.without_choice(UNCOMPARED) } else { expression })
        };
        let expression = compiled(self.parameter_type, &self.expression)?;
        if expression.is_empty() {
            return Ok(None);
        }
        let components = self
            .components
            .iter()
            .map(|(part, text)| Ok(CompositeComponent { parameter_type: *part, expression: compiled(*part, text)? }));
        Ok(Some(CompiledSearchParameter {
            code: self.code.clone(),
            url: self.url.clone(),
            parameter_type: self.parameter_type,
            number: self.number,
            targets: self.targets.clone(),
            components: components.collect::<Result<_, ExpressionCompileError>>()?,
            sources: Vec::new(),
            parts: Vec::new(),
            expression,
        }))
    }
}

/// Returns what of the documents can be used, in their order, and the rest.
pub(super) fn read_all(documents: &[(i64, &Value)]) -> (Vec<Definition>, Vec<UnusableSearchParameter>) {
    if documents.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut reader = Reader { documents, known: Known::read(), taken: HashMap::new(), definitions: BTreeMap::new() };
    let refused = documents.iter().filter_map(|(number, document)| {
        let url = text(document, "url").unwrap_or_default();
        if reader.known.has(url) {
            return None;
        }
        let fault = reader.take(*number, document).err()?;
        Some(UnusableSearchParameter { url: url.to_owned(), fault })
    });
    let refused = refused.collect();
    let definitions = documents.iter().filter_map(|(number, _)| reader.definitions.remove(number));
    (definitions.collect(), refused)
}

struct Reader<'a> {
    documents: &'a [(i64, &'a Value)],
    known: Known,
    /// The URLs of those taken so far, by type and code.
    taken: HashMap<(String, String), String>,
    /// By their numbers.
    definitions: BTreeMap<i64, Definition>,
}

fn text<'a>(document: &'a Value, name: &str) -> Option<&'a str> {
    document.get(name)?.as_str()
}

/// An element that has to be there, as text.
fn needed(document: &Value, name: &'static str) -> Result<String, SearchParameterDefinitionError> {
    text(document, name).map(str::to_owned).ok_or(SearchParameterDefinitionError::Element(name))
}

fn texts(document: &Value, name: &'static str) -> Result<Vec<String>, SearchParameterDefinitionError> {
    let elements = match document.get(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(elements)) if elements.len() <= MAX_TYPES => elements,
        Some(_) => return Err(SearchParameterDefinitionError::Element(name)),
    };
    let texts = elements.iter().map(|element| element.as_str().map(str::to_owned));
    texts.collect::<Option<_>>().ok_or(SearchParameterDefinitionError::Element(name))
}

impl Reader<'_> {
    fn take(&mut self, number: i64, document: &Value) -> Result<(), SearchParameterDefinitionError> {
        if number < FIRST_INSTALLED_PARAMETER_NUMBER || self.definitions.contains_key(&number) {
            return Err(SearchParameterDefinitionError::Number(number));
        }
        let definition = self.read(number, document)?;
        for resource_type in &definition.bases {
            self.is_free(resource_type, &definition.code)?;
            check(&definition, resource_type)?;
        }
        let codes = definition.bases.iter().map(|resource_type| (resource_type.clone(), definition.code.clone()));
        self.taken.extend(codes.map(|of| (of, definition.url.clone())));
        self.definitions.insert(number, definition);
        Ok(())
    }

    fn is_free(&self, resource_type: &str, code: &str) -> Result<(), SearchParameterDefinitionError> {
        let mut kinds = ROOTS.into_iter().chain([resource_type]);
        let installed = kinds.find_map(|resource_type| self.taken.get(&(resource_type.to_owned(), code.to_owned())));
        match self.known.url_of(resource_type, code).or_else(|| installed.cloned()) {
            None => Ok(()),
            Some(url) => Err(SearchParameterDefinitionError::Taken {
                resource_type: resource_type.to_owned(),
                code: code.to_owned(),
                url,
            }),
        }
    }

    fn read(&self, number: i64, document: &Value) -> Result<Definition, SearchParameterDefinitionError> {
        let bases = texts(document, "base")?;
        if bases.is_empty() || bases.iter().any(|base| base.parse::<ResourceType>().is_err()) {
            return Err(SearchParameterDefinitionError::Element("base"));
        }
        let targets = texts(document, "target")?;
        let targets = targets.iter().map(|target| target.parse().ok());
        let code = Some(needed(document, "code")?).filter(|code| is_code(code));
        let parameter_type = kind_of(document)?;
        Ok(Definition {
            number,
            url: needed(document, "url")?,
            code: code.ok_or(SearchParameterDefinitionError::Element("code"))?,
            parameter_type,
            bases,
            expression: needed(document, "expression")?,
            targets: targets.collect::<Option<_>>().ok_or(SearchParameterDefinitionError::Element("target"))?,
            components: if parameter_type == SearchParameterType::Composite {
                self.components(document)?
            } else {
                Vec::new()
            },
        })
    }

    fn components(
        &self,
        document: &Value,
    ) -> Result<Vec<(SearchParameterType, String)>, SearchParameterDefinitionError> {
        let parts = document.get("component").and_then(Value::as_array);
        let parts = parts
            .filter(|parts| (1..=limits::MAX_COMPOSITE_COMPONENTS).contains(&parts.len()))
            .ok_or(SearchParameterDefinitionError::Element("component"))?;
        let read = parts.iter().map(|part| {
            let url = needed(part, "definition")?;
            let parameter_type = self
                .known
                .kind_of(&url)
                .or_else(|| self.kind_of(&url))
                .filter(|parameter_type| *parameter_type != SearchParameterType::Composite);
            Ok((parameter_type.ok_or(SearchParameterDefinitionError::Component(url))?, needed(part, "expression")?))
        });
        read.collect()
    }

    fn kind_of(&self, url: &str) -> Option<SearchParameterType> {
        let mut documents = self.documents.iter().map(|(_, document)| *document);
        kind_of(documents.find(|document| text(document, "url") == Some(url))?).ok()
    }
}

fn kind_of(document: &Value) -> Result<SearchParameterType, SearchParameterDefinitionError> {
    let name = needed(document, "type")?;
    SearchParameterType::from_code(&name).ok_or(SearchParameterDefinitionError::Kind(name))
}

/// A name a query can carry: without what separates the parts of a name there.
fn is_code(code: &str) -> bool {
    let length = (1..=64).contains(&code.len());
    length && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn check(definition: &Definition, resource_type: &str) -> Result<(), SearchParameterDefinitionError> {
    definition
        .compile(resource_type)?
        .map(|_| ())
        .ok_or_else(|| SearchParameterDefinitionError::Empty(resource_type.to_owned()))
}
