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
use crate::{
    demo::{
        http::Call,
        server::{Program, Server, Start},
    },
    postgres::Postgres,
};

const PROGRAM: Program = Program { name: "chat-server", listen: "CHAT_LISTEN", data_dir: "CHAT_DATA_DIR" };
const OWNER: &str = "owner@example.org";
const PASSWORD: &str = "bench: correct horse battery";
/// Everybody's channel.
pub(super) const CHANNEL: &str = "bench";

/// Where the server keeps its data.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine<'p> {
    Sqlite,
    Postgres(&'p Postgres),
}

/// Who may call, as the `Authorization` field.
#[derive(Debug, Clone)]
pub(super) struct Member {
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
        let Self { server, address: _, engine, folder, url, members } = self;
        drop(server);
        let (server, took) = start(bench, &folder, url.as_deref())?;
        let address = address(&server)?;
        Ok((Self { server, address, engine, folder, url, members }, took))
    }

    fn populate(&mut self, members: usize) -> Result<()> {
        let owner = self.sign_in(OWNER)?;
        let mut ids = Vec::new();
        for number in 0..members {
            let email = format!("member{number}@example.org");
            let name = format!("Member {number}");
            let fields = [("email", email.as_str()), ("full_name", &name), ("password", PASSWORD)];
            let made = self.call(&owner, load::post_form(self.address, "/api/v1/users", &fields))?;
            ids.push(made.get("user_id").and_then(Value::as_i64).context("a new user has no number")?);
            let member = self.sign_in(&email)?;
            self.members.push(member);
        }
        let channels = serde_json::json!([{"name": CHANNEL}]).to_string();
        let principals = serde_json::json!(ids).to_string();
        let fields = [("subscriptions", channels.as_str()), ("principals", &principals)];
        self.call(&owner, load::post_form(self.address, "/api/v1/users/me/subscriptions", &fields))?;
        Ok(())
    }

    fn sign_in(&self, email: &str) -> Result<Member> {
        let fields = [("username", email), ("password", PASSWORD)];
        let url = format!("{}/api/v1/fetch_api_key", self.server.base_url());
        let answer = Call::post_form(url, &fields).send()?;
        let key = answer.body.get("api_key").and_then(Value::as_str);
        let key = key.with_context(|| format!("{email} could not sign in: {}", answer.body))?;
        let authorization = format!("Basic {}", BASE64_STANDARD.encode(format!("{email}:{key}")));
        Ok(Member { authorization })
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
        let fields = [("event_types", "[\"message\"]"), ("apply_markdown", "true")];
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
