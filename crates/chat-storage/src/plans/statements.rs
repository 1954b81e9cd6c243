//! The statements in the source of this crate.

use sql_engines::SqlDialect;
use std::path::Path;
use std::{fs, io};

/// A statement as it stands in a file, with its fragments.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) file: String,
    pub(super) sql: String,
}

/// What begins a statement whose plan says something.
const VERBS: [&str; 5] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "WITH "];

/// Every text of the crate that is a statement. Those that are put together of parts are in `shapes`.
pub(super) fn statements() -> Vec<Statement> {
    let mut statements = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    read(&source, &mut |path, text| {
        // A file of tests, or of parts; the dialect has fragments alone; the schema, and what encrypts or gives up all
        // secrets, runs once.
        let file = path.strip_prefix(&source).unwrap_or(path).display().to_string();
        if ["plans", "candidate_query", "dialect", "schema", "clear_secrets", "data_key"]
            .iter()
            .any(|other| file.starts_with(other))
        {
            return;
        }
        let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for sql in literals(product) {
            if let Some(sql) = completed(sql) {
                statements.push(Statement { file: file.clone(), sql });
            }
        }
    })
    .unwrap();
    statements
}

fn read(folder: &Path, each: &mut impl FnMut(&Path, &str)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, each)?;
        } else {
            each(&path, &fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// The statement that a text is, with rows of values where only what stands before them is in the source.
fn completed(text: String) -> Option<String> {
    // Names of settings and of channels of notification have nothing to plan; parts end within a clause.
    let is_whole = VERBS.iter().any(|verb| text.starts_with(verb)) && !text.contains("VALUES {}");
    if !is_whole || text.contains("set_config") || text.contains("pg_notify") || text.contains("pg_advisory") {
        return None;
    }
    if text.starts_with("INSERT ") && text.ends_with(')') && !text.contains("VALUES") && !text.contains("SELECT") {
        let columns = text.matches(',').count() + 1;
        let values: Vec<String> = (1..=columns).map(|number| format!("${number}")).collect();
        return Some(format!("{text} VALUES ({})", values.join(", ")));
    }
    Some(text)
}

/// Returns whether only the other engine runs it.
pub(super) fn is_of_other_engine(sql: &str, dialect: SqlDialect) -> bool {
    dialect == SqlDialect::Sqlite && ["unnest(", "extract(epoch"].iter().any(|only| sql.contains(only))
}

/// Returns the texts between quotes, comments left out.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        rest = &rest[at..];
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("'\"'") {
            rest = &rest[3..];
        } else if let Some(inside) = rest.strip_prefix('"') {
            let (text, after) = literal(inside);
            found.push(text);
            rest = after;
        } else {
            rest = &rest[1..];
        }
    }
    found
}

/// Returns the text up to its closing quote, and what follows.
fn literal(inside: &str) -> (String, &str) {
    let mut text = String::new();
    let mut rest = inside;
    while let Some(at) = rest.find(['"', '\\']) {
        text.push_str(&rest[..at]);
        if rest[at..].starts_with('"') {
            return (text, &rest[at + 1..]);
        }
        let after = &rest[at + 1..];
        if after.starts_with('\n') {
            rest = after.trim_start();
        } else {
            text.extend(after.chars().next());
            rest = after.get(1..).unwrap_or_default();
        }
    }
    (text, "")
}

#[test]
fn statements_are_found_in_source() {
    let source = r#"
// "SELECT 0"
const QUOTE: char = '"';
const A: &str = "SELECT 1 \
    FROM a";
const B: &str = "a \"b\"";
"#;
    assert_eq!(literals(source), ["SELECT 1 FROM a", "a \"b\""]);
    let whole = |text: &str| completed(text.to_owned());
    assert_eq!(whole("INSERT INTO a (b, c)").as_deref(), Some("INSERT INTO a (b, c) VALUES ($1, $2)"));
    assert_eq!(whole("a selection"), None);
}
