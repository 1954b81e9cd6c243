//! `cargo xtask emoji <file>`: the table of Unicode emoji, made from published emoji data.
//!
//! The file is `emoji.json` of the npm package `emoji-datasource`, in the release that clients of the API's level draw
//! their pictures from (15.1.2). It says which emoji there are and the code of each. Names are those of the table that
//! is committed, which are the API's own and are kept; an emoji without one is given the package's short names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use xtask::workspace::Workspace;

/// Where the table is.
const TABLE: &str = "crates/chat-core/src/emoji/names.tsv";
/// The part of a code that asks for the coloured form.
const SELECTOR: &str = "fe0f";
/// The category of what is no emoji by itself: skin tones.
const COMPONENTS: &str = "Component";
/// Clocks beside the one that is in the table. Existing servers leave them out.
const CLOCKS: std::ops::RangeInclusive<u32> = 0x1f550..=0x1f567;

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    code: String,
    presentation: String,
    name: String,
    aliases: Vec<String>,
}

/// Makes the table again.
///
/// # Errors
/// When the file is not what it should be, or an emoji of the table is not in it.
pub(crate) fn run(workspace: &Workspace, data: &Path) -> Result<()> {
    let table = workspace.root.join(TABLE);
    let before = fs::read_to_string(&table).with_context(|| format!("cannot read {TABLE}"))?;
    let file = File::open(data).with_context(|| format!("cannot read {}", data.display()))?;
    let data: Value = serde_json::from_reader(BufReader::new(file)).context("the emoji data is no JSON")?;
    let text = generate(&before, data.as_array().context("the emoji data is no list")?)?;
    fs::write(&table, &text).with_context(|| format!("cannot write {TABLE}"))?;
    println!("{TABLE}: {} emoji", text.lines().count());
    Ok(())
}

fn generate(before: &str, data: &[Value]) -> Result<String> {
    let mut named: BTreeMap<String, Line> = BTreeMap::new();
    for line in before.lines() {
        let line = parse(line).with_context(|| format!("not a line of the table: {line}"))?;
        named.insert(bare(&line.code), line);
    }
    let mut taken: BTreeSet<String> =
        named.values().flat_map(|line| line.aliases.iter().chain([&line.name])).cloned().collect();
    let mut lines = Vec::new();
    for emoji in data.iter().filter(|emoji| text(emoji, "category") != Some(COMPONENTS)) {
        let unified = text(emoji, "unified").context("an emoji has no code")?.to_lowercase();
        let code = text(emoji, "non_qualified").map_or_else(|| unified.clone(), str::to_lowercase);
        match named.remove(&bare(&unified)) {
            Some(known) => lines.push(Line { code, ..known }),
            None if is_clock(&unified) => {}
            None => lines.push(unnamed(emoji, (code, &unified), &mut taken)?),
        }
    }
    if let Some(line) = named.values().next() {
        bail!("{} ({}) is not in the emoji data", line.name, line.code);
    }
    lines.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(lines.iter().map(printed).collect())
}

/// An emoji that has no name of the API's yet.
fn unnamed(emoji: &Value, (code, unified): (String, &str), taken: &mut BTreeSet<String>) -> Result<Line> {
    let names = emoji.get("short_names").and_then(Value::as_array).context("an emoji has no names")?;
    let names = names.iter().filter_map(Value::as_str).map(|name| name.replace('-', "_"));
    let mut free: Vec<String> = names.filter(|name| taken.insert(name.clone())).collect();
    ensure!(!free.is_empty(), "every name of {unified} is another emoji's");
    let presentation = if unified.ends_with(SELECTOR) && unified.split('-').count() == 2 { "t" } else { "e" };
    Ok(Line { code, presentation: presentation.to_owned(), name: free.remove(0), aliases: free })
}

fn is_clock(code: &str) -> bool {
    u32::from_str_radix(code, 16).is_ok_and(|point| CLOCKS.contains(&point))
}

/// A code without selectors.
fn bare(code: &str) -> String {
    code.split('-').filter(|point| *point != SELECTOR).collect::<Vec<_>>().join("-")
}

fn parse(line: &str) -> Option<Line> {
    let mut fields = line.split('\t').map(str::to_owned);
    let (code, presentation, name) = (fields.next()?, fields.next()?, fields.next()?);
    let aliases = fields.next()?.split_whitespace().map(str::to_owned).collect();
    Some(Line { code, presentation, name, aliases })
}

fn printed(line: &Line) -> String {
    format!("{}\t{}\t{}\t{}\n", line.code, line.presentation, line.name, line.aliases.join(" "))
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_kept_and_an_emoji_without_one_is_given_those_of_the_data() {
        let before = "1f3cb-fe0f-200d-2640-fe0f\te\tlifting\tgym\n1f44d\te\t+1\tlike\n";
        let data = json!([
            {"unified": "1F44D", "non_qualified": null, "short_names": ["thumbsup"], "category": "People"},
            {"unified": "1F3CB-FE0F-200D-2640-FE0F", "non_qualified": "1F3CB-200D-2640", "short_names": ["x"]},
            {"unified": "1FAE8", "non_qualified": null, "short_names": ["shaking-face", "like"]},
            {"unified": "1F3FB", "short_names": ["skin-tone-2"], "category": "Component"},
            {"unified": "1F550", "short_names": ["clock1"]},
        ]);
        let table = generate(before, data.as_array().unwrap()).unwrap();
        assert_eq!(table, "1f44d\te\t+1\tlike\n1f3cb-200d-2640\te\tlifting\tgym\n1fae8\te\tshaking_face\t\n");
        assert_eq!(generate(&table, data.as_array().unwrap()).unwrap(), table);
        assert!(generate("1f600\te\tgrin\t\n", data.as_array().unwrap()).is_err());
    }
}
