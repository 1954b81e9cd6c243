//! The patients that words lead to: beginnings of names, of identifiers and of ids.
//!
//! Every word is a walk of the index from where it begins to where it ends, and a patient is found who is on the
//! walk of each. Identifiers and ids are kept as they were written, so of them the word as typed, in small and in
//! capital letters is looked for.

use std::collections::{BTreeMap, BTreeSet};

use fhir_resource::{ResourceType, StoredResource};
use fhir_search::fold_case_and_accents;

use super::compare::LAST;
use super::statement::Statement;
use super::{current, fetch};
use crate::db::AuthDatabase;
use crate::resources::Table;

/// Where in a name a word may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// At the beginning of a given name, a family name or a whole one.
    Part,
    /// At the beginning of any word of it, such as `Bruyn` in `de Bruyn`: that reads all names of the index.
    Word,
}

/// Patients of whom every word is the beginning of something, `most` at most in the order of their ids; none while the
/// rows of patients are made for the first time.
pub(crate) async fn patients(
    db: &AuthDatabase,
    (words, begins): (&[&str], Begins),
    most: u32,
) -> Result<Vec<StoredResource>, sqlx::Error> {
    let kind: ResourceType = "Patient".parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
    // No resource holds the character NUL, and Postgres refuses it even as a parameter.
    let is_askable = words.iter().all(|word| !word.contains('\0')) && !words.is_empty();
    let Some(table) = Table::find(db, &kind).await?.filter(|_| is_askable) else { return Ok(Vec::new()) };
    let index = current(db).await?;
    let number =
        |code| index.catalog.find_parameter_by_code(&kind, code).and_then(|found| index.number(&kind, found.number));
    let Some((name, identifier)) = number("name").zip(number("identifier")) else {
        tracing::warn!("patients are not found by words until the index of their resources is made");
        return Ok(Vec::new());
    };
    let reaches = BTreeMap::new();
    let mut statement = Statement::new(db, &index, &reaches);
    let numbers = (statement.bind(name), statement.bind(identifier));
    let sets: Vec<String> = words.iter().map(|word| set(&mut statement, &table, &numbers, (*word, begins))).collect();
    let (first, others) = sets.split_first().map_or(("", [].as_slice()), |(first, others)| (first.as_str(), others));
    let others: Vec<String> = others.iter().map(|set| format!("w.id IN ({set})")).collect();
    let others = if others.is_empty() { "TRUE".to_owned() } else { others.join(" AND ") };
    let (most, quoted) = (statement.bind_limit(i64::from(most)), table.quoted());
    let sql = format!(
        "SELECT t.id, t.txid, {{us:t.ts}}, t.resource
FROM (SELECT DISTINCT w.id FROM ({first}) AS w WHERE {others} ORDER BY w.id LIMIT {most}) AS p
JOIN {quoted} t ON t.id = p.id ORDER BY t.id"
    );
    fetch(db, &kind, sql, statement.bound).await
}

/// Returns the ids of the patients of whom something begins with the word, some twice.
fn set(
    statement: &mut Statement<'_>,
    table: &Table,
    (name, identifier): &(String, String),
    (word, begins): (&str, Begins),
) -> String {
    let folded = fold_case_and_accents(word);
    let (from, to) = range(statement, &folded);
    let within = match begins {
        Begins::Part => String::new(),
        Begins::Word => {
            let behind_a_blank = statement.bind(format!(" {folded}"));
            format!(" OR {}(i.folded, {behind_a_blank}) > 0", statement.contains())
        }
    };
    let mut sets = vec![format!(
        "SELECT i.id FROM search_string i WHERE i.parameter = {name} AND (i.folded >= {from} AND i.folded < {to}{within})"
    )];
    for spelling in BTreeSet::from([word.to_owned(), word.to_lowercase(), word.to_uppercase()]) {
        let (from, to) = range(statement, &spelling);
        sets.push(format!(
            "SELECT i.id FROM search_token i WHERE i.parameter = {identifier} AND i.code >= {from} AND i.code < {to}"
        ));
        sets.push(format!("SELECT t.id FROM {} t WHERE t.id >= {from} AND t.id < {to}", table.quoted()));
    }
    sets.join(" UNION ALL ")
}

/// Returns the places of where texts that begin like this begin and end.
fn range(statement: &mut Statement<'_>, beginning: &str) -> (String, String) {
    (statement.bind(beginning), statement.bind(format!("{beginning}{LAST}")))
}
