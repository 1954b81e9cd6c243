//! What every type of R4 is made of, and the codes its elements are bound to.
//!
//! Read from the differentials, which of a type are all it has of its own.
//!
//! The lines are read by `fhir_resource::definitions`, whose module documentation says how they are written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::codes::{Codes, Terminology};
use super::{items, read, resources, text};

const HEADER: &str = "# HL7 FHIR R4 4.0.1: profiles-types.json, profiles-resources.json, valuesets.json, \
                      v3-codesystems.json; made by `cargo xtask definitions`\n";
/// Where the definitions of types have their urls.
const DEFINITIONS: &str = "http://hl7.org/fhir/StructureDefinition/";
/// Where the value sets of FHIR itself have their urls.
const VALUE_SETS: &str = "http://hl7.org/fhir/ValueSet/";
const R4: &str = "4.0.1";
/// What primitives of the abstract model are called.
const SYSTEM_STRING: &str = "http://hl7.org/fhirpath/System.String";
/// The types that a code can be in.
const CODED: [&str; 6] = ["code", "Coding", "CodeableConcept", "Quantity", "string", "uri"];

/// The whole data set.
///
/// # Errors
/// When a definition is missing or not what it should be.
pub(super) fn generate(folder: &Path) -> Result<String> {
    let types = read(folder, "profiles-types.json")?;
    let kinds = read(folder, "profiles-resources.json")?;
    let terms = [read(folder, "valuesets.json")?, read(folder, "v3-codesystems.json")?];
    let terminology = Terminology::of(terms.iter().flat_map(resources));
    let mut definitions = BTreeMap::new();
    for definition in resources(&types).chain(resources(&kinds)).filter(|definition| is_structure(definition)) {
        definitions.insert(text(definition, "type").context("a definition has no type")?, definition);
    }
    let mut lines = Lines { terminology: &terminology, bound: BTreeMap::new(), written: HEADER.to_owned() };
    for (name, definition) in definitions {
        lines.structure(name, definition).with_context(|| format!("the definition of {name}"))?;
    }
    lines.value_sets()?;
    Ok(lines.written)
}

/// Whether it defines a type of R4 that has elements, and no profile on one.
fn is_structure(definition: &Value) -> bool {
    text(definition, "resourceType") == Some("StructureDefinition")
        && text(definition, "fhirVersion") == Some(R4)
        && matches!(text(definition, "kind"), Some("complex-type" | "resource"))
        && text(definition, "derivation") != Some("constraint")
}

struct Lines<'a> {
    terminology: &'a Terminology<'a>,
    /// The value sets that elements are bound to, by id.
    bound: BTreeMap<&'a str, (String, Codes)>,
    written: String,
}

impl Lines<'_> {
    fn structure(&mut self, name: &str, definition: &Value) -> Result<()> {
        write!(self.written, "={name}")?;
        if let Some(base) = text(definition, "baseDefinition").and_then(|base| base.strip_prefix(DEFINITIONS)) {
            write!(self.written, " {base}")?;
        }
        self.written.push('\n');
        let differential = definition.get("differential").context("there is no differential")?;
        for element in items(differential, "element") {
            self.element(name, element)?;
        }
        Ok(())
    }

    /// An element that the type itself has; what it inherits stands with its base. The first one is the type.
    fn element(&mut self, of: &str, element: &Value) -> Result<()> {
        let path = text(element, "path").context("an element has no path")?;
        let Some(own) = path.strip_prefix(of).and_then(|rest| rest.strip_prefix('.')) else { return Ok(()) };
        let (parents, name) = own.rsplit_once('.').unwrap_or(("", own));
        let depth = if parents.is_empty() { 0 } else { parents.split('.').count() };
        let min = element.get("min").and_then(Value::as_u64).context("an element has no min")?;
        let max = text(element, "max").context("an element has no max")?;
        let summary = if element.get("isSummary").is_some_and(|is| is == true) { "+" } else { "" };
        write!(self.written, "{:depth$}{name} {min}..{max}{summary} ", "")?;
        match text(element, "contentReference") {
            Some(reference) => {
                let target = reference.strip_prefix('#').and_then(|path| path.strip_prefix(of)?.strip_prefix('.'));
                let target = target.with_context(|| format!("{path} refers to {reference}"))?;
                write!(self.written, "#{target}")?;
            }
            None => self.types(path, element)?,
        }
        self.binding(element)?;
        self.written.push('\n');
        Ok(())
    }

    fn types(&mut self, path: &str, element: &Value) -> Result<()> {
        let mut first = true;
        for kind in items(element, "type") {
            let code = match (text(kind, "code").context("a type has no code")?, path) {
                (SYSTEM_STRING, "Resource.id") => "id",
                (SYSTEM_STRING, "Extension.url") => "uri",
                (SYSTEM_STRING, _) => "string",
                (code, _) => code,
            };
            if !std::mem::take(&mut first) {
                self.written.push(',');
            }
            self.written.push_str(code);
            let targets = items(kind, "targetProfile").filter_map(|target| target.as_str()?.strip_prefix(DEFINITIONS));
            let targets: Vec<&str> = targets.collect();
            // Where a canonical leads cannot be told from its text.
            if code == "Reference" && !targets.is_empty() && !targets.contains(&"Resource") {
                write!(self.written, "({})", targets.join("|"))?;
            }
        }
        if first {
            bail!("{path} has no type");
        }
        Ok(())
    }

    /// The value set that a code has to be of, if it can be listed.
    fn binding(&mut self, element: &Value) -> Result<()> {
        let Some(binding) = element.get("binding").filter(|binding| text(binding, "strength") == Some("required"))
        else {
            return Ok(());
        };
        let is_coded = items(element, "type").any(|kind| text(kind, "code").is_some_and(|code| CODED.contains(&code)));
        let Some(url) = text(binding, "valueSet").filter(|_| is_coded) else { return Ok(()) };
        let (url, version) = url.split_once('|').map_or((url, R4), |(url, version)| (url, version));
        // A folder that was edited for other releases is no source.
        if url.starts_with(VALUE_SETS) && version != R4 {
            bail!("it requires codes of {url} in version {version}, so it is no definition of R4");
        }
        match self.terminology.codes(url) {
            Some(codes) => {
                let id = self.terminology.id(url)?;
                self.bound.insert(id, (url.to_owned(), codes));
                write!(self.written, " !{id}")?;
            }
            None => write!(self.written, " ?{url}")?,
        }
        Ok(())
    }

    fn value_sets(&mut self) -> Result<()> {
        for (id, (url, codes)) in &self.bound {
            writeln!(self.written, "!{id} {url}")?;
            for (system, codes) in codes {
                let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
                writeln!(self.written, "{system}\t{}", codes.join("\t"))?;
            }
        }
        Ok(())
    }
}
