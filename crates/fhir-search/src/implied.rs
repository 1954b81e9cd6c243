//! The systems of codes that stand alone: `gender` is of the system its binding names.
//!
//! # Source
//! FHIR R4, Search, token: the system of a code is implied by the value set it is bound to.

use std::sync::Arc;

use fhir_resource::ResourceType;
use fhir_resource::type_definitions::{CodesBySystem, ElementJsonContent, RequiredBinding, structure_definition};

use crate::parameter::CompiledSearchParameter;

/// Returns the codes that the values of a parameter are bound to, where it is about one element of type `code`.
pub(super) fn codes(resource_type: &ResourceType, parameter: &CompiledSearchParameter) -> Option<Arc<CodesBySystem>> {
    let path = parameter.expression.path()?;
    let (last, way) = path.split_last()?;
    let mut of = structure_definition(resource_type.as_str())?;
    let mut node = of.root_elements()?;
    for name in way {
        let (_, _, found) = node.resolve_json_member(name)?;
        node = match found.content {
            ElementJsonContent::Own(at) => of.nested_elements(at)?,
            ElementJsonContent::Complex => {
                of = structure_definition(&found.name)?;
                of.root_elements()?
            }
            ElementJsonContent::Primitive(_) | ElementJsonContent::Resource => return None,
        };
    }
    let (_, element, found) = node.resolve_json_member(last)?;
    match (&element.binding, found.content) {
        (Some(RequiredBinding::Closed { codes, .. }), ElementJsonContent::Primitive(_)) => Some(Arc::clone(codes)),
        _ => None,
    }
}
