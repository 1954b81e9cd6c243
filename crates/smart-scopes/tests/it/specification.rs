//! The sentences of the specification's section "Scopes", one test each.

use smart_scopes::{
    Context, Interaction, LaunchContext, Permission, ResourceSelector, Scope, ScopeParseError, ScopeSet, Syntax,
};

fn clinical(text: &str) -> smart_scopes::ClinicalScope {
    text.parse::<Scope>().unwrap().as_clinical().unwrap().clone()
}

fn refusal(text: &str) -> ScopeParseError {
    text.parse::<Scope>().unwrap_err()
}

fn set(list: &str) -> ScopeSet {
    ScopeSet::parse(list).unwrap()
}

#[test]
fn the_context_prefixes_are_patient_user_and_system() {
    for (prefix, context) in [("patient", Context::Patient), ("user", Context::User), ("system", Context::System)] {
        assert_eq!(clinical(&format!("{prefix}/Patient.r")).context(), context);
    }
    let unknown: Scope = "practitioner/Patient.r".parse().unwrap();
    assert_eq!(unknown, Scope::Custom("practitioner/Patient.r".to_owned()), "any other prefix means nothing");
}

#[test]
fn both_syntaxes_are_accepted() {
    use Interaction::{Create, Delete, Read, Search, Update};
    let table: [(&str, Syntax, &[Interaction]); 8] = [
        ("patient/*.read", Syntax::V1, &[Read, Search]),
        ("patient/*.write", Syntax::V1, &[Create, Update, Delete]),
        ("patient/*.*", Syntax::V1, &Interaction::ALL),
        ("patient/*.cruds", Syntax::V2, &Interaction::ALL),
        ("system/Patient.rs", Syntax::V2, &[Read, Search]),
        ("system/Claim.cu", Syntax::V2, &[Create, Update]),
        ("system/ClaimResponse.r", Syntax::V2, &[Read]),
        ("user/Observation.cud", Syntax::V2, &[Create, Update, Delete]),
    ];
    for (text, syntax, interactions) in table {
        let scope = clinical(text);
        assert_eq!(scope.permissions().syntax(), syntax, "{text}");
        assert_eq!(scope.permissions().interactions().collect::<Vec<_>>(), interactions, "{text}");
        assert_eq!(scope.to_string(), text);
    }
}

#[test]
fn v2_letters_stand_once_and_in_the_order_cruds() {
    let out_of_order =
        |permissions: &str| ScopeParseError::PermissionsOutOfOrder { permissions: permissions.to_owned() };
    assert_eq!(refusal("patient/Patient.sr"), out_of_order("sr"));
    assert_eq!(refusal("patient/Patient.dus"), out_of_order("dus"));
    let repeated = ScopeParseError::RepeatedPermission { permissions: "rr".to_owned() };
    assert_eq!(refusal("patient/Patient.rr"), repeated);
    assert_eq!(refusal("patient/Patient."), ScopeParseError::EmptyPermissions);
    for permissions in ["x", "Read", "reads", "r*", "**", "R", "rs.rs"] {
        let expected = ScopeParseError::UnknownPermission { permissions: permissions.to_owned() };
        assert_eq!(refusal(&format!("patient/Patient.{permissions}")), expected);
    }
}

#[test]
fn a_clinical_scope_names_star_or_a_case_sensitive_type() {
    assert_eq!(*clinical("system/*.read").resource(), ResourceSelector::Any);
    assert_eq!(clinical("system/Patient.read").resource().to_string(), "Patient");
    for name in ["patient", "", "Pa-tient", "*Patient", "9Lives"] {
        let expected = ScopeParseError::BadResourceType { name: name.to_owned() };
        assert_eq!(refusal(&format!("system/{name}.read")), expected);
    }
    let without_dot = ScopeParseError::MissingPermissions { scope: "system/Patient".to_owned() };
    assert_eq!(refusal("system/Patient"), without_dot);
}

#[test]
fn a_v2_read_or_search_scope_may_end_in_a_search_query() {
    for permissions in ["r", "s", "rs"] {
        let text = format!("patient/Observation.{permissions}?status=final");
        let scope = clinical(&text);
        let query = scope.query().unwrap();
        assert_eq!((query.as_str(), scope.to_string()), ("status=final", text));
        assert_eq!(query.parameters()[0].name, "status");
        assert_eq!(query.parameters()[0].value, "final");
    }
}

#[test]
fn a_coded_category_survives_as_sent() {
    let text =
        "patient/Condition.rs?category=http://terminology.hl7.org/CodeSystem/condition-category|problem-list-item";
    let scope = clinical(text);
    assert_eq!(scope.to_string(), text);
    let value = &scope.query().unwrap().parameters()[0].value;
    assert_eq!(value, "http://terminology.hl7.org/CodeSystem/condition-category|problem-list-item");
}

#[test]
fn queries_are_not_allowed_within_c_u_d_permissions() {
    for permissions in ["c", "u", "d", "cud", "cruds", "crs", "write", "*"] {
        let expected = ScopeParseError::QueryOnWrite { permissions: permissions.to_owned() };
        assert_eq!(refusal(&format!("patient/Observation.{permissions}?status=final")), expected);
    }
}

#[test]
fn queries_are_not_allowed_on_v1_or_on_every_type() {
    let on_v1 = ScopeParseError::QueryOnV1 { permissions: "read".to_owned() };
    assert_eq!(refusal("patient/Observation.read?status=final"), on_v1);
    assert_eq!(refusal("patient/*.rs?status=final"), ScopeParseError::QueryOnAnyType);
}

#[test]
fn queries_are_not_allowed_with_include_revinclude_has_assoc_with() {
    let parts = [
        "_include=Observation:subject",
        "_include:iterate=Observation:subject",
        "_revinclude=Provenance:target",
        "_revinclude:iterate=Provenance:target",
        "_has:Observation:patient:code=1",
        "_assoc=x",
        "_with=x",
        "%5Finclude=x",
        "_inc%6cude=x",
        "%5f%68%61%73:Observation:patient:code=1",
        "_include%3Aiterate=x",
        "_Include=x",
        "subject._has:Group:member:_id=1",
    ];
    for part in parts {
        let expected = ScopeParseError::ForbiddenParameter { parameter: part.to_owned() };
        assert_eq!(refusal(&format!("patient/Observation.rs?{part}")), expected);
        assert_eq!(refusal(&format!("patient/Observation.rs?status=final&{part}")), expected, "also later on");
    }
}

#[test]
fn a_forbidden_word_is_allowed_where_it_is_a_value() {
    assert!("patient/Observation.rs?code=_include".parse::<Scope>().is_ok());
}

#[test]
fn a_malformed_query_is_refused_with_its_cause() {
    let own = str::to_owned;
    let table = [
        ("", ScopeParseError::EmptyQuery),
        ("status", ScopeParseError::ParameterWithoutValue { parameter: own("status") }),
        ("=final", ScopeParseError::ParameterWithoutValue { parameter: own("=final") }),
        ("a=1&&b=2", ScopeParseError::ParameterWithoutValue { parameter: own("") }),
        ("status=", ScopeParseError::EmptyParameterValue { parameter: own("status=") }),
        ("status=,", ScopeParseError::EmptyParameterValue { parameter: own("status=,") }),
        ("status=%20", ScopeParseError::EmptyParameterValue { parameter: own("status=%20") }),
        ("status=%", ScopeParseError::BadPercentEncoding { parameter: own("status=%") }),
        ("status=%f", ScopeParseError::BadPercentEncoding { parameter: own("status=%f") }),
        ("status=%zz", ScopeParseError::BadPercentEncoding { parameter: own("status=%zz") }),
        ("status=%ff", ScopeParseError::BadPercentEncoding { parameter: own("status=%ff") }),
        ("status=a%00", ScopeParseError::BadPercentEncoding { parameter: own("status=a%00") }),
        ("%255Finclude=x", ScopeParseError::BadParameterName { parameter: own("%255Finclude=x") }),
        ("1a=x", ScopeParseError::BadParameterName { parameter: own("1a=x") }),
    ];
    for (query, expected) in table {
        assert_eq!(refusal(&format!("patient/Observation.rs?{query}")), expected, "{query}");
    }
}

#[test]
fn a_query_is_applied_to_every_search_and_read_under_its_scope() {
    let scopes = set("patient/Observation.rs?status=final");
    for interaction in [Interaction::Read, Interaction::Search] {
        match scopes.permits(Context::Patient, "Observation", interaction) {
            Permission::AllowedWithQueries(queries) => assert_eq!(queries[0].as_str(), "status=final"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_no_scope_grants_is_denied() {
    let scopes = set("patient/Observation.rs openid");
    let denied = [
        (Context::Patient, "Condition", Interaction::Read),
        (Context::Patient, "observation", Interaction::Read),
        (Context::Patient, "Observation", Interaction::Create),
        (Context::User, "Observation", Interaction::Read),
        (Context::System, "Observation", Interaction::Read),
    ];
    for (context, resource_type, interaction) in denied {
        assert_eq!(scopes.permits(context, resource_type, interaction), Permission::Denied);
    }
    assert_eq!(scopes.permits(Context::Patient, "Observation", Interaction::Read), Permission::Allowed);
}

#[test]
fn a_plain_scope_makes_granular_ones_of_its_type_redundant() {
    let scopes = set("patient/Observation.rs?status=final patient/*.r");
    assert_eq!(scopes.permits(Context::Patient, "Observation", Interaction::Read), Permission::Allowed);
    let search = scopes.permits(Context::Patient, "Observation", Interaction::Search);
    assert!(matches!(search, Permission::AllowedWithQueries(queries) if queries.len() == 1));
}

#[test]
fn several_granular_scopes_on_one_type_are_alternatives() {
    let scopes =
        set("patient/Observation.rs?category=a patient/Observation.r?category=b patient/Observation.s?category=a");
    let Permission::AllowedWithQueries(read) = scopes.permits(Context::Patient, "Observation", Interaction::Read)
    else {
        panic!("granular scopes allow with queries");
    };
    assert_eq!(read.iter().map(|query| query.as_str()).collect::<Vec<_>>(), ["category=a", "category=b"]);
    let search = scopes.permits(Context::Patient, "Observation", Interaction::Search);
    assert!(matches!(search, Permission::AllowedWithQueries(queries) if queries.len() == 1), "the same query once");
}

#[test]
fn the_recommended_sets_are_read() {
    let app = set("openid fhirUser patient/*.read offline_access");
    assert!(app.contains(&Scope::OpenId) && app.contains(&Scope::FhirUser) && app.contains(&Scope::OfflineAccess));
    assert!(app.has_context(Context::Patient) && !app.has_context(Context::System));
    assert_eq!(set("system/*.read").len(), 1);
    assert_eq!(set("system/Claim.cu system/ClaimResponse.r").clinical().count(), 2);
}

#[test]
fn identity_and_launch_scopes_are_known_by_name() {
    let table = [
        ("profile", Scope::Profile),
        ("email", Scope::Email),
        ("online_access", Scope::OnlineAccess),
        ("launch", Scope::Launch),
        ("OpenID", Scope::Custom("OpenID".to_owned())),
        ("__reports", Scope::Custom("__reports".to_owned())),
    ];
    for (text, expected) in table {
        assert_eq!(text.parse::<Scope>().unwrap(), expected);
    }
}

#[test]
fn a_launch_context_names_a_lower_case_type_and_perhaps_a_role() {
    let context = |text: &str| -> LaunchContext {
        match text.parse::<Scope>() {
            Ok(Scope::LaunchContext(context)) => context,
            other => panic!("{other:?}"),
        }
    };
    assert!(context("launch/patient").is_patient());
    assert!(context("launch/encounter").is_encounter());
    let location = context("launch/location?role=home");
    assert_eq!((location.resource_type(), location.role()), ("location", Some("home")));
    assert_eq!(location.to_string(), "launch/location?role=home");
    for text in [
        "launch/",
        "launch/Patient",
        "launch/patient?",
        "launch/patient?role=",
        "launch/patient?x=y",
        "launch/a?role=b&c=d",
    ] {
        assert_eq!(refusal(text), ScopeParseError::BadLaunchContext { scope: text.to_owned() });
    }
}

#[test]
fn the_uri_spelling_of_a_scope_gives_no_access_by_itself() {
    let text = "http://smarthealthit.org/fhir/scopes/patient/*.read";
    let scopes = set(text);
    assert_eq!(scopes.to_string(), text);
    assert_eq!(scopes.permits(Context::Patient, "Patient", Interaction::Read), Permission::Denied);
}
