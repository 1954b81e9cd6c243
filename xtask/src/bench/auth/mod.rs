//! `auth-server` under load: tokens, public documents, memory.
//!
//! The server is the release binary in its default configuration, on a database of its own that syncs every
//! commit to the disk. Assertions are signed before the clock starts. The ES384 client has an Organization
//! and gets the B2B claim, the server's main job; the other two are plain.

mod deployment;
mod partner;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    Bench, Row, Target,
    bare::Bare,
    cpu::Meter,
    limits::{self, Limits},
    load::{self, Wire},
    memory,
};
use crate::postgres::{Binaries, Postgres};
use deployment::{Deployment, Engine};
use partner::Kind;

/// Requests before the clock starts: copies are read, statements prepared, buffers grown.
const WARM_UP: usize = 2_000;
/// Seconds of CPU each, so that a tick of 10 ms is 1 % of it at most.
const ASSERTED: usize = 10_000;
const BY_SECRET: usize = 40_000;
const DOCUMENTS: usize = 120_000;
/// Signed at once, well within the lifetime of an assertion.
const TOP_UP: usize = 20_000;

const JWKS: &str = "/.well-known/jwks.json";
const DISCOVERY: &str = "/.well-known/smart-configuration";

const ES384_TARGET: Target = Target::beside(210.0, 260.0);
const RS384_TARGET: Target = Target::beside(26.0, 90.0);
const SECRET_TARGET: Target = Target::beside(13.0, 50.0);
/// The bare server took 6 to 9 µs.
const DOCUMENT_TARGET: Target = Target::beside(9.0, 12.0);
const POSTGRES_TARGET: Target = Target::alone(40.0);
const AT_REST_TARGET: Target = Target::alone(30.0);
const WITH_NONCES_TARGET: Target = Target::alone(80.0);

/// Every row on SQLite, then what an engine makes a difference for on Postgres.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let limits = limits::measure(bench)?;
    // In the build folder, because what is for temporary files may be memory, where a sync costs nothing.
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&bench.workspace.target)
        .context("cannot create a folder for the databases")?;

    let embedded = Deployment::start(bench, folder.path(), Engine::Sqlite)?;
    let mut rows = vec![at_rest(&embedded)?];
    rows.extend(documents(bench, &embedded)?);
    rows.extend(tokens(bench, &embedded, limits)?);
    drop(embedded);

    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    let served = Deployment::start(bench, folder.path(), Engine::Postgres(&postgres))?;
    rows.push(at_rest(&served)?);
    rows.extend(tokens(bench, &served, limits)?);
    Ok(rows)
}

fn at_rest(deployment: &Deployment<'_>) -> Result<Row> {
    Ok(Row {
        engine: deployment.engine(),
        ours: Some(memory::resident_mib(deployment.process())?),
        target: Some(AT_REST_TARGET),
        ..Row::memory("at rest")
    })
}

/// The public documents, beside the bare server with an answer of the same size.
fn documents(bench: &Bench<'_>, deployment: &Deployment<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (work, path) in [("JWKS", JWKS), ("discovery", DISCOVERY)] {
        let request = [load::get(deployment.address(), path)];
        let body = load::ask(deployment.address(), request.first().context("there is one")?)?;
        serde_json::from_slice::<Value>(&body).with_context(|| format!("{path} is not JSON"))?;
        let ours = deployment.cost(&request, DOCUMENTS)?.server_us;
        rows.push(Row {
            limit: Some(bare_us(bench, body.len())?),
            ours: Some(ours),
            target: Some(DOCUMENT_TARGET),
            ..Row::cpu(work)
        });
    }
    Ok(rows)
}

fn bare_us(bench: &Bench<'_>, body_bytes: usize) -> Result<f64> {
    bench.take_measured_core()?;
    let bare = Bare::start(body_bytes)?;
    bench.take_other_core()?;
    let request = [load::get(bare.address(), "/")];
    load::drive(bare.address(), &request, WARM_UP)?;
    let meter = Meter::of(bare.process())?;
    let from = meter.read()?;
    load::drive(bare.address(), &request, DOCUMENTS)?;
    Ok(meter.micros_each((from, meter.read()?), u32::try_from(DOCUMENTS)?))
}

/// Each way to a token, and the memory that is left behind.
fn tokens(bench: &Bench<'_>, deployment: &Deployment<'_>, limits: Limits) -> Result<Vec<Row>> {
    let work = [
        (
            "ES384 assertion → ES384 token with the claim",
            Kind::Es384,
            limits.es384_verify_us + limits.es384_sign_us,
            ES384_TARGET,
        ),
        ("RS384 assertion → ES256 token", Kind::Rs384, limits.rs384_verify_us + limits.es256_sign_us, RS384_TARGET),
        ("secret → ES256 token", Kind::Secret, limits.es256_sign_us, SECRET_TARGET),
    ];
    let mut rows = Vec::new();
    for (work, kind, limit_us, target) in work {
        let cost = token(deployment, kind)?;
        let row = |work: &str| Row { engine: deployment.engine(), ..Row::cpu(work) };
        let (limit, ours, target) = (Some(limit_us), Some(cost.server_us), Some(target));
        rows.push(Row { limit, ours, target, ..row(work) });
        if let (Some(postgres_us), true) = (cost.postgres_us, kind.asserts()) {
            let work = format!("{work}: Postgres itself");
            rows.push(Row { ours: Some(postgres_us), target: Some(POSTGRES_TARGET), ..row(&work) });
        }
    }
    rows.push(with_nonces(deployment, bench.jtis)?);
    Ok(rows)
}

fn token(deployment: &Deployment<'_>, kind: Kind) -> Result<deployment::Cost> {
    let count = if kind.asserts() { ASSERTED } else { BY_SECRET };
    let partner = deployment.partner(kind);
    let warm_up = requests(deployment, kind, WARM_UP)?;
    let answer = load::ask(deployment.address(), &partner.request(deployment.address())?)?;
    let answer: Value = serde_json::from_slice(&answer).context("the answer is not JSON")?;
    partner.check(&answer)?;
    load::drive(deployment.address(), &warm_up, WARM_UP)?;
    let measured = requests(deployment, kind, count)?;
    deployment.cost(&measured, count)
}

/// Requests that are all accepted: an assertion is good for one, a secret for any number.
fn requests(deployment: &Deployment<'_>, kind: Kind, count: usize) -> Result<Vec<Wire>> {
    let distinct = if kind.asserts() { count } else { 1 };
    let partner = deployment.partner(kind);
    (0..distinct).map(|_| partner.request(deployment.address())).collect()
}

/// Claims nonces until there are so many, and reads the memory.
fn with_nonces(deployment: &Deployment<'_>, wanted: usize) -> Result<Row> {
    // What the rows above claimed: two kinds, and the answer that is looked at.
    let mut claimed = 2 * (WARM_UP + ASSERTED + 1);
    while claimed < wanted {
        let count = TOP_UP.min(wanted - claimed);
        load::drive(deployment.address(), &requests(deployment, Kind::Es384, count)?, count)?;
        claimed += count;
    }
    Ok(Row {
        engine: deployment.engine(),
        ours: Some(memory::resident_mib(deployment.process())?),
        target: Some(WITH_NONCES_TARGET),
        ..Row::memory(&format!("after {claimed} claimed jti"))
    })
}
