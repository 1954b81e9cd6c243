//! The third-party clients of the black-box tests, installed below `target/` from pinned lists, and the browser,
//! which is Debian's.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::{LONG, Run};
use xtask::{process, workspace::Workspace};

/// Where the black-box checks and their pinned lists live.
pub(super) fn fixtures(workspace: &Workspace) -> PathBuf {
    workspace.root.join("fixtures/blackbox")
}

/// The Python of the virtual environment.
pub(super) fn python(workspace: &Workspace) -> PathBuf {
    workspace.target.join("venv/bin/python")
}

/// The folder that holds `node_modules`.
pub(super) fn node_folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("blackbox")
}

/// Installs the Python and the npm clients; what is already there in the wanted versions stays.
///
/// # Errors
/// When a list is missing, or an interpreter is and only someone else may install it (the text is the
/// command to run), or a download fails.
pub(super) fn install_clients(run: &Run<'_>) -> Result<()> {
    let python = install_python(run).context("Python");
    let node = install_node(run).context("npm");
    let browser = ensure("chromium --version", "chromium fonts-liberation").context("Chromium");
    let wrong: Vec<String> =
        [python, node, browser].into_iter().filter_map(Result::err).map(|e| format!("{e:#}")).collect();
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("; ")) }
}

fn install_python(run: &Run<'_>) -> Result<()> {
    let wanted = list(run, "requirements.txt")?;
    let environment = run.workspace.target.join("venv");
    if is_installed(&environment, &wanted) {
        return Ok(());
    }
    // Debian ships `venv` without the part that puts pip into it.
    ensure("python3 -m ensurepip --version", "python3 python3-venv")?;
    println!("installing the Python clients into {}", environment.display());
    let log = run.log("tools");
    let mut create = run.command("python3", &["-m", "venv", "--clear"]);
    create.arg(&environment);
    process::run_logged(&mut create, &log, LONG, &run.interrupted)?;
    // The newest release of one client names no Python newer than those there were then; every version here is pinned
    // and run.
    let pip = ["-m", "pip", "install", "--quiet", "--ignore-requires-python", "-r"];
    let mut install = run.command(python(run.workspace), &pip);
    install.arg(fixtures(run.workspace).join("requirements.txt"));
    process::run_logged(&mut install, &log, LONG, &run.interrupted)?;
    mark(&environment, &wanted)
}

fn install_node(run: &Run<'_>) -> Result<()> {
    let mut wanted = list(run, "package.json")?;
    let lock = fs::read_to_string(fixtures(run.workspace).join("package-lock.json")).ok();
    wanted.push_str(lock.as_deref().unwrap_or_default());
    let folder = node_folder(run.workspace);
    if is_installed(&folder, &wanted) {
        return Ok(());
    }
    ensure("node --version && npm --version", "nodejs npm")?;
    println!("installing the npm clients into {}", folder.display());
    fs::create_dir_all(&folder)?;
    fs::copy(fixtures(run.workspace).join("package.json"), folder.join("package.json"))?;
    let verb = if let Some(lock) = lock {
        fs::write(folder.join("package-lock.json"), lock)?;
        "ci"
    } else {
        "install"
    };
    let mut install = run.command("npm", &[verb, "--no-audit", "--no-fund", "--ignore-scripts"]);
    install.current_dir(&folder);
    process::run_logged(&mut install, &run.log("tools"), LONG, &run.interrupted)?;
    mark(&folder, &wanted)
}

fn list(run: &Run<'_>, name: &str) -> Result<String> {
    let path = fixtures(run.workspace).join(name);
    fs::read_to_string(&path).with_context(|| format!("{} is missing", run.workspace.shown(&path)))
}

/// Installs Debian packages unless a probe succeeds.
///
/// # Errors
/// When only root may, with the command to run, or the probe fails afterwards.
pub(super) fn ensure(probe: &str, packages: &str) -> Result<()> {
    if shell(probe)? {
        return Ok(());
    }
    let install = format!("apt-get update && apt-get install --yes --no-install-recommends {packages}");
    if !process::may_install() {
        bail!("`{probe}` fails and only root may install {packages}; run:\n  sudo sh -c '{install}'");
    }
    println!("`{probe}` fails; installing: {install}");
    if shell(&install)? && shell(probe)? {
        return Ok(());
    }
    bail!("`{probe}` still fails after: {install}")
}

fn shell(script: &str) -> Result<bool> {
    let output = Command::new("sh")
        .args(["-c", script])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .context("cannot start sh")?;
    Ok(output.status.success())
}

/// A copy of the list inside the folder, written last: a broken installation has none.
fn stamp(folder: &Path) -> PathBuf {
    folder.join("installed-list")
}

/// Whether a folder holds what a list names.
pub(super) fn is_installed(folder: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp(folder)).is_ok_and(|installed| installed == wanted)
}

/// Notes in a folder which list it holds.
///
/// # Errors
/// When the folder cannot be written.
pub(super) fn mark(folder: &Path, wanted: &str) -> Result<()> {
    fs::write(stamp(folder), wanted).with_context(|| format!("cannot write {}", stamp(folder).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_list_is_installed_again() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_installed(folder.path(), "a==1"));
        mark(folder.path(), "a==1").unwrap();
        assert!(is_installed(folder.path(), "a==1"));
        assert!(!is_installed(folder.path(), "a==2"));
    }
}
