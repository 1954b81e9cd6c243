//! The set operations against a model that lists every single access.
//!
//! In a world of three types beside all others, and resources that meet any of three search parameters
//! or not, a scope is the set of accesses it grants, and the operations are those of sets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use smart_scopes::{ClinicalScope, Context, Interaction, Permission, Scope, ScopeQuery, ScopeSet, restrict};

/// `Zzz` stands for every type that no scope names.
const TYPES: [&str; 4] = ["Patient", "Observation", "Condition", "Zzz"];
const PARAMETERS: [(&str, &str); 3] = [("a", "1"), ("b", "2"), ("c", "3")];

/// Context, type, interaction, and which of the parameters the resource meets, as bits.
type Access = (Context, &'static str, Interaction, u8);

fn meets(resource: u8, query: &ScopeQuery) -> bool {
    query.parameters().iter().all(|parameter| {
        let at = PARAMETERS.iter().position(|(name, value)| (*name, *value) == (&parameter.name, &parameter.value));
        resource & (1 << at.unwrap()) != 0
    })
}

fn every_access() -> impl Iterator<Item = Access> {
    Context::ALL.into_iter().flat_map(|context| {
        TYPES.into_iter().flat_map(move |name| {
            Interaction::ALL
                .into_iter()
                .flat_map(move |interaction| (0..8).map(move |resource| (context, name, interaction, resource)))
        })
    })
}

fn grants(scope: &ClinicalScope, (context, name, interaction, resource): Access) -> bool {
    scope.context() == context
        && (scope.resource().to_string() == "*" || scope.resource().to_string() == name)
        && scope.permissions().interactions().any(|own| own == interaction)
        && scope.query().is_none_or(|query| meets(resource, query))
}

fn model(set: &ScopeSet) -> BTreeSet<Access> {
    every_access().filter(|access| set.clinical().any(|scope| grants(scope, *access))).collect()
}

fn model_of(scope: &ClinicalScope) -> BTreeSet<Access> {
    every_access().filter(|access| grants(scope, *access)).collect()
}

fn queries() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a=1", "b=2", "c=3", "%61=1", "b=%32"]);
    prop::collection::vec(part, 1..4).prop_map(|parts| format!("?{}", parts.join("&")))
}

fn clinical_scopes() -> impl Strategy<Value = ClinicalScope> {
    let context = prop::sample::select(vec!["patient", "patient", "patient", "system", "user"]);
    let name = prop::sample::select(vec!["*", "Patient", "Observation", "Condition"]);
    let permissions = prop_oneof![
        prop::sample::select(vec!["read", "write", "*"]).prop_map(str::to_owned),
        prop::sample::subsequence(vec!["c", "r", "u", "d", "s"], 1..=5).prop_map(|letters| letters.concat()),
        prop::sample::select(vec!["r", "s", "rs"]).prop_map(str::to_owned),
    ];
    let query = prop_oneof![Just(String::new()), queries()];
    (context, name, permissions, query).prop_filter_map("a query does not stand everywhere", |(c, n, p, q)| {
        format!("{c}/{n}.{p}{q}").parse::<Scope>().ok()?.as_clinical().cloned()
    })
}

fn sets() -> impl Strategy<Value = ScopeSet> {
    prop::collection::vec(clinical_scopes().prop_map(Scope::Clinical), 0..6)
        .prop_map(|scopes| scopes.into_iter().collect())
}

fn only(scope: &ClinicalScope) -> ScopeSet {
    ScopeSet::from_iter([Scope::Clinical(scope.clone())])
}

proptest! {
    #![proptest_config(crate::seeded())]

    #[test]
    fn a_restriction_grants_the_intersection_no_more_and_no_less(requested in sets(), registered in sets()) {
        let granted = restrict(&requested, &registered).granted;
        let intersection: BTreeSet<_> = model(&requested).intersection(&model(&registered)).copied().collect();
        prop_assert_eq!(model(&granted), intersection, "granted {}", granted);
        prop_assert_eq!(ScopeSet::parse(&granted.to_string()), Ok(granted));
    }

    #[test]
    fn a_scope_is_refused_exactly_when_it_has_nothing_in_common(requested in sets(), registered in sets()) {
        let refused = restrict(&requested, &registered).refused;
        for scope in requested.clinical() {
            let is_disjoint = model_of(scope).is_disjoint(&model(&registered));
            prop_assert_eq!(refused.contains(&Scope::Clinical(scope.clone())), is_disjoint, "{}", scope);
        }
    }

    #[test]
    fn restricting_twice_changes_nothing(requested in sets(), registered in sets()) {
        let once = restrict(&requested, &registered).granted;
        let twice = restrict(&once, &registered);
        prop_assert_eq!(&twice.granted, &once);
        prop_assert!(twice.refused.is_empty());
    }

    #[test]
    fn a_scope_covers_another_exactly_when_it_grants_all_of_it(one in clinical_scopes(), two in clinical_scopes()) {
        let is_superset = model_of(&one).is_superset(&model_of(&two));
        prop_assert_eq!(one.covers(&two), is_superset);
        let granted = restrict(&only(&two), &only(&one)).granted;
        prop_assert_eq!(granted == only(&two), is_superset, "granted {}", granted);
    }

    #[test]
    fn a_set_covers_a_scope_exactly_when_it_grants_all_of_it(set in sets(), scope in clinical_scopes()) {
        let is_superset = model(&set).is_superset(&model_of(&scope));
        prop_assert_eq!(set.covers(&Scope::Clinical(scope.clone())), is_superset);
        let granted = restrict(&only(&scope), &set).granted;
        prop_assert_eq!(granted == only(&scope), is_superset, "granted {}", granted);
    }

    #[test]
    fn a_set_permits_what_one_of_its_scopes_grants(set in sets()) {
        let model = model(&set);
        for access in every_access() {
            let (context, name, interaction, resource) = access;
            let permitted = match set.permits(context, name, interaction) {
                Permission::Denied => false,
                Permission::Allowed => true,
                Permission::AllowedWithQueries(queries) => queries.iter().any(|query| meets(resource, query)),
            };
            prop_assert_eq!(permitted, model.contains(&access), "{:?}", access);
        }
    }

    #[test]
    fn a_union_grants_what_either_grants(one in sets(), two in sets()) {
        let both: BTreeSet<_> = model(&one).union(&model(&two)).copied().collect();
        prop_assert_eq!(model(&one.union(&two)), both);
    }
}
