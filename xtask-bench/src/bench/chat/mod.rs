//! `chat-server` at work: messages sent, events delivered to long polls, history read, presence noted, memory, start.
//!
//! The server is the release binary in its default configuration but for the limits of rate, on a database of its
//! own that syncs every commit to the disk. The figures count the server and its database together. Beside each
//! stands a server that does the one thing that cannot be left out ([`super::bare`]).

mod crowds;
mod deployment;
pub(super) mod everyday;
mod searches;

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    Bench, Row, Target, Unit,
    bare::{Bare, Kind},
    cpu::Meter,
    load::{self, Wire},
    memory,
    polls::{Crowd, Heard, Pace, Speech, percentile_ms},
};
use deployment::{CHANNEL, Cost, Deployment, Engine, Member};
use xtask::postgres::{Binaries, Postgres};

/// Members of the channel.
const MEMBERS: usize = 50;
/// Requests before the clock starts.
const WARM_UP: usize = 1_000;
/// Messages sent by as many senders as there are connections; with those to warm up, what is there at the restart.
const SENT: usize = 9_000;
const HISTORIES: usize = 6_000;
const ANSWERS: usize = 60_000;
/// Signs of life, and polls that end in nothing.
const SIGNS: usize = 30_000;
/// Listeners of the large crowd, and of the small one.
const LISTENERS: [usize; 2] = [50, 500];
/// Twenty messages a second for a quarter of a minute.
const PACE: Pace = Pace { messages: 300, interval: Duration::from_millis(50) };
const SYNCS: usize = 200;
const PAGE_BYTES: usize = 4096;
/// How long a server is left alone before its memory is read.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

const SEND_TARGETS: [Target; 2] = [Target::beside(80.0, 150.0), Target::beside(80.0, 250.0)];
const EVENT_TARGET: Target = Target::beside(19.0, 25.0);
const HISTORY_TARGET: Target = Target::beside(34.0, 60.0);
const POLL_TARGET: Target = Target::beside(21.0, 10.0);
const AT_REST_TARGET: Target = Target::alone(25.0);
const START_TARGET: Target = Target::alone(100.0);
/// Milliseconds above the sync of the storage, at the median and at the 99th percentile, for each crowd.
const DELAY_ABOVE_SYNC_MS: [[f64; 2]; 2] = [[3.0, 12.0], [8.0, 20.0]];

/// Every row on both engines.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    // In the build folder, because what is for temporary files may be memory, where a sync costs nothing.
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&bench.workspace.target)
        .context("cannot create a folder for the databases")?;
    let floor = Floor::measure(bench, folder.path())?;
    let mut rows = vec![Row {
        unit: Unit::PerSecond,
        ours: Some(floor.asked_per_second),
        ..Row::cpu("what the load itself can ask for of a bare server")
    }];
    rows.extend(on(bench, folder.path(), Engine::Sqlite, &floor)?);
    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    rows.extend(on(bench, folder.path(), Engine::Postgres(&postgres), &floor)?);
    Ok(rows)
}

fn on(bench: &Bench<'_>, folder: &Path, engine: Engine<'_>, floor: &Floor) -> Result<Vec<Row>> {
    let deployment = Deployment::start(bench, folder, engine, MEMBERS)?;
    let mut rows = vec![send(&deployment, engine, floor)?];
    rows.push(history(bench, &deployment)?);
    rows.push(sign_of_life(bench, &deployment)?);
    rows.push(empty_poll(bench, &deployment)?);
    let (deployment, start) = deployment.restart(bench)?;
    rows.push(Row {
        unit: Unit::Millis,
        ours: Some(start.as_secs_f64() * 1000.0),
        target: Some(START_TARGET),
        ..row(&deployment, &format!("start with {} messages", SENT + WARM_UP))
    });
    rows.push(Row {
        ours: Some(settled_mib(deployment.process())?),
        target: Some(AT_REST_TARGET),
        ..Row { unit: Unit::Mib, ..row(&deployment, "at rest") }
    });
    rows.extend(events(&deployment, floor)?);
    Ok(rows)
}

fn row(deployment: &Deployment<'_>, work: &str) -> Row {
    Row { engine: deployment.engine(), ..Row::cpu(work) }
}

/// Messages to a channel, from as many senders as there are connections.
fn send(deployment: &Deployment<'_>, engine: Engine<'_>, floor: &Floor) -> Result<Row> {
    let requests: Vec<Wire> = deployment.members.iter().map(|member| deployment.message(member, TEXT)).collect();
    load::drive(deployment.address(), &requests, WARM_UP)?;
    let from = deployment.spent()?;
    load::drive(deployment.address(), &requests, SENT)?;
    let cost = deployment.cost_since(&from, SENT)?;
    let target = match engine {
        Engine::Sqlite => SEND_TARGETS[0],
        Engine::Postgres(_) => SEND_TARGETS[1],
    };
    let work = of_which(&format!("send a message to {MEMBERS} members"), &cost);
    Ok(Row { limit: Some(floor.journal_us), ours: Some(cost.all_us), target: Some(target), ..row(deployment, &work) })
}

/// A kind of work, with what the database's processes take of it where they are counted apart.
fn of_which(work: &str, cost: &Cost) -> String {
    match cost.postgres_us {
        None => work.to_owned(),
        Some(postgres_us) => format!("{work} (of which Postgres {postgres_us:.0})"),
    }
}

/// What the clients of the bench say they understand.
const CAPABILITIES: &str = r#"{"notification_settings_null":true,"stream_typing_notifications":true,
"user_settings_object":true,"bulk_message_deletion":true}"#;

/// What is sent: what people write, with a mention and a link.
const TEXT: &str = "Lunch at **noon**? See https://example.org/menu, it is `pasta` today :smile:";

/// The last hundred messages of the channel, beside the bare server with an answer of the same size.
fn history(bench: &Bench<'_>, deployment: &Deployment<'_>) -> Result<Row> {
    let narrow: String = form_urlencoded::byte_serialize(
        serde_json::json!([{"operator": "channel", "operand": CHANNEL}]).to_string().as_bytes(),
    )
    .collect();
    let path = format!("/api/v1/messages?anchor=newest&num_before=100&num_after=0&narrow={narrow}");
    let ask = load::get(deployment.address(), &path);
    let requests: Vec<Wire> = deployment.members.iter().map(|member| member.signed(ask.clone())).collect();
    let first = requests.first().context("there is a member")?;
    let body = load::ask(deployment.address(), first)?;
    let answer: serde_json::Value = serde_json::from_slice(&body).context("the history is not JSON")?;
    let count = answer.get("messages").and_then(|messages| messages.as_array()).map_or(0, Vec::len);
    anyhow::ensure!(count == 100, "the history has {count} messages where there should be 100");
    load::drive(deployment.address(), &requests, WARM_UP)?;
    let from = deployment.spent()?;
    load::drive(deployment.address(), &requests, HISTORIES)?;
    let cost = deployment.cost_since(&from, HISTORIES)?;
    let (limit_us, _) = bare(bench, &Kind::Fixed(body.len()), ANSWERS)?;
    Ok(Row {
        limit: Some(limit_us),
        ours: Some(cost.all_us),
        target: Some(HISTORY_TARGET),
        ..row(deployment, &of_which(&format!("the last 100 messages ({} KiB)", body.len() / 1024), &cost))
    })
}

/// Members say that they are there, beside the bare server with an answer of the same size.
fn sign_of_life(bench: &Bench<'_>, deployment: &Deployment<'_>) -> Result<Row> {
    let fields = [("status", "active"), ("ping_only", "true"), ("new_user_input", "true")];
    let sign = load::post_form(deployment.address(), "/api/v1/users/me/presence", &fields);
    let requests: Vec<Wire> = deployment.members.iter().map(|member| member.signed(sign.clone())).collect();
    asked(bench, deployment, "a presence update", &requests)
}

/// Members ask for events where there are none: what a heartbeat costs beside the waiting.
fn empty_poll(bench: &Bench<'_>, deployment: &Deployment<'_>) -> Result<Row> {
    let poll = |member: &Member| {
        let (queue, last) = deployment.register(member)?;
        let path = format!("/api/v1/events?queue_id={queue}&last_event_id={last}&dont_block=true");
        Ok(member.signed(load::get(deployment.address(), &path)))
    };
    let requests: Vec<Wire> = deployment.members.iter().map(poll).collect::<Result<_>>()?;
    asked(bench, deployment, "a poll that finds no event", &requests)
}

/// CPU of a small request, beside the bare server with an answer of the same size.
fn asked(bench: &Bench<'_>, deployment: &Deployment<'_>, work: &str, requests: &[Wire]) -> Result<Row> {
    let first = requests.first().context("there is a member")?;
    let answer_bytes = load::ask(deployment.address(), first)?.len();
    load::drive(deployment.address(), requests, WARM_UP)?;
    let from = deployment.spent()?;
    load::drive(deployment.address(), requests, SIGNS)?;
    let cost = deployment.cost_since(&from, SIGNS)?;
    let (limit_us, _) = bare(bench, &Kind::Fixed(answer_bytes), ANSWERS)?;
    Ok(Row { limit: Some(limit_us), ours: Some(cost.all_us), ..row(deployment, work) })
}

/// Crowds that listen: memory while nothing happens, CPU of each event, delays.
fn events(deployment: &Deployment<'_>, floor: &Floor) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (size, above_sync) in LISTENERS.into_iter().zip(DELAY_ABOVE_SYNC_MS) {
        let listened = listen(deployment, size)?;
        if Some(&size) == LISTENERS.last() {
            rows.push(Row {
                unit: Unit::Kib,
                limit: Some(floor.idle_kib),
                ours: Some(listened.idle_kib),
                target: Some(POLL_TARGET),
                ..row(deployment, "an idle long poll")
            });
            rows.push(Row {
                limit: Some(floor.event_us),
                ours: Some(listened.event_us),
                target: Some(EVENT_TARGET),
                ..row(deployment, &format!("one event to one of {size} long polls"))
            });
        }
        rows.extend(delays(deployment, floor, &listened.heard, (size, above_sync)));
    }
    Ok(rows)
}

/// What a crowd cost and heard.
struct Listened {
    idle_kib: f64,
    event_us: f64,
    heard: Heard,
}

/// Lets a crowd of so many queues listen, those of one member more than one where members are fewer.
fn listen(deployment: &Deployment<'_>, size: usize) -> Result<Listened> {
    let queues: Vec<(&Member, String, i64)> = deployment
        .members
        .iter()
        .cycle()
        .take(size)
        .map(|member| deployment.register(member).map(|(queue, last)| (member, queue, last)))
        .collect::<Result<_>>()?;
    let last: Vec<i64> = queues.iter().map(|(_, _, last)| *last).collect();
    let poll = |place: usize, last: i64| {
        let Some((member, queue, _)) = queues.get(place) else { return Wire::new() };
        let path = format!("/api/v1/events?queue_id={queue}&last_event_id={last}");
        member.signed(load::get(deployment.address(), &path))
    };
    let sender = deployment.members.first().context("nobody is there to send")?;
    let send = |text: &str| deployment.message(sender, text);
    let speech = Speech { server: deployment.address(), poll: &poll, send: &send };
    let before_mib = settled_mib(deployment.process())?;
    let mut crowd = Crowd::gather(&speech, &last)?;
    let idle_mib = settled_mib(deployment.process())? - before_mib;
    let from = deployment.spent()?;
    let heard = crowd.listen(PACE)?;
    let event_us = deployment.cost_since(&from, heard.deliveries)?.all_us;
    Ok(Listened { idle_kib: idle_mib * 1024.0 / f64::from(u32::try_from(size)?), event_us, heard })
}

fn delays(deployment: &Deployment<'_>, floor: &Floor, heard: &Heard, crowd: (usize, [f64; 2])) -> Vec<Row> {
    let (size, above_sync) = crowd;
    let percentiles = [50, 99].into_iter().zip(floor.sync_ms).zip(above_sync);
    percentiles
        .map(|((percent, sync_ms), above_ms)| Row {
            unit: Unit::Millis,
            limit: Some(sync_ms),
            ours: Some(heard.percentile_ms(percent)),
            target: Some(Target::alone(sync_ms + above_ms)),
            ..row(deployment, &format!("from sent to received, {size} receivers, 20 a second, p{percent}"))
        })
        .collect()
}

/// What nobody goes below on this machine.
struct Floor {
    /// Requests a second that the load gets through where the server does nothing.
    asked_per_second: f64,
    /// CPU of a request that is on the disk before it is answered, shared syncs.
    journal_us: f64,
    /// CPU of one broadcast to one of the large crowd.
    event_us: f64,
    /// Memory of a poll that waits.
    idle_kib: f64,
    /// A sync of the disk, median and 99th percentile.
    sync_ms: [f64; 2],
}

impl Floor {
    fn measure(bench: &Bench<'_>, folder: &Path) -> Result<Self> {
        let (_, asked_per_second) = bare(bench, &Kind::Fixed(100), ANSWERS)?;
        let (journal_us, _) = bare(bench, &Kind::Journal(folder.join("journal")), SENT)?;
        let (event_us, idle_kib) = broadcast(bench)?;
        Ok(Self { asked_per_second, journal_us, event_us, idle_kib, sync_ms: sync_ms(&folder.join("sync"))? })
    }
}

/// CPU of a request of a bare server in microseconds, and how many a second it was asked.
fn bare(bench: &Bench<'_>, kind: &Kind, count: usize) -> Result<(f64, f64)> {
    bench.take_measured_core()?;
    let bare = Bare::start(kind)?;
    bench.take_other_core()?;
    let request = [load::post_form(bare.address(), "/", &[("content", TEXT)])];
    load::drive(bare.address(), &request, WARM_UP)?;
    let meter = Meter::of(bare.process())?;
    let (from, started) = (meter.read()?, Instant::now());
    load::drive(bare.address(), &request, count)?;
    let per_second = f64::from(u32::try_from(count)?) / started.elapsed().as_secs_f64();
    Ok((meter.micros_each((from, meter.read()?), u32::try_from(count)?), per_second))
}

/// CPU of a trivial broadcast to each of the large crowd in microseconds, and the memory of each in KiB.
fn broadcast(bench: &Bench<'_>) -> Result<(f64, f64)> {
    bench.take_measured_core()?;
    let bare = Bare::start(&Kind::Broadcast(EVENT_BYTES))?;
    bench.take_other_core()?;
    let server = bare.address();
    let poll = |_: usize, last: i64| load::get(server, &format!("/?last_event_id={last}"));
    let send = |text: &str| load::post_form(server, "/", &[("content", text)]);
    let speech = Speech { server, poll: &poll, send: &send };
    load::drive(server, &[load::post_form(server, "/", &[("content", "warm up")])], WARM_UP)?;
    let before_mib = settled_mib(bare.process())?;
    let heard_up_to = vec![i64::try_from(WARM_UP)?; LISTENERS[1]];
    let mut crowd = Crowd::gather(&speech, &heard_up_to)?;
    let idle_mib = settled_mib(bare.process())? - before_mib;
    let meter = Meter::of(bare.process())?;
    let from = meter.read()?;
    let heard = crowd.listen(PACE)?;
    let event_us = meter.micros_each((from, meter.read()?), u32::try_from(heard.deliveries)?);
    Ok((event_us, idle_mib * 1024.0 / f64::from(u32::try_from(heard_up_to.len())?)))
}

/// About what the event of a short message takes.
const EVENT_BYTES: usize = 900;

fn settled_mib(process: u32) -> Result<f64> {
    std::thread::sleep(SETTLED_AFTER);
    memory::resident_mib(process)
}

/// How long the disk takes to have a page for good.
fn sync_ms(path: &Path) -> Result<[f64; 2]> {
    let mut file = File::create(path).context("cannot create a file to sync")?;
    let mut took = Vec::new();
    for _ in 0..SYNCS {
        let started = Instant::now();
        file.write_all(&[b'a'; PAGE_BYTES])?;
        file.sync_data()?;
        took.push(started.elapsed());
    }
    took.sort_unstable();
    Ok([percentile_ms(&took, 50), percentile_ms(&took, 99)])
}
