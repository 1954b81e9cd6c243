//! Reading and printing, whatever the input.

use proptest::prelude::*;
use smart_scopes::{Scope, ScopeParseError, ScopeSet, limits};

/// Strings that come close to being scopes, and quite often are.
fn near_scopes() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec!["patient/", "user/", "system/", "launch/", "launch", "openid", "__own", ""]);
    let middle = prop::sample::select(vec!["*", "Patient", "observation", "Observation", "patient", "9", ""]);
    let permissions = prop::sample::select(vec![".rs", ".read", ".write", ".*", ".cruds", ".sr", ".", ".rr", ""]);
    let query = prop::sample::select(vec![
        "?status=final",
        "?category=http://a%7Cb&code:in=x",
        "?_include=a",
        "?%5fhas:x=y",
        "?role=pcp",
        "?a",
        "?a=%zz",
        "?",
        "",
    ]);
    (start, middle, permissions, query, "[ -~]{0,3}").prop_map(|(a, b, c, d, e)| format!("{a}{b}{c}{d}{e}"))
}

fn is_fit_for_error_description(text: &str) -> bool {
    text.chars().all(|c| (' '..='~').contains(&c) && c != '"' && c != '\\')
}

proptest! {
    #![proptest_config(crate::seeded())]

    #[test]
    fn any_string_is_read_or_refused_without_a_panic(text in any::<String>()) {
        if let Err(refusal) = text.parse::<Scope>() {
            prop_assert!(is_fit_for_error_description(&refusal.to_string()), "{refusal}");
        }
        let _ = ScopeSet::parse(&text);
    }

    #[test]
    fn a_scope_prints_as_it_was_sent(text in near_scopes()) {
        match text.parse::<Scope>() {
            Ok(scope) => prop_assert_eq!(scope.to_string(), text),
            Err(refusal) => prop_assert!(is_fit_for_error_description(&refusal.to_string()), "{}", refusal),
        }
    }

    #[test]
    fn a_printed_set_reads_back_as_itself(texts in prop::collection::vec(near_scopes(), 0..8)) {
        let set: ScopeSet = texts.iter().filter_map(|text| text.parse::<Scope>().ok()).collect();
        prop_assert_eq!(ScopeSet::parse(&set.to_string()), Ok(set));
    }
}

#[test]
fn a_list_keeps_its_order_and_drops_repeated_spellings() {
    let set = ScopeSet::parse(" openid  patient/*.rs openid patient/*.read ").unwrap();
    assert_eq!(set.to_string(), "openid patient/*.rs patient/*.read");
}

#[test]
fn an_empty_list_is_an_empty_set() {
    assert!(ScopeSet::parse("").unwrap().is_empty());
    assert!(ScopeSet::parse("  ").unwrap().is_empty());
}

#[test]
fn one_bad_scope_refuses_its_whole_list() {
    let refusal = ScopeSet::parse("openid patient/Observation.sr").unwrap_err();
    assert_eq!(refusal, ScopeParseError::PermissionsOutOfOrder { permissions: "sr".to_owned() });
}

#[test]
fn a_registered_entry_with_a_space_is_refused() {
    let refusal = ScopeSet::from_registered(["openid fhirUser"]).unwrap_err();
    assert_eq!(refusal, ScopeParseError::IllegalCharacter { position: 6 });
}

#[test]
fn an_empty_registered_entry_is_refused() {
    assert_eq!(ScopeSet::from_registered([""]), Err(ScopeParseError::Empty));
}

#[test]
fn characters_outside_a_scope_token_are_refused_with_their_place() {
    for (text, position) in [("open\"id", 4), ("a\\b", 1), ("a\tb", 1), ("caf\u{e9}", 3), ("\u{7f}", 0)] {
        assert_eq!(text.parse::<Scope>(), Err(ScopeParseError::IllegalCharacter { position }), "{text:?}");
    }
}

#[test]
fn the_longest_scope_is_read_and_one_byte_more_is_not() {
    let longest = "x".repeat(limits::MAX_SCOPE_BYTES);
    assert!(longest.parse::<Scope>().is_ok());
    let bytes = limits::MAX_SCOPE_BYTES + 1;
    assert_eq!(format!("{longest}x").parse::<Scope>(), Err(ScopeParseError::TooLong { bytes }));
}

#[test]
fn the_longest_list_is_read_and_one_byte_more_is_not() {
    let longest = " ".repeat(limits::MAX_LIST_BYTES);
    assert!(ScopeSet::parse(&longest).is_ok());
    let bytes = limits::MAX_LIST_BYTES + 1;
    assert_eq!(ScopeSet::parse(&format!("{longest} ")), Err(ScopeParseError::ListTooLong { bytes }));
}

#[test]
fn a_full_list_is_read_and_one_scope_more_is_not() {
    let numbered = |count: usize| (0..count).map(|n| format!("s{n}")).collect::<Vec<_>>();
    assert_eq!(ScopeSet::from_registered(numbered(limits::MAX_SCOPES)).unwrap().len(), limits::MAX_SCOPES);
    let refusal = ScopeSet::from_registered(numbered(limits::MAX_SCOPES + 1)).unwrap_err();
    assert_eq!(refusal, ScopeParseError::TooManyScopes);
    let repeated = numbered(limits::MAX_SCOPES).into_iter().chain(["s0".to_owned()]);
    assert!(ScopeSet::from_registered(repeated).is_ok(), "a repeated scope does not count");
}

#[test]
fn a_query_with_too_many_parameters_is_refused() {
    let query = |count: usize| (0..count).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&");
    let scope = |count: usize| format!("patient/Observation.rs?{}", query(count)).parse::<Scope>();
    assert!(scope(limits::MAX_QUERY_PARAMETERS).is_ok());
    assert_eq!(scope(limits::MAX_QUERY_PARAMETERS + 1), Err(ScopeParseError::TooManyParameters));
}
