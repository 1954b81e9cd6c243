//! The searches that clients send, at several sizes of a store: what each costs, and how that grows.
//!
//! A server writes 10,000 resources; further ones are copied beside it, row by row ([`Statements`]: `grow`). The figure
//! is the CPU of the server and, on Postgres, of the database's processes, for a page of twenty. The limit of a size is
//! the cost at the smallest one: a search costs what its page costs, so it must not grow.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    super::{
        super::{
            Bench, Row, Target, Unit,
            load::{self, Callers, Wire},
            slices,
            statements::Statements,
        },
        deployment::{Deployment, Engine},
    },
    population::{self, EACH, Seeded, patient_id},
    slice_us,
};
use xtask::postgres::Postgres;

/// Patients that the server writes itself.
const PATIENTS: usize = 400;
/// Requests before the clock starts, and requests of a slice.
const WARM_UP: usize = 30;
const SLICE: usize = 20;
/// How much more a search may cost at the largest size than at the smallest.
const GROWTH_MAX: f64 = 1.5;

/// Microseconds that a search may cost: of a patient, in an order of the whole type, and by a common beside a rare
/// code.
const OF_PATIENT: f64 = 500.0;
const SORTED: f64 = 2_000.0;
const BY_CODES: f64 = 1_000.0;

/// A query with `{p}` for the id of a patient, `{c}` for a code and `{m}` for a member's number, and what it may cost.
const SHAPES: [(&str, f64); 34] = [
    ("Observation?patient={p}", OF_PATIENT),
    ("Observation?subject=Patient/{p}", OF_PATIENT),
    ("Observation?patient={p}&category=laboratory", OF_PATIENT),
    ("Observation?category=laboratory&patient={p}", OF_PATIENT),
    ("Observation?patient={p}&category=laboratory&date=ge2018-01-01", OF_PATIENT),
    ("Observation?patient={p}&code={c}", OF_PATIENT),
    ("Observation?patient={p}&code={c}&date=ge2018-01-01", OF_PATIENT),
    ("Observation?patient={p}&category=laboratory&status=final", OF_PATIENT),
    ("Observation?patient={p}&_sort=-date", OF_PATIENT),
    ("Observation?patient={p}&category=laboratory&_sort=-date", OF_PATIENT),
    ("Observation?patient={p}&date=ge2018-01-01&_sort=date", OF_PATIENT),
    ("Observation?patient={p}&_lastUpdated=ge2020-01-01", OF_PATIENT),
    ("Condition?patient={p}&clinical-status=active", OF_PATIENT),
    ("Encounter?patient={p}&date=ge2018-01-01", OF_PATIENT),
    ("Encounter?patient={p}&status=finished", OF_PATIENT),
    ("Coverage?beneficiary=Patient/{p}&status=active", OF_PATIENT),
    ("Encounter?patient={p}&_revinclude=Condition:encounter", OF_PATIENT),
    ("Condition?patient={p}&_include=Condition:encounter", OF_PATIENT),
    ("Observation?_sort=-date", SORTED),
    ("Observation?_sort=date", SORTED),
    ("Observation?status=final&_sort=-date", SORTED),
    ("Observation?date=ge2020-01-01&_sort=-date", SORTED),
    ("Observation?date=ge2020-01-01", SORTED),
    ("Observation?_sort=-_lastUpdated", SORTED),
    ("Observation?_lastUpdated=ge2020-01-01", SORTED),
    ("Observation?category=laboratory&date=ge2020-01-01", SORTED),
    ("Patient?_sort=family", SORTED),
    ("Observation?category=laboratory&code={c}", BY_CODES),
    ("Observation?code={c}&category=laboratory", BY_CODES),
    ("Observation?category=laboratory&status=final", BY_CODES),
    ("Observation?code={c}&_sort=-date", BY_CODES),
    ("Patient?_has:Observation:patient:code={c}", BY_CODES),
    ("Patient?identifier=http://payer.example/member|{m}", BY_CODES),
    ("Observation?patient.identifier=http://payer.example/member|{m}", BY_CODES),
];

/// All shapes at these sizes on one engine.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(super) fn run(bench: &Bench<'_>, folder: &Path, postgres: Option<&Postgres>) -> Result<Vec<Row>> {
    let engine = postgres.map_or(Engine::Sqlite, Engine::Postgres);
    let deployment = Deployment::start(bench, folder, engine)?;
    let mut seeded = Seeded::new(3);
    for patient in 0..PATIENTS {
        let record = population::record(patient, &mut seeded);
        deployment.accepted(&deployment.transaction(&population::transaction(record)))?;
    }
    let file = folder.join("auth-server/auth.db").to_string_lossy().into_owned();
    let database = deployment.database().unwrap_or(file);
    let mut statements = Statements::start(bench, ("auth-storage", "grow"), &database)?;
    let mut measured: Vec<Vec<f64>> = vec![Vec::new(); SHAPES.len()];
    for size in &bench.resources {
        let copies = (size / (PATIENTS * EACH)).max(1);
        let grown = statements.ask("copies", copies)?;
        println!("  {}: {size} resources in {:.0} s", deployment.engine(), grown.clock_us / 1e6);
        for ((shape, _), figures) in SHAPES.iter().zip(&mut measured) {
            figures.push(cost(&deployment, shape)?);
        }
    }
    Ok(rows(deployment.engine(), &bench.resources, &measured))
}

/// What a request of this shape costs.
fn cost(deployment: &Deployment<'_>, shape: &str) -> Result<f64> {
    let (server, administrator) = (deployment.address(), deployment.administrator());
    let requests: Vec<Wire> = (0..SLICE)
        .map(|n| {
            let patient = n * 7 % PATIENTS;
            let path = shape
                .replace("{p}", &patient_id(patient))
                .replace("{c}", &population::code(patient, n % population::OBSERVATIONS))
                .replace("{m}", &format!("M{patient:06}"));
            let path = format!("/fhir/{path}&_count=20");
            load::with_header(load::get(server, &path), "authorization", &administrator)
        })
        .collect();
    let mut found = 0;
    for request in &requests {
        let answer: Value = serde_json::from_slice(&load::ask(server, request)?).context("the answer is not JSON")?;
        found += answer.get("entry").and_then(Value::as_array).map_or(0, Vec::len);
    }
    ensure!(found > 0, "{shape} finds nothing");
    let processes: Vec<u32> =
        [Some(deployment.process()), deployment.postgres_process()].into_iter().flatten().collect();
    let mut callers = Callers::open(server)?;
    callers.drive(&requests, WARM_UP)?;
    slices::repeat(|| slice_us(&processes, &mut callers, &requests, SLICE))
}

/// A row for each shape and size, and one for how much each grew.
fn rows(engine: &'static str, sizes: &[usize], measured: &[Vec<f64>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for ((shape, most), figures) in SHAPES.iter().zip(measured) {
        for (size, figure) in sizes.iter().zip(figures) {
            rows.push(Row {
                engine,
                limit: figures.first().copied(),
                ours: Some(*figure),
                target: Some(Target::alone(*most)),
                ..Row::cpu(&format!("{shape} of {size}"))
            });
        }
        if let (Some(first), Some(last), true) = (figures.first(), figures.last(), figures.len() > 1) {
            rows.push(Row {
                engine,
                unit: Unit::Count,
                ours: Some(last / first),
                target: Some(Target::alone(GROWTH_MAX)),
                ..Row::cpu(&format!("{shape}: growth"))
            });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_grows_misses_its_target_however_cheap_it_is() {
        let mut measured = vec![vec![100.0, 110.0]; SHAPES.len()];
        measured[0] = vec![100.0, 160.0];
        let rows = rows("SQLite", &[10_000, 100_000], &measured);
        let growth: Vec<&str> = rows.iter().filter(|row| row.unit == Unit::Count).map(Row::verdict).collect();
        assert_eq!((growth.len(), growth[0], growth[1]), (SHAPES.len(), "MISSED", "met"));
        assert!(rows.iter().filter(|row| row.unit != Unit::Count).all(|row| row.verdict() == "met"));
    }
}
