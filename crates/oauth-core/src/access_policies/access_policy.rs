//! One `AccessPolicy`, read from its resource.

use serde_json::Value;

use super::engine::PolicyEngine;
use super::issue::{ResourceIssue, ResourceIssueCode};
use crate::security_resource_rules::misspelt;

/// Most entries of `link`. Not specified; a policy for more parties than this links a role.
const MAX_LINKS: usize = 1000;

/// The members of a policy, by which misspelt ones are found.
const MEMBERS: [&str; 15] = [
    "resourceType",
    "id",
    "meta",
    "engine",
    "link",
    "roleName",
    "type",
    "description",
    "module",
    "matcho",
    "schema",
    "sql",
    "rpc",
    "and",
    "or",
];

/// An access policy, compiled and ready to evaluate requests.
#[derive(Debug, Clone)]
pub struct AccessPolicy {
    /// The id of the resource.
    pub id: String,
    /// How it decides.
    pub engine: PolicyEngine,
    /// Whom it applies to; empty for everyone, callers without credentials included.
    pub links: Vec<PolicyLinkTarget>,
    /// It applies only to Users with this role, in addition to what `links` asks for.
    pub role: Option<String>,
    /// What it judges.
    pub policy_type: PolicyRequestType,
}

/// A client, user or operation that an access policy applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PolicyLinkTarget {
    /// The Client with this id.
    Client(String),
    /// The User with this id.
    User(String),
    /// Requests that are this operation.
    Operation(String),
}

/// The kind of request that an access policy judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyRequestType {
    /// REST requests.
    #[default]
    Rest,
    /// Remote procedure calls: read, never applied to a REST request.
    Rpc,
    /// A scope bound to a policy: read, never applied to a REST request.
    Scope,
}

impl AccessPolicy {
    /// Reads and compiles the resource of the policy `id`.
    ///
    /// # Errors
    /// Every fault of the resource. An engine of the platform that this server does not have is
    /// one of code [`ResourceIssueCode::NotSupported`] that names it.
    ///
    /// # Source
    /// `docs/decisions.md`, "Access policies".
    pub fn parse(id: &str, resource: &Value) -> Result<Self, Vec<ResourceIssue>> {
        let mut issues = Vec::new();
        let engine = collect(&mut issues, PolicyEngine::read(resource));
        let links = collect(&mut issues, links(resource));
        let role = collect(&mut issues, optional_text(resource, "roleName"));
        let policy_type = collect(&mut issues, policy_type(resource));
        collect(&mut issues, optional_text(resource, "description"));
        collect(&mut issues, optional_text(resource, "module"));
        match (engine, links, role, policy_type) {
            (Some(engine), Some(links), Some(role), Some(policy_type)) if issues.is_empty() => {
                Ok(Self { id: id.to_owned(), engine, links, role: role.map(str::to_owned), policy_type })
            }
            _ => Err(issues),
        }
    }

    /// Returns the members of a policy that are misspelt: whom it applies to would not be limited by them. Asked when a
    /// policy is written, and not of a stored one, which goes on as it is.
    pub(crate) fn misspelt(resource: &Value) -> Vec<ResourceIssue> {
        let mut issues = misspelt(&MEMBERS, "AccessPolicy", resource);
        if resource.get("role").is_some() {
            let text = "is not known, and the policy would apply to everyone: is roleName meant?";
            issues.push(ResourceIssue::new(ResourceIssueCode::Structure, "AccessPolicy.role", text));
        }
        issues
    }

    /// Returns the warnings about a valid policy: that it opens the server to everyone, callers without credentials
    /// included.
    #[must_use]
    pub fn warnings_for_author(&self) -> Vec<ResourceIssue> {
        let is_open = self.links.is_empty() && self.role.is_none() && self.policy_type == PolicyRequestType::Rest;
        if !(is_open && self.engine.passes_all()) {
            return Vec::new();
        }
        let text = "the policy links nobody and always passes: every request of everyone is allowed, \
                    with and without credentials";
        vec![ResourceIssue::new(ResourceIssueCode::Security, "AccessPolicy.link", text)]
    }
}

fn collect<T>(issues: &mut Vec<ResourceIssue>, read: Result<T, Vec<ResourceIssue>>) -> Option<T> {
    read.map_err(|found| issues.extend(found)).ok()
}

fn one(code: ResourceIssueCode, expression: &str, diagnostics: impl Into<String>) -> Vec<ResourceIssue> {
    vec![ResourceIssue::new(code, expression, diagnostics)]
}

/// Not specified for an empty `link`; it means what an absent one means, as the platform has it.
/// A null is a fault here and in every other element, because one that counted as absent would open
/// the policy to everyone.
fn links(resource: &Value) -> Result<Vec<PolicyLinkTarget>, Vec<ResourceIssue>> {
    let at = "AccessPolicy.link";
    let entries = match resource.get("link") {
        None => return Ok(Vec::new()),
        Some(Value::Array(entries)) if entries.len() <= MAX_LINKS => entries,
        Some(Value::Array(_)) => {
            return Err(one(ResourceIssueCode::TooLong, at, format!("link has at most {MAX_LINKS} entries")));
        }
        Some(_) => return Err(one(ResourceIssueCode::Structure, at, "link is an array of references")),
    };
    let read: Vec<_> = entries.iter().map(link).collect();
    let faulty: Vec<_> = read
        .iter()
        .enumerate()
        .filter(|(_, link)| link.is_none())
        .map(|(index, _)| {
            let text = "a reference to a Client, User or Operation: {\"reference\": \"Client/<id>\"} or \
                        {\"resourceType\": \"Client\", \"id\": \"<id>\"}";
            ResourceIssue::new(ResourceIssueCode::Value, format!("{at}[{index}]"), text)
        })
        .collect();
    if faulty.is_empty() { Ok(read.into_iter().flatten().collect()) } else { Err(faulty) }
}

fn link(entry: &Value) -> Option<PolicyLinkTarget> {
    let text = |key| entry.get(key).and_then(Value::as_str);
    let (kind, id) = match text("reference") {
        Some(reference) => reference.split_once('/')?,
        None => (text("resourceType")?, text("id")?),
    };
    if id.is_empty() || id.contains('/') {
        return None;
    }
    match kind {
        "Client" => Some(PolicyLinkTarget::Client(id.to_owned())),
        "User" => Some(PolicyLinkTarget::User(id.to_owned())),
        "Operation" => Some(PolicyLinkTarget::Operation(id.to_owned())),
        _ => None,
    }
}

fn policy_type(resource: &Value) -> Result<PolicyRequestType, Vec<ResourceIssue>> {
    match optional_text(resource, "type")? {
        None | Some("rest") => Ok(PolicyRequestType::Rest),
        Some("rpc") => Ok(PolicyRequestType::Rpc),
        Some("scope") => Ok(PolicyRequestType::Scope),
        Some(_) => Err(one(ResourceIssueCode::Value, "AccessPolicy.type", "type is rest, rpc or scope")),
    }
}

/// Not specified for an empty string; we refuse it, because an empty `roleName` that counted as
/// absent would open the policy to everyone.
fn optional_text<'a>(resource: &'a Value, key: &str) -> Result<Option<&'a str>, Vec<ResourceIssue>> {
    match resource.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.is_empty() || key != "roleName" => Ok(Some(text)),
        Some(_) => Err(one(
            ResourceIssueCode::Structure,
            &format!("AccessPolicy.{key}"),
            format!("{key} is a string with content"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::UNSUPPORTED_ENGINES;
    use super::*;
    use serde_json::json;

    fn refusal(resource: &Value) -> Vec<(String, ResourceIssueCode)> {
        let issues = AccessPolicy::parse("p", resource).unwrap_err();
        issues.into_iter().map(|issue| (issue.expression, issue.code)).collect()
    }

    #[test]
    fn both_reference_forms_link_the_same_party() {
        let resource = json!({"engine": "allow", "link": [
            {"reference": "Client/a", "display": "A"},
            {"resourceType": "Client", "id": "a"},
            {"reference": "User/u"},
            {"resourceType": "Operation", "id": "FhirRead"},
        ]});
        let policy = AccessPolicy::parse("p", &resource).unwrap();
        let client = PolicyLinkTarget::Client("a".into());
        assert_eq!(
            policy.links,
            [
                client.clone(),
                client,
                PolicyLinkTarget::User("u".into()),
                PolicyLinkTarget::Operation("FhirRead".into())
            ]
        );
        assert_eq!(policy.policy_type, PolicyRequestType::Rest);
        assert!(policy.warnings_for_author().is_empty());
    }

    #[test]
    fn a_link_that_names_no_party_is_refused_and_never_read_as_no_link() {
        for link in [
            json!({"reference": "Patient/1"}),
            json!({"reference": "Client"}),
            json!({"reference": "Client/"}),
            json!({"reference": "https://elsewhere.example/Client/a"}),
            json!({"reference": "Client/a/_history/1"}),
            json!({"resourceType": "Client"}),
            json!({"resourceType": "Client", "id": 7}),
            json!("Client/a"),
            json!(null),
        ] {
            let resource = json!({"engine": "allow", "link": [{"reference": "Client/ok"}, link]});
            assert_eq!(refusal(&resource), [("AccessPolicy.link[1]".to_owned(), ResourceIssueCode::Value)]);
        }
        for not_a_list in [json!({"reference": "Client/a"}), json!(null), json!("Client/a")] {
            let resource = json!({"engine": "allow", "link": not_a_list});
            assert_eq!(refusal(&resource), [("AccessPolicy.link".to_owned(), ResourceIssueCode::Structure)]);
        }
    }

    #[test]
    fn an_engine_of_the_platform_that_is_missing_here_is_named_in_the_refusal() {
        for (engine, _) in UNSUPPORTED_ENGINES {
            let issues = AccessPolicy::parse("p", &json!({"engine": engine})).unwrap_err();
            assert_eq!(issues.len(), 1);
            assert_eq!(issues[0].code, ResourceIssueCode::NotSupported);
            assert!(issues[0].diagnostics.contains(engine), "{}", issues[0].diagnostics);
        }
    }

    #[test]
    fn a_policy_without_a_known_engine_is_refused() {
        let at = |code| vec![("AccessPolicy.engine".to_owned(), code)];
        assert_eq!(refusal(&json!({})), at(ResourceIssueCode::Required));
        assert_eq!(refusal(&json!({"engine": "Allow"})), at(ResourceIssueCode::Value));
        assert_eq!(refusal(&json!({"engine": ["allow"]})), at(ResourceIssueCode::Structure));
    }

    #[test]
    fn a_matcho_policy_needs_a_pattern_that_compiles() {
        let matcho = |pattern: Value| refusal(&json!({"engine": "matcho", "matcho": pattern}));
        assert_eq!(
            refusal(&json!({"engine": "matcho"})),
            [("AccessPolicy.matcho".to_owned(), ResourceIssueCode::Required)]
        );
        assert_eq!(matcho(json!("present?")), [("AccessPolicy.matcho".to_owned(), ResourceIssueCode::Structure)]);
        assert_eq!(
            matcho(json!({"uri": "#(", "user": {"$any": 1}})),
            [
                ("AccessPolicy.matcho.uri".to_owned(), ResourceIssueCode::Value),
                ("AccessPolicy.matcho.user.$any".to_owned(), ResourceIssueCode::Value),
            ]
        );
    }

    #[test]
    fn a_policy_that_opens_the_server_to_everyone_warns() {
        for resource in [
            json!({"engine": "allow"}),
            json!({"engine": "allow", "link": []}),
            json!({"engine": "matcho", "matcho": {}}),
        ] {
            let warnings = AccessPolicy::parse("p", &resource).unwrap().warnings_for_author();
            assert_eq!(warnings.len(), 1, "{resource}");
            assert_eq!(warnings[0].code, ResourceIssueCode::Security);
        }
        for resource in [
            json!({"engine": "allow", "link": [{"reference": "Client/a"}]}),
            json!({"engine": "allow", "roleName": "admin"}),
            json!({"engine": "matcho", "matcho": {"uri": "/x"}}),
            json!({"engine": "allow", "type": "rpc"}),
        ] {
            assert!(AccessPolicy::parse("p", &resource).unwrap().warnings_for_author().is_empty(), "{resource}");
        }
    }

    #[test]
    fn an_empty_or_null_role_name_is_refused_and_never_read_as_no_role() {
        for name in [json!(""), json!(null), json!(["admin"])] {
            let resource = json!({"engine": "allow", "roleName": name});
            assert_eq!(refusal(&resource), [("AccessPolicy.roleName".to_owned(), ResourceIssueCode::Structure)]);
        }
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let resource = json!({"engine": "clj", "link": 1, "roleName": 2, "type": "soap", "description": 3});
        let places: Vec<_> = refusal(&resource).into_iter().map(|(place, _)| place).collect();
        assert_eq!(
            places,
            [
                "AccessPolicy.engine",
                "AccessPolicy.link",
                "AccessPolicy.roleName",
                "AccessPolicy.type",
                "AccessPolicy.description"
            ]
        );
    }
}
