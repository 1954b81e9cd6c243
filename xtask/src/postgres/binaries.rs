//! Finding Postgres on this machine, or installing Debian's package.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::process;

/// The oldest major version the tests are meant for.
const OLDEST: u32 = 13;
/// What a folder must hold to count.
const NEEDED: [&str; 3] = ["postgres", "initdb", "createdb"];
const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";
const INSTALL: &str = "apt-get update && apt-get install --yes --no-install-recommends \
     -o Dpkg::Options::=--force-confold postgresql";

/// A folder with the programs of one Postgres version.
#[derive(Debug, Clone)]
pub struct Binaries(PathBuf);

impl Binaries {
    /// What is on the `PATH` or under `/usr/lib/postgresql`, else Debian's package where root may install it.
    ///
    /// # Errors
    /// When there is none and it cannot be installed here: the text is the command to run.
    pub fn find_or_install() -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        if !process::may_install() {
            bail!("Postgres {OLDEST} or newer is missing and only root may install it; run:\n  sudo sh -c '{INSTALL}'");
        }
        println!("Postgres is missing; installing Debian's package: {INSTALL}");
        install()?;
        Self::find().context("Debian's postgresql package was installed, but its programs were not found")
    }

    /// The full path of one program.
    pub(super) fn path(&self, program: &str) -> PathBuf {
        self.0.join(program)
    }

    fn find() -> Option<Self> {
        let on_path = on_path("postgres").and_then(|link| {
            // Wrappers and links lead to the folder where the siblings are.
            let real = fs::canonicalize(link).ok()?;
            real.parent().map(Path::to_path_buf)
        });
        let installed = fs::read_dir(DEBIAN_VERSIONS).into_iter().flatten().flatten();
        let folders = installed.map(|entry| entry.path().join("bin"));
        on_path
            .into_iter()
            .chain(folders)
            .filter(|folder| NEEDED.iter().all(|program| folder.join(program).is_file()))
            .filter_map(|folder| major_of(&folder).map(|major| (major, folder)))
            .filter(|(major, _)| *major >= OLDEST)
            .max()
            .map(|(_, folder)| Self(folder))
    }
}

fn install() -> Result<()> {
    // Debian's package creates and starts a cluster at installation unless told otherwise beforehand.
    let configuration = Path::new("/etc/postgresql-common");
    fs::create_dir_all(configuration)?;
    fs::write(configuration.join("createcluster.conf"), "create_main_cluster = false\n")
        .context("cannot write createcluster.conf")?;
    let status = Command::new("sh")
        .args(["-c", INSTALL])
        .env("DEBIAN_FRONTEND", "noninteractive")
        // A changed configuration file is kept without a question.
        .env("UCF_FORCE_CONFFOLD", "1")
        .status()?;
    if status.success() {
        return Ok(());
    }
    bail!("{INSTALL} failed: {status}")
}

fn on_path(program: &str) -> Option<PathBuf> {
    let output = Command::new("sh").args(["-c", "command -v \"$0\"", program]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    path.is_file().then_some(path)
}

fn major_of(folder: &Path) -> Option<u32> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    major(&String::from_utf8(output.stdout).ok()?)
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` has major version 15, `17beta1` is 17.
fn major(version: &str) -> Option<u32> {
    let (_, number) = version.split_once("(PostgreSQL) ")?;
    let digits = number.split(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_every_form() {
        assert_eq!(major("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!(major("postgres (PostgreSQL) 17beta1"), Some(17));
        assert_eq!(major("sqlite3 3.40"), None);
    }
}
