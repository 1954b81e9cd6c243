//! What holds for any query string.

use std::sync::{Arc, LazyLock};

use fhir_resource::property_testing;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::clause::{IndexEntryPredicate, SearchClause};
use crate::{
    ComparisonPrefix, CompiledSearchParameter, IndexEntry, IndexedDocument, SearchParameterCatalog, SearchParameterType,
};

static CATALOG: LazyLock<Arc<SearchParameterCatalog>> = LazyLock::new(SearchParameterCatalog::with_r4_only);
const OWN: &str = "https://payer.example/fhir";
const KINDS: [&str; 5] = ["Patient", "Observation", "RiskAssessment", "ValueSet", "Client"];

fn read(
    resource_type: &str,
    handling: UnknownParameterHandling,
    name: &str,
    value: &str,
) -> Result<(SearchRequest, Vec<IgnoredSearchParameter>), SearchError> {
    let resource_type = resource_type.parse().unwrap();
    let request =
        SearchParseContext { resource_type: &resource_type, handling, now_us: 1_767_225_600_000_000, base_url: OWN };
    parse_search(&CATALOG, &request, [(name, value)])
}

/// Returns the names of parameters, with what may be around them, and any text.
fn name() -> impl Strategy<Value = String> {
    let codes = ["code", "_id", "_tag", "subject", "patient", "date", "name", "probability", "url", "value-quantity"];
    let before = ["", "", "", "_has:Observation:patient:", "subject:Patient.", "patient.", "subject."];
    let after = ["", "", ":not", ":missing", ":exact", ":Patient", ":identifier", ":in", ":of-type", ":x", "."];
    let known = (select(before.to_vec()), select(codes.to_vec()), select(after.to_vec()));
    let answer = ["_sort", "_count", "_include", "_revinclude:iterate", "_total", "_summary", "_elements", "_cursor"];
    prop_oneof![
        4 => known.prop_map(|(before, code, after)| format!("{before}{code}{after}")),
        1 => select(answer.to_vec()).prop_map(str::to_owned),
        1 => ".{0,20}",
    ]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "(gt|le|ap|ne|)[0-9.eE+-]{0,8}",
        "(ge|sa|)(19|20)[0-9]{2}(-[01][0-9](-[0-3][0-9](T[0-2][0-9]:[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?(Z|[+-][01][0-9]:00)?)?)?)?",
        r"[a-z/:|,$\\é0-9]{0,20}",
        ".{0,20}",
        Just("true".to_owned()),
    ]
}

proptest! {
    #![proptest_config(property_testing::seeded_proptest_config(2000))]

    #[test]
    fn any_query_is_read_or_refused_and_what_is_read_has_an_answer(
        resource_type in select(&KINDS[..]),
        name in name(),
        value in value(),
        body in property_testing::any_json(),
    ) {
        let strict = read(resource_type, UnknownParameterHandling::Strict, &name, &value);
        let lenient = read(resource_type, UnknownParameterHandling::Lenient, &name, &value);
        match (&strict, &lenient) {
            (Ok((strict, none)), Ok((lenient, _))) => {
                prop_assert_eq!(strict, lenient);
                prop_assert!(none.is_empty());
            }
            (Err(fault), Ok((search, ignored))) => {
                prop_assert!(fault.is_ignorable_when_lenient() && search.clauses.is_empty());
                prop_assert_eq!(ignored, &vec![IgnoredSearchParameter { name, fault: fault.clone() }]);
            }
            (Err(strict), Err(lenient)) => prop_assert_eq!(strict, lenient),
            (Ok(_), Err(fault)) => prop_assert!(false, "only lenient refuses: {fault}"),
        }
        if let Ok((search, _)) = strict {
            let document = IndexedDocument { resource_type: &search.resource_type, id: "1", updated_us: 0, body: &body, base_url: OWN };
            let _ = search.matches(&document, None);
        }
    }

    #[test]
    fn a_fault_says_in_a_line_what_is_wrong(resource_type in select(&KINDS[..]), name in name(), value in value()) {
        if let Err(fault) = read(resource_type, UnknownParameterHandling::Strict, &name, &value) {
            prop_assert!(!fault.to_string().is_empty());
        }
    }

    /// What an engine compiles is about the rows of the parameter and no others.
    #[test]
    fn tests_are_of_the_kind_of_their_parameter(resource_type in select(&KINDS[..]), name in name(), value in value()) {
        if let Ok((search, _)) = read(resource_type, UnknownParameterHandling::Strict, &name, &value) {
            for clause in &search.clauses {
                if let SearchClause::Any { parameter, tests } | SearchClause::None { parameter, tests } = clause {
                    prop_assert!(!tests.is_empty() && tests.iter().all(|test| is_of(parameter, test)), "{:?}", clause);
                }
            }
        }
    }

    /// A resource is equal to what it holds, and neither above nor below it.
    #[test]
    fn a_date_equals_itself_and_lies_between_its_neighbours(day in "(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])") {
        let body = serde_json::json!({"birthDate": day});
        let resource_type = "Patient".parse().unwrap();
        let document = IndexedDocument { resource_type: &resource_type, id: "1", updated_us: 0, body: &body, base_url: OWN };
        for (prefix, expected) in
            [("", true), ("ne", false), ("lt", false), ("gt", false), ("le", true), ("ge", true), ("sa", false), ("eb", false), ("ap", true)]
        {
            let (search, _) = read("Patient", UnknownParameterHandling::Strict, "birthdate", &format!("{prefix}{day}")).unwrap();
            prop_assert_eq!(search.matches(&document, None), Ok(expected), "{}", prefix);
        }
        let year = day.split('-').next().unwrap_or_default();
        let (search, _) = read("Patient", UnknownParameterHandling::Strict, "birthdate", year).unwrap();
        prop_assert_eq!(search.matches(&document, None), Ok(true));
    }

    /// What a resource holds finds it, when it is asked for as it stands there.
    #[test]
    fn any_text_finds_itself(text in r"[^\x00]{1,30}", code in "[^\\s]{1,12}") {
        let escaped = |text: &str| text.chars().fold(String::new(), |escaped, c| match c {
            ',' | '|' | '$' | '\\' => escaped + "\\" + c.encode_utf8(&mut [0; 4]),
            c => escaped + c.encode_utf8(&mut [0; 4]),
        });
        let body = serde_json::json!({
            "name": {"family": text}, "language": code, "identifier": {"system": text, "value": code},
        });
        let resource_type = "Patient".parse().unwrap();
        let document = IndexedDocument { resource_type: &resource_type, id: "1", updated_us: 0, body: &body, base_url: OWN };
        let both = format!("{}|{}", escaped(&text), escaped(&code));
        for (name, value) in [
            ("family:exact", escaped(&text)),
            ("family", escaped(&text)),
            ("family:contains", escaped(&text)),
            ("identifier", both),
            ("identifier", escaped(&code)),
        ] {
            match read("Patient", UnknownParameterHandling::Strict, name, &value) {
                Ok((search, _)) => prop_assert_eq!(search.matches(&document, None), Ok(true), "{}={}", name, value),
                // Only accents: they fold to nothing, which begins every text.
                Err(SearchError::Value { .. }) => prop_assert!(name.starts_with("family")),
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }
}

fn is_of(parameter: &CompiledSearchParameter, test: &IndexEntryPredicate) -> bool {
    let resource_type = parameter.parameter_type;
    match test {
        IndexEntryPredicate::Token { .. } => {
            matches!(resource_type, SearchParameterType::Token | SearchParameterType::Reference)
        }
        IndexEntryPredicate::Display(_) | IndexEntryPredicate::OfType { .. } | IndexEntryPredicate::In(_) => {
            resource_type == SearchParameterType::Token
        }
        IndexEntryPredicate::Text { text, .. } => resource_type == SearchParameterType::String && !text.is_empty(),
        IndexEntryPredicate::Reference { .. } => resource_type == SearchParameterType::Reference,
        IndexEntryPredicate::Uri { .. } => {
            matches!(resource_type, SearchParameterType::Uri | SearchParameterType::Reference)
        }
        IndexEntryPredicate::Period(comparison) => {
            resource_type == SearchParameterType::Date && comparison.low <= comparison.high
        }
        IndexEntryPredicate::Number(comparison) => {
            resource_type == SearchParameterType::Number && comparison.low <= comparison.high
        }
        IndexEntryPredicate::Quantity { comparison, .. } => {
            resource_type == SearchParameterType::Quantity && comparison.low <= comparison.high
        }
        IndexEntryPredicate::Composite(tests) => {
            resource_type == SearchParameterType::Composite && tests.len() == parameter.components.len()
        }
    }
}

/// The prefixes as R4 words them, on the points of small ranges.
#[test]
fn a_comparison_means_what_its_words_say() {
    let ranges = || (0..5_i64).flat_map(|low| (low..5).map(move |high| (low, high)));
    for ((low, high), (from, to)) in ranges().flat_map(|asked| ranges().map(move |range| (asked, range))) {
        let asked = |point: &i64| (low..=high).contains(point);
        let points = || from..=to;
        let contains = points().all(|point| asked(&point));
        let above = points().any(|point| point > high);
        let below = points().any(|point| point < low);
        for (letters, prefix) in ComparisonPrefix::ALL_WITH_LETTERS {
            let expected = match letters {
                "eq" => contains,
                "ne" => !contains,
                "gt" => above,
                "lt" => below,
                "ge" => above || contains,
                "le" => below || contains,
                "sa" => points().all(|point| point > high),
                "eb" => points().all(|point| point < low),
                _ => points().any(|point| asked(&point)),
            };
            let test = IndexEntryPredicate::Period(crate::RangeComparison { prefix, low, high });
            let holds = test.matches_entry(&IndexEntry::Period { from_us: from, to_us: to });
            assert_eq!(holds, expected, "{letters}[{low}, {high}] on [{from}, {to}]");
        }
    }
}
