//! A private Postgres for tests and development: in a folder of its own, on a free port, gone with us.
//!
//! Full durability stays on (`fsync` and `synchronous_commit` at their defaults): the tests that kill a
//! server ask whether what was answered is still there, and the benches would flatter us without it. What ends is a
//! process, never the machine, so tests may keep the data in memory: a database of its own for each test is hundreds of
//! files, which took a disk most of the time of the tests.

mod account;
mod binaries;
mod place;

use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{interrupt, process, workspace::Workspace};
use account::Account;
pub use binaries::Binaries;
pub use place::Place;

/// How long a start may take before it counts as failed.
const START_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// Tests run in parallel, each with a pool of its own.
const MAX_CONNECTIONS: &str = "max_connections=200";
const READY: &str = "database system is ready to accept connections";

/// A running server; dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct Postgres {
    child: Child,
    folder: PathBuf,
    port: u16,
    binaries: Binaries,
}

/// `cargo xtask pg`: one server until Ctrl-C.
///
/// # Errors
/// When there is no Postgres and none can be installed, or it does not start.
pub fn serve(workspace: &Workspace) -> Result<()> {
    let interrupted = interrupt::Flag::install()?;
    let binaries = Binaries::find_or_install()?;
    let server = Postgres::start(workspace, binaries)?;
    println!("{}", server.url());
    eprintln!("Postgres runs in {}; Ctrl-C ends it and removes its data", server.folder.display());
    interrupted.wait();
    Ok(())
}

impl Postgres {
    /// Creates a cluster on disk and starts it. Call it from the main thread: the kernel ends the server when the
    /// thread that started it ends.
    ///
    /// # Errors
    /// When no folder fits, `initdb` refuses, or the server is not ready within 30 s.
    pub fn start(workspace: &Workspace, binaries: Binaries) -> Result<Self> {
        Self::start_in(Place::Disk, workspace, binaries)
    }

    /// The same where its data is to be kept.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_in(place: Place, workspace: &Workspace, binaries: Binaries) -> Result<Self> {
        let account = Account::choose()?;
        let folder = place.folder(workspace, &account)?;
        let data = folder.join("data");
        initdb(&binaries, &account, &data).inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::remove_dir_all(&folder);
        })?;
        let port = free_port()?;
        let log = folder.join("log");
        let out = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = account
            .command(&binaries.path("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1"])
            // TCP only: the path of a socket has a limit of 107 bytes that a deep checkout exceeds.
            .args(["-c", "unix_socket_directories="])
            .args(["-c", MAX_CONNECTIONS])
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .context("cannot start postgres")?;
        let mut server = Self { child, folder, port, binaries };
        server.wait_until_ready(&log)?;
        Ok(server)
    }

    /// The address of the maintenance database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The first process of the server, for whoever measures it.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Creates an empty database and gives its address.
    ///
    /// # Errors
    /// When the name is taken or the server is gone.
    pub fn create_database(&self, name: &str) -> Result<String> {
        let output = Command::new(self.binaries.path("createdb"))
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres", "--", name])
            .output()
            .context("cannot start createdb")?;
        if !output.status.success() {
            bail!("createdb {name}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(self.url_of(name))
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn wait_until_ready(&mut self, log: &Path) -> Result<()> {
        let asked = Instant::now();
        while asked.elapsed() < START_LIMIT {
            let text = fs::read_to_string(log).unwrap_or_default();
            if text.contains(READY) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("postgres ended at once, {status}:\n{text}");
            }
            thread::sleep(POLL);
        }
        bail!("postgres was not ready within {} s", START_LIMIT.as_secs())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // INT is Postgres's fast shutdown: open connections end, the data stays whole.
        if let Err(error) = process::end(&mut self.child, "INT") {
            eprintln!("cannot stop postgres: {error}");
        }
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("cannot remove {}: {error}", self.folder.display());
        }
    }
}

fn initdb(binaries: &Binaries, account: &Account, data: &Path) -> Result<()> {
    let output = account
        .command(&binaries.path("initdb"))
        .arg("-D")
        .arg(data)
        .args(["--username=postgres", "--auth=trust", "--no-sync"])
        // Compares bytes, as SQLite does, and still knows upper from lower case.
        .args(["--encoding=UTF8", "--locale=C.UTF-8"])
        .output()
        .context("cannot start initdb")?;
    if output.status.success() {
        return Ok(());
    }
    bail!("initdb: {}", String::from_utf8_lossy(&output.stderr).trim())
}

/// A port nobody listens on now; another program may take it before the server does, which then says so.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    Ok(listener.local_addr()?.port())
}
