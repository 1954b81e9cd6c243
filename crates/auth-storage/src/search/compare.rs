//! One test on an entry as a condition on a row.

use fhir_search::{
    CodeSystemMatch, ComparisonPrefix, IndexEntryPredicate, QuantityUnitMatch, RangeComparison, StringMatchMode,
    UriMatchMode,
};

use super::row::{self, Place, digest_of, ordered, typed, uri_number};
use super::statement::Bound;

/// Greater than every character a text goes on with.
pub(super) const LAST: char = char::MAX;

/// Characters by which a text is looked for that is then compared as a whole.
const EXACT_BEGINNING: usize = 32;

/// A condition on a row, with the values it compares with in their places.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    /// The table the row is in.
    pub(super) place: Place,
    /// What is to be added to the number of the parameter.
    pub(super) number: i64,
    /// The code or target that the row has to have ([`Place::key`]), where the test names one: then the rows that meet
    /// the condition lie together in the index, in the order of their ids.
    pub(super) key: Option<Bound>,
    /// SQL on the row `i` for everything else; `?` stands for each value, and an empty text for no more conditions.
    pub(super) sql: String,
    /// The values.
    pub(super) bound: Vec<Bound>,
}

/// A condition that is being built.
struct Built {
    key: Option<Bound>,
    sql: Vec<String>,
    bound: Vec<Bound>,
}

impl Built {
    const fn new() -> Self {
        Self { key: None, sql: Vec::new(), bound: Vec::new() }
    }

    fn of_key(key: impl Into<Bound>) -> Self {
        Self { key: Some(key.into()), ..Self::new() }
    }

    fn and<const N: usize>(mut self, sql: &str, bound: [Bound; N]) -> Self {
        self.sql.push(sql.to_owned());
        self.bound.extend(bound);
        self
    }

    fn at(self, place: Place, number: i64) -> Condition {
        Condition { place, number, key: self.key, sql: self.sql.join(" AND "), bound: self.bound }
    }
}

impl Condition {
    /// All of it as SQL on the row `i`, with the values in their order.
    pub(super) fn whole(&self) -> (String, Vec<Bound>) {
        let key = self.key.iter().map(|_| format!("i.{} = ?", self.place.key()));
        let all: Vec<String> = key.chain([self.sql.clone()].into_iter().filter(|sql| !sql.is_empty())).collect();
        let all = if all.is_empty() { "TRUE".to_owned() } else { all.join(" AND ") };
        (all, self.key.iter().chain(&self.bound).cloned().collect())
    }

    fn has_nul(&self) -> bool {
        let has_nul = |value: &Bound| matches!(value, Bound::Text(text) if text.contains('\0'));
        self.bound.iter().chain(&self.key).any(has_nul)
    }
}

/// Returns the conditions of which a row has to meet one to stand for a test, none for a test that no row meets.
/// `contains` is the engine's function for the position of one text in another.
pub(super) fn conditions(test: &IndexEntryPredicate, contains: &str) -> Vec<Condition> {
    let mut conditions = of_test(test, contains);
    // No document holds the character NUL, and Postgres refuses it even as a parameter.
    if conditions.iter().any(Condition::has_nul) {
        conditions.clear();
    }
    conditions
}

fn of_test(test: &IndexEntryPredicate, contains: &str) -> Vec<Condition> {
    let one = match test {
        IndexEntryPredicate::Token { system, code } => token(system, code.as_deref()),
        IndexEntryPredicate::Display(words)
        | IndexEntryPredicate::Text { how: StringMatchMode::Starts, text: words } => started(words).at(Place::Text, 0),
        IndexEntryPredicate::OfType { system, code, value } => {
            let built = Built::of_key(typed(value, code));
            of_system(built, system.as_deref()).at(Place::Token, row::typed_number(0))
        }
        IndexEntryPredicate::In(_) | IndexEntryPredicate::Composite(_) => return Vec::new(),
        IndexEntryPredicate::Text { how: StringMatchMode::Contains, text } => {
            Built::new().and(&format!("{contains}(i.folded, ?) > 0"), [text.as_str().into()]).at(Place::Text, 0)
        }
        IndexEntryPredicate::Text { how: StringMatchMode::Exact, text } => {
            // Its beginning bounds the walk; what is folded may be cut at its end.
            let beginning: String = fhir_search::fold_case_and_accents(text).chars().take(EXACT_BEGINNING).collect();
            started(&beginning).and("i.exact = ?", [digest_of(Some(text)).into()]).at(Place::Text, 0)
        }
        IndexEntryPredicate::Reference { resource_type: kind, id } => {
            let built = Built::of_key(id.as_str());
            match kind {
                Some(kind) => built.and("i.kind = ?", [kind.as_str().into()]),
                None => built,
            }
            .at(Place::Reference, 0)
        }
        IndexEntryPredicate::Uri { how, uri, version } => return of_uri(*how, uri, version.as_deref()),
        IndexEntryPredicate::Period(comparison) => {
            compared(comparison.prefix, comparison.low, comparison.high).at(Place::Range, 0)
        }
        IndexEntryPredicate::Number(comparison) => number(comparison).at(Place::Range, 0),
        IndexEntryPredicate::Quantity { comparison, unit } => match unit {
            QuantityUnitMatch::Any => number(comparison),
            QuantityUnitMatch::Named(name) => number(comparison).and("i.code = ?", [name.as_str().into()]),
            QuantityUnitMatch::Coded { system, code } => number(comparison)
                .and("i.code = ?", [code.as_str().into()])
                .and("i.system = ?", [digest_of(Some(system)).into()]),
        }
        .at(Place::Quantity, 0),
    };
    vec![one]
}

fn token(system: &CodeSystemMatch, code: Option<&str>) -> Condition {
    let built = code.map_or_else(Built::new, Built::of_key);
    let built = match system {
        CodeSystemMatch::Any => built,
        CodeSystemMatch::None => built.and("i.system = 0", []),
        CodeSystemMatch::Is(system) => of_system(built, Some(system)),
    };
    built.at(Place::Token, 0)
}

fn of_system(built: Built, system: Option<&str>) -> Built {
    match system {
        Some(system) => built.and("i.system = ?", [digest_of(Some(system)).into()]),
        None => built,
    }
}

fn started(text: &str) -> Built {
    let end = format!("{text}{LAST}");
    Built::new().and("i.folded >= ? AND i.folded < ?", [text.into(), end.into()])
}

fn of_uri(how: UriMatchMode, uri: &str, version: Option<&str>) -> Vec<Condition> {
    let at = |built: Built| of_system(built, version).at(Place::Token, uri_number(0));
    match how {
        UriMatchMode::Equals => vec![at(Built::of_key(uri))],
        // What goes on behind a slash lies between it and the next character.
        UriMatchMode::Below => {
            let root = if uri.ends_with('/') { uri.to_owned() } else { format!("{uri}/") };
            let end = format!("{root}{LAST}");
            let below = Built::new().and("i.code >= ? AND i.code < ?", [root.into(), end.into()]);
            vec![at(Built::of_key(uri)), at(below)]
        }
        UriMatchMode::Above => roots(uri).into_iter().map(|root| at(Built::of_key(root))).collect(),
    }
}

/// Returns the URI and what it is below: the beginnings before and behind each slash.
fn roots(uri: &str) -> Vec<&str> {
    let cuts = uri.match_indices('/').flat_map(|(at, _)| [at, at + 1]).chain([uri.len()]);
    let mut roots: Vec<&str> = cuts.filter_map(|end| uri.get(..end)).filter(|root| !root.is_empty()).collect();
    roots.dedup();
    roots
}

fn number(comparison: &RangeComparison<f64>) -> Built {
    compared(comparison.prefix, ordered(comparison.low), ordered(comparison.high))
}

/// A range is never less at its end than at its beginning, and the index is ordered by the end: so what
/// bounds the end stands first wherever something does.
fn compared(prefix: ComparisonPrefix, low: i64, high: i64) -> Built {
    let (low, high) = (Bound::from(low), Bound::from(high));
    let built = Built::new();
    match prefix {
        ComparisonPrefix::Equal => built.and("i.high >= ? AND i.high <= ? AND i.low >= ?", [low.clone(), high, low]),
        ComparisonPrefix::NotEqual => built.and("NOT (i.low >= ? AND i.high <= ?)", [low, high]),
        ComparisonPrefix::Greater => built.and("i.high > ?", [high]),
        ComparisonPrefix::Less => built.and("i.low < ?", [low]),
        ComparisonPrefix::GreaterOrEqual => {
            built.and("i.high >= ? AND (i.high > ? OR i.low >= ?)", [low.clone(), high, low])
        }
        ComparisonPrefix::LessOrEqual => {
            built.and("i.low <= ? AND (i.low < ? OR i.high <= ?)", [high.clone(), low, high])
        }
        ComparisonPrefix::StartsAfter => built.and("i.high > ? AND i.low > ?", [high.clone(), high]),
        ComparisonPrefix::EndsBefore => built.and("i.high < ?", [low]),
        ComparisonPrefix::Approximate => built.and("i.high >= ? AND i.low <= ?", [low, high]),
    }
}

/// The same comparison with a column of one time instead of a range.
pub(super) fn instant(comparison: &RangeComparison<i64>, column: &str) -> (String, Vec<Bound>) {
    let built = compared(comparison.prefix, comparison.low, comparison.high);
    let sql = built.sql.join(" AND ").replace("i.high", column).replace("i.low", column);
    (sql, built.bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_below_each_of_its_segments() {
        let expected = ["http:", "http:/", "http://", "http://a", "http://a/", "http://a/b"];
        assert_eq!(roots("http://a/b"), expected);
        assert_eq!(roots("urn:x"), ["urn:x"]);
    }

    #[test]
    fn a_text_that_is_no_word_of_a_code_stays_a_value() {
        let test = IndexEntryPredicate::Token { system: CodeSystemMatch::Any, code: Some("' OR 1=1 --".to_owned()) };
        let conditions = conditions(&test, "strpos");
        let [condition] = conditions.as_slice() else { panic!("{conditions:?}") };
        assert_eq!((condition.sql.as_str(), &condition.bound), ("", &Vec::new()));
        assert_eq!(condition.key, Some("' OR 1=1 --".into()));
    }

    #[test]
    fn every_comparison_of_a_range_agrees_with_the_model() {
        let values = [1_i64, 2, 3, 4, 5];
        for (_, prefix) in ComparisonPrefix::ALL_WITH_LETTERS {
            for (asked_low, asked_high) in values.into_iter().flat_map(|low| (low..=5).map(move |high| (low, high))) {
                let asked = RangeComparison { prefix, low: asked_low, high: asked_high };
                let built = compared(prefix, asked_low, asked_high);
                for (low, high) in values.into_iter().flat_map(|low| (low..=5).map(move |high| (low, high))) {
                    assert_eq!(holds(&built, low, high), asked.matches_range(&low, &high), "{asked:?} {low} {high}");
                }
            }
        }
    }

    /// Just enough of SQL to read the conditions above.
    fn holds(built: &Built, low: i64, high: i64) -> bool {
        let mut bound = built.bound.iter();
        let text = built.sql.join(" AND ");
        let (negated, text) = text.strip_prefix("NOT ").map_or((false, text.as_str()), |rest| (true, rest));
        let plain = text.replace(['(', ')'], "");
        let mut all = true;
        for all_of in plain.split(" AND ") {
            let mut any = false;
            for one in all_of.split(" OR ") {
                let words: Vec<&str> = one.split(' ').collect();
                let [column, operator, _] = words.as_slice() else { panic!("{one}") };
                let column = if *column == "i.low" { low } else { high };
                let Some(Bound::Integer(value)) = bound.next() else { panic!("{one}") };
                any |= match *operator {
                    ">" => column > *value,
                    "<" => column < *value,
                    ">=" => column >= *value,
                    "<=" => column <= *value,
                    other => panic!("{other}"),
                };
            }
            all &= any;
        }
        all != negated
    }
}
