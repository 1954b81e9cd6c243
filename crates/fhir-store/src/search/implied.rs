//! The systems of codes that stand alone: `gender` is of the system its binding names.
//!
//! # Source
//! FHIR R4, Search, token: the system of a code is implied by the value set it is bound to.

use std::sync::Arc;

use super::parameter::SearchParameter;
use crate::definitions::{Binding, CodesBySystem, Content, structure};
use crate::key::ResourceType;

/// Returns the codes that the values of a parameter are bound to, where it is about one element of type `code`.
pub(super) fn codes(kind: &ResourceType, parameter: &SearchParameter) -> Option<Arc<CodesBySystem>> {
    let path = parameter.expression.path()?;
    let (last, way) = path.split_last()?;
    let mut of = structure(kind.as_str())?;
    let mut node = of.root()?;
    for name in way {
        let (_, _, found) = node.member(name)?;
        node = match found.content {
            Content::Own(at) => of.node(at)?,
            Content::Complex => {
                of = structure(&found.name)?;
                of.root()?
            }
            Content::Primitive(_) | Content::Resource => return None,
        };
    }
    let (_, element, found) = node.member(last)?;
    match (&element.binding, found.content) {
        (Some(Binding::Closed { codes, .. }), Content::Primitive(_)) => Some(Arc::clone(codes)),
        _ => None,
    }
}
