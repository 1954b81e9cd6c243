//! What a search walks: the parameter that leaves the fewest, or the order of the answer.
//!
//! The cost of a page is that of what it walks until it is full. A parameter that leaves few resources is walked as a
//! whole; where none does, the matches lie close together in every order, so the search walks the order of its answer
//! and ends with the page. Which it is decides a count of the rows of each parameter that stops at [`FEW`]; it is not
//! needed where a parameter says enough by itself, such as a patient.

use fhir_resource::ResourceType;
use fhir_search::{
    ComparisonPrefix, CompiledSearchParameter, IndexEntryPredicate, ResourceColumn, SearchClause, SearchParameterType,
    StringMatchMode,
};
use fhir_store::SearchQuery;

use super::statement::{Group, Statement, Unanswerable, groups};

/// As few resources as are all looked at, and sorted where that is asked for. A parameter that leaves more has a page
/// of matches within a few thousand rows of any order, up to a million resources.
pub(crate) const FEW: i64 = 1_000;
/// Most parameters whose rows are counted.
const COUNTED_MAX: usize = 6;
/// Most values of a clause whose rows are counted: planning a longer list costs more than it shows.
const COUNTED_VALUES_MAX: usize = 64;
/// Most walks by id that are merged.
const MERGED_MAX: usize = 8;

/// How a search goes about its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Walks a source by id and ends with the page.
    ById(Source),
    /// Looks at all of a source and sorts what matches.
    Few(Source),
    /// Walks the index of the first key of the order and ends with the page.
    InOrder,
    /// Walks the values that meet this clause in their order, which is that of the answer, and ends with the page.
    ByValue(usize),
}

/// Where the ids come from that the other clauses are tested on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// All of the type.
    Table,
    /// The compartment that the caller is confined to.
    Compartment,
    /// What meets the clause of this index.
    Clause(usize),
}

/// What the order of a page is by, when the search does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    /// It is the first page, or the search says.
    No,
    /// A page by id comes before it.
    ById,
    /// A page by the values of a clause comes before it.
    ByValue,
}

/// A clause that could be walked.
struct Candidate {
    at: usize,
    rank: u8,
    /// Whether its rows lie in the order of the ids.
    is_by_id: bool,
    /// How many values it has.
    values: usize,
}

/// The ways there are before anything is counted.
pub(super) enum Choice {
    /// One is the best whatever is stored.
    Made(Way),
    /// The rows of these clauses decide.
    Count(Contest),
}

/// Clauses of which the rows decide which one is walked.
pub(super) struct Contest {
    candidates: Vec<Candidate>,
    is_sorted: bool,
    /// As few as are looked at one by one ([`FEW`]).
    few: i64,
    /// What is walked when all of them leave many.
    many: Way,
}

/// Chooses among the ways, or says what has to be counted first. `walks_order` is whether an index has the order the
/// search asks for.
pub(super) fn choose(
    statement: &mut Statement<'_>,
    query: &SearchQuery,
    (begun, walks_order): (Begun, bool),
) -> Result<Choice, Unanswerable> {
    let search = &query.search;
    let is_sorted = !search.sort.is_empty();
    if let Some(at) = search.clauses.iter().position(names_ids) {
        return Ok(Choice::Made(Way::Few(Source::Clause(at))));
    }
    let way =
        |is_by_id: bool, source: Source| if is_by_id && !is_sorted { Way::ById(source) } else { Way::Few(source) };
    // What a token for one patient may see is little, whatever the query says.
    if statement.compartment(&search.resource_type, &query.within)?.is_some() {
        return Ok(Choice::Made(way(true, Source::Compartment)));
    }
    let candidates = candidates(statement, &search.resource_type, &search.clauses)?;
    let many = many(&candidates, &search.clauses, begun);
    let Some(best) = candidates.first() else {
        return Ok(Choice::Made(if walks_order { Way::InOrder } else { way(true, Source::Table) }));
    };
    if best.rank == RANK_OF_FEW {
        return Ok(Choice::Made(way(best.is_by_id, Source::Clause(best.at))));
    }
    if best.values > COUNTED_VALUES_MAX {
        return Ok(Choice::Made(way(best.is_by_id, Source::Clause(best.at))));
    }
    if begun == Begun::ByValue {
        return Ok(Choice::Made(many));
    }
    if !is_sorted && candidates.len() == 1 && best.is_by_id {
        return Ok(Choice::Made(Way::ById(Source::Clause(best.at))));
    }
    let many = match (is_sorted, walks_order) {
        (false, _) => many,
        (true, true) => Way::InOrder,
        (true, false) => Way::Few(Source::Clause(best.at)),
    };
    Ok(Choice::Count(Contest { candidates, is_sorted, few: statement.db.few(), many }))
}

impl Contest {
    /// A statement that counts the rows of each clause up to [`FEW`]: rows of a place and a count.
    pub(super) fn count(&self, statement: &mut Statement<'_>, query: &SearchQuery) -> Result<String, Unanswerable> {
        let counted = self.candidates.get(..COUNTED_MAX).unwrap_or(&self.candidates);
        let few = self.few;
        let mut counts = Vec::with_capacity(counted.len());
        for (place, candidate) in counted.iter().enumerate() {
            let Some(clause) = query.search.clauses.get(candidate.at) else { continue };
            let set = statement.set(&query.search.resource_type, clause)?;
            counts.push(format!(
                "SELECT CAST({place} AS BIGINT), CAST(count(*) AS BIGINT) FROM (SELECT 1 AS one FROM ({set}) AS u LIMIT {few}) AS c"
            ));
        }
        Ok(counts.join(" UNION ALL "))
    }

    /// Returns the way, by the places and counts of the clauses.
    pub(super) fn decide(&self, counts: &[(i64, i64)]) -> Way {
        let counted =
            counts.iter().filter(|(_, count)| *count < self.few).min_by_key(|(place, count)| (*count, *place));
        let fewest = counted.and_then(|(place, _)| self.candidates.get(usize::try_from(*place).ok()?));
        match fewest {
            Some(fewest) if fewest.is_by_id && !self.is_sorted => Way::ById(Source::Clause(fewest.at)),
            Some(fewest) => Way::Few(Source::Clause(fewest.at)),
            None => self.many,
        }
    }
}

/// Returns the way of a search whose rows are not counted: the clause that by its kind leaves the fewest, by id.
pub(super) fn guess(statement: &mut Statement<'_>, query: &SearchQuery) -> Result<Way, Unanswerable> {
    let search = &query.search;
    if let Some(at) = search.clauses.iter().position(names_ids) {
        return Ok(Way::Few(Source::Clause(at)));
    }
    if statement.compartment(&search.resource_type, &query.within)?.is_some() {
        return Ok(Way::ById(Source::Compartment));
    }
    Ok(match candidates(statement, &search.resource_type, &search.clauses)?.first() {
        Some(best) if best.is_by_id => Way::ById(Source::Clause(best.at)),
        Some(best) => Way::Few(Source::Clause(best.at)),
        None => Way::ById(Source::Table),
    })
}

/// Returns the way to matches in any order where every clause leaves many.
pub(super) fn any_order(statement: &Statement<'_>, query: &SearchQuery) -> Result<Way, Unanswerable> {
    let candidates = candidates(statement, &query.search.resource_type, &query.search.clauses)?;
    Ok(many(&candidates, &query.search.clauses, Begun::No))
}

/// Returns whether a clause names the ids: it leaves fewer than a compartment does, as no other clause surely does.
pub(super) fn names_ids(clause: &SearchClause) -> bool {
    matches!(clause, SearchClause::Any { parameter, .. } if parameter.resource_column() == Some(ResourceColumn::Id))
}

/// Returns the clause by whose values a search is ordered that asks for no order and whose clauses all leave many.
pub(super) fn valued(clauses: &[SearchClause]) -> Option<usize> {
    let is_text = |clause: &SearchClause| matches!(single(clause), Some((_, IndexEntryPredicate::Text { .. })));
    let is_valued = |clause: &&SearchClause| is_valued(clause);
    let texts = clauses.iter().position(|clause| is_text(clause) && is_valued(&clause));
    texts.or_else(|| clauses.iter().position(|clause| is_valued(&clause)))
}

fn is_valued(clause: &SearchClause) -> bool {
    let Some((parameter, test)) = single(clause) else { return false };
    if parameter.resource_column() == Some(ResourceColumn::Id) || !parameter.sources.is_empty() {
        return false;
    }
    match test {
        IndexEntryPredicate::Period(comparison) => comparison.prefix != ComparisonPrefix::NotEqual,
        IndexEntryPredicate::Number(comparison) => comparison.prefix != ComparisonPrefix::NotEqual,
        IndexEntryPredicate::Quantity { comparison, .. } => is_from_above(comparison.prefix),
        IndexEntryPredicate::Text { how, .. } => *how != StringMatchMode::Contains,
        _ => false,
    }
}

/// Returns the one test of a clause.
pub(super) fn single(clause: &SearchClause) -> Option<(&CompiledSearchParameter, &IndexEntryPredicate)> {
    match clause {
        SearchClause::Any { parameter, tests } => match tests.as_slice() {
            [one] => Some((parameter, one)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether what a comparison bounds is the end of a range, so that the greatest come first.
pub(super) const fn is_from_above(prefix: ComparisonPrefix) -> bool {
    match prefix {
        ComparisonPrefix::Equal
        | ComparisonPrefix::Greater
        | ComparisonPrefix::GreaterOrEqual
        | ComparisonPrefix::StartsAfter
        | ComparisonPrefix::Approximate => true,
        ComparisonPrefix::NotEqual
        | ComparisonPrefix::Less
        | ComparisonPrefix::LessOrEqual
        | ComparisonPrefix::EndsBefore => false,
    }
}

/// Returns where every clause leaves many.
fn many(candidates: &[Candidate], clauses: &[SearchClause], begun: Begun) -> Way {
    let by_id = candidates.iter().find(|candidate| candidate.is_by_id);
    let by_id = by_id.map(|candidate| Way::ById(Source::Clause(candidate.at)));
    let valued = valued(clauses);
    // The beginning of a name leaves fewer than a code that many have.
    let is_text = valued
        .and_then(|at| single(clauses.get(at)?))
        .is_some_and(|(_, test)| matches!(test, IndexEntryPredicate::Text { .. }));
    let valued = valued.map(Way::ByValue);
    let chosen = match begun {
        Begun::ById => by_id,
        Begun::No if !is_text => by_id.or(valued),
        Begun::No | Begun::ByValue => valued.or(by_id),
    };
    chosen.unwrap_or(Way::ById(Source::Table))
}

/// Returns the clauses that may be walked, the one that by its kind leaves the fewest first.
fn candidates(
    statement: &Statement<'_>,
    kind: &ResourceType,
    clauses: &[SearchClause],
) -> Result<Vec<Candidate>, Unanswerable> {
    let mut candidates = Vec::new();
    for (at, clause) in clauses.iter().enumerate() {
        if let Some(rank) = rank(clause) {
            let is_by_id = statement.keyed(kind, clause)?.is_some();
            let values = values(clause);
            let rank = if values > COUNTED_VALUES_MAX { rank.max(RANK_OF_UNBOUNDED) } else { rank };
            candidates.push(Candidate { at, rank, is_by_id, values });
        }
    }
    candidates.sort_by_key(|candidate| (candidate.rank, candidate.at));
    // What an index does not bound is walked when there is nothing else.
    let bounded = candidates.iter().filter(|candidate| candidate.rank < RANK_OF_UNBOUNDED).count();
    candidates.truncate(bounded.max(1));
    Ok(candidates)
}

/// Returns how many values a clause has, or those it leads to.
fn values(clause: &SearchClause) -> usize {
    match clause {
        SearchClause::Any { tests, .. } | SearchClause::None { tests, .. } => tests.len(),
        SearchClause::Missing { .. } => 1,
        SearchClause::Chain(chain) => chain.any_of.iter().map(|(_, clause)| values(clause)).sum(),
        SearchClause::Has(has) => values(&has.clause),
    }
}

/// The rank of clauses of which few resources are sure to be found, whatever is stored: those of one patient, and
/// those that have an identifier.
const RANK_OF_FEW: u8 = 1;
/// The rank from which on a walk reads more than what it finds.
const RANK_OF_UNBOUNDED: u8 = 7;

/// Returns how few resources a clause leaves, the fewest first; `None` for what leaves most.
fn rank(clause: &SearchClause) -> Option<u8> {
    match clause {
        SearchClause::Any { parameter, tests } => tests.iter().map(|test| rank_of(parameter, test)).max(),
        SearchClause::Chain(_) | SearchClause::Has(_) => Some(5),
        SearchClause::Missing { parameter, missing: false } if parameter.resource_column().is_none() => Some(9),
        SearchClause::None { .. } | SearchClause::Missing { .. } => None,
    }
}

fn rank_of(parameter: &CompiledSearchParameter, test: &IndexEntryPredicate) -> u8 {
    let of_prefix = |prefix: ComparisonPrefix| if prefix == ComparisonPrefix::NotEqual { 8 } else { 6 };
    match test {
        IndexEntryPredicate::OfType { .. } => RANK_OF_FEW,
        IndexEntryPredicate::Token { code: Some(_), .. } if parameter.code == "identifier" => RANK_OF_FEW,
        IndexEntryPredicate::Reference { resource_type: kind, .. } if is_patient(parameter, kind.as_ref()) => {
            RANK_OF_FEW
        }
        IndexEntryPredicate::Reference { .. } | IndexEntryPredicate::In(_) => 2,
        IndexEntryPredicate::Uri { .. } | IndexEntryPredicate::Token { code: Some(_), .. } => 3,
        IndexEntryPredicate::Text { how: StringMatchMode::Contains, .. }
        | IndexEntryPredicate::Token { code: None, .. } => RANK_OF_UNBOUNDED,
        IndexEntryPredicate::Text { .. } | IndexEntryPredicate::Display(_) | IndexEntryPredicate::Composite(_) => 4,
        IndexEntryPredicate::Period(comparison) => of_prefix(comparison.prefix),
        IndexEntryPredicate::Number(comparison) | IndexEntryPredicate::Quantity { comparison, .. } => {
            of_prefix(comparison.prefix)
        }
    }
}

/// Returns whether a reference is to a patient, of whom there are few resources.
fn is_patient(parameter: &CompiledSearchParameter, kind: Option<&ResourceType>) -> bool {
    kind.map_or_else(|| matches!(parameter.code.as_str(), "patient" | "subject"), |kind| kind.as_str() == "Patient")
}

impl Statement<'_> {
    /// Returns the walks of a clause in which the ids lie in their order, one for each code or target of its parameter;
    /// `None` where there are none, or too many to be merged.
    pub(super) fn keyed(
        &self,
        kind: &ResourceType,
        clause: &SearchClause,
    ) -> Result<Option<Vec<(i64, Group)>>, Unanswerable> {
        let SearchClause::Any { parameter, tests } = clause else { return Ok(None) };
        let has_composite = tests.iter().any(|test| matches!(test, IndexEntryPredicate::Composite(_)));
        if parameter.resource_column().is_some()
            || has_composite
            || parameter.parameter_type == SearchParameterType::Composite
        {
            return Ok(None);
        }
        let numbers = self.numbers(kind, parameter)?;
        let mut walks = Vec::new();
        for group in groups(tests, self.contains()) {
            if group.keys.is_empty() {
                return Ok(None);
            }
            for group in group.by_key() {
                walks.extend(numbers.iter().map(|number| (*number, group.clone())));
            }
        }
        Ok((1..=MERGED_MAX).contains(&walks.len()).then_some(walks))
    }

    /// Returns the walks of [`keyed`](Self::keyed) as parts of the statement.
    pub(super) fn walks_by_id(&mut self, walks: &[(i64, Group)]) -> Vec<String> {
        let mut written = Vec::with_capacity(walks.len());
        for (number, group) in walks {
            let condition = self.group(*number, group);
            written.push(format!("SELECT i.id FROM {} i WHERE {condition}", group.place.table()));
        }
        written
    }
}
