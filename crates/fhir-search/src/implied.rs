//! The systems of codes that stand alone: `gender` is of the system its binding names.
//!
//! # Source
//! FHIR R4, Search, token: the system of a code is implied by the value set it is bound to.

use std::sync::Arc;

use fhir_resource::ResourceType;
use fhir_resource::definitions::{CodesBySystem, ElementContent, RequiredBinding, structure};

use crate::parameter::SearchParameter;

/// Returns the codes that the values of a parameter are bound to, where it is about one element of type `code`.
pub(super) fn codes(resource_type: &ResourceType, parameter: &SearchParameter) -> Option<Arc<CodesBySystem>> {
    let path = parameter.expression.path()?;
    let (last, way) = path.split_last()?;
    let mut of = structure(resource_type.as_str())?;
    let mut node = of.root()?;
    for name in way {
        let (_, _, found) = node.member(name)?;
        node = match found.content {
            ElementContent::Own(at) => of.node(at)?,
            ElementContent::Complex => {
                of = structure(&found.name)?;
                of.root()?
            }
            ElementContent::Primitive(_) | ElementContent::Resource => return None,
        };
    }
    let (_, element, found) = node.member(last)?;
    match (&element.binding, found.content) {
        (Some(RequiredBinding::Closed { codes, .. }), ElementContent::Primitive(_)) => Some(Arc::clone(codes)),
        _ => None,
    }
}
