//! A search as one statement.
//!
//! A clause is written in one of two ways: as the set of the ids that meet it, or as a test on an id
//! that is known. One clause, the one that leaves the fewest, is the set the statement walks; the others
//! are tests. Every value is bound; what becomes part of a statement is written in this crate.

use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

use fhir_store::compartment::{Membership, membership};
use fhir_store::search::{COMPARTMENT, Chain, Clause, Column, Component, Has, Kind, Parameter, Test};
use fhir_store::selection::Criterion;
use fhir_store::{Filter, Region, ResourceType, Selection};

use super::compare::{self, Condition};
use super::composite::{bare, compared_places};
use super::index::Index;
use super::row::{Place, part_number, typed_number, uri_number};
use crate::db::Db;
use crate::dialect::Dialect;
use crate::resources::Conditions;

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

/// Why there is no statement.
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
    db: &'a Db,
    reaches: &'a BTreeMap<ResourceType, Selection>,
    pub(super) bound: Vec<Bound>,
    /// Whether the ids that are tested are few, so that a test is cheaper done for each of them than for all at once.
    pub(super) few: bool,
}

/// Longest statement that is kept prepared, in bytes. Longer ones have lists of values, are seldom asked again, and
/// would fill the memory of every connection.
const KEPT_MAX_BYTES: usize = 16 * 1024;

/// Whether a statement is worth keeping prepared.
pub(super) const fn is_kept_prepared(sql: &str) -> bool {
    sql.len() <= KEPT_MAX_BYTES
}

/// The ids of no resource.
const NOTHING: &str = "SELECT '' AS id WHERE FALSE";

pub(super) type Written = Result<String, Unanswerable>;

impl<'a> Statement<'a> {
    /// `reaches` says what of other types chains may look at.
    pub(super) const fn new(db: &'a Db, index: &'a Index, reaches: &'a BTreeMap<ResourceType, Selection>) -> Self {
        Self { index, db, reaches, bound: Vec::new(), few: false }
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

    pub(super) fn dialect(&self) -> Dialect {
        self.db.dialect()
    }

    /// The number of the rows of a parameter.
    pub(super) fn number(&self, kind: &ResourceType, parameter: &Parameter) -> Result<i64, Unanswerable> {
        self.index
            .number(kind, parameter.number)
            .ok_or_else(|| Unanswerable::Indexing(format!("{kind}.{}", parameter.code)))
    }

    /// The parameters that have the rows of one that has none of its own.
    fn sources(&self, kind: &ResourceType, parameter: &Parameter) -> Vec<Arc<Parameter>> {
        self.index.catalog.sources(kind, parameter).cloned().collect()
    }

    /// The numbers of the rows of a parameter, several where others have them.
    pub(super) fn numbers(&self, kind: &ResourceType, parameter: &Parameter) -> Result<Vec<i64>, Unanswerable> {
        if parameter.sources.is_empty() {
            return Ok(vec![self.number(kind, parameter)?]);
        }
        self.sources(kind, parameter).iter().map(|source| self.number(kind, source)).collect()
    }

    /// The ids that meet a clause, some twice.
    pub(super) fn set(&mut self, kind: &ResourceType, clause: &Clause) -> Written {
        match clause {
            Clause::Any { parameter, tests } => self.any(kind, parameter, tests),
            Clause::Missing { parameter, missing: false } if parameter.column().is_none() => {
                self.present(kind, parameter, None)
            }
            Clause::None { .. } | Clause::Missing { .. } => {
                let test = self.test(kind, clause, "o.id")?;
                Ok(match self.db.known_table(kind.as_str()) {
                    Some(table) => format!("SELECT o.id FROM {} o WHERE {test}", table.quoted()),
                    None => NOTHING.to_owned(),
                })
            }
            Clause::Chain(chain) => self.chain(kind, chain),
            Clause::Has(has) => self.has(kind, has),
        }
    }

    /// Whether the resource with this id meets a clause; `id` is a column of a row that is neither `t` nor `i`, which
    /// the statements within have themselves.
    pub(super) fn test(&mut self, kind: &ResourceType, clause: &Clause, id: &str) -> Written {
        Ok(match clause {
            Clause::Any { parameter, tests } => self.any_at(kind, parameter, tests, id)?,
            Clause::None { parameter, tests } => format!("NOT {}", self.any_at(kind, parameter, tests, id)?),
            Clause::Missing { parameter, missing } => {
                // Every resource has an id and a time.
                let present = match parameter.column() {
                    Some(_) => "TRUE".to_owned(),
                    None => self.present_at(kind, parameter, id)?,
                };
                if *missing { format!("NOT ({present})") } else { present }
            }
            Clause::Chain(chain) => format!("{id} IN ({})", self.chain(kind, chain)?),
            Clause::Has(has) => self.has_at(kind, has, id)?,
        })
    }

    /// The ids of a type that meet a condition on the row `t`.
    fn of_table(&self, kind: &ResourceType, condition: &str) -> String {
        match self.db.known_table(kind.as_str()) {
            Some(table) => format!("SELECT t.id FROM {} t WHERE {condition}", table.quoted()),
            None => NOTHING.to_owned(),
        }
    }

    fn any(&mut self, kind: &ResourceType, parameter: &Parameter, tests: &[Test]) -> Written {
        if let Some(column) = parameter.column() {
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
        for group in groups(tests, self.contains()) {
            let condition = self.group(number, &group);
            sets.push(format!("SELECT i.id FROM {} i WHERE {condition}", group.place.table()));
        }
        Ok(union(&sets))
    }

    fn any_at(&mut self, kind: &ResourceType, parameter: &Parameter, tests: &[Test], id: &str) -> Written {
        if let Some(column) = parameter.column() {
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
        for group in groups(tests, self.contains()) {
            let condition = self.group(number, &group);
            let table = group.place.table();
            // Texts have an index by their resource.
            let by_id = group.is_point || (self.few && group.place == Place::Text);
            alternatives.push(if by_id {
                format!("EXISTS (SELECT 1 FROM {table} i WHERE {condition} AND i.id = {id})")
            } else {
                format!("{id} IN (SELECT i.id FROM {table} i WHERE {condition})")
            });
        }
        Ok(any_of(&alternatives))
    }

    /// The engine's word for the place of one text in another.
    pub(super) fn contains(&self) -> &'static str {
        match self.dialect() {
            Dialect::Postgres => "strpos",
            Dialect::Sqlite => "instr",
        }
    }

    fn group(&mut self, number: i64, group: &Group) -> String {
        let place = self.bind(number + group.number);
        let tests: Vec<String> = group.tests.iter().map(|(sql, bound)| self.filled(sql, bound)).collect();
        format!("i.parameter = {place} AND {}", any_of(&tests))
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

    fn of_column(&mut self, column: Column, tests: &[Test]) -> String {
        let mut alternatives = Vec::with_capacity(tests.len());
        for test in tests {
            match (column, test) {
                (Column::Id, Test::Token { system, code: Some(code) })
                    if system.holds(None) && !code.contains('\0') =>
                {
                    let place = self.bind(code.as_str());
                    alternatives.push(format!("t.id = {place}"));
                }
                (Column::LastUpdated, Test::Period(comparison)) => {
                    let (sql, bound) = compare::instant(comparison, "t.ts");
                    // The column is compared as it is, so that its index counts.
                    alternatives.push(self.filled(&sql.replace('?', "{from_us:?}"), &bound));
                }
                _ => {}
            }
        }
        any_of(&alternatives)
    }

    /// The ids that have any value of a parameter; `at` looks at the rows with this id alone.
    fn present(&mut self, kind: &ResourceType, parameter: &Parameter, at: Option<&str>) -> Written {
        let sources = self.sources(kind, parameter);
        if !sources.is_empty() {
            let sets: Result<Vec<String>, Unanswerable> =
                sources.iter().map(|source| self.present(kind, source, at)).collect();
            return Ok(union(&sets?));
        }
        let parts = self.index.catalog.parts(kind, parameter);
        if let Some((first, others)) = parts.split_first() {
            return self.all_present(kind, (first, others), at);
        }
        let number = self.number(kind, parameter)?;
        match parameter.components.first() {
            Some(Component { kind, .. }) => {
                Ok(self.any_row(&compared_places(*kind, part_number(number, 0)), &bare("i.id"), at))
            }
            None => Ok(self.any_row(&places(parameter.kind, number), "i.id", at)),
        }
    }

    /// The ids of the rows there are in these places.
    pub(super) fn any_row(&mut self, places: &[(Place, i64)], id: &str, at: Option<&str>) -> String {
        let sets = places.iter().map(|(place, number)| {
            let number = self.bind(*number);
            let test = at.map(|at| format!(" AND i.id = {at}")).unwrap_or_default();
            format!("SELECT {id} AS id FROM {} i WHERE i.parameter = {number}{test}", place.table())
        });
        let sets: Vec<String> = sets.collect();
        sets.join(" UNION ALL ")
    }

    /// Whether the resource with this id has any value of a parameter.
    fn present_at(&mut self, kind: &ResourceType, parameter: &Parameter, id: &str) -> Written {
        let by_id = is_found_by_id(parameter.kind) || (self.few && parameter.kind == Kind::String);
        let set = self.present(kind, parameter, by_id.then_some(id))?;
        Ok(if by_id { format!("EXISTS ({set})") } else { format!("{id} IN ({set})") })
    }

    fn chain(&mut self, kind: &ResourceType, chain: &Chain) -> Written {
        let number = self.number(kind, &chain.parameter)?;
        let mut sets = Vec::with_capacity(chain.any_of.len());
        let mut closed = false;
        for (target, clause) in &chain.any_of {
            let inner = match self.reached(target, clause) {
                // Of several types a reference may be to, those count that the caller may search.
                Err(Unanswerable::Closed) => {
                    closed = true;
                    continue;
                }
                inner => inner?,
            };
            let (place, target) = (self.bind(number), self.bind(target.as_str()));
            sets.push(format!(
                "SELECT i.id FROM search_reference i WHERE i.parameter = {place} AND i.kind = {target} AND i.target IN ({inner})"
            ));
        }
        if sets.is_empty() && closed {
            return Err(Unanswerable::Closed);
        }
        Ok(union(&sets))
    }

    fn has(&mut self, kind: &ResourceType, has: &Has) -> Written {
        let inner = self.reached(&has.kind, &has.clause)?;
        if self.db.known_table(has.kind.as_str()).is_none() {
            return Ok(NOTHING.to_owned());
        }
        let number = self.number(&has.kind, &has.parameter)?;
        let (place, target) = (self.bind(number), self.bind(kind.as_str()));
        Ok(format!(
            "SELECT i.target AS id FROM search_reference i WHERE i.parameter = {place} AND i.kind = {target} AND i.id IN ({inner})"
        ))
    }

    fn has_at(&mut self, kind: &ResourceType, has: &Has, id: &str) -> Written {
        Ok(format!("{id} IN ({})", self.has(kind, has)?))
    }

    /// The ids of another type that meet a clause and that the caller reaches.
    fn reached(&mut self, kind: &ResourceType, clause: &Clause) -> Written {
        let within = self.reaches.get(kind).ok_or(Unanswerable::Closed)?;
        if self.db.known_table(kind.as_str()).is_none() {
            return Ok(NOTHING.to_owned());
        }
        if !within.is_confined() {
            return self.set(kind, clause);
        }
        let is_by_ids = rank(clause).is_some_and(|rank| rank == RANK_OF_IDS);
        let walked = if is_by_ids { None } else { self.compartment(kind, within)? };
        let (set, test) = match walked {
            Some(walked) => {
                let outer = std::mem::replace(&mut self.few, true);
                let test = self.test(kind, clause, "o.id");
                self.few = outer;
                (walked, test?)
            }
            None => (self.set(kind, clause)?, "TRUE".to_owned()),
        };
        let within = self.within(kind, within, "o.id")?;
        Ok(format!("SELECT o.id FROM ({set}) AS o WHERE {test} AND {within}"))
    }

    /// Whether the resource with this id lies in what a caller reaches; `id` as in [`Statement::test`].
    pub(super) fn within(&mut self, kind: &ResourceType, within: &Selection, id: &str) -> Written {
        let Selection::Within(regions) = within else { return Ok("TRUE".to_owned()) };
        let regions: Result<Vec<String>, Unanswerable> =
            regions.iter().map(|region| self.region(kind, region, id)).collect();
        Ok(any_of(&regions?))
    }

    fn region(&mut self, kind: &ResourceType, region: &Region, id: &str) -> Written {
        let mut all = vec!["TRUE".to_owned()];
        if let Some(compartment) = &region.compartment {
            all.push(match membership(kind) {
                Membership::Itself => format!("{id} = {}", self.bind(compartment.patient().as_str())),
                Membership::Reference(_) => {
                    let condition = self.in_compartment(kind, compartment.patient().as_str())?;
                    format!("EXISTS (SELECT 1 FROM search_reference i WHERE {condition} AND i.id = {id})")
                }
                Membership::Shared | Membership::Closed => "FALSE".to_owned(),
            });
        }
        for criterion in &region.criteria {
            all.push(self.criterion(kind, criterion, id)?);
        }
        Ok(format!("({})", all.join(" AND ")))
    }

    fn criterion(&mut self, kind: &ResourceType, criterion: &Criterion, id: &str) -> Written {
        match criterion {
            Criterion::Coded(_) | Criterion::Ownership(_) => {
                let criteria = Conditions::criteria(self.dialect(), slice::from_ref(criterion), self.bound.len() + 1);
                self.bound.extend(criteria.bound.into_iter().map(Bound::from));
                let set = self.of_table(kind, &format!("{} AND t.id = {id}", criteria.sql));
                Ok(format!("EXISTS ({set})"))
            }
            Criterion::Search(scoped) if scoped.kind() == kind => {
                let mut tests = vec!["TRUE".to_owned()];
                for clause in scoped.clauses() {
                    tests.push(self.test(kind, clause, id)?);
                }
                Ok(format!("({})", tests.join(" AND ")))
            }
            // It was read for another type, of which it says nothing.
            Criterion::Search(_) => Ok("FALSE".to_owned()),
        }
    }

    fn in_compartment(&mut self, kind: &ResourceType, patient: &str) -> Written {
        let number = self.index.number(kind, COMPARTMENT);
        let number = number.ok_or_else(|| Unanswerable::Indexing(format!("{kind}.patient")))?;
        let (number, patient) = (self.bind(number), self.bind(patient));
        Ok(format!("i.parameter = {number} AND i.target = {patient} AND i.kind = 'Patient'"))
    }

    /// The ids in what a caller reaches, where that is one patient's compartment.
    pub(super) fn compartment(
        &mut self,
        kind: &ResourceType,
        within: &Selection,
    ) -> Result<Option<String>, Unanswerable> {
        let Selection::Within(regions) = within else { return Ok(None) };
        let mut patients = regions.iter().map(|region| Some(region.compartment.as_ref()?.patient().as_str()));
        // Several regions are those of several scopes, all for the same patient.
        let Some(patient) = patients.next().flatten().filter(|first| patients.all(|other| other == Some(*first)))
        else {
            return Ok(None);
        };
        match membership(kind) {
            Membership::Reference(_) => {
                let condition = self.in_compartment(kind, patient)?;
                Ok(Some(format!("SELECT i.id FROM search_reference i WHERE {condition}")))
            }
            Membership::Itself => {
                let patient = self.bind(patient);
                Ok(Some(self.of_table(kind, &format!("t.id = {patient}"))))
            }
            Membership::Shared | Membership::Closed => Ok(None),
        }
    }

    /// Whether the resource with this id meets conditions on its elements; `None` when none can.
    pub(super) fn filtered(&mut self, kind: &ResourceType, filters: &[Filter], id: &str) -> Option<String> {
        let filters = Conditions::filters(self.dialect(), filters, self.bound.len() + 1)?;
        self.bound.extend(filters.bound.into_iter().map(Bound::from));
        Some(format!("EXISTS ({})", self.of_table(kind, &format!("{} AND t.id = {id}", filters.sql))))
    }
}

/// Tests on rows of one table and number.
struct Group {
    place: Place,
    number: i64,
    is_point: bool,
    tests: Vec<(String, Vec<Bound>)>,
}

fn groups(tests: &[Test], contains: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for Condition { place, number, sql, bound, is_point } in
        tests.iter().filter_map(|test| compare::condition(test, contains))
    {
        let known = groups.iter_mut().find(|group| (group.place, group.number) == (place, number));
        match known {
            Some(group) => {
                group.is_point &= is_point;
                group.tests.push((sql, bound));
            }
            None => groups.push(Group { place, number, is_point, tests: vec![(sql, bound)] }),
        }
    }
    groups
}

/// Whether the keys of these rows go on with the id, so that no more of them are read than the resource has.
pub(super) const fn is_found_by_id(kind: Kind) -> bool {
    matches!(kind, Kind::Date | Kind::Number | Kind::Quantity)
}

/// Where the values of a parameter of this kind are.
pub(super) fn places(kind: Kind, number: i64) -> Vec<(Place, i64)> {
    match kind {
        Kind::Token => vec![(Place::Token, number), (Place::Text, number), (Place::Token, typed_number(number))],
        Kind::String => vec![(Place::Text, number)],
        Kind::Reference => {
            vec![(Place::Reference, number), (Place::Token, uri_number(number)), (Place::Token, number)]
        }
        Kind::Uri => vec![(Place::Token, uri_number(number))],
        Kind::Date | Kind::Number => vec![(Place::Range, number)],
        Kind::Quantity => vec![(Place::Quantity, number)],
        // A part of a composite is none itself.
        Kind::Composite => Vec::new(),
    }
}

/// Whether one of the conditions holds. SQLite bounds the depth of an expression, so a long list is halved, and halved
/// again.
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

/// The ids of all sets, some twice. SQLite bounds how many are united at once, so long lists are united in parts.
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

/// How few resources a clause leaves, the fewest first; `None` for what leaves most.
pub(super) fn rank(clause: &Clause) -> Option<u8> {
    match clause {
        Clause::Any { parameter, .. } if parameter.column() == Some(Column::Id) => Some(0),
        Clause::Any { parameter, .. } if parameter.column().is_some() => Some(8),
        Clause::Any { parameter, tests } => tests.iter().map(|test| rank_of(parameter, test)).max(),
        Clause::Chain(_) | Clause::Has(_) => Some(5),
        Clause::Missing { missing: false, .. } => Some(9),
        Clause::None { .. } | Clause::Missing { .. } => None,
    }
}

/// The rank of a clause that names the ids: it leaves fewer than a compartment does, as no other clause surely does.
pub(super) const RANK_OF_IDS: u8 = 0;

fn rank_of(parameter: &Parameter, test: &Test) -> u8 {
    match test {
        Test::OfType { .. } | Test::Reference { .. } | Test::In(_) => 1,
        Test::Token { code: Some(_), .. } if parameter.code == "identifier" => 1,
        Test::Uri { .. } | Test::Token { code: Some(_), .. } => 3,
        Test::Text { .. } | Test::Display(_) | Test::Composite(_) => 4,
        Test::Period(_) | Test::Number(_) | Test::Quantity { .. } => 6,
        Test::Token { code: None, .. } => 7,
    }
}
