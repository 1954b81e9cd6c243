//! Where the workspace is and what it consists of, read once from `cargo metadata`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use xshell::{Shell, cmd};

/// The checkout a command works on.
#[derive(Debug)]
pub struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub root: PathBuf,
    /// Where cargo puts what it builds; also the home of everything the commands here write.
    pub target: PathBuf,
    /// The members, in the order cargo names them.
    pub packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Debug)]
pub struct Package {
    /// Its name in `Cargo.toml`.
    pub name: String,
    /// The path of its `Cargo.toml`.
    pub manifest: PathBuf,
    /// The root source files of its library and binaries.
    pub roots: Vec<PathBuf>,
    /// The entries of all its tables of dependencies.
    pub dependencies: Vec<Dependency>,
}

/// One line of a `[dependencies]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The package that is depended on.
    pub name: String,
    /// The table of the entry.
    pub kind: Kind,
}

/// Which table a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `[dependencies]`.
    Normal,
    /// `[build-dependencies]`.
    Build,
    /// Tests, examples and benches only.
    Dev,
}

impl Workspace {
    /// Asks cargo for the workspace this program was built from.
    ///
    /// # Errors
    /// When cargo cannot read a manifest, or its answer lacks a field.
    pub fn load() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let shell = Shell::new()?;
        shell.change_dir(here);
        let text =
            cmd!(shell, "cargo metadata --format-version 1 --no-deps").quiet().read().context("cargo metadata")?;
        Self::parse(&text)
    }

    /// Reads the answer of `cargo metadata --no-deps`.
    ///
    /// # Errors
    /// When a field that format version 1 promises is absent.
    pub fn parse(metadata: &str) -> Result<Self> {
        let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is not JSON")?;
        Ok(Self {
            root: PathBuf::from(text(&metadata, "workspace_root")?),
            target: PathBuf::from(text(&metadata, "target_directory")?),
            packages: items(&metadata, "packages")?.iter().map(package).collect::<Result<_>>()?,
        })
    }

    /// The path as a reader sees it: relative to the root where it lies inside.
    #[must_use]
    pub fn shown<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }

    /// The files git knows or would add: what a commit can contain.
    ///
    /// # Errors
    /// When git is absent or the folder is no checkout.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let shell = Shell::new()?;
        shell.change_dir(&self.root);
        let list = cmd!(shell, "git ls-files --cached --others --exclude-standard -z")
            .quiet()
            .read()
            .context("git ls-files")?;
        let mut files: Vec<PathBuf> = list
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(|name| self.root.join(name))
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }
}

fn package(value: &Value) -> Result<Package> {
    let roots = items(value, "targets")?
        .iter()
        .filter(|target| {
            items(target, "kind").is_ok_and(|kinds| kinds.iter().any(|kind| kind == "lib" || kind == "bin"))
        })
        .map(|target| text(target, "src_path").map(PathBuf::from))
        .collect::<Result<_>>()?;
    Ok(Package {
        name: text(value, "name")?.to_owned(),
        manifest: PathBuf::from(text(value, "manifest_path")?),
        roots,
        dependencies: items(value, "dependencies")?.iter().map(dependency).collect::<Result<_>>()?,
    })
}

fn dependency(value: &Value) -> Result<Dependency> {
    let kind = match value.get("kind").and_then(Value::as_str) {
        None => Kind::Normal,
        Some("build") => Kind::Build,
        Some("dev") => Kind::Dev,
        Some(other) => bail!("cargo metadata names an unknown dependency kind {other}"),
    };
    Ok(Dependency { name: text(value, "name")?.to_owned(), kind })
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str> {
    value.get(key).and_then(Value::as_str).with_context(|| format!("cargo metadata lacks the text {key}"))
}

fn items<'v>(value: &'v Value, key: &str) -> Result<&'v [Value]> {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .with_context(|| format!("cargo metadata lacks the list {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_keeps_the_table_it_stands_in() {
        let workspace = Workspace::parse(
            r#"{"workspace_root":"/w","target_directory":"/w/target","packages":[{
                "name":"a","manifest_path":"/w/a/Cargo.toml",
                "targets":[{"kind":["lib"],"src_path":"/w/a/src/lib.rs"},
                           {"kind":["test"],"src_path":"/w/a/tests/it/main.rs"}],
                "dependencies":[{"name":"b","kind":null},{"name":"c","kind":"dev"}]}]}"#,
        )
        .unwrap();
        let package = &workspace.packages[0];
        assert_eq!(package.roots, [PathBuf::from("/w/a/src/lib.rs")]);
        assert_eq!(package.dependencies[0].kind, Kind::Normal);
        assert_eq!(package.dependencies[1].kind, Kind::Dev);
    }

    #[test]
    fn metadata_without_packages_is_refused_by_name() {
        let error = Workspace::parse(r#"{"workspace_root":"/w","target_directory":"/t"}"#).unwrap_err();
        assert!(error.to_string().contains("packages"), "{error}");
    }
}
