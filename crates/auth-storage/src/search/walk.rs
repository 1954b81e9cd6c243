//! Walks of an index in the order of an answer, each resource once.
//!
//! A resource may have several values of a parameter. The one that stands for it is the least, when descending the
//! greatest, of those it has, or of those that meet the clause; a walk passes over the others, for which it looks at
//! the other rows of the resource.

use fhir_resource::ResourceType;
use fhir_search::{
    ComparisonPrefix, CompiledSearchParameter, IndexEntryPredicate, RangeComparison, ResourceColumn, SearchClause,
    SearchParameterType, SortCriterion,
};

use super::driver::{is_from_above, single};
use super::row::{Place, ordered};
use super::statement::{Statement, Unanswerable, groups, hidden};
use crate::resources::Table;

/// A walk of rows `d`.
pub(super) struct Walk {
    /// The rows.
    pub(super) from: String,
    /// What the rows meet.
    pub(super) conditions: Vec<String>,
    /// The column whose order the walk has.
    pub(super) column: &'static str,
    /// What the column is, as a key of the order; `@` is the column.
    pub(super) key: &'static str,
    /// A key, as the column is compared with it; `@` is the key.
    pub(super) value: &'static str,
    /// Whether the greatest come first.
    pub(super) descending: bool,
    /// Whether resources that the walk has no row of may match as well.
    pub(super) leaves_out: bool,
}

/// How the rows of a table are ordered by one of its columns.
struct Ordering {
    /// The column, as `d` has it.
    column: &'static str,
    /// It and the columns that decide among the rows of one resource, as `d` and as `b` have them.
    of_row: &'static str,
    of_others: &'static str,
}

/// Returns the order of the values of a table for which there is an index.
fn ordering(place: Place, descending: bool) -> Option<Ordering> {
    let (column, of_row, of_others) = match (place, descending) {
        (Place::Range, true) => ("d.high", "d.high, d.low", "b.high + 0, b.low"),
        (Place::Range, false) => ("d.low", "d.low, d.high", "b.low + 0, b.high"),
        (Place::Quantity, true) => ("d.high", "d.high, d.low, d.code, d.system", "b.high + 0, b.low, b.code, b.system"),
        (Place::Text, _) => ("d.folded", "d.folded, d.exact", "b.folded || '', b.exact"),
        (Place::Reference, _) => ("d.target", "d.target, d.kind", "b.target || '', b.kind"),
        (Place::Quantity, false) | (Place::Token, _) => return None,
    };
    Some(Ordering { column, of_row, of_others })
}

const fn place_of(kind: SearchParameterType) -> Option<Place> {
    match kind {
        SearchParameterType::Date | SearchParameterType::Number => Some(Place::Range),
        SearchParameterType::Quantity => Some(Place::Quantity),
        SearchParameterType::String => Some(Place::Text),
        SearchParameterType::Reference => Some(Place::Reference),
        SearchParameterType::Token | SearchParameterType::Uri | SearchParameterType::Composite => None,
    }
}

/// Returns whether an index has the order of a sort.
pub(super) fn has_order(sort: &SortCriterion) -> bool {
    let by_place =
        || place_of(sort.parameter.parameter_type).and_then(|place| ordering(place, sort.descending)).is_some();
    sort.parameter.resource_column().is_some() || (sort.parameter.sources.is_empty() && by_place())
}

/// Returns the walk of all resources in the order of a sort, with bounds from the clauses on the same parameter.
pub(super) fn of_sort(
    statement: &mut Statement<'_>,
    (table, kind): (&Table, &ResourceType),
    sort: &SortCriterion,
    clauses: &[SearchClause],
) -> Result<Option<Walk>, Unanswerable> {
    let on_it = clauses.iter().filter(|clause| clause.search_parameter().number == sort.parameter.number);
    if let Some(column) = sort.parameter.resource_column() {
        let mut walk = of_column(table, column, sort.descending);
        for clause in on_it {
            if let (ResourceColumn::LastUpdated, SearchClause::Any { tests, .. }) = (column, clause) {
                let condition = statement.of_column(column, tests).replace("t.ts", "d.ts");
                walk.conditions.push(condition);
            }
        }
        return Ok(Some(walk));
    }
    let Some(place) = place_of(sort.parameter.parameter_type) else { return Ok(None) };
    let Some(ordering) = ordering(place, sort.descending) else { return Ok(None) };
    let number = statement.number(kind, &sort.parameter)?;
    let number = statement.bind(number);
    let mut conditions = vec![format!("d.parameter = {number}")];
    let mut leaves_out = true;
    for clause in on_it {
        leaves_out &= !matches!(clause, SearchClause::Any { .. });
        if let Some((comparison, value)) = single(clause).and_then(|(_, test)| bound(test, sort.descending)) {
            conditions.push(format!("{} {comparison} {}", ordering.column, statement.bind(value)));
        }
    }
    conditions.push(stands_for_resource((place, &ordering, sort.descending), &format!("b.parameter = {number}")));
    let from = format!("{} d", place.table());
    let descending = sort.descending;
    Ok(Some(Walk { from, conditions, column: ordering.column, key: "@", value: "@", descending, leaves_out }))
}

/// Returns whether the resource `d` has no value that a sort orders it by.
pub(super) fn has_no_value(
    statement: &mut Statement<'_>,
    kind: &ResourceType,
    sort: &SortCriterion,
) -> Result<String, Unanswerable> {
    let Some(place) = place_of(sort.parameter.parameter_type) else { return Ok("TRUE".to_owned()) };
    let number = statement.number(kind, &sort.parameter)?;
    let number = statement.bind(number);
    Ok(format!("NOT EXISTS (SELECT 1 FROM {} i WHERE i.parameter = {number} AND i.id = d.id {{fence}})", place.table()))
}

/// Returns the walk of the values that meet a clause of [`super::driver::valued`], in their order.
pub(super) fn of_clause(
    statement: &mut Statement<'_>,
    (table, kind): (&Table, &ResourceType),
    clause: &SearchClause,
) -> Result<Option<Walk>, Unanswerable> {
    let Some((parameter, test)) = single(clause) else { return Ok(None) };
    let descending = is_descending(test);
    if let (Some(column), SearchClause::Any { tests, .. }) = (parameter.resource_column(), clause) {
        let mut walk = of_column(table, column, descending);
        walk.conditions.push(statement.of_column(column, tests).replace("t.ts", "d.ts"));
        return Ok(Some(walk));
    }
    of_values(statement, (kind, parameter), test)
}

fn of_values(
    statement: &mut Statement<'_>,
    (kind, parameter): (&ResourceType, &CompiledSearchParameter),
    test: &IndexEntryPredicate,
) -> Result<Option<Walk>, Unanswerable> {
    let descending = is_descending(test);
    let number = statement.number(kind, parameter)?;
    let groups = groups(std::slice::from_ref(test), statement.contains());
    let Some(group) = groups.first() else { return Ok(None) };
    let Some(ordering) = ordering(group.place, descending) else { return Ok(None) };
    let condition = statement.group(number, group);
    let others = hidden(&condition).replace("i.", "b.");
    let conditions =
        vec![condition.replace("i.", "d."), stands_for_resource((group.place, &ordering, descending), &others)];
    let from = format!("{} d", group.place.table());
    Ok(Some(Walk { from, conditions, column: ordering.column, key: "@", value: "@", descending, leaves_out: false }))
}

/// Returns whether the order of the values that meet a test begins with the greatest.
pub(super) const fn is_descending(test: &IndexEntryPredicate) -> bool {
    match test {
        IndexEntryPredicate::Period(comparison) => is_from_above(comparison.prefix),
        IndexEntryPredicate::Number(comparison) | IndexEntryPredicate::Quantity { comparison, .. } => {
            is_from_above(comparison.prefix)
        }
        _ => false,
    }
}

/// No other row of the resource that meets `others` comes before the row `d`.
fn stands_for_resource((place, ordering, descending): (Place, &Ordering, bool), others: &str) -> String {
    let Ordering { of_row, of_others, .. } = ordering;
    let before = if descending { ">" } else { "<" };
    format!(
        "NOT EXISTS (SELECT 1 FROM {} b {} WHERE {others} AND b.id = d.id AND ({of_others}) {before} ({of_row}) {{fence}})",
        place.table(),
        place.by_id()
    )
}

fn of_column(table: &Table, column: ResourceColumn, descending: bool) -> Walk {
    let from = format!("{} d", table.quoted());
    let (column, key, value) = match column {
        ResourceColumn::Id => ("d.id", "@", "@"),
        ResourceColumn::LastUpdated => ("d.ts", "{us:@}", "{from_us:@}"),
    };
    Walk { from, conditions: Vec::new(), column, key, value, descending, leaves_out: false }
}

/// Returns where the order of a parameter may end for a test on it: the key of a resource is at least as far on as the
/// value that meets the test. Where the order may begin does not follow, because of several values one meets the test
/// and another is the key.
fn bound(test: &IndexEntryPredicate, descending: bool) -> Option<(&'static str, i64)> {
    let comparison = match test {
        IndexEntryPredicate::Period(comparison) => *comparison,
        IndexEntryPredicate::Number(RangeComparison { prefix, low, high })
        | IndexEntryPredicate::Quantity { comparison: RangeComparison { prefix, low, high }, .. } => {
            RangeComparison { prefix: *prefix, low: ordered(*low), high: ordered(*high) }
        }
        _ => return None,
    };
    let RangeComparison { prefix, low, high } = comparison;
    match (prefix, descending) {
        (ComparisonPrefix::Equal | ComparisonPrefix::GreaterOrEqual | ComparisonPrefix::Approximate, true) => {
            Some((">=", low))
        }
        (ComparisonPrefix::Greater | ComparisonPrefix::StartsAfter, true) => Some((">", high)),
        (ComparisonPrefix::Equal | ComparisonPrefix::LessOrEqual | ComparisonPrefix::Approximate, false) => {
            Some(("<=", high))
        }
        (ComparisonPrefix::Less | ComparisonPrefix::EndsBefore, false) => Some(("<", low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of a resource with several values, and whether one of them meets the test.
    #[test]
    fn the_order_ends_behind_every_resource_that_meets_a_test() {
        let values = [1_i64, 2, 3, 4];
        let ranges: Vec<(i64, i64)> =
            values.into_iter().flat_map(|low| (low..=4).map(move |high| (low, high))).collect();
        for (_, prefix) in ComparisonPrefix::ALL_WITH_LETTERS {
            for (low, high) in ranges.clone() {
                let wanted = RangeComparison { prefix, low, high };
                for (one, other) in ranges.iter().flat_map(|one| ranges.iter().map(move |other| (one, other))) {
                    if !wanted.matches_range(&one.0, &one.1) && !wanted.matches_range(&other.0, &other.1) {
                        continue;
                    }
                    let greatest = one.1.max(other.1);
                    let least = one.0.min(other.0);
                    for (key, descending) in [(greatest, true), (least, false)] {
                        let within = match bound(&IndexEntryPredicate::Period(wanted), descending) {
                            Some((">=", value)) => key >= value,
                            Some((">", value)) => key > value,
                            Some(("<=", value)) => key <= value,
                            Some(("<", value)) => key < value,
                            _ => true,
                        };
                        assert!(within, "{wanted:?} {one:?} {other:?} descending {descending}");
                    }
                }
            }
        }
    }
}
