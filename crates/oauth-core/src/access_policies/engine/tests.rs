use serde_json::json;

use super::*;

fn refusal(resource: &Value) -> Vec<(String, ResourceIssueCode)> {
    let issues = PolicyEngine::read(resource).unwrap_err();
    issues.into_iter().map(|issue| (issue.expression, issue.code)).collect()
}

fn passes(engine: &PolicyEngine, request: &Value, answers: &[bool]) -> Option<bool> {
    let request = request.clone();
    engine.passes(&EngineInput { request: &|| &request, explicit: false, answers }).ok()
}

fn matcho(uri: &str) -> Value {
    json!({"engine": "matcho", "matcho": {"uri": uri}})
}

fn sql() -> Value {
    json!({"engine": "sql", "sql": {"query": "SELECT true"}})
}

#[test]
fn every_part_of_and_and_one_part_of_or_has_to_pass() {
    let user = json!({"engine": "json-schema", "schema": {"required": ["user"]}});
    let both = PolicyEngine::read(&json!({"engine": "complex", "and": [matcho("/a"), user.clone()]})).unwrap();
    let either = PolicyEngine::read(&json!({"engine": "complex", "or": [matcho("/a"), user]})).unwrap();
    for (request, and, or) in [
        (json!({"uri": "/a", "user": 1}), true, true),
        (json!({"uri": "/a"}), false, true),
        (json!({"uri": "/b", "user": 1}), false, true),
        (json!({"uri": "/b"}), false, false),
    ] {
        assert_eq!((passes(&both, &request, &[]), passes(&either, &request, &[])), (Some(and), Some(or)), "{request}");
    }
}

#[test]
fn the_database_is_asked_only_for_what_decides() {
    let engine = PolicyEngine::read(&json!({"engine": "complex", "and": [
        matcho("/a"),
        {"engine": "complex", "or": [sql(), sql()]},
    ]}))
    .unwrap();
    assert!(engine.needs_database());
    assert_eq!(passes(&engine, &json!({"uri": "/b"}), &[]), Some(false), "nothing is asked");
    let request = json!({"uri": "/a"});
    assert_eq!(passes(&engine, &request, &[]), None, "the first question is open");
    assert_eq!(passes(&engine, &request, &[true]), Some(true), "the second is not asked");
    assert_eq!(passes(&engine, &request, &[false]), None);
    assert_eq!(passes(&engine, &request, &[false, true]), Some(true));
    assert_eq!(passes(&engine, &request, &[false, false]), Some(false));
}

#[test]
fn faults_of_parts_are_told_where_they_stand() {
    assert_eq!(refusal(&json!({"engine": "complex"})), [("AccessPolicy".to_owned(), ResourceIssueCode::Invariant)]);
    let both = json!({"engine": "complex", "and": [sql()], "or": [sql()]});
    assert_eq!(refusal(&both), [("AccessPolicy".to_owned(), ResourceIssueCode::Invariant)]);
    let empty = json!({"engine": "complex", "or": []});
    assert_eq!(refusal(&empty), [("AccessPolicy.or".to_owned(), ResourceIssueCode::Required)]);
    let parts = json!({"engine": "complex", "and": [
        {"engine": "sql"},
        {"engine": "complex", "or": [{"engine": "json-schema", "schema": 1}, {"engine": "matcho", "matcho": {"uri": "#("}}]},
        {"engine": "clj"},
        {},
    ]});
    assert_eq!(
        refusal(&parts),
        [
            ("AccessPolicy.and[0].sql.query".to_owned(), ResourceIssueCode::Required),
            ("AccessPolicy.and[1].or[0].schema".to_owned(), ResourceIssueCode::Value),
            ("AccessPolicy.and[1].or[1].matcho.uri".to_owned(), ResourceIssueCode::Value),
            ("AccessPolicy.and[2].engine".to_owned(), ResourceIssueCode::NotSupported),
            ("AccessPolicy.and[3].engine".to_owned(), ResourceIssueCode::Required),
        ]
    );
}

#[test]
fn a_policy_of_too_many_or_too_deep_parts_is_refused() {
    let wide = json!({"engine": "complex", "or": vec![sql(); MAX_PARTS]});
    assert_eq!(refusal(&wide).last().unwrap().1, ResourceIssueCode::TooLong);
    let nest = |inner, _| json!({"engine": "complex", "or": [inner]});
    let deep = (0..=MAX_DEPTH).fold(sql(), nest);
    assert_eq!(refusal(&deep)[0].1, ResourceIssueCode::TooLong);
    assert!(PolicyEngine::read(&(0..MAX_DEPTH).fold(sql(), nest)).is_ok());
}

#[test]
fn allow_counts_for_nothing_where_a_policy_has_to_spell_out_what_it_allows() {
    let request = json!({});
    let explicit = |engine: &PolicyEngine| {
        engine.passes(&EngineInput { request: &|| &request, explicit: true, answers: &[] }).ok()
    };
    assert_eq!(explicit(&PolicyEngine::Allow), Some(false));
    let hidden = PolicyEngine::read(&json!({"engine": "complex", "or": [{"engine": "allow"}]})).unwrap();
    assert_eq!(explicit(&hidden), Some(false));
    assert!(hidden.passes_all());
}
