//! Composites as parts of a statement.
//!
//! The values of the parts belong together by the id of their rows: that of the element they are of, or, where a
//! composite is about the resource as a whole, that of the resource. Then the parts have no rows of their own, and
//! those of the parameters that find the same are asked.

use std::sync::Arc;

use fhir_resource::ResourceType;
use fhir_search::{CompiledSearchParameter, IndexEntryPredicate, SearchParameterType};

use super::compare::{self, Condition};
use super::row::{ELEMENT_SUFFIX, Place, part_number};
use super::statement::{Statement, Unanswerable, Written, any_of, hidden, is_found_by_id, places};

/// Where the rows of the parts of a composite are.
struct PartRows {
    /// The number of each part.
    numbers: Vec<i64>,
    /// Whether the rows of each element have an id of their own; else they are those of the resource.
    of_elements: bool,
}

impl Statement<'_> {
    /// Returns what tests on composites find: ids, or, where one is known, whether it is among them.
    pub(super) fn composites(
        &mut self,
        (kind, parameter): (&ResourceType, &CompiledSearchParameter),
        tests: &[IndexEntryPredicate],
        id: Option<&str>,
    ) -> Result<Vec<String>, Unanswerable> {
        let mut found = Vec::new();
        for test in tests {
            if let IndexEntryPredicate::Composite(parts) = test
                && parts.len() == parameter.components.len()
            {
                let rows = self.rows_of_parts(kind, parameter)?;
                found.extend(self.parts(&rows, parts, id));
            }
        }
        Ok(found)
    }

    fn rows_of_parts(
        &self,
        kind: &ResourceType,
        parameter: &CompiledSearchParameter,
    ) -> Result<PartRows, Unanswerable> {
        let parts = self.index.catalog.parameters_standing_in_for_composite(kind, parameter);
        if parts.is_empty() {
            let number = self.number(kind, parameter)?;
            let numbers = (0..parameter.components.len()).map(|part| part_number(number, part));
            return Ok(PartRows { numbers: numbers.collect(), of_elements: true });
        }
        let numbers: Result<Vec<i64>, Unanswerable> = parts.iter().map(|part| self.number(kind, part)).collect();
        Ok(PartRows { numbers: numbers?, of_elements: false })
    }

    fn parts(&mut self, rows: &PartRows, parts: &[IndexEntryPredicate], id: Option<&str>) -> Option<String> {
        let alternatives: Vec<Vec<Condition>> =
            parts.iter().map(|part| compare::conditions(part, self.contains())).collect();
        if alternatives.iter().any(Vec::is_empty) {
            return None;
        }
        let mut ordered: Vec<(&Vec<Condition>, i64)> = alternatives.iter().zip(rows.numbers.iter().copied()).collect();
        // The walk begins with a code, which has few rows, or with what has no index by its id.
        ordered.sort_by_key(|(part, _)| part.iter().all(|condition| condition.key.is_none()));
        let mut tests = Vec::with_capacity(ordered.len());
        for (part, (conditions, number)) in ordered.iter().enumerate() {
            let (place, condition) = self.part(conditions, *number);
            let alias = format!("i{part}");
            let condition = if part == 0 { condition } else { hidden(&condition) };
            let condition = condition.replace("i.", &format!("{alias}."));
            tests.push((alias, place, condition));
        }
        let ((_, place, first), others) = tests.split_first()?;
        let others = others.iter().map(|(alias, place, condition)| {
            let (table, index) = (place.table(), place.by_id());
            format!(
                " AND EXISTS (SELECT 1 FROM {table} {alias} {index} WHERE {condition} AND {alias}.id = i0.id {{fence}})"
            )
        });
        let all = format!("{} i0 WHERE {first}{}", place.table(), others.collect::<Vec<_>>().concat());
        Some(match (id, rows.of_elements) {
            (None, false) => format!("SELECT i0.id AS id FROM {all}"),
            (None, true) => format!("SELECT {} AS id FROM {all}", bare("i0.id")),
            (Some(id), false) => format!("EXISTS (SELECT 1 FROM {all} AND i0.id = {id} {{fence}})"),
            (Some(id), true) => {
                format!("EXISTS (SELECT 1 FROM {all} AND i0.id >= {id} || ' ' AND i0.id < {id} || '!' {{fence}})")
            }
        })
    }

    /// Returns the condition on the row `i` of a part.
    fn part(&mut self, conditions: &[Condition], number: i64) -> (Place, String) {
        let (place, added) = conditions.first().map_or((Place::Token, 0), |first| (first.place, first.number));
        let number = self.bind(number + added);
        let alternatives: Vec<String> = conditions
            .iter()
            .map(|condition| {
                let (sql, bound) = condition.whole();
                self.filled(&sql, &bound)
            })
            .collect();
        (place, format!("i.parameter = {number} AND {}", any_of(&alternatives)))
    }

    /// Returns the ids that have a value of each part of a composite.
    pub(super) fn all_present(
        &mut self,
        kind: &ResourceType,
        (first, others): (&Arc<CompiledSearchParameter>, &[Arc<CompiledSearchParameter>]),
        at: Option<&str>,
    ) -> Written {
        let number = self.number(kind, first)?;
        let set = self.any_row(&compared_places(first.parameter_type, number), "i.id", at);
        let mut tests = Vec::with_capacity(others.len());
        for other in others {
            let number = self.number(kind, other)?;
            let by_id = is_found_by_id(other.parameter_type);
            let set = self.any_row(&compared_places(other.parameter_type, number), "i.id", by_id.then_some("o.id"));
            tests.push(if by_id { format!("EXISTS ({set})") } else { format!("o.id IN ({set})") });
        }
        Ok(format!("SELECT o.id FROM ({set}) AS o WHERE {}", tests.join(" AND ")))
    }
}

/// Returns where those values are that a part of a composite is compared with: neither words nor types of identifiers.
pub(super) fn compared_places(kind: SearchParameterType, number: i64) -> Vec<(Place, i64)> {
    match kind {
        SearchParameterType::Token => vec![(Place::Token, number)],
        // Those of URIs have the number of another part, or of another parameter.
        SearchParameterType::Reference => vec![(Place::Reference, number)],
        kind => places(kind, number),
    }
}

/// Returns the id of the resource that an element of a composite belongs to. A row without an element, which only
/// users' SQL can have written there, belongs to none: Postgres fails for a negative length.
pub(super) fn bare(id: &str) -> String {
    format!(
        "CASE WHEN length({id}) > {ELEMENT_SUFFIX} THEN substr({id}, 1, length({id}) - {ELEMENT_SUFFIX}) ELSE '' END"
    )
}
