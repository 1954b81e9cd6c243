//! Everything that levels 280 to 421 add, compared with the description of the API.
//!
//! Each line of `described.tsv` has a level (`-` where it is that of its endpoint or event), a kind, where it is, its
//! name, and why it is not there; a line without a reason is described. The comparison goes both ways, so a line loses
//! its reason with the change that builds it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::roles::routes::plain;
use crate::test_app::TestApp;

/// Levels of objects that names are looked for in.
const DEPTH_MAX: usize = 6;

/// The names that a description has.
struct Described {
    names: BTreeSet<String>,
}

impl Described {
    fn of(whole: &Value) -> Self {
        let mut described = Self { names: BTreeSet::new() };
        for (path, item) in whole["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
                let place = plain(&format!("{} {path}", method.to_uppercase()));
                described.names.insert(format!("endpoint\t{place}\t-"));
                described.add_operation(whole, &place, operation);
            }
        }
        for (name, schema) in whole["components"]["schemas"].as_object().unwrap() {
            let Some(kind) = name.strip_prefix("Event.").map(|kind| kind.replace('.', " ")) else { continue };
            described.names.insert(format!("event\t{kind}\t-"));
            described.add_members((whole, schema), &format!("member\t{kind}\t"), 0);
        }
        described
    }

    fn add_operation(&mut self, whole: &Value, place: &str, operation: &Value) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            self.names.insert(format!("parameter\t{place}\t{}", parameter["name"].as_str().unwrap()));
        }
        let form = &operation["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"];
        for name in form.as_object().into_iter().flat_map(|members| members.keys()) {
            self.names.insert(format!("parameter\t{place}\t{name}"));
        }
        let answer = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let kind = if place == "POST /register" { "state" } else { "answer" };
        self.add_members((whole, answer), &format!("{kind}\t{place}\t"), 0);
    }

    /// Adds the names of an object's members, and of those inside them: `list[].member`, `map{}.member`.
    fn add_members(&mut self, (whole, schema): (&Value, &Value), path: &str, depth: usize) {
        let reference = schema["$ref"].as_str().map(|name| name.trim_start_matches('#'));
        let schema = reference.map_or(schema, |name| whole.pointer(name).unwrap());
        if depth > DEPTH_MAX {
            return;
        }
        for choices in ["anyOf", "allOf"] {
            for choice in schema[choices].as_array().into_iter().flatten() {
                self.add_members((whole, choice), path, depth + 1);
            }
        }
        let dot = if path.ends_with('\t') { "" } else { "." };
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            let inner = format!("{path}{dot}{name}");
            self.names.insert(inner.clone());
            self.add_members((whole, member), &inner, depth + 1);
        }
        for (key, bracket) in [("items", "[]"), ("additionalProperties", "{}")] {
            if schema[key].is_object() {
                self.add_members((whole, &schema[key]), &format!("{path}{bracket}"), depth + 1);
            }
        }
    }
}

#[tokio::test]
async fn levels_280_to_421_are_described_as_far_as_no_line_says_why_not() {
    let app = TestApp::found().await;
    let described = Described::of(&app.describe().await);
    let mut wrong = Vec::new();
    for line in include_str!("described.tsv").lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [level, kind, place, name, reason] = columns.as_slice() else { panic!("{line}") };
        let is_described = described.names.contains(&format!("{kind}\t{place}\t{name}"));
        if is_described != reason.is_empty() {
            wrong.push(format!(
                "{level} {kind} {place} {name}: {}",
                if is_described { "is there" } else { "is not there" }
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
