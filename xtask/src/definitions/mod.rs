//! `cargo xtask definitions <folder>`: the data that the servers know FHIR by, made from its definitions.
//!
//! The folder holds the JSON definitions of HL7 FHIR R4 (4.0.1) as HL7 publishes them. What is made of them is
//! committed, so that nobody needs the folder to build; every data set is a file of its own here.

mod codes;
mod search;
mod structure;

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use xtask::workspace::Workspace;

/// Makes every data set again.
///
/// # Errors
/// When a definition is missing or not what it should be, or a file cannot be written.
pub(crate) fn run(workspace: &Workspace, folder: &Path) -> Result<()> {
    let structures = structure::generate(folder)?;
    write(workspace, "crates/fhir-resource/data/r4-structures.txt", &structures)?;
    let parameters = search::generate(folder)?;
    write(workspace, "crates/fhir-search/data/r4-search-parameters.json", &parameters)
}

fn write(workspace: &Workspace, path: &str, text: &str) -> Result<()> {
    fs::write(workspace.root.join(path), text).with_context(|| format!("cannot write {path}"))?;
    println!("{path}: {} bytes", text.len());
    Ok(())
}

/// A file of the folder.
fn read(folder: &Path, name: &str) -> Result<Value> {
    let path = folder.join(name);
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_reader(BufReader::new(file)).with_context(|| format!("{} is no JSON", path.display()))
}

/// The resources of a Bundle.
fn resources(bundle: &Value) -> impl Iterator<Item = &Value> {
    items(bundle, "entry").filter_map(|entry| entry.get("resource"))
}

/// The elements of a list, none where there is no list.
fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}
