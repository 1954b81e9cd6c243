//! Which endpoints there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::town::Town;

/// Where the areas list their paths, each behind these letters.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
const LISTED: &str = ".api(";

/// `METHOD /path` of all endpoints below `/api/v1`, with `{}` for what differs: the paths as the areas list them, and
/// the methods as the server tells them.
pub(crate) async fn served(town: &Town) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    paths_in(Path::new(SOURCE), &mut paths);
    let mut served = BTreeSet::new();
    for path in paths {
        let asked = format!("/api/v1{}", path.replace("{}", "1"));
        for method in town.methods(&asked).await {
            if !matches!(method.as_str(), "HEAD" | "OPTIONS") {
                served.insert(format!("{method} {path}"));
            }
        }
    }
    served
}

/// The call with `{}` for every name in braces.
pub(crate) fn plain(call: &str) -> String {
    let mut parts = call.split(['{', '}']);
    let mut plain = parts.next().unwrap().to_owned();
    while let (Some(_), Some(after)) = (parts.next(), parts.next()) {
        plain.push_str("{}");
        plain.push_str(after);
    }
    plain
}

fn paths_in(folder: &Path, paths: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths_in(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let listed = source.split(LISTED).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
            paths.extend(listed.filter_map(|rest| rest.split('"').next()).map(plain));
        }
    }
}
