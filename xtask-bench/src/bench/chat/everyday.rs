//! What people do all day in an organization that has talked for months: starting a client, flags, search, typing.
//!
//! The messages are written into the database while the server is down, because a million of them sent one by one
//! take minutes. The figure is the CPU of the server and the database together. Rendering is measured in the core
//! crate itself (`crates/chat-core/benches/render.rs`): over HTTP it would be the difference of two larger figures.

use std::{cell::RefCell, collections::BTreeSet, io::Write as _, time::Instant};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use super::{
    super::{
        Bench, Row, Target, Unit,
        bare::{Bare, Kind},
        cpu::Stopwatch,
        load::{self, Callers, Wire},
        memory,
        polls::{Crowd, Pace, Speech},
        slices,
        statements::Statements,
    },
    CAPABILITIES, crowds,
    deployment::{CHANNEL, Deployment, Engine, Member},
    searches,
};
use xtask::postgres::{Binaries, Postgres};

/// Members, all of them in one channel; the first is in so many more.
const MEMBERS: usize = 100;
const ROOMS: usize = 500;
/// What the first of them has not read, of twice as many messages or more.
const UNREAD: usize = 50_000;
/// Messages of one request about flags.
const FLAGGED: usize = 5_000;
/// Found by a search.
const WANTED: usize = 50;
/// Requests of a slice.
const REGISTRATIONS: usize = 2;
const SEARCHES: usize = 100;
const TYPINGS: usize = 1_000;
/// Typing that a crowd hears.
const TYPED: usize = 100;

const REGISTER_TARGET: Target = Target::alone(60_000.0);
const REGISTER_KIB_TARGET: Target = Target::alone(400.0);
const FLAGS_TARGET: Target = Target::alone(10_000.0);
const TYPING_TARGET: Target = Target::alone(200.0);
const RENDER_TARGET: Target = Target::alone(60.0);
/// How many times its bare statement a search may cost.
const SEARCH_TIMES_MAX: f64 = 2.0;

/// Every row on both engines.
///
/// # Errors
/// When a server does not start or an answer is not the right one.
pub(in super::super) fn run(bench: &Bench<'_>) -> Result<Vec<Row>> {
    let shell = Shell::new()?;
    shell.change_dir(&bench.workspace.root);
    for (package, name) in [("chat-storage", "everyday"), ("chat-core", "render")] {
        cmd!(shell, "cargo bench --quiet --package {package} --bench {name} --no-run").quiet().run()?;
    }
    let mut rows = vec![rendering(bench, &shell)?];
    // In the build folder, because what is for temporary files may be memory, where a sync costs nothing.
    let folder = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(&bench.workspace.target)
        .context("cannot create a folder for the databases")?;
    rows.extend(Measured::start(bench, folder.path(), Engine::Sqlite)?.rows()?);
    let postgres = Postgres::start(bench.workspace, Binaries::find_or_install()?)?;
    rows.extend(Measured::start(bench, folder.path(), Engine::Postgres(&postgres))?.rows()?);
    Ok(rows)
}

/// The median of the bench's messages.
fn rendering(bench: &Bench<'_>, shell: &Shell) -> Result<Row> {
    bench.take_measured_core()?;
    let told = cmd!(shell, "cargo bench --quiet --package chat-core --bench render").quiet().read();
    bench.take_other_core()?;
    let told = told?;
    let mut numbers = told.split_whitespace().map(str::parse::<f64>);
    let mut number = || numbers.next().and_then(Result::ok).context("the bench of rendering printed no number");
    let (median_us, dearest_us, count) = (number()?, number()?, number()?);
    Ok(Row {
        ours: Some(median_us),
        target: Some(RENDER_TARGET),
        ..Row::cpu(&format!("render a message (median of {count}, the dearest takes {dearest_us:.0})"))
    })
}

/// A filled server, and what it is compared with.
pub(super) struct Measured<'b, 'p> {
    bench: &'b Bench<'b>,
    deployment: Deployment<'p>,
    statements: Statements,
    processes: Vec<u32>,
    /// Who is in every room.
    pub(super) reader: Member,
}

impl<'b, 'p> Measured<'b, 'p> {
    fn start(bench: &'b Bench<'b>, folder: &std::path::Path, engine: Engine<'p>) -> Result<Self> {
        let deployment = Deployment::start(bench, folder, engine, MEMBERS)?;
        deployment.open_rooms(ROOMS)?;
        let mut statements = None;
        let (deployment, took) = deployment.restart_after(bench, |database| {
            let began = Instant::now();
            let mut asked = Statements::start(bench, ("chat-storage", "everyday"), database)?;
            asked.ask("seed", bench.messages)?;
            println!("  {} messages written in {:.0} s", bench.messages, began.elapsed().as_secs_f64());
            statements = Some(asked);
            Ok(())
        })?;
        println!("  {}: started in {} ms", deployment.engine(), took.as_millis());
        let reader = deployment.members.first().context("there is no member")?.clone();
        let statements = statements.context("nothing was written")?;
        Ok(Self { bench, processes: deployment.processes(), deployment, statements, reader })
    }

    fn rows(mut self) -> Result<Vec<Row>> {
        let (mut rows, unread) = self.registration()?;
        rows.extend(self.flags(&unread)?);
        rows.push(self.newest()?);
        rows.push(self.search()?);
        rows.extend(searches::rows(&self)?);
        rows.push(self.typing()?);
        rows.push(self.typing_heard()?);
        rows.push(Row {
            unit: Unit::Mib,
            ours: Some(memory::resident_mib(self.deployment.process())?),
            ..self.row("held after all that")
        });
        rows.extend(self.crowds()?);
        Ok(rows)
    }

    /// Thousands of users join, which everything before would have to carry.
    fn crowds(self) -> Result<Vec<Row>> {
        let Self { bench, deployment, mut statements, .. } = self;
        let (deployment, _) = deployment.restart_after(bench, |_| {
            statements.ask("people", crowds::CROWD)?;
            Ok(())
        })?;
        crowds::rows(&deployment)
    }

    pub(super) fn row(&self, work: &str) -> Row {
        Row { engine: self.deployment.engine(), ..Row::cpu(work) }
    }

    /// What each of so many requests takes from server and database; the slice in the middle.
    pub(super) fn each_us(&self, requests: &[Wire], count: usize) -> Result<f64> {
        let mut callers = self.callers()?;
        callers.drive(requests, requests.len().min(count))?;
        slices::repeat(|| slice_us(&self.processes, &mut callers, requests, count))
    }

    /// Where the server listens.
    pub(super) fn address(&self) -> std::net::SocketAddr {
        self.deployment.address()
    }

    /// Connections for one kind of work: the server closes those that say nothing for too long.
    fn callers(&self) -> Result<Callers> {
        Callers::open(self.deployment.address())
    }

    /// A bare server that answers as many bytes.
    fn bare_us(&self, bytes: usize, count: usize) -> Result<f64> {
        self.bench.take_measured_core()?;
        let bare = Bare::start(&Kind::Fixed(bytes))?;
        self.bench.take_other_core()?;
        let mut callers = Callers::open(bare.address())?;
        let request = [load::get(bare.address(), "/")];
        callers.drive(&request, count)?;
        slices::repeat(|| slice_us(&[bare.process()], &mut callers, &request, count))
    }

    /// A client starts; the numbers of what is not read come back with the rows.
    fn registration(&self) -> Result<(Vec<Row>, Vec<i64>)> {
        let fields = [("apply_markdown", "true"), ("client_gravatar", "true"), ("client_capabilities", CAPABILITIES)];
        let request = load::post_form(self.deployment.address(), "/api/v1/register", &fields);
        let request = [self.reader.signed(request)];
        let first = request.first().context("there is no request")?;
        let body = load::ask(self.deployment.address(), first)?;
        let unread = unread(&serde_json::from_slice(&body).context("the answer is not JSON")?)?;
        let count = unread.len();
        let expected = if self.bench.messages < 2 * UNREAD { FLAGGED..UNREAD } else { UNREAD..UNREAD + 1 };
        ensure!(expected.contains(&count), "{count} messages are told as unread");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&body)?;
        let compressed = gzip.finish()?.len();
        let ours = self.each_us(&request, REGISTRATIONS)?;
        let work = format!("start a client: {ROOMS} channels, {count} unread ({} KiB)", body.len() / 1024);
        let cpu = Row {
            limit: Some(self.bare_us(body.len(), 100)?),
            ours: Some(ours),
            target: Some(REGISTER_TARGET),
            ..self.row(&work)
        };
        let size = Row {
            unit: Unit::Kib,
            ours: Some(f64::from(u32::try_from(compressed)?) / 1024.0),
            target: Some(REGISTER_KIB_TARGET),
            ..self.row("the same, as gzip makes it")
        };
        Ok((vec![cpu, size], unread))
    }

    /// The newest messages get a flag and lose it again.
    fn flags(&self, unread: &[i64]) -> Result<Vec<Row>> {
        let newest: Vec<i64> = unread.iter().rev().take(FLAGGED).copied().collect();
        let messages = json!(newest).to_string();
        let mut rows = Vec::new();
        for (flag, [set, unset]) in [("read", ["read", "unread again"]), ("starred", ["starred", "unstarred"])] {
            let request = |op: &str| {
                let fields = [("messages", messages.as_str()), ("op", op), ("flag", flag)];
                [self.reader.signed(load::post_form(self.deployment.address(), "/api/v1/messages/flags", &fields))]
            };
            let (add, remove) = (request("add"), request("remove"));
            let callers = RefCell::new(self.callers()?);
            let medians = slices::alternate(
                |_| slice_us(&self.processes, &mut callers.borrow_mut(), &add, 1),
                || slice_us(&self.processes, &mut callers.borrow_mut(), &remove, 1),
            )?;
            // As many are there as before.
            callers.borrow_mut().drive(&remove, 1)?;
            for (what, ours_us) in [(set, medians.ours), (unset, medians.limit)] {
                let work = format!("mark {FLAGGED} messages {what}");
                rows.push(Row { ours: Some(ours_us), target: Some(FLAGS_TARGET), ..self.row(&work) });
            }
        }
        Ok(rows)
    }

    /// What a client shows that narrows by nothing.
    fn newest(&self) -> Result<Row> {
        let path = format!("/api/v1/messages?anchor=newest&num_before={WANTED}&num_after=0");
        let request = [self.reader.signed(load::get(self.deployment.address(), &path))];
        let bytes = self.found(&request)?;
        let ours = self.each_us(&request, SEARCHES)?;
        let limit = self.bare_us(bytes, 1_000)?;
        let work = format!("the newest {WANTED} messages of {ROOMS} channels");
        Ok(Row { limit: Some(limit), ours: Some(ours), ..self.row(&work) })
    }

    /// Words that stand in one message of a thousand, beside the bare statement that finds them.
    fn search(&mut self) -> Result<Row> {
        let requests: Vec<Wire> = (0..SEARCHES)
            .map(|number| {
                let narrow = json!([{"operator": "search", "operand": format!("ticket{}", number * 7 % 1_000)}]);
                let narrow: String = form_urlencoded::byte_serialize(narrow.to_string().as_bytes()).collect();
                let path = format!("/api/v1/messages?anchor=newest&num_before={WANTED}&num_after=0&narrow={narrow}");
                self.reader.signed(load::get(self.deployment.address(), &path))
            })
            .collect();
        self.found(&requests)?;
        let mut callers = self.callers()?;
        callers.drive(&requests, SEARCHES)?;
        self.statements.ask("search", SEARCHES)?;
        let medians = slices::alternate(
            |_| slice_us(&self.processes, &mut callers, &requests, SEARCHES),
            || Ok(self.statements.ask("search", SEARCHES)?.cpu_us),
        )?;
        let work =
            format!("search {} messages, at most {WANTED} results; limit: the bare statement", self.bench.messages);
        Ok(Row {
            limit: Some(medians.limit),
            ours: Some(medians.ours),
            target: Some(Target { value: medians.limit * SEARCH_TIMES_MAX, limit: Some(medians.limit) }),
            ..self.row(&work)
        })
    }

    /// Whether there are so many messages that a word of one in a thousand is in more than are wanted.
    pub(super) const fn has_every_word(&self) -> bool {
        self.bench.messages >= 2_000 * WANTED
    }

    /// Whether the first request is answered with as many messages as are wanted, of a word that is in one of a
    /// thousand; how long the answer is.
    fn found(&self, requests: &[Wire]) -> Result<usize> {
        let body = load::ask(self.deployment.address(), requests.first().context("there is no request")?)?;
        let answer: Value = serde_json::from_slice(&body).context("the answer is not JSON")?;
        let count = answer.get("messages").and_then(Value::as_array).map_or(0, Vec::len);
        let least = if self.has_every_word() { WANTED } else { 1 };
        ensure!((least..=WANTED).contains(&count), "{count} messages were found where there should be {least}");
        Ok(body.len())
    }

    fn typing_request(&self, topic: &str) -> Result<Wire> {
        let path = format!("/api/v1/get_stream_id?stream={CHANNEL}");
        let answer = self.deployment.call(&self.reader, load::get(self.deployment.address(), &path))?;
        let channel = answer.get("stream_id").and_then(Value::as_i64).context("the channel has no number")?;
        let channel = channel.to_string();
        let fields = [("type", "channel"), ("op", "start"), ("stream_id", channel.as_str()), ("topic", topic)];
        Ok(self.reader.signed(load::post_form(self.deployment.address(), "/api/v1/typing", &fields)))
    }

    /// Telling a hundred subscribers of whom none waits: what is decided, and kept for who asks next.
    fn typing(&self) -> Result<Row> {
        for member in &self.deployment.members {
            self.deployment.register_for(member, TYPING)?;
        }
        let request = [self.typing_request("bench")?];
        let ours = self.each_us(&request, TYPINGS)?;
        let limit = self.bare_us(100, TYPINGS)?;
        let work = format!("typing, told to {MEMBERS} subscribers");
        Ok(Row { limit: Some(limit), ours: Some(ours), target: Some(TYPING_TARGET), ..self.row(&work) })
    }

    /// The same where all of them wait, each answered over a connection of its own.
    fn typing_heard(&self) -> Result<Row> {
        let members = &self.deployment.members;
        let queues: Vec<(String, i64)> =
            members.iter().map(|member| self.deployment.register_for(member, TYPING)).collect::<Result<_>>()?;
        let template = String::from_utf8(self.typing_request("m00000")?)?;
        let poll = |place: usize, last: i64| {
            let Some((member, (queue, _))) = members.get(place).zip(queues.get(place)) else { return Wire::new() };
            let path = format!("/api/v1/events?queue_id={queue}&last_event_id={last}");
            member.signed(load::get(self.deployment.address(), &path))
        };
        // As long as the template's, which says its length.
        let numbered = |text: &str| format!("m{:0>5}", text.trim_start_matches('m'));
        let send = |text: &str| template.replace("m00000", &numbered(text)).into_bytes();
        let speech = Speech { server: self.deployment.address(), poll: &poll, send: &send };
        let last: Vec<i64> = queues.iter().map(|(_, last)| *last).collect();
        let mut crowd = Crowd::gather(&speech, &last)?;
        let watch = Stopwatch::start_trees(&self.processes)?;
        let heard = crowd.listen(Pace { messages: TYPED, interval: std::time::Duration::from_millis(20) })?;
        let ours = watch.micros_each(u32::try_from(heard.deliveries)?)?;
        Ok(Row { ours: Some(ours), ..self.row(&format!("typing, to one of {MEMBERS} long polls")) })
    }
}

/// The types of events of those who hear who types.
const TYPING: &str = "[\"typing\"]";

/// What each of so many requests takes from the processes that answer them.
pub(super) fn slice_us(processes: &[u32], callers: &mut Callers, requests: &[Wire], count: usize) -> Result<f64> {
    let watch = Stopwatch::start_trees(processes)?;
    callers.drive(requests, count)?;
    watch.micros_each(u32::try_from(count)?)
}

/// The numbers of the unread messages that a client is told when it starts, in order.
fn unread(answer: &Value) -> Result<Vec<i64>> {
    let topics = answer.pointer("/unread_msgs/streams").and_then(Value::as_array).context("no topics were told")?;
    let ids = topics.iter().filter_map(|topic| topic.get("unread_message_ids")?.as_array()).flatten();
    let ids: BTreeSet<i64> = ids.filter_map(Value::as_i64).collect();
    Ok(ids.into_iter().collect())
}
