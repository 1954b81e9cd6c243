//! What searches find resources by, without a transaction: it is read from the resource alone, so it can be done
//! beside one.

use std::sync::Arc;

use fhir_resource::ResourceType;
use serde_json::Value;

use super::index::{Index, Numbers};
use super::row::Rows;

/// Finds the rows of resources of one type, by the index as a transaction saw it.
#[derive(Debug, Clone)]
pub(crate) struct Finder {
    index: Arc<Index>,
    kind: ResourceType,
    numbers: Numbers,
}

/// The rows of one resource under each number of its type.
#[derive(Debug, Default)]
pub(crate) struct Findings(pub(super) Vec<Rows>);

impl Finder {
    /// For a type that has numbers; `None` where searches know nothing of it.
    pub(super) fn of(index: Arc<Index>, kind: &ResourceType) -> Option<Self> {
        let numbers = index.numbers(kind).filter(|_| index.covers(kind))?.clone();
        Some(Self { index, kind: kind.clone(), numbers })
    }

    pub(super) const fn kind(&self) -> &ResourceType {
        &self.kind
    }

    /// Returns what a resource is found by.
    pub(crate) fn findings(&self, id: &str, resource: &Value) -> Findings {
        let rows = |number: &i64| self.index.rows(*number, (&self.kind, id), resource);
        Findings(self.numbers.written.iter().map(rows).collect())
    }

    /// Returns whether the rows of each number are complete.
    pub(super) fn complete(&self) -> impl Iterator<Item = bool> {
        let ready = self.numbers.ready.map(|(number, _)| number);
        self.numbers.written.iter().map(move |number| ready == Some(*number))
    }
}
