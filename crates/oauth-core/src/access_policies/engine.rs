//! How a policy decides: the engines, each read once and total afterwards.
//!
//! All but `sql` look at nothing but the request. A question to the database is asked by whoever judges
//! ([`super::CompiledPolicies::evaluate_without_database`]): an engine says which answer it needs next, and goes on
//! with it.

use matcho::{CompiledPattern, PatternCompileError, PatternCompileErrorKind, UnmetCondition};
use serde_json::{Value, json};

use super::issue::{ResourceIssue, ResourceIssueCode};
use super::question::SqlPolicyQuery;
use super::schema::CompiledPolicySchema;

/// Deepest nesting of `complex`. Not specified; nobody reads more.
const MAX_DEPTH: usize = 8;
/// Most engines of one policy. Not specified; a hundred conditions are several policies.
const MAX_PARTS: usize = 100;
/// The engines there are, for whoever is told of them.
const KNOWN: &str = "allow, matcho, json-schema, sql or complex";

/// Engines that exist on the platform and not here, each with what to use instead or why not.
pub(super) const UNSUPPORTED_ENGINES: [(&str, &str); 5] = [
    ("clj", "policies here run no code"),
    ("matcho-rpc", "policies here judge REST requests"),
    ("allow-rpc", "policies here judge REST requests"),
    ("signed-rpc", "policies here judge REST requests"),
    ("smart-on-fhir", "SMART scopes bind every token that carries them; no policy is needed for that"),
];

/// The engine that evaluates an access policy.
#[derive(Debug, Clone)]
pub enum PolicyEngine {
    /// Always passes.
    Allow,
    /// Passes when the request meets the pattern.
    Matcho(CompiledPattern),
    /// Passes when the request meets the schema.
    JsonSchema(CompiledPolicySchema),
    /// Passes when the database says so.
    Sql(SqlPolicyQuery),
    /// Passes when all of these do, asked in their order.
    All(Vec<PolicyEngine>),
    /// Passes when one of these does, asked in their order.
    Any(Vec<PolicyEngine>),
}

/// What an engine is asked about.
pub(super) struct EngineInput<'a> {
    /// The request object.
    pub(super) request: &'a dyn Fn() -> &'a Value,
    /// Whether engines `allow` do not count.
    pub(super) explicit: bool,
    /// What the database said to the questions of this policy so far, in their order.
    pub(super) answers: &'a [bool],
}

/// The reason why an engine has not decided: it needs this answer first.
pub(super) struct SqlDecisionNeeded<'e>(pub(super) &'e SqlPolicyQuery);

impl PolicyEngine {
    /// Reads the engine of a policy, or of a part of one of engine `complex`.
    pub(super) fn read(resource: &Value) -> Result<Self, Vec<ResourceIssue>> {
        let mut parts = 0;
        read(resource, "AccessPolicy", (0, &mut parts))
    }

    /// Returns whether the request passes, or what has to be known first.
    pub(super) fn passes<'e>(&'e self, asked: &EngineInput<'_>) -> Result<bool, SqlDecisionNeeded<'e>> {
        self.decide(asked, &mut 0)
    }

    /// `next` is the number of the next question.
    fn decide<'e>(&'e self, asked: &EngineInput<'_>, next: &mut usize) -> Result<bool, SqlDecisionNeeded<'e>> {
        match self {
            Self::Allow => Ok(!asked.explicit),
            Self::Matcho(pattern) => {
                let request = (asked.request)();
                Ok(pattern.matches(Some(request), request))
            }
            Self::JsonSchema(schema) => Ok(schema.accepts_request((asked.request)())),
            Self::Sql(question) => {
                let answer = asked.answers.get(*next).copied().ok_or(SqlDecisionNeeded(question))?;
                *next += 1;
                Ok(answer)
            }
            Self::All(parts) => {
                for part in parts {
                    if !part.decide(asked, next)? {
                        return Ok(false);
                    }
                }
                Ok(!parts.is_empty())
            }
            Self::Any(parts) => {
                for part in parts {
                    if part.decide(asked, next)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    /// Returns whether the engine needs a database query.
    #[must_use]
    pub fn needs_database(&self) -> bool {
        match self {
            Self::Allow | Self::Matcho(_) | Self::JsonSchema(_) => false,
            Self::Sql(_) => true,
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::needs_database),
        }
    }

    /// The engine as policies name it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Matcho(_) => "matcho",
            Self::JsonSchema(_) => "json-schema",
            Self::Sql(_) => "sql",
            Self::All(_) | Self::Any(_) => "complex",
        }
    }

    /// Returns what a pattern expects of a request and does not find; nothing of other engines.
    pub(super) fn mismatches(&self, request: &Value) -> Vec<Value> {
        let Self::Matcho(pattern) = self else { return Vec::new() };
        let found = pattern.unmet_conditions(Some(request), request).into_iter();
        found
            .map(|UnmetCondition { path, expected, but }| json!({"path": path, "expected": expected, "but": but}))
            .collect()
    }

    /// Returns whether it passes whatever is asked.
    pub(super) fn passes_all(&self) -> bool {
        match self {
            Self::Allow => true,
            Self::Matcho(pattern) => pattern.matches_everything(),
            Self::JsonSchema(schema) => schema.accepts_everything(),
            Self::Sql(_) => false,
            Self::All(parts) => parts.iter().all(Self::passes_all),
            Self::Any(parts) => parts.iter().any(Self::passes_all),
        }
    }

    /// Returns what it costs, as a rank.
    pub(super) fn cost(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Matcho(_) => 1,
            Self::JsonSchema(_) => 2,
            Self::All(_) | Self::Any(_) if !self.needs_database() => 3,
            Self::Sql(_) | Self::All(_) | Self::Any(_) => 4,
        }
    }
}

fn one(code: ResourceIssueCode, expression: &str, diagnostics: impl Into<String>) -> Vec<ResourceIssue> {
    vec![ResourceIssue::new(code, expression, diagnostics)]
}

fn read(resource: &Value, at: &str, (depth, parts): (usize, &mut usize)) -> Result<PolicyEngine, Vec<ResourceIssue>> {
    *parts += 1;
    if depth > MAX_DEPTH || *parts > MAX_PARTS {
        let text = format!("a policy has at most {MAX_PARTS} engines, nested {MAX_DEPTH} deep");
        return Err(one(ResourceIssueCode::TooLong, at, text));
    }
    let engine = format!("{at}.engine");
    match resource.get("engine") {
        None => Err(one(ResourceIssueCode::Required, &engine, format!("engine is required: {KNOWN}"))),
        Some(Value::String(name)) => match name.as_str() {
            "allow" => Ok(PolicyEngine::Allow),
            "matcho" => matcho(resource.get("matcho"), at).map(PolicyEngine::Matcho),
            "json-schema" => schema(resource.get("schema"), at).map(PolicyEngine::JsonSchema),
            "sql" => sql(resource.get("sql"), at).map(PolicyEngine::Sql),
            "complex" => complex(resource, at, (depth + 1, parts)),
            name => Err(vec![no_engine(name, &engine)]),
        },
        Some(_) => Err(one(ResourceIssueCode::Structure, &engine, format!("engine is a string: {KNOWN}"))),
    }
}

fn no_engine(name: &str, at: &str) -> ResourceIssue {
    match UNSUPPORTED_ENGINES.iter().find(|(engine, _)| *engine == name) {
        Some((engine, advice)) => {
            let text = format!("this server does not support the engine {engine}: {advice}");
            ResourceIssue::new(ResourceIssueCode::NotSupported, at, text)
        }
        None => ResourceIssue::new(ResourceIssueCode::Value, at, format!("unknown engine: this server has {KNOWN}")),
    }
}

fn matcho(pattern: Option<&Value>, at: &str) -> Result<CompiledPattern, Vec<ResourceIssue>> {
    let at = format!("{at}.matcho");
    match pattern {
        None => Err(one(ResourceIssueCode::Required, &at, "the engine matcho needs a pattern in matcho")),
        Some(pattern @ Value::Object(_)) => CompiledPattern::compile(pattern)
            .map_err(|errors| errors.iter().map(|error| pattern_issue(error, &at)).collect()),
        Some(_) => Err(one(ResourceIssueCode::Structure, &at, "matcho is an object: a pattern of the request")),
    }
}

fn pattern_issue(error: &PatternCompileError, at: &str) -> ResourceIssue {
    let code = match error.kind {
        PatternCompileErrorKind::UnknownOperator(_)
        | PatternCompileErrorKind::Regex(_)
        | PatternCompileErrorKind::Path => ResourceIssueCode::Value,
        PatternCompileErrorKind::Operand { .. } => ResourceIssueCode::Structure,
        PatternCompileErrorKind::TooDeep
        | PatternCompileErrorKind::TooLarge
        | PatternCompileErrorKind::TooManyRegexes => ResourceIssueCode::TooLong,
    };
    let dot = if error.path.is_empty() { "" } else { "." };
    ResourceIssue::new(code, format!("{at}{dot}{}", error.path), error.kind.to_string())
}

fn schema(schema: Option<&Value>, at: &str) -> Result<CompiledPolicySchema, Vec<ResourceIssue>> {
    let at = format!("{at}.schema");
    match schema {
        None => Err(one(ResourceIssueCode::Required, &at, "the engine json-schema needs a schema in schema")),
        Some(schema) => {
            CompiledPolicySchema::compile(schema).map_err(|fault| one(ResourceIssueCode::Value, &at, fault.to_string()))
        }
    }
}

fn sql(sql: Option<&Value>, at: &str) -> Result<SqlPolicyQuery, Vec<ResourceIssue>> {
    let at = format!("{at}.sql.query");
    match sql.and_then(|sql| sql.get("query")) {
        None => Err(one(ResourceIssueCode::Required, &at, "the engine sql needs a query in sql.query")),
        Some(Value::String(query)) => {
            SqlPolicyQuery::parse(query).map_err(|fault| one(ResourceIssueCode::Value, &at, fault.to_string()))
        }
        Some(_) => Err(one(ResourceIssueCode::Structure, &at, "query is a string: one SELECT")),
    }
}

/// Not specified for an empty list; it is refused, because it could only ever deny.
fn complex(
    resource: &Value,
    at: &str,
    (depth, parts): (usize, &mut usize),
) -> Result<PolicyEngine, Vec<ResourceIssue>> {
    let (name, make): (_, fn(Vec<PolicyEngine>) -> PolicyEngine) = match (resource.get("and"), resource.get("or")) {
        (Some(_), None) => ("and", PolicyEngine::All),
        (None, Some(_)) => ("or", PolicyEngine::Any),
        _ => return Err(one(ResourceIssueCode::Invariant, at, "the engine complex needs and or or, and not both")),
    };
    let list = format!("{at}.{name}");
    let Some(Value::Array(entries)) = resource.get(name) else {
        return Err(one(ResourceIssueCode::Structure, &list, format!("{name} is a list of engines")));
    };
    if entries.is_empty() {
        return Err(one(ResourceIssueCode::Required, &list, format!("{name} has one engine at least")));
    }
    let mut issues = Vec::new();
    let mut read_parts = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        match read(entry, &format!("{list}[{index}]"), (depth, &mut *parts)) {
            Ok(engine) => read_parts.push(engine),
            Err(found) => issues.extend(found),
        }
        if *parts > MAX_PARTS {
            break;
        }
    }
    if issues.is_empty() { Ok(make(read_parts)) } else { Err(issues) }
}

#[cfg(test)]
mod tests;
