//! `package/package.json`.

use serde_json::Value;

use super::archive::PackageTarballError;
use super::id::{PackageId, is_name};
use super::limits;

/// Where a package says what it is.
pub(super) const FILE: &str = "package.json";

/// The manifest (`package.json`) of a package.
///
/// # Source
/// FHIR NPM package specification, package manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageManifest {
    /// Its name and version.
    pub id: PackageId,
    /// The FHIR versions that it is written for; empty when it names none.
    pub fhir_versions: Vec<String>,
    /// The dependencies, in the order of the manifest.
    pub needs: Vec<PackageDependency>,
}

/// A dependency in a package manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageDependency {
    /// Name of the package needed.
    pub name: String,
    /// The version: an exact one, or a series such as `4.0.x`.
    pub version: String,
}

impl PackageManifest {
    /// Reads the file.
    ///
    /// # Errors
    /// [`PackageTarballError::Json`] and [`PackageTarballError::Manifest`].
    pub(super) fn read(bytes: &[u8]) -> Result<Self, PackageTarballError> {
        let json = serde_json::from_slice(bytes);
        let document: Value = json.map_err(|source| PackageTarballError::Json { file: FILE.to_owned(), source })?;
        let text = |name: &'static str| {
            let text = document.get(name).and_then(Value::as_str);
            text.ok_or_else(|| PackageTarballError::Manifest(format!("it has no {name}")))
        };
        let id = PackageId::new(text("name")?, text("version")?);
        let id = id.map_err(|fault| PackageTarballError::Manifest(fault.to_string()))?;
        Ok(Self { id, fhir_versions: fhir_versions(&document), needs: needs(&document)? })
    }

    /// Returns whether the package supports FHIR R4, or names no FHIR version: packages that leave it out are older
    /// than the field.
    #[must_use]
    pub fn supports_r4(&self) -> bool {
        let r4 = |version: &String| version == "4.0" || version.starts_with("4.0.");
        self.fhir_versions.is_empty() || self.fhir_versions.iter().any(r4)
    }
}

/// `fhirVersions`, or the name it had before.
fn fhir_versions(document: &Value) -> Vec<String> {
    let named = ["fhirVersions", "fhir-version-list"].into_iter().find_map(|name| document.get(name)?.as_array());
    named.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn needs(document: &Value) -> Result<Vec<PackageDependency>, PackageTarballError> {
    let fault = |text: String| PackageTarballError::Manifest(text);
    let declared = match document.get("dependencies") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(declared) => declared.as_object().ok_or_else(|| fault("dependencies is no object".to_owned()))?,
    };
    if declared.len() > limits::DEPENDENCIES_PER_PACKAGE_MAX {
        return Err(fault(format!("it has more than {} dependencies", limits::DEPENDENCIES_PER_PACKAGE_MAX)));
    }
    declared.iter().map(|(name, version)| need(name, version)).collect()
}

/// A dependency, also one under an alias, which is how a package asks for two versions of another:
/// `"v3@npm:acme.base": "3.0.0"` and `"v3": "npm:acme.base@3.0.0"`.
fn need(name: &str, version: &Value) -> Result<PackageDependency, PackageTarballError> {
    let fault = |text: String| PackageTarballError::Manifest(text);
    let version = version.as_str().ok_or_else(|| fault(format!("the version of dependency {name:?} is no text")))?;
    let name = name.split_once("@npm:").map_or(name, |(_, name)| name);
    let aliased = version.strip_prefix("npm:").and_then(|aliased| aliased.rsplit_once('@'));
    let (name, version) = aliased.unwrap_or((name, version));
    if !is_name(name) {
        return Err(fault(format!("the dependency {name:?} is not a package name")));
    }
    Ok(PackageDependency { name: name.to_owned(), version: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(document: &Value) -> Result<PackageManifest, PackageTarballError> {
        PackageManifest::read(document.to_string().as_bytes())
    }

    #[test]
    fn a_manifest_says_what_a_package_is_and_needs() {
        let manifest = read(&json!({
            "name": "acme.ig", "version": "1.0.0", "fhirVersions": ["4.0.1"],
            "dependencies": {
                "hl7.fhir.r4.core": "4.0.1", "acme.base": "1.2.x",
                "v3@npm:acme.other": "3.0.0", "v4": "npm:acme.other@4.0.0",
            },
        }))
        .unwrap();
        assert_eq!(manifest.id.to_string(), "acme.ig@1.0.0");
        assert_eq!(manifest.fhir_versions, ["4.0.1"]);
        let needs: Vec<_> = manifest.needs.iter().map(|need| (need.name.as_str(), need.version.as_str())).collect();
        let expected =
            [("hl7.fhir.r4.core", "4.0.1"), ("acme.base", "1.2.x"), ("acme.other", "3.0.0"), ("acme.other", "4.0.0")];
        assert_eq!(needs, expected);
    }

    #[test]
    fn the_fhir_version_is_r4_in_either_spelling_or_unsaid() {
        let fits = |extra: Value| {
            let mut document = json!({"name": "a", "version": "1.0.0"});
            document.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            read(&document).unwrap().supports_r4()
        };
        assert!(fits(json!({})));
        assert!(fits(json!({"fhirVersions": ["4.0.1"]})));
        assert!(fits(json!({"fhir-version-list": ["3.0.2", "4.0.0"]})));
        assert!(!fits(json!({"fhirVersions": ["4.3.0"]})));
        assert!(!fits(json!({"fhirVersions": ["5.0.0"]})));
        assert!(!fits(json!({"fhirVersions": ["4.01"]})));
    }

    #[test]
    fn a_manifest_that_says_nothing_usable_is_refused_by_what_is_missing() {
        for (document, named) in [
            (json!({"version": "1.0.0"}), "name"),
            (json!({"name": "a"}), "version"),
            (json!({"name": "a", "version": "current"}), "current"),
            (json!({"name": "a", "version": "1.0.0", "dependencies": []}), "dependencies"),
            (json!({"name": "a", "version": "1.0.0", "dependencies": {"b": 1}}), "\"b\""),
            (json!({"name": "a", "version": "1.0.0", "dependencies": {"../b": "1.0.0"}}), "../b"),
        ] {
            let fault = read(&document).unwrap_err().to_string();
            assert!(fault.contains(named), "{fault}");
        }
    }
}
