//! The FHIR endpoint on 100,000 resources: reads, searches, what a patient's token adds, and writes.
//!
//! The figure is the CPU of the server and, on Postgres, of the database's processes. The limit of a read or a
//! search is the bare statement on one connection and a bare server that answers as many bytes; that of a
//! patient's token is a token of a system on the same requests. A write is a transaction of 32 new Observations. It has
//! two limits: one statement that inserts 32 rows, in a table that has nothing else, and one transaction that inserts
//! all the rows that are written for 32 Observations and does nothing else, in tables as large.

mod population;
mod shapes;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use super::{
    super::{
        Bench, Row, Target, Unit,
        bare::{self, Bare},
        cpu::Stopwatch,
        load::{self, Callers, Wire},
        slices::{self, Medians},
        statements::{Each, Statements},
    },
    deployment::{Deployment, Engine},
    members,
    partner::Kind,
};
use crate::demo::http::Call;
use population::{EACH, PATIENTS, Seeded, patient_id};
use xtask::postgres::{Binaries, Postgres};

/// Patients whose resources are sent in one Bundle.
const AT_ONCE: usize = 10;
/// Requests before the clock starts, and requests of a slice.
const WARM_UP: usize = 300;
const READS: usize = 2_000;
const SEARCHES: usize = 300;
/// Resources of a written Bundle, and Bundles of a slice.
const BATCH: usize = 32;
const BATCHES: usize = 10;

/// How many times its limit each may cost.
const READ_TIMES_MAX: f64 = 2.5;
const SEARCH_TIMES_MAX: f64 = 3.0;
const CONFINED_TIMES_MAX: f64 = 1.15;
/// At least 40 % of the bare rate.
const WRITE_TIMES_MAX: f64 = 2.5;
/// Who asks with a token of its own.
const MEMBER: usize = 7;

/// All of it on both engines.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(in super::super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let shell = Shell::new()?;
    shell.change_dir(&bench.workspace.root);
    cmd!(shell, "cargo bench --quiet --package auth-storage --bench fhir --bench grow --no-run").quiet().run()?;
    // In the build folder, because what is for temporary files may be memory, where a sync costs nothing.
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&bench.workspace.target)
        .context("cannot create a folder for the databases")?;
    let embedded = Deployment::start(bench, folder.path(), Engine::Sqlite)?;
    let mut rows =
        Measured::start(bench, &embedded, &folder.path().join("auth-server/auth.db").to_string_lossy())?.rows()?;
    drop(embedded);
    rows.extend(shaped(bench, None)?);
    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    let served = Deployment::start(bench, folder.path(), Engine::Postgres(&postgres))?;
    rows.extend(Measured::start(bench, &served, &served.database().context("there is no database")?)?.rows()?);
    drop(served);
    rows.extend(shaped(bench, Some(Binaries::find_or_install()?))?);
    Ok(rows)
}

/// The shapes of searches at every size, in a database of their own.
fn shaped(bench: &Bench<'_>, binaries: Option<Binaries>) -> Result<Vec<Row>> {
    if bench.resources.is_empty() {
        return Ok(Vec::new());
    }
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&bench.workspace.target)
        .context("cannot create a folder for the databases")?;
    let postgres = binaries.map(|binaries| Postgres::start(bench.workspace, binaries)).transpose()?;
    shapes::run(bench, folder.path(), postgres.as_ref())
}

/// The shapes of searches alone, on both engines.
///
/// # Errors
/// As [`run`].
pub(in super::super) fn run_shapes(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let shell = Shell::new()?;
    shell.change_dir(&bench.workspace.root);
    cmd!(shell, "cargo bench --quiet --package auth-storage --bench grow --no-run").quiet().run()?;
    let mut rows = shaped(bench, None)?;
    rows.extend(shaped(bench, Some(Binaries::find_or_install()?))?);
    Ok(rows)
}

/// A filled server, and what it is compared with.
struct Measured<'b, 'p> {
    bench: &'b Bench<'b>,
    deployment: &'b Deployment<'p>,
    statements: Statements,
    processes: Vec<u32>,
}

impl<'b, 'p> Measured<'b, 'p> {
    fn start(bench: &'b Bench<'b>, deployment: &'b Deployment<'p>, database: &str) -> Result<Self> {
        let began = Instant::now();
        fill(deployment)?;
        println!("  {}: {} resources in {:.0} s", deployment.engine(), PATIENTS * EACH, began.elapsed().as_secs_f64());
        let mut statements = Statements::start(bench, ("auth-storage", "fhir"), database)?;
        statements.ask("settle", 1)?;
        let processes = [Some(deployment.process()), deployment.postgres_process()].into_iter().flatten().collect();
        Ok(Self { bench, deployment, statements, processes })
    }

    fn rows(mut self) -> Result<Vec<Row>> {
        let observations = (0..PATIENTS).map(|n| {
            let (patient, place) = (n * 7 % PATIENTS, n % population::OBSERVATIONS);
            format!("/fhir/Observation/{}", population::observation_id(patient, place))
        });
        let patients = (0..PATIENTS).map(|n| n * 7 % PATIENTS);
        let by_code =
            patients.clone().map(|n| format!("/fhir/Observation?code=http://loinc.example|c{n:04}&_count=20"));
        let by_subject = patients.map(|n| format!("/fhir/Observation?subject=Patient/{}&_count=20", patient_id(n)));
        let mut rows = vec![
            self.answered("read a resource", &observations.collect::<Vec<_>>(), ("read", READS, READ_TIMES_MAX))?,
            self.answered(
                "search by token, 20 results",
                &by_code.collect::<Vec<_>>(),
                ("token", SEARCHES, SEARCH_TIMES_MAX),
            )?,
            self.answered(
                "search by reference, 20 results",
                &by_subject.collect::<Vec<_>>(),
                ("reference", SEARCHES, SEARCH_TIMES_MAX),
            )?,
        ];
        rows.extend(self.confined()?);
        rows.extend(self.written()?);
        Ok(rows)
    }

    /// Requests of the administrator beside the bare statement and a bare answer of the same size.
    fn answered(
        &mut self,
        work: &str,
        paths: &[String],
        (statement, count, times_max): (&str, usize, f64),
    ) -> Result<Row> {
        let server = self.deployment.address();
        let administrator = self.deployment.administrator();
        let requests: Vec<Wire> = paths
            .iter()
            .map(|path| load::with_header(load::get(server, path), "authorization", &administrator))
            .collect();
        let first = requests.first().context("there is no request")?;
        let answer = load::ask(server, first)?;
        check(&answer)?;
        self.bench.take_measured_core()?;
        let bare = Bare::start(&bare::Kind::Fixed(answer.len()))?;
        self.bench.take_other_core()?;
        let bare_requests = [load::get(bare.address(), "/")];
        let (mut callers, mut bare_callers) = (Callers::open(server)?, Callers::open(bare.address())?);
        callers.drive(&requests, WARM_UP)?;
        bare_callers.drive(&bare_requests, WARM_UP)?;
        self.statements.ask(statement, WARM_UP)?;
        let (processes, statements) = (&self.processes, &mut self.statements);
        let medians = slices::alternate(
            |slice| slice_us(processes, &mut callers, turned(&requests, slice * count), count),
            || {
                let answered_us = slice_us(&[bare.process()], &mut bare_callers, &bare_requests, READS)?;
                Ok(answered_us + statements.ask(statement, count)?.cpu_us)
            },
        )?;
        Ok(self.row(work, medians, times_max))
    }

    /// What a patient's token costs beside a token of a system, on the patient's own resources.
    fn confined(&mut self) -> Result<Vec<Row>> {
        let server = self.deployment.address();
        let partner = self.deployment.partner(Kind::Secret);
        let link = [partner.client().0, members::APP].map(|id| json!({"reference": format!("Client/{id}")}));
        self.deployment.put(&json!({
            "resourceType": "AccessPolicy", "id": "bench-readers", "engine": "allow", "link": link,
        }))?;
        let own = members::token(self.deployment, &patient_id(MEMBER))?;
        let system: Value = serde_json::from_slice(&load::ask(server, &partner.request(server)?)?)?;
        let system = system.get("access_token").and_then(Value::as_str).context("there is no token")?;
        let mut rows = Vec::new();
        for (work, path, count) in [
            ("a patient's token, read", format!("/fhir/Observation/{}", population::observation_id(MEMBER, 3)), READS),
            (
                "a patient's token, search by reference, 20 results",
                format!("/fhir/Observation?subject=Patient/{}&_count=20", patient_id(MEMBER)),
                SEARCHES,
            ),
        ] {
            let request = |token: &str| {
                [load::with_header(load::get(server, &path), "authorization", &format!("Bearer {token}"))]
            };
            let (ours, limit) = (request(&own), request(system));
            for request in ours.iter().chain(&limit) {
                check(&load::ask(server, request)?)?;
            }
            let mut callers = Callers::open(server)?;
            callers.drive(&ours, WARM_UP)?;
            callers.drive(&limit, WARM_UP)?;
            let callers = std::cell::RefCell::new(callers);
            let medians = slices::alternate(
                |_| slice_us(&self.processes, &mut callers.borrow_mut(), &ours, count),
                || slice_us(&self.processes, &mut callers.borrow_mut(), &limit, count),
            )?;
            rows.push(self.row(work, medians, CONFINED_TIMES_MAX));
        }
        Ok(rows)
    }

    /// Transactions of new Observations, one after the other.
    fn written(&mut self) -> Result<Vec<Row>> {
        let mut seeded = Seeded::new(2);
        let mut number = 0;
        let mut clocks = (Vec::new(), Vec::new());
        let mut same_rows = Vec::new();
        let (processes, deployment, statements) = (&self.processes, self.deployment, &mut self.statements);
        let per_resource = |each: Each| Each { cpu_us: each.cpu_us / BATCH_F64, clock_us: each.clock_us / BATCH_F64 };
        let medians = slices::alternate(
            |_| {
                let bundles: Vec<Call> = (0..BATCHES)
                    .map(|_| {
                        let observations = (0..BATCH).map(|_| {
                            number += 1;
                            population::observation(number % PATIENTS, number % 20, &mut seeded)
                        });
                        deployment.transaction(&population::transaction(observations.collect()))
                    })
                    .collect();
                let (watch, began) = (Stopwatch::start_trees(processes)?, Instant::now());
                for bundle in &bundles {
                    deployment.accepted(bundle)?;
                }
                let clock_us = began.elapsed().as_secs_f64() * 1e6;
                let cpu_us = watch.micros_each(u32::try_from(BATCHES)?)?;
                let each = per_resource(Each { cpu_us, clock_us: clock_us / f64::from(u32::try_from(BATCHES)?) });
                clocks.0.push(each.clock_us);
                Ok(each.cpu_us)
            },
            || {
                let each = per_resource(statements.ask("insert", BATCHES)?);
                clocks.1.push(each.clock_us);
                same_rows.push(per_resource(statements.ask("rows", BATCHES)?).cpu_us);
                Ok(each.cpu_us)
            },
        )?;
        let middle = |mut each: Vec<f64>| {
            each.sort_by(f64::total_cmp);
            each.get(each.len() / 2).copied()
        };
        let rate = |clocks| middle(clocks).map(|clock_us| 1e6 / clock_us);
        let (ours, limit) = (rate(clocks.0), rate(clocks.1));
        let same = Medians { limit: middle(same_rows).context("there is no slice")?, ..medians };
        let clock = Row {
            engine: deployment.engine(),
            unit: Unit::PerSecond,
            limit,
            ours,
            ..Row::cpu("write with indexing, transactions of 32, on the clock")
        };
        Ok(vec![
            self.row("write with indexing, transactions of 32, each resource", medians, WRITE_TIMES_MAX),
            self.row("the same; limit: all those rows, bare, in one transaction", same, WRITE_TIMES_MAX),
            clock,
        ])
    }

    fn row(&self, work: &str, Medians { ours, limit }: Medians, times_max: f64) -> Row {
        Row {
            engine: self.deployment.engine(),
            limit: Some(limit),
            ours: Some(ours),
            target: Some(Target { value: limit * times_max, limit: Some(limit) }),
            ..Row::cpu(work)
        }
    }
}

const BATCH_F64: f64 = 32.0;

/// Has all resources written, a Bundle after the other.
fn fill(deployment: &Deployment<'_>) -> Result<()> {
    let mut seeded = Seeded::new(1);
    for from in (0..PATIENTS).step_by(AT_ONCE) {
        let records = (from..from + AT_ONCE).flat_map(|patient| population::record(patient, &mut seeded));
        deployment.accepted(&deployment.transaction(&population::transaction(records.collect())))?;
    }
    Ok(())
}

/// What each of so many requests takes from the processes that answer them.
fn slice_us(processes: &[u32], callers: &mut Callers, requests: &[Wire], count: usize) -> Result<f64> {
    let watch = Stopwatch::start_trees(processes)?;
    callers.drive(requests, count)?;
    watch.micros_each(u32::try_from(count)?)
}

/// The requests from another one on, so that no slice asks what the one before asked.
fn turned(requests: &[Wire], by: usize) -> &[Wire] {
    requests.get(by % requests.len().max(1)..).unwrap_or(requests)
}

/// Whether an answer is one resource, or a page of twenty.
fn check(answer: &[u8]) -> Result<()> {
    let answer: Value = serde_json::from_slice(answer).context("the answer is not JSON")?;
    match answer.get("resourceType").and_then(Value::as_str) {
        Some("Observation") => Ok(()),
        Some("Bundle") => {
            let entries = answer.get("entry").and_then(Value::as_array).map_or(0, Vec::len);
            ensure!(entries == population::OBSERVATIONS, "a search found {entries} resources");
            Ok(())
        }
        _ => bail!("the answer is neither an Observation nor a page of them: {answer:#}"),
    }
}
