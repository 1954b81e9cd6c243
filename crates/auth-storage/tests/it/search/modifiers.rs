//! Every search parameter of R4 with every modifier: each is answered, or refused by name.

use fhir_search::{CompiledSearchParameter, SearchError, SearchParameterCatalog, SearchParameterType};

use super::*;

const MODIFIERS: [&str; 13] = [
    "",
    ":missing",
    ":exact",
    ":contains",
    ":text",
    ":not",
    ":of-type",
    ":identifier",
    ":above",
    ":below",
    ":in",
    ":not-in",
    ":Patient",
];
/// Parameters of one search: each becomes a part of one statement.
const AT_ONCE: usize = 24;

/// Rows under every number that a parameter can have, of a resource: what a statement does with rows it does not expect
/// is found out only when there are some.
fn strew(first_numbers: &[i64]) -> String {
    let first: Vec<String> = first_numbers.iter().map(|number| format!("({number})")).collect();
    let numbers = format!(
        "(WITH f (n) AS (VALUES {}), o (n) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7)) SELECT f.n + o.n AS n FROM f CROSS JOIN o) AS n",
        first.join(", ")
    );
    [
        "search_token (parameter, code, id, system) SELECT n.n, 'a', 'x', 0",
        "search_reference (parameter, target, id, kind) SELECT n.n, 'p', 'x', 'Patient'",
        "search_string (parameter, folded, id, exact) SELECT n.n, 'a', 'x', 0",
        "search_range (parameter, id, low, high) SELECT n.n, 'x', 1, 2",
        "search_quantity (parameter, id, low, high, code, system) SELECT n.n, 'x', 1, 2, 'mg', 0",
    ]
    .map(|insert| format!("INSERT INTO {insert} FROM {numbers} WHERE TRUE ON CONFLICT DO NOTHING;\n"))
    .concat()
}

fn value(parameter: &CompiledSearchParameter, modifier: &str) -> &'static str {
    match (modifier, parameter.parameter_type) {
        (":missing", _) => "false",
        (":of-type", _) => "s|t|v",
        (":in" | ":not-in", _) => "http://v",
        (":identifier", _) => "s|v",
        (_, SearchParameterType::Date) => "ge2020-01-01",
        (_, SearchParameterType::Number) => "gt1",
        (_, SearchParameterType::Quantity) => "gt1||mg",
        (_, SearchParameterType::Uri) => "http://a/b",
        (_, SearchParameterType::Reference) => "Patient/p",
        (_, SearchParameterType::Composite) => "",
        (_, SearchParameterType::Token | SearchParameterType::String) => "a",
    }
}

/// A value for each part of a composite.
fn composite(parameter: &CompiledSearchParameter) -> String {
    let parts = parameter.components.iter().map(|part| match part.parameter_type {
        SearchParameterType::Date => "2020",
        SearchParameterType::Number | SearchParameterType::Quantity => "1",
        SearchParameterType::Reference => "Patient/p",
        SearchParameterType::Uri => "http://a",
        SearchParameterType::Token | SearchParameterType::String | SearchParameterType::Composite => "a",
    });
    parts.collect::<Vec<_>>().join("$")
}

/// The searches by one parameter that are understood; others have to be refused as what they are.
fn understood(
    catalog: &SearchParameterCatalog,
    of: &ResourceType,
    parameter: &CompiledSearchParameter,
) -> Vec<SearchRequest> {
    let mut searches = Vec::new();
    for modifier in MODIFIERS {
        let name = format!("{}{modifier}", parameter.code);
        let value = match value(parameter, modifier) {
            "" => composite(parameter),
            value => value.to_owned(),
        };
        for value in if modifier == ":missing" { vec![value, "true".to_owned()] } else { vec![value] } {
            match parse_search(catalog, &SearchParseContext::strict(of, OWN, NOW_US), [(name.as_str(), value.as_str())])
            {
                Ok((mut search, _)) => {
                    let codes = [("http://v".to_owned(), vec![(None, "a".to_owned())])];
                    search.expand_value_sets(&codes.into()).unwrap();
                    searches.push(search);
                }
                Err(SearchError::Modifier { .. } | SearchError::Value { .. } | SearchError::NotAReference(_)) => {
                    assert!(!modifier.is_empty(), "{of}.{name}");
                }
                Err(fault) => panic!("{of}.{name}: {fault}"),
            }
        }
    }
    searches
}

/// Searches for all at once, each a condition on what the others leave.
fn joined(searches: &[SearchRequest]) -> SearchRequest {
    let clauses = searches.iter().flat_map(|search| search.clauses.clone()).collect();
    SearchRequest { clauses, ..searches[0].clone() }
}

async fn try_all(db: &AuthDatabase, searches: Vec<SearchRequest>) {
    for some in searches.chunks(AT_ONCE) {
        if db.search(&asking(joined(some))).await.is_ok_and(|found| found.is_ok()) {
            continue;
        }
        for one in some {
            let found = db.search(&asking(one.clone())).await;
            assert!(matches!(found, Ok(Ok(_))), "{}: {:?}: {found:?}", one.resource_type, one.clauses);
        }
        panic!("only together: {some:?}");
    }
}

told! {
    async fn every_parameter_of_r4_with_every_modifier_is_answered(home) {
        let db = home.open().await;
        let catalog = db.current_search_parameter_catalog().await.unwrap();
        let kinds: Vec<ResourceType> = catalog.types_with_parameters().filter_map(|name| name.parse().ok()).collect();
        let resources = kinds.iter().map(|of| put(&format!("{of}/x"), json!({})));
        transact(&db, resources.collect()).await;
        let types = "SELECT kind || ' ' || CAST(number AS TEXT) FROM search_type WHERE state = 'ready'";
        let types: BTreeMap<String, i64> = home.ask(types).await.into_iter().map(|row| {
            let (kind, number) = row.split_once(' ').unwrap();
            (kind.to_owned(), number.parse().unwrap())
        }).collect();
        // A parameter of many types is tried with the first of them.
        let mut parameters = BTreeMap::new();
        for of in &kinds {
            for parameter in catalog.parameters_of_type(of) {
                parameters.entry(parameter.number).or_insert_with(|| (of.clone(), parameter.clone()));
            }
        }
        assert!(parameters.len() > 1_300);
        let numbers = parameters.iter().map(|(number, (of, _))| (types[of.as_str()] << 20) + 8 * number);
        db.run_user_sql(&strew(&numbers.collect::<Vec<_>>())).await.unwrap().unwrap();
        for of in &kinds {
            let own = parameters.values().filter(|(first, _)| first == of);
            let searches = own.flat_map(|(of, parameter)| understood(&catalog, of, parameter));
            try_all(&db, searches.collect()).await;
        }
    }

    async fn a_composite_beside_rows_of_another_parameter_is_found_by_its_own_alone(home) {
        let db = home.open().await;
        transact(&db, vec![put("Group/g", json!({
            "type": "person", "actual": true, "code": {"coding": [{"code": "c"}]},
            "identifier": [{"value": "i", "type": {"coding": [{"code": "MB"}]}}],
            "member": [{"entity": {"reference": "Patient/p"}}],
        }))]).await;
        assert_eq!(ids_of(&db, "Group", "characteristic-value:missing=false").await, [""; 0]);
        assert_eq!(ids_of(&db, "Group", "characteristic-value:missing=true").await, ["g"]);
        let with = json!({"characteristic": [{
            "code": {"coding": [{"code": "c"}]}, "valueCodeableConcept": {"coding": [{"code": "v"}]}, "exclude": false,
        }]});
        transact(&db, vec![put("Group/h", with)]).await;
        assert_eq!(ids_of(&db, "Group", "characteristic-value:missing=false").await, ["h"]);
        assert_eq!(ids_of(&db, "Group", "characteristic-value:missing=true").await, ["g"]);
    }
}
