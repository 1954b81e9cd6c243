//! Every endpoint, called by every role: what each is told, and that a refusal writes nothing.
//!
//! A row of the tables is a call that is right in everything but for who makes it. Its names in braces stand for things
//! that are made for the one call, so that no call depends on another.

#[cfg(test)]
mod conversation;
#[cfg(test)]
mod people;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod rows;
#[cfg(test)]
mod things;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use chat_core::log::store::EventLog as _;
use chat_core::model::role::Role;

use crate::town::{self, Person, Told, Town};
use rows::Row;
use things::Things;

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

/// A town, and somebody new of each role for each call.
struct Stage {
    town: Town,
    things: Things,
}

impl Stage {
    async fn new() -> Self {
        let town = Town::found().await;
        let things = Things::new(&town).await;
        Self { town, things }
    }

    /// Somebody new of that role, in the channel everybody is in.
    async fn person(&self, caller: Caller) -> Person {
        let name = format!("person-{}", self.things.number());
        let role = match caller {
            Caller::Owner => Role::Owner,
            Caller::Administrator => Role::Administrator,
            Caller::Moderator => Role::Moderator,
            Caller::Guest => Role::Guest,
            Caller::Member | Caller::Bot | Caller::Deactivated | Caller::Nobody => Role::Member,
        };
        let person = self.town.person(&name, role).await;
        let person = if caller == Caller::Bot { self.things.bot(&self.town, &person).await } else { person };
        self.things.admit(&self.town, &person).await;
        person
    }

    /// Makes the call as that role: whether the answer is not the one of the row, and how.
    async fn check(&self, row: &Row, caller: Caller) -> Result<(), String> {
        let person = self.person(caller).await;
        let call = self.things.filled(&self.town, &person, row.call).await;
        let mut parameters = Vec::new();
        for (name, value) in row.parameters {
            parameters.push((*name, self.things.filled(&self.town, &person, value).await));
        }
        if caller == Caller::Deactivated {
            self.town.call(&self.town.ada, &format!("DELETE /users/{}", person.id), &[]).await.success();
        }
        let before = self.town.store.head();
        let sent: Vec<_> = parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let call = if row.file.is_some() { town::with_query(&call, &sent) } else { call };
        let told = match (row.file, caller) {
            (Some(file), Caller::Nobody) => self.town.call_with_files_as_nobody(&call, file.form()).await,
            (Some(file), _) => self.town.call_with_files(&person, &call, file.form()).await,
            (None, Caller::Nobody) => self.town.call_as_nobody(&call, &sent).await,
            (None, _) => self.town.call(&person, &call, &sent).await,
        };
        let expected = row.verdict.of(caller);
        if answer(&told) != expected {
            return Err(format!("{caller:?} {call}: {:?}, expected {expected:?}", answer(&told)));
        }
        if expected != SUCCESS && self.town.store.head() != before {
            return Err(format!("{caller:?} {call}: refused, and something was written"));
        }
        Ok(())
    }
}

/// Status, code and text; of a success the status alone.
type Answer = (u16, String, String);

const SUCCESS: Answer = (200, String::new(), String::new());

fn answer(told: &Told) -> Answer {
    let text = |key: &str| told.body[key].as_str().unwrap_or_default().to_owned();
    (told.status.as_u16(), text("code"), text("msg"))
}

/// Calls every row as every role, each row in a town of its own. All that differs is told at once.
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
    let town = Town::found().await;
    let rows = conversation::ROWS.iter().chain(people::ROWS);
    let in_tables: BTreeSet<String> = rows.map(|row| routes::plain(row.call)).collect();
    let served = routes::served(&town).await;
    let missing: Vec<_> = served.difference(&in_tables).collect();
    assert!(missing.is_empty(), "no row: {missing:#?}");
    let unknown: Vec<_> = in_tables.difference(&served).collect();
    assert!(unknown.is_empty(), "no endpoint: {unknown:#?}");
}
