//! A search as one statement.
//!
//! A clause is written in one of two ways: as the set of the ids that meet it, or as a test on an id
//! that is known. One clause is the set the statement walks ([`super::driver`]); the others are tests. A test looks
//! up the rows of one resource, so what it costs does not depend on how many others meet it. Every value is bound;
//! what becomes part of a statement is written in this crate.
//!
//! Neither engine may turn a test into a set again. On SQLite the test of a range hides its columns from the indexes
//! that are ordered by them (`i.high + 0`), on Postgres `OFFSET 0` keeps a test a test (`{fence}`).

use std::collections::BTreeMap;
use std::sync::Arc;

use fhir_resource::ResourceType;
use fhir_search::{
    CompiledSearchParameter, CompositeComponent, IndexEntryPredicate, ResourceColumn, SearchClause, SearchParameterType,
};
use fhir_store::AccessFilter;

use sql_engines::SqlDialect;

use super::compare::{self, Condition};
use super::composite::{bare, compared_places};
use super::index::Index;
use super::row::{Place, part_number, typed_number, uri_number};
use crate::db::AuthDatabase;

/// A value of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Text(String),
    Integer(i64),
}

impl From<&str> for Bound {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Bound {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Bound {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

/// The reason why there is no statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unanswerable {
    /// The rows of this parameter are still being made.
    Indexing(String),
    /// The type of a chain may not be searched.
    Closed,
}

/// A statement under way.
pub(super) struct Statement<'a> {
    pub(super) index: &'a Index,
    pub(super) db: &'a AuthDatabase,
    pub(super) reaches: &'a BTreeMap<ResourceType, AccessFilter>,
    pub(super) bound: Vec<Bound>,
    /// Aliases given so far to rows that tests on other types begin with.
    pub(super) aliases: usize,
}

/// Longest statement that is kept prepared, in bytes. Longer ones have lists of values, are seldom asked again, and
/// would fill the memory of every connection.
const KEPT_MAX_BYTES: usize = 16 * 1024;

/// Returns whether a statement is worth keeping prepared.
pub(super) const fn is_kept_prepared(sql: &str) -> bool {
    sql.len() <= KEPT_MAX_BYTES
}

/// The ids of no resource.
pub(super) const NOTHING: &str = "SELECT '' AS id WHERE FALSE";

pub(super) type Written = Result<String, Unanswerable>;

impl<'a> Statement<'a> {
    /// `reaches` says what of other types chains may look at.
    pub(super) const fn new(
        db: &'a AuthDatabase,
        index: &'a Index,
        reaches: &'a BTreeMap<ResourceType, AccessFilter>,
    ) -> Self {
        Self { index, db, reaches, bound: Vec::new(), aliases: 0 }
    }

    /// Binds a value and returns its place.
    pub(super) fn bind(&mut self, value: impl Into<Bound>) -> String {
        self.bound.push(value.into());
        format!("${}", self.bound.len())
    }

    /// Binds how many rows there may be and returns what stands behind `LIMIT`. SQLite asks a bare parameter there for
    /// its value, so as to plan by it, and so plans the statement anew each time one is bound.
    pub(super) fn bind_limit(&mut self, most: i64) -> String {
        format!("CAST({} AS BIGINT)", self.bind(most))
    }

    pub(super) fn dialect(&self) -> SqlDialect {
        self.db.dialect()
    }

    /// Returns the number of the rows of a parameter.
    pub(super) fn number(&self, kind: &ResourceType, parameter: &CompiledSearchParameter) -> Result<i64, Unanswerable> {
        self.index
            .number(kind, parameter.number)
            .ok_or_else(|| Unanswerable::Indexing(format!("{kind}.{}", parameter.code)))
    }

    /// Returns the parameters that have the rows of one that has none of its own.
    pub(super) fn sources(
        &self,
        kind: &ResourceType,
        parameter: &CompiledSearchParameter,
    ) -> Vec<Arc<CompiledSearchParameter>> {
        self.index.catalog.parameters_sharing_rows(kind, parameter).cloned().collect()
    }

    /// Returns the numbers of the rows of a parameter, several where others have them.
    pub(super) fn numbers(
        &self,
        kind: &ResourceType,
        parameter: &CompiledSearchParameter,
    ) -> Result<Vec<i64>, Unanswerable> {
        if parameter.sources.is_empty() {
            return Ok(vec![self.number(kind, parameter)?]);
        }
        self.sources(kind, parameter).iter().map(|source| self.number(kind, source)).collect()
    }

    /// Returns the ids that meet a clause, some twice.
    pub(super) fn set(&mut self, kind: &ResourceType, clause: &SearchClause) -> Written {
        match clause {
            SearchClause::Any { parameter, tests } => self.any(kind, parameter, tests),
            SearchClause::Missing { parameter, missing: false } if parameter.resource_column().is_none() => {
                self.present(kind, parameter, None)
            }
            SearchClause::None { .. } | SearchClause::Missing { .. } => {
                let test = self.test(kind, clause, "o.id")?;
                Ok(match self.db.known_table(kind.as_str()) {
                    Some(table) => format!("SELECT o.id FROM {} o WHERE {test}", table.quoted()),
                    None => NOTHING.to_owned(),
                })
            }
            SearchClause::Chain(chain) => self.chain(kind, chain),
            SearchClause::Has(has) => self.has(kind, has),
        }
    }

    /// Returns whether the resource with this id meets a clause; `id` is a column of a row that is neither `t` nor `i`,
    /// which the statements within have themselves.
    pub(super) fn test(&mut self, kind: &ResourceType, clause: &SearchClause, id: &str) -> Written {
        Ok(match clause {
            SearchClause::Any { parameter, tests } => self.any_at(kind, parameter, tests, id)?,
            SearchClause::None { parameter, tests } => format!("NOT {}", self.any_at(kind, parameter, tests, id)?),
            SearchClause::Missing { parameter, missing } => {
                // Every resource has an id and a time.
                let present = match parameter.resource_column() {
                    Some(_) => "TRUE".to_owned(),
                    None => self.present_at(kind, parameter, id)?,
                };
                if *missing { format!("NOT ({present})") } else { present }
            }
            SearchClause::Chain(chain) => self.chain_at(kind, chain, id)?,
            SearchClause::Has(has) => self.has_at(kind, has, id)?,
        })
    }

    /// Returns the ids of a type that meet a condition on the row `t`.
    pub(super) fn of_table(&self, kind: &ResourceType, condition: &str) -> String {
        match self.db.known_table(kind.as_str()) {
            Some(table) => format!("SELECT t.id FROM {} t WHERE {condition}", table.quoted()),
            None => NOTHING.to_owned(),
        }
    }

    fn any(
        &mut self,
        kind: &ResourceType,
        parameter: &CompiledSearchParameter,
        tests: &[IndexEntryPredicate],
    ) -> Written {
        if let Some(column) = parameter.resource_column() {
            let condition = self.of_column(column, tests);
            return Ok(self.of_table(kind, &condition));
        }
        if !parameter.sources.is_empty() {
            let sources = self.sources(kind, parameter);
            let sets: Result<Vec<String>, Unanswerable> =
                sources.iter().map(|source| self.any(kind, source, tests)).collect();
            return Ok(union(&sets?));
        }
        let number = self.number(kind, parameter)?;
        let mut sets = self.composites((kind, parameter), tests, None)?;
        for group in merged(groups(tests, self.contains())) {
            let condition = self.group(number, &group);
            // Where the id is a calculation, SQLite does not walk by ids what the values bound.
            let id = if group.place.has_index_by_id() && group.keys.is_empty() { "i.id || ''" } else { "i.id" };
            sets.push(format!("SELECT {id} AS id FROM {} i WHERE {condition}", group.place.table()));
        }
        Ok(union(&sets))
    }

    fn any_at(
        &mut self,
        kind: &ResourceType,
        parameter: &CompiledSearchParameter,
        tests: &[IndexEntryPredicate],
        id: &str,
    ) -> Written {
        if let Some(column) = parameter.resource_column() {
            let condition = self.of_column(column, tests);
            let set = self.of_table(kind, &format!("{condition} AND t.id = {id}"));
            return Ok(format!("EXISTS ({set})"));
        }
        if !parameter.sources.is_empty() {
            let sources = self.sources(kind, parameter);
            let alternatives: Result<Vec<String>, Unanswerable> =
                sources.iter().map(|source| self.any_at(kind, source, tests, id)).collect();
            return Ok(any_of(&alternatives?));
        }
        let number = self.number(kind, parameter)?;
        let mut alternatives = self.composites((kind, parameter), tests, Some(id))?;
        let groups = groups(tests, self.contains());
        for group in together(groups) {
            let condition = self.group(number, &group);
            let table = group.place.table();
            alternatives.push(if group.is_found_by_id() {
                // A code or a target is in the primary key, before the id.
                let index = if group.keys.is_empty() { group.place.by_id() } else { "{by:NOT INDEXED}" };
                format!(
                    "EXISTS (SELECT 1 FROM {table} i {index} WHERE {} AND i.id = {id} {{fence}})",
                    hidden(&condition)
                )
            } else {
                format!("{id} IN (SELECT i.id FROM {table} i WHERE {condition})")
            });
        }
        Ok(any_of(&alternatives))
    }

    /// Returns the engine's function for the position of one text in another.
    pub(super) fn contains(&self) -> &'static str {
        match self.dialect() {
            SqlDialect::Postgres => "strpos",
            SqlDialect::Sqlite => "instr",
        }
    }

    /// Returns the condition that a row meets all of a group.
    pub(super) fn group(&mut self, number: i64, group: &Group) -> String {
        let mut all = vec![format!("i.parameter = {}", self.bind(number + group.number))];
        let keys: Vec<String> = group.keys.iter().map(|key| self.bind(key.clone())).collect();
        match keys.as_slice() {
            [] => {}
            [one] => all.push(format!("i.{} = {one}", group.place.key())),
            several => all.push(format!("i.{} IN ({})", group.place.key(), several.join(", "))),
        }
        let tests = group.tests.iter().filter(|(sql, _)| !sql.is_empty());
        let tests: Vec<String> = tests.map(|(sql, bound)| self.filled(sql, bound)).collect();
        if !tests.is_empty() {
            all.push(any_of(&tests));
        }
        all.join(" AND ")
    }

    /// A condition with its values bound.
    pub(super) fn filled(&mut self, sql: &str, bound: &[Bound]) -> String {
        let mut values = bound.iter();
        let mut filled = String::with_capacity(sql.len() + 8);
        for part in sql.split_inclusive('?') {
            match (part.strip_suffix('?'), values.clone().next()) {
                (Some(before), Some(value)) => {
                    values.next();
                    filled.push_str(before);
                    filled.push_str(&self.bind(value.clone()));
                }
                _ => filled.push_str(part),
            }
        }
        filled
    }

    pub(super) fn of_column(&mut self, column: ResourceColumn, tests: &[IndexEntryPredicate]) -> String {
        let mut alternatives = Vec::with_capacity(tests.len());
        for test in tests {
            match (column, test) {
                (ResourceColumn::Id, IndexEntryPredicate::Token { system, code: Some(code) })
                    if system.matches_system(None) && !code.contains('\0') =>
                {
                    let place = self.bind(code.as_str());
                    alternatives.push(format!("t.id = {place}"));
                }
                (ResourceColumn::LastUpdated, IndexEntryPredicate::Period(comparison)) => {
                    let (sql, bound) = compare::instant(comparison, "t.ts");
                    // The column is compared as it is, so that its index counts.
                    alternatives.push(self.filled(&sql.replace('?', "{from_us:?}"), &bound));
                }
                _ => {}
            }
        }
        any_of(&alternatives)
    }

    /// Returns the ids that have any value of a parameter; `at` looks at the rows with this id alone.
    fn present(&mut self, kind: &ResourceType, parameter: &CompiledSearchParameter, at: Option<&str>) -> Written {
        let sources = self.sources(kind, parameter);
        if !sources.is_empty() {
            let sets: Result<Vec<String>, Unanswerable> =
                sources.iter().map(|source| self.present(kind, source, at)).collect();
            return Ok(union(&sets?));
        }
        let parts = self.index.catalog.parameters_standing_in_for_composite(kind, parameter);
        if let Some((first, others)) = parts.split_first() {
            return self.all_present(kind, (first, others), at);
        }
        let number = self.number(kind, parameter)?;
        match parameter.components.first() {
            Some(CompositeComponent { parameter_type: kind, .. }) => {
                Ok(self.any_row(&compared_places(*kind, part_number(number, 0)), &bare("i.id"), at))
            }
            None => Ok(self.any_row(&places(parameter.parameter_type, number), "i.id", at)),
        }
    }

    /// Returns the ids of the rows there are in these places.
    pub(super) fn any_row(&mut self, places: &[(Place, i64)], id: &str, at: Option<&str>) -> String {
        let sets = places.iter().map(|(place, number)| {
            let number = self.bind(*number);
            let test = at.map(|at| format!(" AND i.id = {at}")).unwrap_or_default();
            format!("SELECT {id} AS id FROM {} i WHERE i.parameter = {number}{test}", place.table())
        });
        let sets: Vec<String> = sets.collect();
        sets.join(" UNION ALL ")
    }

    /// Returns whether the resource with this id has any value of a parameter.
    fn present_at(&mut self, kind: &ResourceType, parameter: &CompiledSearchParameter, id: &str) -> Written {
        let by_id = is_found_by_id(parameter.parameter_type);
        let set = self.present(kind, parameter, by_id.then_some(id))?;
        Ok(if by_id { format!("EXISTS ({set} {{fence}})") } else { format!("{id} IN ({set})") })
    }
}

/// Conditions on rows of one table and number: one of the keys, and one of the tests.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) place: Place,
    number: i64,
    /// The values of which the row has to have one ([`Place::key`]); any when there is none.
    pub(super) keys: Vec<Bound>,
    tests: Vec<(String, Vec<Bound>)>,
}

impl Group {
    /// Returns whether the row is found when its resource is known.
    const fn is_found_by_id(&self) -> bool {
        !self.keys.is_empty() || self.place.has_index_by_id()
    }

    /// A group for each key.
    pub(super) fn by_key(self) -> impl Iterator<Item = Self> {
        let Self { place, number, keys, tests } = self;
        keys.into_iter().map(move |key| Self { place, number, keys: vec![key], tests: tests.clone() })
    }
}

/// Returns the conditions for tests; those that differ in their key alone are one.
pub(super) fn groups(tests: &[IndexEntryPredicate], contains: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for Condition { place, number, key, sql, bound } in
        tests.iter().flat_map(|test| compare::conditions(test, contains))
    {
        let tests = vec![(sql, bound)];
        let same = |group: &&mut Group| {
            (group.place, group.number) == (place, number) && !group.keys.is_empty() && group.tests == tests
        };
        match (key, groups.iter_mut().find(same)) {
            (Some(key), Some(group)) => group.keys.push(key),
            (key, _) => groups.push(Group { place, number, keys: key.into_iter().collect(), tests }),
        }
    }
    groups
}

/// Most sets that a list of ranges or texts is looked up in one by one, each with its bounds; for a longer list all
/// rows of the parameter are read once.
const BOUNDED_MAX: usize = 16;

/// Groups as the sets of a union.
fn merged(groups: Vec<Group>) -> Vec<Group> {
    if groups.len() <= BOUNDED_MAX { groups } else { together(groups) }
}

/// Groups of which those without a key are one for each table and number: an alternative more costs nothing where the
/// rows of one resource are looked at.
fn together(groups: Vec<Group>) -> Vec<Group> {
    let mut together: Vec<Group> = Vec::new();
    for group in groups {
        let same =
            |other: &&mut Group| other.keys.is_empty() && (other.place, other.number) == (group.place, group.number);
        match together.iter_mut().find(same) {
            Some(other) if group.keys.is_empty() => other.tests.extend(group.tests),
            _ => together.push(group),
        }
    }
    together
}

/// A condition whose columns no index is chosen by: the resource is known, and its rows are few.
pub(super) fn hidden(condition: &str) -> String {
    let hidden = condition.replace("i.high", "(i.high + 0)").replace("i.low", "(i.low + 0)");
    hidden.replace("i.folded", "(i.folded || '')")
}

/// Returns whether the keys of these rows go on with the id, so that no more of them are read than the resource has.
pub(super) const fn is_found_by_id(kind: SearchParameterType) -> bool {
    matches!(
        kind,
        SearchParameterType::Date
            | SearchParameterType::Number
            | SearchParameterType::Quantity
            | SearchParameterType::String
    )
}

/// Returns where the values of a parameter of this kind are.
pub(super) fn places(kind: SearchParameterType, number: i64) -> Vec<(Place, i64)> {
    match kind {
        SearchParameterType::Token => {
            vec![(Place::Token, number), (Place::Text, number), (Place::Token, typed_number(number))]
        }
        SearchParameterType::String => vec![(Place::Text, number)],
        SearchParameterType::Reference => {
            vec![(Place::Reference, number), (Place::Token, uri_number(number)), (Place::Token, number)]
        }
        SearchParameterType::Uri => vec![(Place::Token, uri_number(number))],
        SearchParameterType::Date | SearchParameterType::Number => vec![(Place::Range, number)],
        SearchParameterType::Quantity => vec![(Place::Quantity, number)],
        // A part of a composite is none itself.
        SearchParameterType::Composite => Vec::new(),
    }
}

/// Returns whether one of the conditions holds. SQLite bounds the depth of an expression, so a long list is halved, and
/// halved again.
pub(super) fn any_of(conditions: &[String]) -> String {
    match conditions {
        [] => "FALSE".to_owned(),
        [only] => format!("({only})"),
        several => {
            let (left, right) = several.split_at(several.len() / 2);
            format!("({} OR {})", any_of(left), any_of(right))
        }
    }
}

/// Most sets that SQLite unites in one statement.
const UNITED_MAX: usize = 200;

/// Returns the ids of all sets, some twice. SQLite bounds how many are united at once, so long lists are united in
/// parts.
pub(super) fn union(sets: &[String]) -> String {
    if sets.is_empty() {
        return NOTHING.to_owned();
    }
    if sets.len() <= UNITED_MAX {
        return sets.join(" UNION ALL ");
    }
    let parts: Vec<String> =
        sets.chunks(UNITED_MAX).map(|part| format!("SELECT u.id FROM ({}) AS u", part.join(" UNION ALL "))).collect();
    union(&parts)
}
