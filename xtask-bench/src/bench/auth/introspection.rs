//! Opaque tokens, and introspection of a Client's own tokens: both are asked of the database and sign nothing.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::{
    Bench, Row, Target,
    limits::Signatures,
    load::{self, Callers, Wire},
};
use super::{Cost, cost, deployment::Deployment, partner::Kind, slice_us};

/// Requests of one slice.
const COUNT: usize = 2_000;
/// Requests before the clock starts.
const WARM_UP: usize = 1_000;
/// Tokens that are introspected in turn, few enough to be issued quickly.
const TOKENS: usize = 500;
const INTROSPECT: &str = "/auth/introspect";

/// What Postgres may take of its own for each.
const ISSUE_POSTGRES: Target = Target::alone(40.0);
const INTROSPECTION_POSTGRES: Target = Target::alone(20.0);
const OPAQUE_ISSUE: Target = Target::alone(60.0);
const OPAQUE_INTROSPECTION: Target = Target::alone(50.0);
/// Beyond the verification of the signature.
const JWT_INTROSPECTION_US: f64 = 65.0;
/// What the verification took when the target was set.
const VERIFICATION_THEN_US: f64 = 36.0;
const JWT_INTROSPECTION: Target = Target::beside(VERIFICATION_THEN_US, VERIFICATION_THEN_US + JWT_INTROSPECTION_US);

/// The rows of one engine.
///
/// # Errors
/// When an answer is not the right one.
pub(super) fn rows(bench: &Bench<'_>, deployment: &Deployment<'_>, limits: &Signatures) -> Result<Vec<Row>> {
    let issue = [deployment.partner(Kind::Opaque).request(deployment.address())?];
    let issued = measured(deployment, &issue, || Ok(0.0))?;
    let opaque = introspections(deployment, Kind::Opaque)?;
    let opaque = measured(deployment, &opaque, || Ok(0.0))?;
    let jwt = introspections(deployment, Kind::Secret)?;
    let jwt = measured(deployment, &jwt, || limits.slice_us(bench, Signatures::verify_es256))?;

    let mut rows = pair(deployment, "secret → opaque token", &issued, (OPAQUE_ISSUE, ISSUE_POSTGRES));
    let targets = (OPAQUE_INTROSPECTION, INTROSPECTION_POSTGRES);
    rows.extend(pair(deployment, "introspection of an own opaque token", &opaque, targets));
    let targets = (JWT_INTROSPECTION, INTROSPECTION_POSTGRES);
    rows.extend(pair(deployment, "introspection of an own ES256 token", &jwt, targets));
    Ok(rows)
}

fn measured(deployment: &Deployment<'_>, requests: &[Wire], limit: impl FnMut() -> Result<f64>) -> Result<Cost> {
    let mut callers = Callers::open(deployment.address())?;
    callers.drive(requests, WARM_UP)?;
    cost(deployment, COUNT, |_| slice_us(deployment.process(), &mut callers, requests, COUNT), limit)
}

/// Requests about tokens that were issued to the Client that sends them.
fn introspections(deployment: &Deployment<'_>, kind: Kind) -> Result<Vec<Wire>> {
    let partner = deployment.partner(kind);
    let server = deployment.address();
    let request = partner.request(server)?;
    let mut requests = Vec::with_capacity(TOKENS);
    for _ in 0..TOKENS {
        let answer: Value = serde_json::from_slice(&load::ask(server, &request)?)?;
        let token = answer.get("access_token").and_then(Value::as_str).context("there is no access token")?;
        let fields = [partner.secret_fields()?.as_slice(), &[("token", token)]].concat();
        requests.push(load::post_form(server, INTROSPECT, &fields));
    }
    let first = requests.first().context("there is no request")?;
    let answer: Value = serde_json::from_slice(&load::ask(server, first)?)?;
    ensure!(answer.get("active") == Some(&Value::Bool(true)), "the token is not active: {answer}");
    Ok(requests)
}

/// The server's row and Postgres' own; on SQLite, which works in the server's process, their targets are one sum.
fn pair(deployment: &Deployment<'_>, work: &str, cost: &Cost, (server, postgres): (Target, Target)) -> Vec<Row> {
    let row = |work: &str| Row { engine: deployment.engine(), ..Row::cpu(work) };
    let limit = Some(cost.server.limit).filter(|limit| *limit > 0.0);
    let target = if cost.postgres_us.is_some() { server } else { server.with(postgres) };
    let mut rows = vec![Row { limit, ours: Some(cost.server.ours), target: Some(target), ..row(work) }];
    rows.extend(cost.postgres_us.map(|postgres_us| {
        let work = format!("{work}: Postgres itself");
        Row { ours: Some(postgres_us), target: Some(postgres), ..row(&work) }
    }));
    rows
}
