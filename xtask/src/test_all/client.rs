//! The browser client of chat-server: built again from its sources, compared with what the repository holds, checked by
//! its compiler and tested.
//!
//! The build runs in a copy below `target/`, so that a run changes no file of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::count::Count;
use super::step::{self, Outcome};
use super::{LONG, Run, tools};
use xtask::process;

/// What of the sources is not copied.
const LEFT_OUT: [&str; 1] = ["node_modules"];

impl Run<'_> {
    /// Builds, compares, checks and tests the client.
    ///
    /// # Errors
    /// When a part fails, or the built files are not those of the repository.
    pub(super) fn client(&self) -> Result<Outcome> {
        tools::ensure("node --version && npm --version", "nodejs npm")?;
        let sources = self.workspace.root.join("crates/chat-web/client");
        let copy = self.workspace.target.join("chat-web/client");
        refresh(&sources, &copy).context("cannot copy the sources of the client")?;
        self.install(&copy)?;
        self.node(&copy, "npm", &["run", "build"])?;
        let differing = differing(&self.workspace.root.join("crates/chat-web/dist"), &copy.with_file_name("dist"))?;
        if !differing.is_empty() {
            bail!(
                "crates/chat-web/dist is not what its sources build: {}; run `npm ci && npm run build` in \
                 crates/chat-web/client and commit it",
                differing.join(", ")
            );
        }
        self.node(&copy, "npm", &["run", "check"])?;
        self.node(&copy, "node", &["build.mjs", "--tests"])?;
        let bundles = self.workspace.target.join("chat-web-tests");
        let mut tests: Vec<_> = files(&bundles)?.into_keys().filter(|name| name.ends_with(".test.mjs")).collect();
        tests.sort_unstable();
        let tests: Vec<_> = tests.iter().map(|name| bundles.join(name).display().to_string()).collect();
        let mut arguments = vec!["--test", "--test-reporter=tap"];
        arguments.extend(tests.iter().map(String::as_str));
        let ended = self.node(&copy, "node", &arguments);
        let counted = Count::of_tap(&step::read(&self.log("client")));
        Ok(Outcome::counted("tests of the browser client; its files are what its sources build", counted, ended))
    }

    fn install(&self, copy: &Path) -> Result<()> {
        let wanted = fs::read_to_string(copy.join("package-lock.json")).context("package-lock.json is missing")?;
        let modules = copy.join("node_modules");
        if tools::is_installed(&modules, &wanted) {
            return Ok(());
        }
        self.node(copy, "npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])?;
        tools::mark(&modules, &wanted)
    }

    fn node(&self, folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
        let mut command = self.command(program, arguments);
        command.current_dir(folder);
        process::run_logged(&mut command, &self.log("client"), LONG, &self.interrupted)
    }
}

/// Makes the copy what the sources are, without what was installed there.
fn refresh(sources: &Path, copy: &Path) -> Result<()> {
    fs::create_dir_all(copy)?;
    for entry in fs::read_dir(copy)? {
        let path = entry?.path();
        if !is_left_out(&path) {
            if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
    }
    for (name, bytes) in files(sources)? {
        let path = copy.join(&name);
        fs::create_dir_all(path.parent().unwrap_or(copy))?;
        fs::write(path, bytes)?;
    }
    Ok(())
}

fn is_left_out(path: &Path) -> bool {
    path.file_name().is_some_and(|name| LEFT_OUT.iter().any(|left_out| name == *left_out))
}

/// Returns the files below a folder by their paths in it.
fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(inner) = open.pop() {
        let entries = fs::read_dir(&inner).with_context(|| format!("cannot read {}", inner.display()))?;
        for entry in entries {
            let path: PathBuf = entry?.path();
            if is_left_out(&path) {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder)?.to_string_lossy().into_owned();
                found.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

/// Returns the names of files that only one of two folders has, or that differ.
fn differing(one: &Path, other: &Path) -> Result<Vec<String>> {
    let (one, other) = (files(one)?, files(other)?);
    let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
    Ok(names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_or_is_missing_is_named() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (folder, name, text) in [
            (&one, "same", "a"),
            (&other, "same", "a"),
            (&one, "changed", "a"),
            (&other, "changed", "b"),
            (&one, "left", "a"),
            (&other, "right", "a"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(differing(one.path(), other.path()).unwrap(), ["changed", "left", "right"]);
    }

    #[test]
    fn a_copy_is_what_the_sources_are_and_what_was_installed_stays() {
        let (sources, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for path in ["src/a.ts", "node_modules/x/index.js"] {
            fs::create_dir_all(sources.path().join(path).parent().unwrap()).unwrap();
            fs::write(sources.path().join(path), "new").unwrap();
        }
        for path in ["src/old.ts", "node_modules/y/index.js", "old.ts"] {
            fs::create_dir_all(copy.path().join(path).parent().unwrap()).unwrap();
            fs::write(copy.path().join(path), "old").unwrap();
        }
        refresh(sources.path(), copy.path()).unwrap();
        assert_eq!(files(copy.path()).unwrap().into_keys().collect::<Vec<_>>(), ["src/a.ts"]);
        assert!(copy.path().join("node_modules/y/index.js").is_file());
    }
}
