//! One chat server with its database and its members, ready to be measured.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::super::{
    Bench,
    cpu::{Meter, Ticks},
    load::{self, Wire},
};
use crate::demo::{
    http::Call,
    server::{Program, Server, Start},
};
use xtask::postgres::Postgres;

const PROGRAM: Program = Program { name: "chat-server", listen: "CHAT_LISTEN", data_dir: "CHAT_DATA_DIR" };
const OWNER: &str = "owner@example.org";
const PASSWORD: &str = "bench: correct horse battery";
/// Everybody's channel.
pub(super) const CHANNEL: &str = "bench";
/// Into so many shares the members are divided who are not in all rooms.
const SHARES: usize = 10;

/// Where the server keeps its data.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine<'p> {
    Sqlite,
    Postgres(&'p Postgres),
}

/// Who may call, as the `Authorization` field.
#[derive(Debug, Clone)]
pub(super) struct Member {
    id: i64,
    authorization: String,
}

/// A running server with its members, all in one channel.
pub(super) struct Deployment<'p> {
    server: Server,
    address: SocketAddr,
    engine: Engine<'p>,
    folder: PathBuf,
    url: Option<String>,
    pub(super) members: Vec<Member>,
}

/// CPU of one operation, in microseconds: the server's and its database's together, and the latter alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    pub(super) all_us: f64,
    pub(super) postgres_us: Option<f64>,
}

/// What was spent up to a moment.
pub(super) struct Spent {
    server: Ticks,
    postgres: Option<Ticks>,
}

impl<'p> Deployment<'p> {
    /// Starts the release binary on the measured core, and makes so many members.
    ///
    /// # Errors
    /// When it does not start, or refuses a member.
    pub(super) fn start(bench: &Bench<'_>, folder: &Path, engine: Engine<'p>, members: usize) -> Result<Self> {
        let url = match engine {
            Engine::Sqlite => None,
            Engine::Postgres(postgres) => Some(postgres.create_database("bench_chat")?),
        };
        let (server, _) = start(bench, folder, url.as_deref())?;
        let address = address(&server)?;
        let folder = folder.to_owned();
        let mut deployment = Self { server, address, engine, folder, url, members: Vec::new() };
        deployment.populate(members)?;
        Ok(deployment)
    }

    /// Ends the server and starts it again on the same data. Says how long until it was healthy.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn restart(self, bench: &Bench<'_>) -> Result<(Self, Duration)> {
        self.restart_after(bench, |_| Ok(()))
    }

    /// As [`Deployment::restart`], with something done to the database meanwhile; it is given the file or the address.
    ///
    /// # Errors
    /// When that fails, or the server does not start.
    pub(super) fn restart_after(
        self,
        bench: &Bench<'_>,
        meanwhile: impl FnOnce(&str) -> Result<()>,
    ) -> Result<(Self, Duration)> {
        let Self { server, address: _, engine, folder, url, members } = self;
        drop(server);
        let file = folder.join(PROGRAM.name).join("chat.db");
        meanwhile(url.as_deref().unwrap_or(&file.to_string_lossy()))?;
        let (server, took) = start(bench, &folder, url.as_deref())?;
        let address = address(&server)?;
        Ok((Self { server, address, engine, folder, url, members }, took))
    }

    fn populate(&mut self, members: usize) -> Result<()> {
        let owner = self.sign_in(0, OWNER)?;
        for number in 0..members {
            let email = format!("member{number}@example.org");
            let name = format!("Member {number}");
            let fields = [("email", email.as_str()), ("full_name", &name), ("password", PASSWORD)];
            let made = self.call(&owner, load::post_form(self.address, "/api/v1/users", &fields))?;
            let id = made.get("user_id").and_then(Value::as_i64).context("a new user has no number")?;
            let member = self.sign_in(id, &email)?;
            self.members.push(member);
        }
        self.subscribe(&owner, &[CHANNEL.to_owned()], &self.members)
    }

    /// Channels `Room 0`, `Room 1` and so on, so many: the first member is in all of them, each other in one of ten.
    ///
    /// # Errors
    /// When the server refuses one.
    pub(super) fn open_rooms(&self, count: usize) -> Result<()> {
        let owner = self.sign_in(0, OWNER)?;
        for share in 0..SHARES {
            let channels: Vec<String> = (share..count).step_by(SHARES).map(|number| format!("Room {number}")).collect();
            let inside = |place: usize| place == 0 || place % SHARES == share;
            let all = self.members.iter().enumerate().filter(|(place, _)| inside(*place));
            let members: Vec<Member> = all.map(|(_, member)| member.clone()).collect();
            self.subscribe(&owner, &channels, &members)?;
        }
        Ok(())
    }

    fn subscribe(&self, owner: &Member, channels: &[String], members: &[Member]) -> Result<()> {
        let channels: Value = channels.iter().map(|name| serde_json::json!({"name": name})).collect();
        let principals: Value = members.iter().map(|member| member.id).collect();
        let (channels, principals) = (channels.to_string(), principals.to_string());
        let fields = [("subscriptions", channels.as_str()), ("principals", &principals)];
        self.call(owner, load::post_form(self.address, "/api/v1/users/me/subscriptions", &fields))?;
        Ok(())
    }

    /// Who may do everything.
    ///
    /// # Errors
    /// When the server refuses the owner.
    pub(super) fn owner(&self) -> Result<Member> {
        self.sign_in(0, OWNER)
    }

    fn sign_in(&self, id: i64, email: &str) -> Result<Member> {
        let fields = [("username", email), ("password", PASSWORD)];
        let url = format!("{}/api/v1/fetch_api_key", self.server.base_url());
        let answer = Call::post_form(url, &fields).send()?;
        let key = answer.body.get("api_key").and_then(Value::as_str);
        let key = key.with_context(|| format!("{email} could not sign in: {}", answer.body))?;
        let authorization = format!("Basic {}", BASE64_STANDARD.encode(format!("{email}:{key}")));
        Ok(Member { id, authorization })
    }

    /// Sends one request of a member and gives the answer.
    ///
    /// # Errors
    /// When it is not the envelope of a success.
    pub(super) fn call(&self, member: &Member, request: Wire) -> Result<Value> {
        let answer = load::ask(self.address, &member.signed(request))?;
        let answer: Value = serde_json::from_slice(&answer).context("the answer is not JSON")?;
        ensure!(answer.get("result").and_then(Value::as_str) == Some("success"), "refused: {answer}");
        Ok(answer)
    }

    /// A queue of a member for messages alone: its name and the last event it knows.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) fn register(&self, member: &Member) -> Result<(String, i64)> {
        self.register_for(member, "[\"message\"]")
    }

    /// As [`Deployment::register`], for a JSON list of types of events.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) fn register_for(&self, member: &Member, types: &str) -> Result<(String, i64)> {
        let fields = [("event_types", types), ("apply_markdown", "true"), ("client_capabilities", super::CAPABILITIES)];
        let answer = self.call(member, load::post_form(self.address, "/api/v1/register", &fields))?;
        let queue = answer.get("queue_id").and_then(Value::as_str).context("register gave no queue")?;
        let last = answer.get("last_event_id").and_then(Value::as_i64).context("register gave no last event")?;
        Ok((queue.to_owned(), last))
    }

    /// The request that sends a text to everybody's channel.
    pub(super) fn message(&self, member: &Member, text: &str) -> Wire {
        let fields = [("type", "stream"), ("to", CHANNEL), ("topic", "bench"), ("content", text)];
        member.signed(load::post_form(self.address, "/api/v1/messages", &fields))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn process(&self) -> u32 {
        self.server.process()
    }

    /// The server's process and, on Postgres, the database's.
    pub(super) fn processes(&self) -> Vec<u32> {
        let database = match self.engine {
            Engine::Sqlite => None,
            Engine::Postgres(postgres) => Some(postgres.process()),
        };
        [Some(self.process()), database].into_iter().flatten().collect()
    }

    /// The engine as the table names it.
    pub(super) fn engine(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite => "SQLite",
            Engine::Postgres(_) => "Postgres",
        }
    }

    /// What was spent until now.
    ///
    /// # Errors
    /// When a process is gone.
    pub(super) fn spent(&self) -> Result<Spent> {
        let postgres = self.postgres_meter()?.map(Meter::read).transpose()?;
        Ok(Spent { server: Meter::of(self.process())?.read()?, postgres })
    }

    /// What each of so many operations took since then.
    ///
    /// # Errors
    /// When a process is gone.
    pub(super) fn cost_since(&self, from: &Spent, operations: usize) -> Result<Cost> {
        let operations = u32::try_from(operations)?;
        let to = self.spent()?;
        let server_us = Meter::of(self.process())?.micros_each((from.server, to.server), operations);
        let span = from.postgres.zip(to.postgres);
        let postgres_us = self.postgres_meter()?.zip(span).map(|(meter, span)| meter.micros_each(span, operations));
        Ok(Cost { all_us: server_us + postgres_us.unwrap_or_default(), postgres_us })
    }

    fn postgres_meter(&self) -> Result<Option<Meter>> {
        match self.engine {
            Engine::Sqlite => Ok(None),
            Engine::Postgres(postgres) => Meter::of(postgres.process()).map(Some),
        }
    }
}

impl Member {
    /// The request with this member's name under it.
    pub(super) fn signed(&self, request: Wire) -> Wire {
        load::with_header(request, "authorization", &self.authorization)
    }
}

fn start(bench: &Bench<'_>, folder: &Path, url: Option<&str>) -> Result<(Server, Duration)> {
    let mut environment = vec![
        ("CHAT_OWNER_EMAIL", OWNER),
        ("CHAT_OWNER_NAME", "Owner"),
        ("CHAT_OWNER_PASSWORD", PASSWORD),
        ("CHAT_REALM_NAME", "Bench"),
        ("CHAT_RATE_LIMIT_PER_USER", "0"),
        ("CHAT_RATE_LIMIT_PER_IP", "0"),
    ];
    environment.extend(url.map(|url| ("DATABASE_URL", url)));
    bench.take_measured_core()?;
    let begun = Instant::now();
    let started = Server::start(&PROGRAM, &bench.binaries(), folder, &environment, &bench.interrupted)?;
    let took = begun.elapsed();
    bench.take_other_core()?;
    match started {
        Start::Serving(server) => Ok((server, took)),
        Start::Ended { status, log } => bail!("chat-server ended by itself, {status}; its log:\n{log}"),
    }
}

fn address(server: &Server) -> Result<SocketAddr> {
    server.base_url().trim_start_matches("http://").parse().context("the server has no address")
}
