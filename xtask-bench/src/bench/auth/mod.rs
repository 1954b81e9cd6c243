//! `auth-server` under load: tokens, public documents, memory.
//!
//! The server is the release binary in its default configuration, on a database of its own that syncs every
//! commit to the disk. Assertions are signed before the clock starts. The ES384 client has an Organization
//! and gets the B2B claim, the server's main job; the other two are plain.

mod deployment;
pub(super) mod fhir;
mod introspection;
mod members;
mod partner;
mod queue;

use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

use super::{
    Bench, Row, Target,
    bare::{self, Bare},
    cpu::{Meter, Stopwatch},
    limits::Signatures,
    load::{self, Callers, Wire},
    memory,
    slices::{self, Medians, SLICES},
};
use deployment::{Deployment, Engine};
use partner::Kind;
use xtask::postgres::{Binaries, Postgres};

/// Requests before the clock starts: copies are read, statements prepared, buffers grown.
const WARM_UP: usize = 2_000;
/// Requests of one slice, each a tenth of a second of CPU at least.
const ASSERTED: usize = 1_000;
const BY_SECRET: usize = 4_000;
const DOCUMENTS: usize = 12_000;
/// Signed at once, well within the lifetime of an assertion.
const TOP_UP: usize = 20_000;

const JWKS: &str = "/.well-known/jwks.json";
const DISCOVERY: &str = "/.well-known/smart-configuration";

/// Verifying and signing are 79 % of it.
const ES384_TARGET: Target = Target::beside(210.0, 265.0);
const RS384_TARGET: Target = Target::beside(26.0, 90.0);
const SECRET_TARGET: Target = Target::beside(13.0, 50.0);
/// The bare server took 6 to 9 µs.
const DOCUMENT_TARGET: Target = Target::beside(9.0, 12.0);
/// What the database may take for an assertion: of Postgres' own time, and on the embedded engine of the server's,
/// whose process it works in.
const POSTGRES_TARGET: Target = Target::alone(40.0);
const AT_REST_TARGET: Target = Target::alone(30.0);
const WITH_NONCES_TARGET: Target = Target::alone(80.0);

/// Every row on SQLite, then what an engine makes a difference for on Postgres.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let limits = Signatures::generate()?;
    let folder = databases(bench)?;
    let embedded = Deployment::start(bench, folder.path(), Engine::Sqlite)?;
    let mut rows = vec![at_rest(&embedded)?];
    rows.extend(documents(bench, &embedded)?);
    rows.extend(tokens(bench, &embedded, &limits)?);
    rows.extend(introspection::rows(bench, &embedded, &limits)?);
    rows.extend(members::rows(bench, &embedded, (&limits, folder.path()))?);
    drop(embedded);

    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    let served = Deployment::start(bench, folder.path(), Engine::Postgres(&postgres))?;
    rows.push(at_rest(&served)?);
    rows.extend(tokens(bench, &served, &limits)?);
    rows.extend(introspection::rows(bench, &served, &limits)?);
    rows.extend(members::rows(bench, &served, (&limits, folder.path()))?);
    Ok(rows)
}

/// What a crowd that signs in does to tokens, on both engines.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(super) fn crowd(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let folder = databases(bench)?;
    let embedded = Deployment::start(bench, folder.path(), Engine::Sqlite)?;
    let on_sqlite = queue::row(bench, &embedded)?;
    drop(embedded);
    bench.take_both_cores()?;
    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    let served = Deployment::start(bench, folder.path(), Engine::Postgres(&postgres))?;
    Ok(vec![on_sqlite, queue::row(bench, &served)?])
}

/// A folder for databases, which is gone when it is dropped. In the build folder, because what is for temporary files
/// may be memory, where a sync costs nothing.
fn databases(bench: &Bench<'_>) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(&bench.workspace.target);
    folder.context("cannot create a folder for the databases")
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
        let medians = document(bench, deployment, path)?;
        let (limit, ours) = (Some(medians.limit), Some(medians.ours));
        rows.push(Row { limit, ours, target: Some(DOCUMENT_TARGET), ..Row::cpu(work) });
    }
    Ok(rows)
}

fn document(bench: &Bench<'_>, deployment: &Deployment<'_>, path: &str) -> Result<Medians> {
    let request = load::get(deployment.address(), path);
    let body = load::ask(deployment.address(), &request)?;
    serde_json::from_slice::<Value>(&body).with_context(|| format!("{path} is not JSON"))?;
    bench.take_measured_core()?;
    let bare = Bare::start(&bare::Kind::Fixed(body.len()))?;
    bench.take_other_core()?;
    let ours = [request];
    let limit = [load::get(bare.address(), "/")];
    let (mut our_callers, mut bare_callers) = (Callers::open(deployment.address())?, Callers::open(bare.address())?);
    our_callers.drive(&ours, WARM_UP)?;
    bare_callers.drive(&limit, WARM_UP)?;
    slices::alternate(
        |_| slice_us(deployment.process(), &mut our_callers, &ours, DOCUMENTS),
        || slice_us(bare.process(), &mut bare_callers, &limit, DOCUMENTS),
    )
}

/// What each of so many requests takes from the process that answers them.
fn slice_us(process: u32, callers: &mut Callers, requests: &[Wire], count: usize) -> Result<f64> {
    let watch = Stopwatch::start(process)?;
    callers.drive(requests, count)?;
    watch.micros_each(u32::try_from(count)?)
}

/// A way to a token.
struct Way {
    work: &'static str,
    kind: Kind,
    /// What has to be computed for it whoever does it.
    limit: fn(&Signatures) -> bool,
    target: Target,
}

const WAYS: [Way; 3] = [
    Way {
        work: "ES384 assertion → ES384 token with the claim",
        kind: Kind::Es384,
        limit: |signatures| signatures.verify_es384() && signatures.sign_es384(),
        target: ES384_TARGET,
    },
    Way {
        work: "RS384 assertion → ES256 token",
        kind: Kind::Rs384,
        limit: |signatures| signatures.verify_rs384() && signatures.sign_es256(),
        target: RS384_TARGET,
    },
    Way {
        work: "secret → ES256 token",
        kind: Kind::Secret,
        limit: |signatures| signatures.sign_es256(),
        target: SECRET_TARGET,
    },
];

/// Each way to a token, and the memory that is left behind.
fn tokens(bench: &Bench<'_>, deployment: &Deployment<'_>, limits: &Signatures) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for Way { work, kind, limit, target } in WAYS {
        let cost = token(deployment, kind, || limits.slice_us(bench, limit))?;
        let row = |work: &str| Row { engine: deployment.engine(), ..Row::cpu(work) };
        let (limit, ours, target) = (Some(cost.server.limit), Some(cost.server.ours), Some(target));
        let target = if kind.asserts() && cost.postgres_us.is_none() {
            target.map(|target| target.with(POSTGRES_TARGET))
        } else {
            target
        };
        rows.push(Row { limit, ours, target, ..row(work) });
        if let (Some(postgres_us), true) = (cost.postgres_us, kind.asserts()) {
            let work = format!("{work}: Postgres itself");
            rows.push(Row { ours: Some(postgres_us), target: Some(POSTGRES_TARGET), ..row(&work) });
        }
    }
    rows.push(with_nonces(deployment, bench.jtis)?);
    Ok(rows)
}

/// CPU of one operation.
struct Cost {
    server: Medians,
    /// Over all slices: Postgres works on after the answer.
    postgres_us: Option<f64>,
}

fn token(deployment: &Deployment<'_>, kind: Kind, limit: impl FnMut() -> Result<f64>) -> Result<Cost> {
    let count = if kind.asserts() { ASSERTED } else { BY_SECRET };
    let partner = deployment.partner(kind);
    let warm_up = requests(deployment, kind, WARM_UP)?;
    let answer = load::ask(deployment.address(), &partner.request(deployment.address())?)?;
    let answer: Value = serde_json::from_slice(&answer).context("the answer is not JSON")?;
    partner.check(&answer)?;
    let measured = requests(deployment, kind, SLICES * count)?;
    let mut callers = Callers::open(deployment.address())?;
    callers.drive(&warm_up, WARM_UP)?;
    let slice = |slice: usize| {
        let own = measured.get(slice * count..(slice + 1) * count).unwrap_or(&measured);
        slice_us(deployment.process(), &mut callers, own, count)
    };
    cost(deployment, count, slice, limit)
}

/// Slices of load, of so many operations, and of the limit in turn.
fn cost(
    deployment: &Deployment<'_>,
    count: usize,
    slice: impl FnMut(usize) -> Result<f64>,
    limit: impl FnMut() -> Result<f64>,
) -> Result<Cost> {
    let postgres = deployment.postgres_meter()?;
    let from = postgres.map(Meter::read).transpose()?;
    let server = slices::alternate(slice, limit)?;
    let operations = u32::try_from(SLICES * count)?;
    let span = from.zip(postgres.map(Meter::read).transpose()?);
    Ok(Cost { server, postgres_us: postgres.zip(span).map(|(meter, span)| meter.micros_each(span, operations)) })
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
    let mut claimed = 2 * (WARM_UP + SLICES * ASSERTED + 1);
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
