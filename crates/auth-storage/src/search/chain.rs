//! Chains and `_has`: clauses on other resources, as parts of a statement.
//!
//! As a set, what meets the inner clause is walked and each of it leads to the references from it, or to it. As a test,
//! the references of the resource at hand lead to the few others that the inner clause is tested on.

use fhir_resource::ResourceType;
use fhir_search::{ChainedClause, ReverseChainedClause, SearchClause};

use sql_engines::SqlDialect;

use super::driver::names_ids;
use super::row::Place;
use super::statement::{NOTHING, Statement, Unanswerable, Written, any_of, union};

/// The index from a parameter and a target to the references: the primary key.
const BY_TARGET: &str = "{by:NOT INDEXED}";

impl Statement<'_> {
    /// Returns the ids of what refers to something that meets the inner clause, some twice.
    pub(super) fn chain(&mut self, kind: &ResourceType, chain: &ChainedClause) -> Written {
        let number = self.number(kind, &chain.parameter)?;
        let sets = self.open_types(chain, |statement, target, clause| {
            let inner = statement.reached(target, clause)?;
            let (place, target) = (statement.bind(number), statement.bind(target.as_str()));
            let condition = format!("r.parameter = {place} AND r.kind = {target} AND r.target = o.id");
            Ok(statement.led_from(&inner, ("id", BY_TARGET), &condition))
        })?;
        Ok(union(&sets))
    }

    /// Returns whether the resource with this id refers to something that meets the inner clause.
    pub(super) fn chain_at(&mut self, kind: &ResourceType, chain: &ChainedClause, id: &str) -> Written {
        let number = self.number(kind, &chain.parameter)?;
        let tests = self.open_types(chain, |statement, target, clause| {
            let alias = statement.alias();
            let inner = statement.reached_at(target, clause, &format!("{alias}.target"))?;
            let (place, target) = (statement.bind(number), statement.bind(target.as_str()));
            Ok(format!(
                "EXISTS (SELECT 1 FROM search_reference {alias} {index} WHERE {alias}.parameter = {place} AND {alias}.id = {id}
    AND {alias}.kind = {target} AND {inner} {{fence}})",
                index = Place::Reference.by_id(),
            ))
        })?;
        Ok(any_of(&tests))
    }

    /// Returns what is written for each type a chain may lead to. Of several types those count that the caller may
    /// search.
    fn open_types(
        &mut self,
        chain: &ChainedClause,
        mut write: impl FnMut(&mut Self, &ResourceType, &SearchClause) -> Written,
    ) -> Result<Vec<String>, Unanswerable> {
        let mut written = Vec::with_capacity(chain.any_of.len());
        let mut closed = false;
        for (target, clause) in &chain.any_of {
            match write(self, target, clause) {
                Err(Unanswerable::Closed) => closed = true,
                one => written.push(one?),
            }
        }
        if written.is_empty() && closed { Err(Unanswerable::Closed) } else { Ok(written) }
    }

    /// Returns the ids of what something that meets the inner clause refers to, some twice.
    pub(super) fn has(&mut self, kind: &ResourceType, has: &ReverseChainedClause) -> Written {
        let inner = self.reached(&has.resource_type, &has.clause)?;
        let Some(table) = self.db.known_table(kind.as_str()).filter(|_| self.is_known(&has.resource_type)) else {
            return Ok(NOTHING.to_owned());
        };
        let number = self.number(&has.resource_type, &has.parameter)?;
        let (place, target) = (self.bind(number), self.bind(kind.as_str()));
        let condition = format!("r.parameter = {place} AND r.kind = {target} AND r.id = o.id");
        let led = self.led_from(&inner, ("target", Place::Reference.by_id()), &condition);
        // A reference may be to something that is not there.
        Ok(format!(
            "SELECT h.id FROM ({led}) AS h WHERE EXISTS (SELECT 1 FROM {} t WHERE t.id = h.id {{fence}})",
            table.quoted()
        ))
    }

    /// Returns whether something that meets the inner clause refers to the resource with this id.
    pub(super) fn has_at(&mut self, kind: &ResourceType, has: &ReverseChainedClause, id: &str) -> Written {
        let alias = self.alias();
        let inner = self.reached_at(&has.resource_type, &has.clause, &format!("{alias}.id"))?;
        if !self.is_known(&has.resource_type) {
            return Ok("FALSE".to_owned());
        }
        let number = self.number(&has.resource_type, &has.parameter)?;
        let (place, target) = (self.bind(number), self.bind(kind.as_str()));
        Ok(format!(
            "EXISTS (SELECT 1 FROM search_reference {alias} {BY_TARGET} WHERE {alias}.parameter = {place} AND {alias}.target = {id}
    AND {alias}.kind = {target} AND {inner} {{fence}})"
        ))
    }

    fn is_known(&self, kind: &ResourceType) -> bool {
        self.db.known_table(kind.as_str()).is_some()
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("r{}", self.aliases)
    }

    /// A column of the references `r` that the ids `o` of a set lead to, one id after the other.
    fn led_from(&self, inner: &str, (column, index): (&str, &str), condition: &str) -> String {
        match self.dialect() {
            SqlDialect::Postgres => format!(
                "SELECT c.id FROM ({inner}) AS o CROSS JOIN LATERAL (
    SELECT r.{column} AS id FROM search_reference r WHERE {condition} {{fence}}) AS c"
            ),
            SqlDialect::Sqlite => {
                format!(
                    "SELECT r.{column} AS id FROM ({inner}) AS o CROSS JOIN search_reference r {index} WHERE {condition}"
                )
            }
        }
    }

    /// Returns the ids of another type that meet a clause and that the caller reaches.
    fn reached(&mut self, kind: &ResourceType, clause: &SearchClause) -> Written {
        let within = self.reaches.get(kind).ok_or(Unanswerable::Closed)?;
        if !self.is_known(kind) {
            return Ok(NOTHING.to_owned());
        }
        if !within.is_restricted() {
            return self.set(kind, clause);
        }
        let walked = if names_ids(clause) { None } else { self.compartment(kind, within)? };
        let (set, test) = match walked {
            Some(walked) => (walked, self.test(kind, clause, "o.id")?),
            None => (self.set(kind, clause)?, "TRUE".to_owned()),
        };
        let within = self.within(kind, within, "o.id")?;
        Ok(format!("SELECT o.id FROM ({set}) AS o WHERE {test} AND {within}"))
    }

    /// Returns whether the resource of another type with this id, which a reference names, is there, meets a clause and
    /// is reached by the caller.
    fn reached_at(&mut self, kind: &ResourceType, clause: &SearchClause, id: &str) -> Written {
        let within = self.reaches.get(kind).ok_or(Unanswerable::Closed)?;
        if !self.is_known(kind) {
            return Ok("FALSE".to_owned());
        }
        let mut all = vec![self.test(kind, clause, id)?];
        // What has rows is there.
        if !matches!(clause, SearchClause::Any { .. } | SearchClause::Chain(_)) {
            all.push(format!("EXISTS ({} {{fence}})", self.of_table(kind, &format!("t.id = {id}"))));
        }
        if within.is_restricted() {
            all.push(self.within(kind, within, id)?);
        }
        Ok(all.join(" AND "))
    }
}
