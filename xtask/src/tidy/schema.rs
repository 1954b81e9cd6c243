//! Schema files: the same steps for both engines, numbered without a gap.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};

use super::Finding;

const SERVERS: [&str; 2] = ["auth", "chat"];
const ENGINES: [&str; 2] = ["postgres", "sqlite"];

/// File name to content of one engine's folder.
type Folder = BTreeMap<String, String>;

/// Reads `<folder>/{auth,chat}/{postgres,sqlite}`; a server that has neither folder has no schema yet.
///
/// # Errors
/// When a folder or file cannot be read.
pub(super) fn check(folder: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for server in SERVERS {
        let [postgres, sqlite] = ENGINES.map(|engine| read(&folder.join(server).join(engine)));
        match (postgres?, sqlite?) {
            (None, None) => {}
            (postgres, sqlite) => {
                let postgres = postgres.unwrap_or_default();
                let sqlite = sqlite.unwrap_or_default();
                let place = format!("migrations/{server}");
                findings.extend(compare(&place, &postgres, &sqlite));
                findings.extend(numbering(&format!("{place}/postgres"), &postgres));
                findings.extend(numbering(&format!("{place}/sqlite"), &sqlite));
            }
        }
    }
    Ok(findings)
}

fn read(folder: &Path) -> Result<Option<Folder>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let mut files = Folder::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.insert(name.into_owned(), text);
    }
    Ok(Some(files))
}

fn compare(place: &str, postgres: &Folder, sqlite: &Folder) -> Vec<Finding> {
    let missing = |from: &Folder, other: &Folder, engine: &str| -> Vec<Finding> {
        from.keys()
            .filter(|name| !other.contains_key(*name))
            .map(|name| Finding::error(place, format!("{name} has no counterpart in {engine}")))
            .collect()
    };
    let mut findings = missing(postgres, sqlite, "sqlite");
    findings.extend(missing(sqlite, postgres, "postgres"));
    findings
}

/// `NNNN_name.sql`, from 0001 on, the first line a comment that says why.
fn numbering(place: &str, folder: &Folder) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (expected, (name, text)) in (1..).zip(folder) {
        let file = format!("{place}/{name}");
        let wanted = format!("{expected:04}_");
        if !name.starts_with(&wanted) || Path::new(name).extension().is_none_or(|kind| kind != "sql") {
            findings.push(Finding::error(&file, format!("should be named {wanted}<name>.sql")));
        }
        if !text.starts_with("--") {
            findings.push(Finding::error(&file, "does not say why in line one (-- …)"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> Folder {
        let file = |name: &&str| ((*name).to_owned(), "-- why\n".to_owned());
        names.iter().map(file).collect()
    }

    #[test]
    fn equal_folders_without_gaps_are_accepted() {
        let files = folder(&["0001_base.sql", "0002_keys.sql"]);
        assert!(compare("p", &files, &files).is_empty());
        assert!(numbering("p", &files).is_empty());
    }

    #[test]
    fn a_file_that_one_engine_lacks_is_named() {
        let found = compare("p", &folder(&["0001_a.sql"]), &folder(&["0001_b.sql"]));
        assert_eq!(found.len(), 2);
        assert!(found[0].text.contains("0001_a.sql has no counterpart in sqlite"));
    }

    #[test]
    fn a_gap_in_the_numbers_is_refused() {
        assert_eq!(numbering("p", &folder(&["0001_a.sql", "0003_b.sql"])).len(), 1);
        assert_eq!(numbering("p", &folder(&["0001_a.txt"])).len(), 1);
    }

    #[test]
    fn a_schema_file_says_why() {
        let files = Folder::from([("0001_a.sql".to_owned(), "CREATE TABLE a();".to_owned())]);
        assert_eq!(numbering("p", &files).len(), 1);
    }

    #[test]
    fn a_server_without_a_schema_is_no_fault() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check(dir.path()).unwrap().is_empty());
        fs::create_dir_all(dir.path().join("auth/postgres")).unwrap();
        fs::write(dir.path().join("auth/postgres/0001_a.sql"), "-- a\n").unwrap();
        assert_eq!(check(dir.path()).unwrap().len(), 1);
    }
}
