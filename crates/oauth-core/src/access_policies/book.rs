//! All policies of the deployment at one revision, indexed by whom they apply to.

use std::cell::LazyCell;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::engine::{EngineInput, SqlDecisionNeeded};
use super::issue::ResourceIssue;
use super::{AccessPolicy, PolicyLinkTarget, PolicyRequestType};
use crate::ports::{RegistrationStore, StoredAccessPolicies};

/// The compiled access policies of one revision.
///
/// Judging costs what the policies of this caller cost; those of others are not looked at.
#[derive(Debug, Default)]
pub struct CompiledPolicies {
    revision: i64,
    /// Cheap engines first, so that a position is also a rank of cost.
    policies: Vec<AccessPolicy>,
    linked: HashMap<PolicyLinkTarget, Vec<usize>>,
    by_role: HashMap<String, Vec<usize>>,
    for_everyone: Vec<usize>,
    skipped: Vec<UncompilablePolicy>,
}

/// A stored access policy that does not compile, and therefore allows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncompilablePolicy {
    /// The id of the policy.
    pub policy_id: String,
    /// What is wrong with it.
    pub issues: Vec<ResourceIssue>,
}

/// The caller and operation that select which policies are evaluated.
#[derive(Debug, Clone, Copy, Default)]
pub struct PolicyEvaluationSubject<'a> {
    /// The calling Client.
    pub client_id: Option<&'a str>,
    /// The calling User.
    pub user_id: Option<&'a str>,
    /// Names of the roles of the calling User.
    pub roles: &'a [String],
    /// The operation the request is, such as `FhirRead`.
    pub operation: Option<&'a str>,
    /// Whether policies of engine `allow` do not count.
    pub explicit: bool,
}

/// The decision of one access policy about a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SinglePolicyDecision {
    /// The policy.
    pub id: String,
    /// Its engine.
    pub engine: &'static str,
    /// Whether it passes.
    pub passes: bool,
    /// Of engine `matcho`: what it expects where, and what is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<Value>,
}

/// The decision of all access policies about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CombinedPolicyDecision {
    /// A policy passed.
    Allowed {
        /// The policy that passed.
        policy_id: String,
    },
    /// None passed, or none applies.
    Denied {
        /// The policies that apply to the caller and did not pass.
        considered: Vec<String>,
    },
}

impl CompiledPolicies {
    /// Compiles what is stored. A policy that does not compile (written past the checks of
    /// registration) is left out and listed in [`uncompilable_policies`](Self::uncompilable_policies).
    #[must_use]
    pub fn compile(set: &StoredAccessPolicies) -> Self {
        let mut book = Self { revision: set.revision, ..Self::default() };
        for (id, resource) in &set.policies {
            match AccessPolicy::parse(id, resource) {
                Ok(policy) => book.policies.push(policy),
                Err(issues) => book.skipped.push(UncompilablePolicy { policy_id: id.clone(), issues }),
            }
        }
        book.policies.retain(|policy| policy.policy_type == PolicyRequestType::Rest);
        book.policies.sort_by_key(|policy| policy.engine.cost());
        book.index();
        book
    }

    fn index(&mut self) {
        for (position, policy) in self.policies.iter().enumerate() {
            for link in &policy.links {
                self.linked.entry(link.clone()).or_default().push(position);
            }
            match (&policy.role, policy.links.is_empty()) {
                (Some(role), true) => self.by_role.entry(role.clone()).or_default().push(position),
                (None, true) => self.for_everyone.push(position),
                (_, false) => {}
            }
        }
    }

    /// Returns the revision of the policies this was compiled from.
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// Returns the stored policies that do not compile, to be logged and shown to administrators.
    #[must_use]
    pub fn uncompilable_policies(&self) -> &[UncompilablePolicy] {
        &self.skipped
    }

    /// Evaluates the policies as [`Self::evaluate_without_database`] does, and asks `database` the queries of `sql`
    /// policies when no other policy passes. A query that cannot be answered is answered with no, and logged.
    pub async fn evaluate_with_database(
        &self,
        subject: &PolicyEvaluationSubject<'_>,
        make: &(dyn Fn() -> Value + Send + Sync),
        database: &dyn RegistrationStore,
    ) -> CombinedPolicyDecision {
        let verdict = self.evaluate_without_database(subject, make);
        if matches!(verdict, CombinedPolicyDecision::Allowed { .. }) {
            return verdict;
        }
        let asking: Vec<_> = self.applicable(subject).filter(|policy| policy.engine.needs_database()).collect();
        if asking.is_empty() {
            return verdict;
        }
        let request = make();
        for policy in asking {
            if passes(policy, subject, (&request, database)).await {
                return CombinedPolicyDecision::Allowed { policy_id: policy.id.clone() };
            }
        }
        verdict
    }

    /// Evaluates the policies for the request object that `request` makes, which is called only when a policy that
    /// looks at it applies. A question to the database is answered with no.
    ///
    /// `allow` policies are asked first: they cost nothing. No policy makes an administrator: who
    /// may do everything by a policy is still no more than its policies say.
    ///
    /// # Source
    /// `docs/decisions.md`, "Access policies".
    #[must_use]
    pub fn evaluate_without_database(
        &self,
        subject: &PolicyEvaluationSubject<'_>,
        request: impl FnOnce() -> Value,
    ) -> CombinedPolicyDecision {
        let mut considered = Vec::new();
        let request = LazyCell::new(request);
        for policy in self.applicable(subject) {
            let asked =
                EngineInput { request: &|| LazyCell::force(&request), explicit: subject.explicit, answers: &[] };
            if matches!(policy.engine.passes(&asked), Ok(true)) {
                return CombinedPolicyDecision::Allowed { policy_id: policy.id.clone() };
            }
            considered.push(policy.id.clone());
        }
        CombinedPolicyDecision::Denied { considered }
    }

    /// Returns the decision of each policy that applies to `subject` about a request, in evaluation order.
    pub async fn explain_each_decision(
        &self,
        subject: &PolicyEvaluationSubject<'_>,
        (request, database): (&Value, &dyn RegistrationStore),
    ) -> Vec<SinglePolicyDecision> {
        let applicable: Vec<_> = self.applicable(subject).collect();
        let mut said = Vec::with_capacity(applicable.len());
        for policy in applicable {
            said.push(SinglePolicyDecision {
                id: policy.id.clone(),
                engine: policy.engine.name(),
                passes: passes(policy, subject, (request, database)).await,
                mismatches: policy.engine.mismatches(request),
            });
        }
        said
    }

    /// Returns whether any policy can apply to a caller without credentials.
    #[must_use]
    pub fn applies_to_anonymous(&self) -> bool {
        let for_operations = self.linked.keys().any(|link| matches!(link, PolicyLinkTarget::Operation(_)));
        for_operations || !self.for_everyone.is_empty()
    }

    /// Returns the policies that apply to `subject`, each once, cheap ones first.
    fn applicable<'b>(&'b self, subject: &'b PolicyEvaluationSubject<'_>) -> impl Iterator<Item = &'b AccessPolicy> {
        let linked = subject.links().into_iter().flatten().filter_map(|link| self.linked.get(&link));
        let of_roles = subject.held_roles().iter().filter_map(|role| self.by_role.get(role));
        let mut positions: Vec<usize> = linked.chain(of_roles).chain([&self.for_everyone]).flatten().copied().collect();
        positions.sort_unstable();
        positions.dedup();
        let holds = |policy: &&AccessPolicy| policy.role.as_ref().is_none_or(|r| subject.held_roles().contains(r));
        positions.into_iter().filter_map(|position| self.policies.get(position)).filter(holds)
    }
}

/// Returns whether a policy that asks the database passes.
async fn passes(
    policy: &AccessPolicy,
    subject: &PolicyEvaluationSubject<'_>,
    (request, database): (&Value, &dyn RegistrationStore),
) -> bool {
    let mut answers = Vec::new();
    loop {
        let decided = {
            let asked = EngineInput { request: &|| request, explicit: subject.explicit, answers: &answers };
            policy.engine.passes(&asked)
        };
        let question = match decided {
            Ok(passes) => return passes,
            Err(SqlDecisionNeeded(question)) => question.bind_request(request),
        };
        answers.push(match question {
            Some(question) => database.evaluate_sql_policy(&question).await.unwrap_or_else(|failed| {
                let cause: &dyn std::error::Error = &failed;
                tracing::error!(policy = policy.id, cause, "the question of an access policy was not answered");
                false
            }),
            None => false,
        });
    }
}

impl PolicyEvaluationSubject<'_> {
    /// Roles are those of a User; without one there are none.
    fn held_roles(&self) -> &[String] {
        if self.user_id.is_some() { self.roles } else { &[] }
    }

    fn links(&self) -> [Option<PolicyLinkTarget>; 3] {
        [
            self.client_id.map(|id| PolicyLinkTarget::Client(id.to_owned())),
            self.user_id.map(|id| PolicyLinkTarget::User(id.to_owned())),
            self.operation.map(|id| PolicyLinkTarget::Operation(id.to_owned())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn book(policies: &[(&str, Value)]) -> CompiledPolicies {
        let policies = policies.iter().map(|(id, policy)| ((*id).to_owned(), policy.clone())).collect();
        CompiledPolicies::compile(&StoredAccessPolicies { revision: 7, policies })
    }

    fn client(id: &str) -> PolicyEvaluationSubject<'_> {
        PolicyEvaluationSubject { client_id: Some(id), ..PolicyEvaluationSubject::default() }
    }

    fn allowed_by(id: &str) -> CombinedPolicyDecision {
        CombinedPolicyDecision::Allowed { policy_id: id.to_owned() }
    }

    fn denied(considered: &[&str]) -> CombinedPolicyDecision {
        CombinedPolicyDecision::Denied { considered: considered.iter().map(|id| (*id).to_owned()).collect() }
    }

    const READ: &str = "FhirRead";

    #[test]
    fn without_policies_everything_is_denied() {
        assert_eq!(book(&[]).evaluate_without_database(&client("a"), || json!({})), denied(&[]));
        assert_eq!(
            CompiledPolicies::default().evaluate_without_database(&PolicyEvaluationSubject::default(), || json!({})),
            denied(&[])
        );
    }

    #[test]
    fn a_linked_policy_is_for_its_client_alone() {
        let book = book(&[("p", json!({"engine": "allow", "link": [{"reference": "Client/a"}]}))]);
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({})), allowed_by("p"));
        assert_eq!(book.evaluate_without_database(&client("b"), || json!({})), denied(&[]));
        assert_eq!(book.evaluate_without_database(&PolicyEvaluationSubject::default(), || json!({})), denied(&[]));
        let user_of_that_name = PolicyEvaluationSubject { user_id: Some("a"), ..PolicyEvaluationSubject::default() };
        assert_eq!(book.evaluate_without_database(&user_of_that_name, || json!({})), denied(&[]));
    }

    #[test]
    fn one_passing_policy_is_enough() {
        let book = book(&[
            ("no", json!({"engine": "matcho", "matcho": {"uri": "/a"}})),
            ("yes", json!({"engine": "matcho", "matcho": {"uri": "/b"}})),
        ]);
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({"uri": "/b"})), allowed_by("yes"));
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({"uri": "/c"})), denied(&["no", "yes"]));
    }

    #[test]
    fn an_operation_link_applies_to_that_operation() {
        let book = book(&[("p", json!({"engine": "allow", "link": [{"reference": "Operation/FhirRead"}]}))]);
        let reading = PolicyEvaluationSubject { operation: Some(READ), ..client("a") };
        let writing = PolicyEvaluationSubject { operation: Some("FhirUpdate"), ..client("a") };
        assert_eq!(book.evaluate_without_database(&reading, || json!({})), allowed_by("p"));
        assert_eq!(book.evaluate_without_database(&writing, || json!({})), denied(&[]));
    }

    #[test]
    fn any_one_link_is_enough() {
        let links = json!([{"reference": "Client/a"}, {"resourceType": "User", "id": "u"}]);
        let book = book(&[("p", json!({"engine": "allow", "link": links}))]);
        let user = PolicyEvaluationSubject { user_id: Some("u"), ..client("b") };
        assert_eq!(book.evaluate_without_database(&user, || json!({})), allowed_by("p"));
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({})), allowed_by("p"));
    }

    #[test]
    fn a_role_policy_is_for_users_with_that_role() {
        let book = book(&[("p", json!({"engine": "allow", "roleName": "admin"}))]);
        let roles = ["admin".to_owned()];
        let with = PolicyEvaluationSubject { user_id: Some("u"), roles: &roles, ..PolicyEvaluationSubject::default() };
        let without = PolicyEvaluationSubject { user_id: Some("u"), ..PolicyEvaluationSubject::default() };
        let no_user = PolicyEvaluationSubject { roles: &roles, ..client("a") };
        assert_eq!(book.evaluate_without_database(&with, || json!({})), allowed_by("p"));
        assert_eq!(book.evaluate_without_database(&without, || json!({})), denied(&[]));
        assert_eq!(book.evaluate_without_database(&no_user, || json!({})), denied(&[]));
    }

    #[test]
    fn a_policy_with_link_and_role_asks_for_both() {
        let policy = json!({"engine": "allow", "roleName": "nurse", "link": [{"reference": "Client/app"}]});
        let book = book(&[("p", policy)]);
        let roles = ["nurse".to_owned()];
        let both = PolicyEvaluationSubject { user_id: Some("u"), roles: &roles, ..client("app") };
        let other_app = PolicyEvaluationSubject { client_id: Some("other"), ..both };
        let no_role = PolicyEvaluationSubject { roles: &[], ..both };
        assert_eq!(book.evaluate_without_database(&both, || json!({})), allowed_by("p"));
        assert_eq!(book.evaluate_without_database(&other_app, || json!({})), denied(&[]));
        assert_eq!(book.evaluate_without_database(&no_role, || json!({})), denied(&[]));
    }

    #[test]
    fn an_unlinked_allow_is_open_to_everyone() {
        let book = book(&[("open", json!({"engine": "allow"}))]);
        assert_eq!(
            book.evaluate_without_database(&PolicyEvaluationSubject::default(), || json!({})),
            allowed_by("open")
        );
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({})), allowed_by("open"));
    }

    #[test]
    fn a_stored_policy_that_does_not_compile_is_listed_and_allows_nothing() {
        let book = book(&[
            ("bad-engine", json!({"engine": "sql"})),
            ("bad-link", json!({"engine": "allow", "link": [{"reference": "Patient/1"}]})),
            ("bad-regex", json!({"engine": "matcho", "matcho": {"uri": "#("}})),
            ("bad-type", json!({"engine": "allow", "type": "soap"})),
            ("nothing", json!(null)),
        ]);
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({"uri": "("})), denied(&[]));
        let skipped: Vec<_> = book.uncompilable_policies().iter().map(|skipped| skipped.policy_id.as_str()).collect();
        assert_eq!(skipped, ["bad-engine", "bad-link", "bad-regex", "bad-type", "nothing"]);
        assert_eq!(book.revision(), 7);
    }

    #[test]
    fn rpc_and_scope_policies_never_pass_a_rest_request() {
        for kind in ["rpc", "scope"] {
            let book = book(&[("p", json!({"engine": "allow", "type": kind}))]);
            assert_eq!(book.evaluate_without_database(&client("a"), || json!({})), denied(&[]));
            assert!(book.uncompilable_policies().is_empty());
        }
    }

    #[test]
    fn a_smart_app_policy_reads_the_token_and_the_client() {
        let policy = json!({"engine": "matcho", "matcho": {
            "jwt": {"atv": 2, "scope": "present?", "context": {"patient": "present?"}},
            "client": {"type": "smart-app", "active": true},
        }});
        let book = book(&[("smart", policy)]);
        let jwt = json!({"atv": 2, "scope": "patient/*.rs", "context": {"patient": "p1"}});
        let app = json!({"type": "smart-app", "active": true});
        assert_eq!(
            book.evaluate_without_database(&client("a"), || json!({"jwt": jwt, "client": app})),
            allowed_by("smart")
        );
        assert_eq!(book.evaluate_without_database(&client("a"), || json!({"client": app})), denied(&["smart"]));
    }
}
