//! The state a client begins with.

mod messages;

use std::collections::BTreeSet;

use chat_core::event::Filter;
use chat_core::snapshot::RealmSnapshot;
use chat_core::user::User;
use serde_json::{Map, Value};

use crate::error::Fault;
use crate::state::Site;

/// The keys of the state.
pub(super) type State = Map<String, Value>;

/// Whose state it is, and where it is taken from.
#[derive(Clone, Copy)]
pub(super) struct Newcomer<'a> {
    pub(super) app: &'a Site,
    pub(super) realm: &'a RealmSnapshot,
    pub(super) user: &'a User,
    pub(super) filter: &'a Filter,
    /// Now, in unix seconds.
    pub(super) now_s: i64,
}

impl Newcomer<'_> {
    /// The keys of the types that are `fetched`; `None` for all.
    pub(super) async fn state(&self, fetched: Option<&BTreeSet<String>>) -> Result<State, Fault> {
        let mut state = State::new();
        let wants = |kind: &str| fetched.is_none_or(|fetched| fetched.contains(kind));
        messages::add(self, &wants, &mut state).await?;
        Ok(state)
    }
}
