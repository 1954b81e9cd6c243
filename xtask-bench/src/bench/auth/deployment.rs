//! One server with its database, its Clients registered, ready to be measured.

use std::{net::SocketAddr, path::Path};

use anyhow::{Context, Result, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    super::{Bench, cpu::Meter},
    partner::{EXT_BASE, Kind, NPI, ORGANIZATION, Partner, random_text},
};
use crate::demo::{
    http::Call,
    server::{Program, Server, Start},
};
use xtask::postgres::Postgres;

const PROGRAM: Program = Program { name: "auth-server", listen: "BOX_LISTEN", data_dir: "BOX_DATA_DIR" };
const ROOT: &str = "root";

/// Where the server keeps its data.
#[derive(Debug, Clone, Copy)]
pub(super) enum Engine<'p> {
    Sqlite,
    Postgres(&'p Postgres),
}

/// A running server with each kind of Client.
pub(super) struct Deployment<'p> {
    server: Server,
    address: SocketAddr,
    engine: Engine<'p>,
    es384: Partner,
    rs384: Partner,
    secret: Partner,
    opaque: Partner,
    root_secret: String,
    /// The address of its database, where it is a server's.
    database: Option<String>,
}

impl<'p> Deployment<'p> {
    /// Starts the release binary on the measured core and registers the Clients.
    ///
    /// # Errors
    /// When it does not start, or refuses a Client.
    pub(super) fn start(bench: &Bench<'_>, folder: &Path, engine: Engine<'p>) -> Result<Self> {
        let root_secret = random_text()?;
        let url = match engine {
            Engine::Sqlite => None,
            Engine::Postgres(postgres) => Some(postgres.create_database("bench")?),
        };
        let mut environment =
            vec![("BOX_ROOT_CLIENT_ID", ROOT), ("BOX_ROOT_CLIENT_SECRET", &root_secret), ("BOX_EXT_BASE", EXT_BASE)];
        environment.extend(url.as_deref().map(|url| ("DATABASE_URL", url)));
        bench.take_measured_core()?;
        let started = Server::start(&PROGRAM, &bench.binaries(), folder, &environment, &bench.interrupted)?;
        bench.take_other_core()?;
        let server = match started {
            Start::Serving(server) => server,
            Start::Ended { status, log } => bail!("auth-server ended by itself, {status}; its log:\n{log}"),
        };
        let address = server.base_url().trim_start_matches("http://").parse().context("the server has no address")?;
        let (es384, rs384) = (Partner::generate(Kind::Es384)?, Partner::generate(Kind::Rs384)?);
        let (secret, opaque) = (Partner::generate(Kind::Secret)?, Partner::generate(Kind::Opaque)?);
        let deployment = Self { server, address, engine, es384, rs384, secret, opaque, root_secret, database: url };
        deployment.register()?;
        Ok(deployment)
    }

    fn register(&self) -> Result<()> {
        let organization = json!({
            "resourceType": "Organization",
            "id": ORGANIZATION,
            "name": "Acme Health",
            "identifier": [{"system": NPI, "value": "1234567893"}],
        });
        self.put_fhir(&organization)?;
        for partner in [&self.es384, &self.rs384, &self.secret, &self.opaque] {
            self.put(&partner.client().1)?;
        }
        Ok(())
    }

    /// Writes a resource of the platform's own kinds.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) fn put(&self, resource: &Value) -> Result<()> {
        self.accepted(&Call::put(format!("{}/{}", self.base_url(), place(resource)?), resource))
    }

    /// Writes a resource of FHIR.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) fn put_fhir(&self, resource: &Value) -> Result<()> {
        self.accepted(&Call::put_fhir(format!("{}/fhir/{}", self.base_url(), place(resource)?), resource))
    }

    /// A transaction for the FHIR endpoint, of which no more than success is told.
    pub(super) fn transaction(&self, bundle: &Value) -> Call {
        Call::post_fhir(format!("{}/fhir", self.base_url()), bundle).preferring("return=minimal")
    }

    /// Has the administrator send a call.
    ///
    /// # Errors
    /// When the server refuses it.
    pub(super) fn accepted(&self, call: &Call) -> Result<()> {
        let answer = call.clone().basic(ROOT, &self.root_secret).send()?;
        if !(200..300).contains(&answer.status) {
            bail!("{} answered {}: {:#}", call.title(), answer.status, answer.body);
        }
        Ok(())
    }

    /// What the administrator authenticates with, as a header field.
    pub(super) fn administrator(&self) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(format!("{ROOT}:{}", self.root_secret)))
    }

    /// The address of the database, where it is a server's.
    pub(super) fn database(&self) -> Option<String> {
        self.database.clone()
    }

    /// The first process of the database, where it is a server.
    pub(super) fn postgres_process(&self) -> Option<u32> {
        match self.engine {
            Engine::Sqlite => None,
            Engine::Postgres(postgres) => Some(postgres.process()),
        }
    }

    pub(super) fn base_url(&self) -> &str {
        self.server.base_url()
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

    /// The Client of this kind.
    pub(super) fn partner(&self, kind: Kind) -> &Partner {
        match kind {
            Kind::Es384 => &self.es384,
            Kind::Rs384 => &self.rs384,
            Kind::Secret => &self.secret,
            Kind::Opaque => &self.opaque,
        }
    }

    /// What Postgres spends from now on, where there is one.
    ///
    /// # Errors
    /// When it is gone.
    pub(super) fn postgres_meter(&self) -> Result<Option<Meter>> {
        match self.engine {
            Engine::Sqlite => Ok(None),
            Engine::Postgres(postgres) => Meter::of(postgres.process()).map(Some),
        }
    }
}

/// Type and id, as a path.
fn place(resource: &Value) -> Result<String> {
    let member = |name| resource.get(name).and_then(Value::as_str);
    let (kind, id) = member("resourceType").zip(member("id")).context("a resource has a type and an id")?;
    Ok(format!("{kind}/{id}"))
}
