//! The deployment's brand word in names the specification writes with `Platform`.
//!
//! With the word `acme` a body that says `AcmeMigration` means `PlatformMigration`, so that bundles
//! written for such a deployment work unchanged. What is stored and answered has the one name.

use serde_json::{Map, Value};

/// The type of startup migrations.
const MIGRATION: &str = "PlatformMigration";

/// Returns the type name under which a resource is stored: the brand's name of migrations becomes `PlatformMigration`,
/// other names stay as they are.
#[must_use]
pub fn stored_type_name<'a>(brand: &str, name: &'a str) -> &'a str {
    if is_branded(brand, name) { MIGRATION } else { name }
}

/// Renames the brand's name of migrations to the stored one in a body: of the resource, of Bundle entries and their
/// addresses, and of list elements.
pub fn rename_brand_types(brand: &str, body: &mut Value) {
    match body {
        Value::Array(resources) => resources.iter_mut().for_each(|resource| rename_type(brand, resource)),
        Value::Object(_) => {
            rename_type(brand, body);
            let entries = body.get_mut("entry").and_then(Value::as_array_mut);
            for entry in entries.into_iter().flatten() {
                rename_entry(brand, entry);
            }
        }
        _ => {}
    }
}

fn rename_entry(brand: &str, entry: &mut Value) {
    if let Some(resource) = entry.get_mut("resource") {
        rename_type(brand, resource);
    }
    let request = entry.get_mut("request").and_then(Value::as_object_mut);
    if let Some(Value::String(url)) = request.and_then(|request: &mut Map<_, _>| request.get_mut("url")) {
        let (slash, path) = url.strip_prefix('/').map_or(("", url.as_str()), |path| ("/", path));
        let end = path.find(['/', '?']).unwrap_or(path.len());
        let (name, rest) = path.split_at(end);
        if is_branded(brand, name) {
            *url = format!("{slash}{MIGRATION}{rest}");
        }
    }
}

fn rename_type(brand: &str, resource: &mut Value) {
    if let Some(Value::String(name)) = resource.get_mut("resourceType")
        && is_branded(brand, name)
    {
        MIGRATION.clone_into(name);
    }
}

/// Returns the index and the type name of the first Bundle entry that writes a migration under the brand word of
/// another deployment. Such an entry would be stored as a user-defined type and never run.
#[must_use]
pub fn find_foreign_brand_migration(bundle: &Value) -> Option<(usize, String)> {
    let entries = bundle.get("entry").and_then(Value::as_array)?;
    entries.iter().enumerate().find_map(|(index, entry)| {
        let url = entry.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
        let addressed = url.trim_start_matches('/').split(['/', '?']).next();
        let named = entry.pointer("/resource/resourceType").and_then(Value::as_str);
        let foreign = [addressed, named].into_iter().flatten().find(|name| is_foreign(name))?;
        Some((index, foreign.to_owned()))
    })
}

fn is_foreign(name: &str) -> bool {
    name != MIGRATION && name.strip_suffix("Migration").is_some_and(|word| !word.is_empty())
}

fn is_branded(brand: &str, name: &str) -> bool {
    let word = name.strip_suffix("Migration");
    word.is_some_and(|word| !word.is_empty() && word.eq_ignore_ascii_case(brand))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_branded_migration_is_a_migration_and_others_keep_their_names() {
        assert_eq!(stored_type_name("acme", "AcmeMigration"), MIGRATION);
        assert_eq!(stored_type_name("platform", "PlatformMigration"), MIGRATION);
        for name in ["Migration", "OtherMigration", "Client", "AcmeMigrations"] {
            assert_eq!(stored_type_name("acme", name), name);
        }
        assert_eq!(stored_type_name("", "Migration"), "Migration");
    }

    #[test]
    fn a_bundle_is_renamed_in_its_resources_and_addresses() {
        let mut bundle = json!({"resourceType": "Bundle", "entry": [
            {"request": {"method": "POST", "url": "/AcmeMigration"}, "resource": {"resourceType": "AcmeMigration"}},
            {"request": {"method": "GET", "url": "AcmeMigration/a?x=y"}},
            {"request": {"method": "GET", "url": "Client/AcmeMigration"}},
            {"request": null},
        ]});
        rename_brand_types("acme", &mut bundle);
        let expected = json!({"resourceType": "Bundle", "entry": [
            {"request": {"method": "POST", "url": "/PlatformMigration"}, "resource": {"resourceType": MIGRATION}},
            {"request": {"method": "GET", "url": "PlatformMigration/a?x=y"}},
            {"request": {"method": "GET", "url": "Client/AcmeMigration"}},
            {"request": null},
        ]});
        assert_eq!(bundle, expected);
    }
}
