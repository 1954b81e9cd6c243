//! Reading a `PlatformMigration`.

use serde_json::Value;

use crate::package::{PackageId, PackageIdError};

/// A parsed `PlatformMigration`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformMigration {
    /// The action.
    pub action: MigrationAction,
    /// The status.
    pub status: MigrationStatus,
}

/// The action of a migration (specification, Migration resource).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MigrationAction {
    /// `far-migration-fhir-package-install`.
    InstallPackage(PackageId),
    /// `far-migration-fhir-package-uninstall`.
    UninstallPackage(PackageId),
    /// `aidbox-migration-run-sql`, and with the brand word in the place of `aidbox`.
    RunSql {
        /// One or more statements, in the dialect of the engine in use.
        sql: String,
        /// Whether the SQL is run inside a transaction.
        execution: SqlExecutionMode,
    },
}

/// The mode in which SQL is run (the parameter `execution-type`): inside a transaction or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlExecutionMode {
    /// `in-transaction`: in one transaction with the row that records the run. The default.
    InTransaction,
    /// `not-in-transaction`: before the row that records the run, for statements that no transaction can hold.
    NotInTransaction,
}

/// The status of a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationStatus {
    /// `to-run`.
    ToRun,
    /// `done`.
    Done,
}

/// The reason why a document is not a valid `PlatformMigration`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MigrationDocumentError {
    /// `action` is missing or none of the known ones.
    #[error(
        "action has to be far-migration-fhir-package-install, far-migration-fhir-package-uninstall or \
         aidbox-migration-run-sql"
    )]
    Action,
    /// `status` is missing or neither `to-run` nor `done`.
    #[error("status has to be to-run or done")]
    Status,
    /// The parameter the action needs is missing, empty or given twice.
    #[error("params.parameter needs exactly one {0} with a valueString")]
    Parameter(&'static str),
    /// `package` is not `<name>@<version>` with an exact version.
    #[error("package: {0}")]
    Package(#[from] PackageIdError),
    /// `execution-type` is neither of its two codes, is given twice, or is given for a package.
    #[error("execution-type has to be one valueCode, in-transaction or not-in-transaction, and belongs to SQL alone")]
    Execution,
}

impl MigrationDocumentError {
    /// Returns the `FHIRPath` expression of the invalid element.
    #[must_use]
    pub const fn element_fhirpath(&self) -> &'static str {
        match self {
            Self::Action => "PlatformMigration.action",
            Self::Status => "PlatformMigration.status",
            Self::Parameter(_) | Self::Package(_) | Self::Execution => "PlatformMigration.params.parameter",
        }
    }
}

impl PlatformMigration {
    /// Parses the document of a migration. `brand` is the deployment's brand word: with `acme` the action
    /// `acme-migration-run-sql` means the same as `aidbox-migration-run-sql`.
    ///
    /// # Errors
    /// [`MigrationDocumentError`].
    pub fn parse_document(brand: &str, document: &Value) -> Result<Self, MigrationDocumentError> {
        let status = MigrationStatus::from_document(document).ok_or(MigrationDocumentError::Status)?;
        Ok(Self { action: MigrationAction::read(brand, document)?, status })
    }
}

impl MigrationStatus {
    /// Returns the status in a migration document; `None` when it is missing or unknown.
    #[must_use]
    pub fn from_document(document: &Value) -> Option<Self> {
        let said = document.get("status").and_then(Value::as_str);
        [Self::ToRun, Self::Done].into_iter().find(|status| said == Some(status.as_str()))
    }

    /// Returns the status as its code in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToRun => "to-run",
            Self::Done => "done",
        }
    }
}

impl MigrationAction {
    fn read(brand: &str, document: &Value) -> Result<Self, MigrationDocumentError> {
        let action = document.get("action").and_then(Value::as_str).ok_or(MigrationDocumentError::Action)?;
        match action {
            "far-migration-fhir-package-install" => Ok(Self::InstallPackage(package(document)?)),
            "far-migration-fhir-package-uninstall" => Ok(Self::UninstallPackage(package(document)?)),
            _ if runs_sql(brand, action) => {
                let sql = parameter(document, "sql")?.to_owned();
                Ok(Self::RunSql { sql, execution: execution(document)?.unwrap_or(SqlExecutionMode::InTransaction) })
            }
            _ => Err(MigrationDocumentError::Action),
        }
    }
}

fn runs_sql(brand: &str, action: &str) -> bool {
    let word = action.strip_suffix("-migration-run-sql");
    word.is_some_and(|word| word == "aidbox" || (!brand.is_empty() && word == brand))
}

fn package(document: &Value) -> Result<PackageId, MigrationDocumentError> {
    if execution(document)?.is_some() {
        return Err(MigrationDocumentError::Execution);
    }
    Ok(parameter(document, "package")?.parse()?)
}

fn execution(document: &Value) -> Result<Option<SqlExecutionMode>, MigrationDocumentError> {
    let mut named = parameters(document, "execution-type");
    let Some(parameter) = named.next() else { return Ok(None) };
    // Not specified which type of value; a code is what documents of the field write, a string is what
    // the specification writes everywhere else.
    let value = parameter.get("valueCode").or_else(|| parameter.get("valueString")).and_then(Value::as_str);
    match (value, named.next()) {
        (Some("in-transaction"), None) => Ok(Some(SqlExecutionMode::InTransaction)),
        (Some("not-in-transaction"), None) => Ok(Some(SqlExecutionMode::NotInTransaction)),
        _ => Err(MigrationDocumentError::Execution),
    }
}

fn parameters<'a>(document: &'a Value, name: &'static str) -> impl Iterator<Item = &'a Value> {
    let parameters = document.pointer("/params/parameter").and_then(Value::as_array);
    let is_named = move |parameter: &&Value| parameter.get("name").and_then(Value::as_str) == Some(name);
    parameters.into_iter().flatten().filter(is_named)
}

fn parameter<'a>(document: &'a Value, name: &'static str) -> Result<&'a str, MigrationDocumentError> {
    let mut named = parameters(document, name);
    let value = named.next().and_then(|parameter| parameter.get("valueString")).and_then(Value::as_str);
    match (value, named.next()) {
        (Some(value), None) if !value.trim().is_empty() => Ok(value),
        _ => Err(MigrationDocumentError::Parameter(name)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(action: &str, name: &str, value: &str) -> Value {
        json!({ "action": action, "status": "to-run",
            "params": { "resourceType": "Parameters", "parameter": [{ "name": name, "valueString": value }] } })
    }

    #[test]
    fn params_by_action_are_package_and_sql() {
        let read = |action, name, value| {
            PlatformMigration::parse_document("acme", &document(action, name, value)).map(|m| m.action)
        };
        let package: PackageId = "hl7.fhir.us.core@5.0.0".parse().unwrap();
        assert_eq!(
            read("far-migration-fhir-package-install", "package", "hl7.fhir.us.core@5.0.0"),
            Ok(MigrationAction::InstallPackage(package.clone()))
        );
        assert_eq!(
            read("far-migration-fhir-package-uninstall", "package", "hl7.fhir.us.core@5.0.0"),
            Ok(MigrationAction::UninstallPackage(package))
        );
        let sql = MigrationAction::RunSql { sql: "SELECT 1".to_owned(), execution: SqlExecutionMode::InTransaction };
        for action in ["aidbox-migration-run-sql", "acme-migration-run-sql"] {
            assert_eq!(read(action, "sql", "SELECT 1"), Ok(sql.clone()));
        }
        for action in ["other-migration-run-sql", "-migration-run-sql", "run-sql", ""] {
            assert_eq!(read(action, "sql", "SELECT 1"), Err(MigrationDocumentError::Action), "{action}");
        }
    }

    #[test]
    fn status_is_to_run_or_done() {
        let mut migration = document("aidbox-migration-run-sql", "sql", "SELECT 1");
        migration["status"] = json!("done");
        assert_eq!(
            PlatformMigration::parse_document("platform", &migration).map(|m| m.status),
            Ok(MigrationStatus::Done)
        );
        for status in [json!("pending"), json!(1), json!(null)] {
            migration["status"] = status;
            assert_eq!(PlatformMigration::parse_document("platform", &migration), Err(MigrationDocumentError::Status));
        }
    }

    #[test]
    fn how_sql_is_run_is_one_of_two_codes() {
        let with = |action, name, parameter: Value| {
            let mut document = document(action, name, "a@1.0.0");
            document["params"]["parameter"].as_array_mut().unwrap().push(parameter);
            PlatformMigration::parse_document("platform", &document).map(|migration| migration.action)
        };
        let sql = |parameter| with("aidbox-migration-run-sql", "sql", parameter);
        let ran = |execution| Ok(MigrationAction::RunSql { sql: "a@1.0.0".to_owned(), execution });
        let typed = |code| json!({"name": "execution-type", "valueCode": code});
        assert_eq!(sql(typed("not-in-transaction")), ran(SqlExecutionMode::NotInTransaction));
        assert_eq!(sql(typed("in-transaction")), ran(SqlExecutionMode::InTransaction));
        let string = json!({"name": "execution-type", "valueString": "not-in-transaction"});
        assert_eq!(sql(string), ran(SqlExecutionMode::NotInTransaction));
        assert_eq!(sql(typed("perhaps")), Err(MigrationDocumentError::Execution));
        assert_eq!(sql(json!({"name": "execution-type"})), Err(MigrationDocumentError::Execution));
        let install = with("far-migration-fhir-package-install", "package", typed("in-transaction"));
        assert_eq!(install, Err(MigrationDocumentError::Execution));
    }

    #[test]
    fn a_missing_empty_or_repeated_parameter_is_named() {
        let sql = |value| document("aidbox-migration-run-sql", "sql", value);
        let mut repeated = sql("SELECT 1");
        let parameters = repeated["params"]["parameter"].as_array_mut().unwrap();
        parameters.push(json!({ "name": "sql", "valueString": "SELECT 2" }));
        let mut other_type = sql("SELECT 1");
        other_type["params"]["parameter"][0] = json!({ "name": "sql", "valueCode": "SELECT 1" });
        for migration in [sql(" "), repeated, other_type, document("aidbox-migration-run-sql", "package", "x")] {
            let fault = PlatformMigration::parse_document("platform", &migration).unwrap_err();
            assert_eq!(fault, MigrationDocumentError::Parameter("sql"));
            assert_eq!(fault.element_fhirpath(), "PlatformMigration.params.parameter");
        }
    }
}
