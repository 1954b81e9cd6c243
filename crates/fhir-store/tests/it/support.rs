//! Short words for what the tests do again and again.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use fhir_resource::{ResourceKey, StoredResource};
use fhir_store::memory_store::MemoryStore;
use fhir_store::{
    ElementEqualityFilter, ListPage, ListQuery, ResourceLookup, ResourceStore, ResourceWrite, TransactionError,
    WriteError, WriteOperation, WriteOutcome,
};
use serde_json::Value;

/// 2024-01-01T00:00:00Z in unix microseconds.
pub(crate) const NOW_US: i64 = 1_704_067_200_000_000;

/// The answer of a future that never waits, which is what the memory store's are.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the memory store waited for something"),
    }
}

pub(crate) fn key(text: &str) -> ResourceKey {
    text.parse().unwrap()
}

pub(crate) fn create(at: &str, body: Value) -> ResourceWrite {
    match at.parse() {
        Ok(key) => ResourceWrite::unconditional(key, WriteOperation::Create(body)),
        Err(_) => without_id(at, WriteOperation::Create(body)),
    }
}

pub(crate) fn put(at: &str, body: Value) -> ResourceWrite {
    ResourceWrite::unconditional(key(at), WriteOperation::Put(body))
}

pub(crate) fn delete(at: &str) -> ResourceWrite {
    ResourceWrite::unconditional(key(at), WriteOperation::Delete)
}

pub(crate) fn without_id(resource_type: &str, operation: WriteOperation) -> ResourceWrite {
    ResourceWrite::conditional(resource_type.parse().unwrap(), operation, fhir_store::WritePrecondition::default())
}

/// Changes to a write that read like the sentence they stand for.
pub(crate) trait WriteWords {
    fn if_none_exist(self, filters: &[ElementEqualityFilter]) -> Self;
    fn if_match(self, text: &str) -> Self;
    fn named(self, full_url: &str) -> Self;
}

impl WriteWords for ResourceWrite {
    fn if_none_exist(mut self, filters: &[ElementEqualityFilter]) -> Self {
        self.precondition.if_none_exist = Some(filters.to_vec().into());
        self
    }

    fn if_match(mut self, text: &str) -> Self {
        self.precondition.if_match = Some(text.parse().unwrap());
        self
    }

    fn named(mut self, full_url: &str) -> Self {
        self.full_url = Some(full_url.to_owned());
        self
    }
}

/// The store with blocking calls.
pub(crate) struct Store(MemoryStore);

impl Store {
    pub(crate) fn new() -> Self {
        Self(MemoryStore::new())
    }

    pub(crate) fn transact(&self, writes: Vec<ResourceWrite>) -> Result<Vec<WriteOutcome>, TransactionError> {
        ready(self.0.transact_writes(writes, NOW_US)).unwrap()
    }

    pub(crate) fn write(&self, write: ResourceWrite) -> Result<WriteOutcome, WriteError> {
        match self.transact(vec![write]) {
            Ok(mut answers) => Ok(answers.pop().unwrap()),
            Err(refusal) => {
                assert_eq!(refusal.index, 0);
                Err(refusal.cause)
            }
        }
    }

    pub(crate) fn read(&self, at: &str) -> ResourceLookup {
        ready(self.0.read(&key(at))).unwrap()
    }

    pub(crate) fn found(&self, at: &str) -> StoredResource {
        match self.read(at) {
            ResourceLookup::Found(stored) => stored,
            other => panic!("{at} is {other:?}"),
        }
    }

    pub(crate) fn list(&self, query: &ListQuery) -> ListPage {
        ready(self.0.list(query)).unwrap()
    }
}
