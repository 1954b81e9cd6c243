//! The search parameters of R4, one line for each, so that those of a type are found without reading the rest.
//!
//! The lines are read by `fhir_search`, whose catalog says what stands where.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::{items, read, resources, text};

/// What the URLs of R4's parameters begin with.
const URL: &str = "http://hl7.org/fhir/SearchParameter/";
/// The types every resource is of.
const ROOTS: [&str; 2] = ["Resource", "DomainResource"];

/// The whole data set: the types that have parameters, and the definitions in the order of their URLs, numbered
/// from one. R4 does not change, so a number is for good.
///
/// Left out is what has rules of its own instead of an expression (`_text`, `_content`, `_query`) and the one
/// parameter of type `special` (`near`).
///
/// # Errors
/// When a definition is not what it should be.
pub(super) fn generate(folder: &Path) -> Result<String> {
    let bundle = read(folder, "search-parameters.json")?;
    let mut definitions = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    for definition in resources(&bundle) {
        let url = text(definition, "url").context("a parameter has no url")?;
        let kind = text(definition, "type").with_context(|| format!("{url} has no type"))?;
        kinds.insert(url, kind);
        if kind != "special" && text(definition, "expression").is_some() {
            definitions.insert(url, definition);
        }
    }
    let bases = definitions.values().flat_map(|definition| items(definition, "base")).filter_map(Value::as_str);
    let bases: BTreeSet<&str> = bases.filter(|base| !ROOTS.contains(base)).collect();
    let numbered = (1..).zip(&definitions);
    let lines = numbered.map(|(number, (url, definition))| {
        line(number, definition, &kinds).with_context(|| format!("the definition {url}")).map(|line| line.to_string())
    });
    let lines = lines.collect::<Result<Vec<_>>>()?.join(",\n");
    let bases = json!(bases);
    let source = "HL7 FHIR R4 4.0.1, search-parameters.json";
    Ok(format!("{{\"source\":\"{source}\",\n\"kinds\":{bases},\n\"parameters\":[\n{lines}\n]}}\n"))
}

/// `[number, id, code, type, [base…], expression, [target…], [[type, expression]…]]`.
fn line(number: i64, definition: &Value, kinds: &BTreeMap<&str, &str>) -> Result<Value> {
    let field = |name| text(definition, name).with_context(|| format!("it has no {name}"));
    let list = |name| items(definition, name).cloned().collect::<Vec<_>>();
    let components = items(definition, "component").map(|component| {
        let of = text(component, "definition").and_then(|url| kinds.get(url)).context("an unknown component")?;
        Ok(json!([of, text(component, "expression").context("a component has no expression")?]))
    });
    Ok(json!([
        number,
        field("url")?.strip_prefix(URL).context("it is not one of R4")?,
        field("code")?,
        field("type")?,
        list("base"),
        field("expression")?,
        list("target"),
        components.collect::<Result<Vec<_>>>()?,
    ]))
}
