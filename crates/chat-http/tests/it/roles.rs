//! Every endpoint, called by every role: what each is told, and that a refusal writes nothing.
//!
//! A row of the tables is a call that is right in everything but for who makes it. Its names in braces stand for things
//! that are made for the one call, so that no call depends on another.

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod people;
#[cfg(test)]
pub(crate) mod routes;
#[cfg(test)]
mod rows;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chat_core::event_log::store::EventLog as _;
use chat_core::model::role::Role;

use crate::test_app::{self, Person, TestApp, TestResponse};
use fixtures::RoleFixtures;
use rows::Row;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    Owner,
    Administrator,
    Moderator,
    Member,
    Guest,
    /// Of the member.
    Bot,
    /// A member whose account was closed.
    Deactivated,
    /// Without credentials.
    Nobody,
}

const CALLERS: [Caller; 8] = [
    Caller::Owner,
    Caller::Administrator,
    Caller::Moderator,
    Caller::Member,
    Caller::Guest,
    Caller::Bot,
    Caller::Deactivated,
    Caller::Nobody,
];

/// A test app, and a user new of each role for each call.
struct Stage {
    app: TestApp,
    fixtures: RoleFixtures,
}

impl Stage {
    async fn new() -> Self {
        let app = TestApp::found().await;
        let fixtures = RoleFixtures::new(&app).await;
        Self { app, fixtures }
    }

    /// A user new of that role, in the channel everybody is in.
    async fn person(&self, caller: Caller) -> Person {
        let name = format!("person-{}", self.fixtures.number());
        let role = match caller {
            Caller::Owner => Role::Owner,
            Caller::Administrator => Role::Administrator,
            Caller::Moderator => Role::Moderator,
            Caller::Guest => Role::Guest,
            Caller::Member | Caller::Bot | Caller::Deactivated | Caller::Nobody => Role::Member,
        };
        let person = self.app.person(&name, role).await;
        let person = if caller == Caller::Bot { self.fixtures.bot(&self.app, &person).await } else { person };
        self.fixtures.admit(&self.app, &person).await;
        person
    }

    /// Makes the call as that role: whether the answer is not the one of the row, and how.
    async fn check(&self, row: &Row, caller: Caller) -> Result<(), String> {
        let person = self.person(caller).await;
        let call = self.fixtures.filled(&self.app, &person, row.call).await;
        let mut parameters = Vec::new();
        for (name, value) in row.parameters {
            parameters.push((*name, self.fixtures.filled(&self.app, &person, value).await));
        }
        if caller == Caller::Deactivated {
            self.app.call(&self.app.ada, &format!("DELETE /users/{}", person.id), &[]).await.success();
        }
        let before = self.app.store.last_event_id();
        let sent: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let call = if row.file.is_some() { test_app::with_query(&call, &sent) } else { call };
        let response = match (row.file, caller) {
            (Some(file), Caller::Nobody) => self.app.call_with_files_as_nobody(&call, file.form()).await,
            (Some(file), _) => self.app.call_with_files(&person, &call, file.form()).await,
            (None, Caller::Nobody) => self.app.call_as_nobody(&call, &sent).await,
            (None, _) => self.app.call(&person, &call, &sent).await,
        };
        let expected = row.verdict.of(caller);
        if answer(&response) != expected {
            return Err(format!("{caller:?} {call}: {:?}, expected {expected:?}", answer(&response)));
        }
        if expected != SUCCESS && self.app.store.last_event_id() != before {
            return Err(format!("{caller:?} {call}: refused, and something was written"));
        }
        Ok(())
    }
}

/// Status, code and text; of a success the status alone.
type Answer = (u16, String, String);

const SUCCESS: Answer = (200, String::new(), String::new());

fn answer(response: &TestResponse) -> Answer {
    let text = |key: &str| response.body[key].as_str().unwrap_or_default().to_owned();
    (response.status.as_u16(), text("code"), text("msg"))
}

/// Calls every row as every role, each row in a test app of its own. All that differs is told at once.
async fn checked(rows: &[Row]) {
    let mut wrong = String::new();
    for row in rows {
        let stage = Stage::new().await;
        for caller in CALLERS {
            if let Err(difference) = stage.check(row, caller).await {
                writeln!(wrong, "{difference}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test]
async fn every_role_is_told_what_the_table_says_of_messages_and_channels() {
    checked(conversation::ROWS).await;
}

#[tokio::test]
async fn every_role_is_told_what_the_table_says_of_people_and_the_organization() {
    checked(people::ROWS).await;
}

#[tokio::test]
async fn every_endpoint_has_a_row() {
    let app = TestApp::found().await;
    let rows = conversation::ROWS.iter().chain(people::ROWS);
    let in_tables: BTreeSet<String> = rows.map(|row| routes::plain(row.call)).collect();
    let served = routes::served(&app).await;
    let missing: Vec<_> = served.difference(&in_tables).collect();
    assert!(missing.is_empty(), "no row: {missing:#?}");
    let unknown: Vec<_> = in_tables.difference(&served).collect();
    assert!(unknown.is_empty(), "no endpoint: {unknown:#?}");
}
