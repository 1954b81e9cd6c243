use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use serde_json::{Value, json};

use crate::{CompiledPattern, PatternCompileError, PatternCompileErrorKind};

fn compiled(pattern: &Value) -> CompiledPattern {
    CompiledPattern::compile(pattern).unwrap_or_else(|errors| panic!("{pattern}: {errors:?}"))
}

fn request() -> Value {
    json!({
        "uri": "/fhir/Patient/1",
        "user": {"id": "u1", "age": 3, "nothing": null, "data": {"orgs": [{"id": "o1"}, {"id": "o2"}]}},
        "params": {"resource/id": "p1"},
    })
}

/// Asserts for each row whether the value (`None`: missing) meets the pattern.
fn check(pattern: &Value, rows: impl IntoIterator<Item = (Option<Value>, bool)>) {
    let compiled = compiled(pattern);
    for (value, expected) in rows {
        let verdict = compiled.matches(value.as_ref(), &request());
        assert_eq!(verdict, expected, "pattern {pattern}, value {value:?}");
    }
}

#[test]
fn a_number_or_boolean_is_equal_by_value() {
    check(
        &json!(1),
        [
            (Some(json!(1)), true),
            (Some(json!(1.0)), true),
            (Some(json!(2)), false),
            (Some(json!("1")), false),
            (Some(json!(true)), false),
            (Some(json!(null)), false),
            (None, false),
        ],
    );
    check(&json!(9_007_199_254_740_993_i64), [(Some(json!(9_007_199_254_740_992_i64)), false)]);
    check(
        &json!(true),
        [(Some(json!(true)), true), (Some(json!(false)), false), (Some(json!("true")), false), (None, false)],
    );
}

#[test]
fn a_regex_is_found_anywhere_unless_anchored() {
    check(
        &json!("#Patient"),
        [
            (Some(json!("/fhir/Patient/1")), true),
            (Some(json!("Patient")), true),
            (Some(json!("/fhir/patient")), false),
            (Some(json!(7)), false),
            (Some(json!(["Patient"])), false),
            (Some(json!(null)), false),
            (None, false),
        ],
    );
    check(
        &json!("#^/fhir/Patient$"),
        [
            (Some(json!("/fhir/Patient")), true),
            (Some(json!("/fhir/Patient/1")), false),
            (Some(json!("/x/fhir/Patient")), false),
        ],
    );
    check(
        &json!("#^/fhir/Group/.*\\$davinci-data-export$"),
        [
            (Some(json!("/fhir/Group/g1/$davinci-data-export")), true),
            (Some(json!("/fhir/Group/g1/davinci-data-export")), false),
        ],
    );
}

#[test]
fn a_path_string_is_equal_to_the_value_there() {
    check(
        &json!(".user.id"),
        [(Some(json!("u1")), true), (Some(json!("u2")), false), (Some(json!(".user.id")), false), (None, false)],
    );
    check(&json!(".params.resource/id"), [(Some(json!("p1")), true), (Some(json!("p2")), false)]);
    check(&json!(".user.data.orgs.1.id"), [(Some(json!("o2")), true), (Some(json!("o1")), false)]);
    check(&json!(".user.data.orgs"), [(Some(json!([{"id": "o1"}, {"id": "o2"}])), true)]);
    check(&json!(".user.age"), [(Some(json!(3.0)), true), (Some(json!("3")), false)]);
}

#[test]
fn a_path_that_leads_nowhere_is_never_equal() {
    for path in [".user.absent", ".absent.id", ".user.nothing", ".user.id.deeper", ".user.data.orgs.9.id"] {
        check(
            &json!(path),
            [(None, false), (Some(json!(null)), false), (Some(json!("")), false), (Some(json!("u1")), false)],
        );
    }
}

#[test]
fn present_nil_and_not_blank_tell_what_is_there() {
    check(
        &json!("present?"),
        [
            (Some(json!("")), true),
            (Some(json!(false)), true),
            (Some(json!([])), true),
            (Some(json!(null)), false),
            (None, false),
        ],
    );
    check(
        &json!("nil?"),
        [(None, true), (Some(json!(null)), true), (Some(json!("")), false), (Some(json!({})), false)],
    );
    check(
        &json!("not-blank?"),
        [
            (Some(json!("x")), true),
            (Some(json!(" x ")), true),
            (Some(json!(" \t\n")), false),
            (Some(json!("")), false),
            (Some(json!(1)), false),
            (Some(json!(["x"])), false),
            (None, false),
        ],
    );
}

#[test]
fn another_string_is_equal_and_a_leading_caret_means_nothing() {
    check(
        &json!("get"),
        [(Some(json!("get")), true), (Some(json!("GET")), false), (Some(json!("get ")), false), (None, false)],
    );
    check(&json!("^/fhir"), [(Some(json!("/fhir/Patient")), false), (Some(json!("^/fhir")), true)]);
    check(&json!(""), [(Some(json!("")), true), (None, false)]);
}

#[test]
fn null_matches_a_null_that_is_there() {
    check(&json!(null), [(Some(json!(null)), true), (None, false), (Some(json!("")), false), (Some(json!(0)), false)]);
}

#[test]
fn an_object_checks_its_keys_and_ignores_others() {
    let pattern = json!({"a": 1, "b": {"c": "present?"}});
    check(
        &pattern,
        [
            (Some(json!({"a": 1, "b": {"c": 2}})), true),
            (Some(json!({"a": 1, "b": {"c": 2, "d": 3}, "e": 4})), true),
            (Some(json!({"a": 1, "b": {}})), false),
            (Some(json!({"a": 1})), false),
            (Some(json!("a")), false),
            (Some(json!([1])), false),
            (Some(json!(1)), false),
            (None, false),
        ],
    );
}

#[test]
fn a_missing_object_gives_every_key_a_missing_value() {
    check(
        &json!({"a": "nil?", "b": {"c": "nil?"}}),
        [
            (None, true),
            (Some(json!(null)), true),
            (Some(json!({})), true),
            (Some(json!({"a": 1})), false),
            (Some(json!("text")), false),
        ],
    );
}

#[test]
fn an_empty_object_always_passes() {
    for value in [None, Some(json!(null)), Some(json!("x")), Some(json!([])), Some(json!({"a": 1}))] {
        check(&json!({}), [(value, true)]);
    }
}

#[test]
fn an_array_is_a_positional_prefix() {
    check(
        &json!(["a", "#^b"]),
        [
            (Some(json!(["a", "b"])), true),
            (Some(json!(["a", "bc", "d"])), true),
            (Some(json!(["b", "a"])), false),
            (Some(json!(["a"])), false),
            (Some(json!([])), false),
            (Some(json!("a")), false),
            (Some(json!({"0": "a", "1": "b"})), false),
            (None, false),
        ],
    );
    check(&json!(["a", "nil?"]), [(Some(json!(["a"])), true), (Some(json!(["a", "b"])), false)]);
    check(&json!([]), [(Some(json!([])), true), (Some(json!([1])), true), (Some(json!({})), false), (None, false)]);
}

#[test]
fn enum_accepts_one_of_its_values_literally() {
    check(
        &json!({"$enum": ["get", "post", 1, null, {"a": [1]}]}),
        [
            (Some(json!("get")), true),
            (Some(json!(1.0)), true),
            (Some(json!(null)), true),
            (Some(json!({"a": [1.0]})), true),
            (Some(json!("put")), false),
            (Some(json!(["get"])), false),
            (None, false),
        ],
    );
    check(
        &json!({"$enum": ["#a", "present?"]}),
        [(Some(json!("#a")), true), (Some(json!("abc")), false), (Some(json!(5)), false)],
    );
    check(&json!({"$enum": []}), [(Some(json!(null)), false), (None, false)]);
}

#[test]
fn one_of_needs_one_pattern_and_its_siblings_too() {
    check(
        &json!({"$one-of": ["get", "#^p"]}),
        [(Some(json!("get")), true), (Some(json!("post")), true), (Some(json!("delete")), false), (None, false)],
    );
    check(&json!({"$one-of": []}), [(Some(json!(1)), false), (None, false)]);
    let with_sibling = json!({"active": true, "$one-of": [{"kind": "a"}, {"kind": "b"}]});
    check(
        &with_sibling,
        [
            (Some(json!({"active": true, "kind": "a"})), true),
            (Some(json!({"active": true, "kind": "c"})), false),
            (Some(json!({"active": false, "kind": "a"})), false),
            (Some(json!({"kind": "a"})), false),
        ],
    );
}

#[test]
fn not_is_the_complement_also_of_a_missing_value() {
    check(
        &json!({"$not": "a"}),
        [(Some(json!("b")), true), (Some(json!("a")), false), (Some(json!(null)), true), (None, true)],
    );
    check(&json!({"$not": "present?"}), [(None, true), (Some(json!(1)), false)]);
    check(&json!({"$not": ".user.absent"}), [(None, true), (Some(json!("x")), true)]);
}

#[test]
fn contains_needs_an_array_with_a_matching_element() {
    check(
        &json!({"$contains": {"value": "admin"}}),
        [
            (Some(json!([{"value": "x"}, {"value": "admin", "type": "r"}])), true),
            (Some(json!([{"value": "x"}])), false),
            (Some(json!([])), false),
            (Some(json!({"value": "admin"})), false),
            (Some(json!("admin")), false),
            (None, false),
        ],
    );
}

#[test]
fn every_needs_an_array_whose_elements_all_match() {
    check(
        &json!({"$every": "#^a"}),
        [
            (Some(json!(["a", "ab"])), true),
            (Some(json!([])), true),
            (Some(json!(["a", "b"])), false),
            (Some(json!(["a", 1])), false),
            (Some(json!("a")), false),
            (None, false),
        ],
    );
}

#[test]
fn present_all_needs_each_pattern_somewhere() {
    check(
        &json!({"$present-all": ["a", "#^b"]}),
        [
            (Some(json!(["bb", "x", "a"])), true),
            (Some(json!(["a", "c"])), false),
            (Some(json!([])), false),
            (Some(json!("a")), false),
            (None, false),
        ],
    );
    check(&json!({"$present-all": ["#a", "#b"]}), [(Some(json!(["ab"])), true)]);
    check(
        &json!({"$present-all": ["a", "b"], "$length": 2}),
        [(Some(json!(["b", "a"])), true), (Some(json!(["b", "a", "c"])), false)],
    );
}

#[test]
fn length_counts_the_elements_of_an_array() {
    check(
        &json!({"$length": 2}),
        [
            (Some(json!([1, 2])), true),
            (Some(json!([1])), false),
            (Some(json!("ab")), false),
            (Some(json!({"a": 1, "b": 2})), false),
            (None, false),
        ],
    );
    check(&json!({"$length": 0}), [(Some(json!([])), true), (None, false)]);
}

#[test]
fn reference_normalises_every_form_before_it_matches() {
    check(
        &json!({"$reference": {"resourceType": "Patient", "id": "1"}}),
        [
            (Some(json!("Patient/1")), true),
            (Some(json!({"reference": "Patient/1"})), true),
            (Some(json!({"reference": "Patient/1/_history/2"})), true),
            (Some(json!({"resourceType": "Patient", "id": "1"})), true),
            (Some(json!("Patient/2")), false),
            (Some(json!({"reference": "Practitioner/1"})), false),
            (Some(json!("https://elsewhere.example/fhir/Patient/1")), false),
            (Some(json!("Patient/1/name")), false),
            (Some(json!("Patient")), false),
            (Some(json!("Patient/")), false),
            (Some(json!("/1")), false),
            (Some(json!("urn:uuid:1")), false),
            (Some(json!({"display": "x"})), false),
            (Some(json!(7)), false),
            (None, false),
        ],
    );
    check(
        &json!({"$reference": {"id": ".params.resource/id"}}),
        [(Some(json!("Patient/p1")), true), (Some(json!("Patient/p2")), false)],
    );
}

#[test]
fn errors_of_a_pattern_are_all_named_with_their_place() {
    let pattern = json!({
        "uri": "#(?=x)",
        "user": {"$is": 1, "roles": {"$contains": [{"$length": -1}]}},
        "a": {"$one-of": "x"},
        "b": ".x..y",
        "c": ".",
        "$enum": {},
        "$present-all": 1,
    });
    let errors = CompiledPattern::compile(&pattern).unwrap_err();
    let places: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(
        places,
        ["uri", "user.$is", "user.roles.$contains[0].$length", "a.$one-of", "b", "c", "$enum", "$present-all"]
    );
    assert!(matches!(&errors[0].kind, PatternCompileErrorKind::Regex(_)));
    assert!(matches!(&errors[1].kind, PatternCompileErrorKind::UnknownOperator(name) if name == "$is"));
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({"$not": inner}))
}

#[test]
fn the_limits_of_a_pattern_hold() {
    assert!(CompiledPattern::compile(&nested(32)).is_ok());
    let too_deep = CompiledPattern::compile(&nested(33)).unwrap_err();
    assert!(matches!(too_deep.as_slice(), [PatternCompileError { kind: PatternCompileErrorKind::TooDeep, .. }]));
    assert!(CompiledPattern::compile(&json!(vec![1; 1999])).is_ok());
    let too_large = CompiledPattern::compile(&json!(vec![1; 5000])).unwrap_err();
    assert!(matches!(too_large.as_slice(), [PatternCompileError { kind: PatternCompileErrorKind::TooLarge, .. }]));
    let long_regex = format!("#{}", "a".repeat(2000));
    let huge_regex = "#(((\\w{50}){50}){50})".to_owned();
    for regex in [long_regex, huge_regex] {
        let errors = CompiledPattern::compile(&json!(regex)).unwrap_err();
        assert!(matches!(&errors[0].kind, PatternCompileErrorKind::Regex(_)));
    }
    let many = CompiledPattern::compile(&json!(vec!["#a"; 65])).unwrap_err();
    assert!(matches!(many.as_slice(), [PatternCompileError { kind: PatternCompileErrorKind::TooManyRegexes, .. }]));
    assert!(CompiledPattern::compile(&json!(vec!["#a"; 64])).is_ok());
}

#[test]
fn an_explanation_names_each_unmet_condition_with_what_was_there() {
    let pattern = compiled(&json!({"uri": "#^/x", "user": {"roles": {"$contains": "a"}}, "list": ["p", "q"]}));
    let value = json!({"uri": "/fhir", "list": ["p", "r"]});
    let found = pattern.unmet_conditions(Some(&value), &value);
    let expected = [
        (json!(["uri"]), json!("#^/x"), json!("/fhir")),
        (json!(["user", "roles"]), json!({"$contains": "a"}), json!(null)),
        (json!(["list", 1]), json!("q"), json!("r")),
    ];
    let found: Vec<_> = found.into_iter().map(|m| (Value::Array(m.path), m.expected, m.but)).collect();
    assert_eq!(found, expected);
}

fn json_values(leaf: BoxedStrategy<Value>, key: &'static str) -> BoxedStrategy<Value> {
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((key, inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

fn values() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[ab]{0,2}|u1|Patient/1".prop_map(Value::from),
    ];
    json_values(leaf.boxed(), "[abc]|id|reference|resourceType|user")
}

fn patterns() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[ab]{0,2}|present\\?|nil\\?|not-blank\\?|#a|#\\^b|\\.user\\.id|\\.[ab]".prop_map(Value::from),
    ];
    let key = "[abc]|id|\\$not|\\$contains|\\$every|\\$reference|\\$one-of|\\$enum|\\$present-all|\\$length|\\$x";
    json_values(leaf.boxed(), key)
}

proptest! {
    #![proptest_config(Config {
        cases: 500,
        rng_seed: RngSeed::Fixed(0x6d61_7463),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn no_pattern_and_value_make_it_panic(pattern in patterns(), value in values(), request in values()) {
        if let Ok(pattern) = CompiledPattern::compile(&pattern) {
            let _ = pattern.matches(Some(&value), &request);
            let _ = pattern.matches(None, &request);
        }
    }

    #[test]
    fn any_json_compiles_or_is_refused_with_an_error(pattern in json_values("\\PC{0,12}".prop_map(Value::from).boxed(), "\\PC{0,6}")) {
        if let Err(errors) = CompiledPattern::compile(&pattern) {
            prop_assert!(!errors.is_empty());
        }
    }

    #[test]
    fn not_is_the_complement_of_every_pattern(pattern in patterns(), value in prop::option::of(values()), request in values()) {
        if let Ok(plain) = CompiledPattern::compile(&pattern) {
            let complement = compiled(&json!({"$not": pattern}));
            prop_assert_ne!(plain.matches(value.as_ref(), &request), complement.matches(value.as_ref(), &request));
        }
    }

    #[test]
    fn an_explanation_is_empty_exactly_when_the_pattern_matches(pattern in patterns(), value in prop::option::of(values()), request in values()) {
        if let Ok(pattern) = CompiledPattern::compile(&pattern) {
            let unmet = pattern.unmet_conditions(value.as_ref(), &request);
            prop_assert_eq!(unmet.is_empty(), pattern.matches(value.as_ref(), &request));
        }
    }

    #[test]
    fn what_an_explanation_expects_is_itself_a_pattern(pattern in patterns(), value in values()) {
        if let Ok(pattern) = CompiledPattern::compile(&pattern) {
            for mismatch in pattern.unmet_conditions(Some(&value), &json!({})) {
                prop_assert!(CompiledPattern::compile(&mismatch.expected).is_ok());
            }
        }
    }
}
