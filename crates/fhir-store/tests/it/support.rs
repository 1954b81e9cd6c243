//! Short words for what the tests do again and again.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use fhir_resource::{ResourceKey, StoredResource};
use fhir_store::memory::MemoryStore;
use fhir_store::{
    Filter, ListPage, ListQuery, ResourceLookup, ResourceStore, TransactionError, Write, WriteError, WriteOperation,
    WriteOutcome,
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

pub(crate) fn create(at: &str, body: Value) -> Write {
    match at.parse() {
        Ok(key) => Write::to(key, WriteOperation::Create(body)),
        Err(_) => without_id(at, WriteOperation::Create(body)),
    }
}

pub(crate) fn put(at: &str, body: Value) -> Write {
    Write::to(key(at), WriteOperation::Put(body))
}

pub(crate) fn delete(at: &str) -> Write {
    Write::to(key(at), WriteOperation::Delete)
}

pub(crate) fn without_id(resource_type: &str, operation: WriteOperation) -> Write {
    Write::by_condition(resource_type.parse().unwrap(), operation, fhir_store::Precondition::default())
}

/// Changes to a write that read like the sentence they stand for.
pub(crate) trait WriteWords {
    fn if_none_exist(self, filters: &[Filter]) -> Self;
    fn if_match(self, text: &str) -> Self;
    fn named(self, full_url: &str) -> Self;
}

impl WriteWords for Write {
    fn if_none_exist(mut self, filters: &[Filter]) -> Self {
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

    pub(crate) fn transact(&self, writes: Vec<Write>) -> Result<Vec<WriteOutcome>, TransactionError> {
        ready(self.0.transact(writes, NOW_US)).unwrap()
    }

    pub(crate) fn write(&self, write: Write) -> Result<WriteOutcome, WriteError> {
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
