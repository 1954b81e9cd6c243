//! What a list or a condition asks for, as SQL.
//!
//! A condition is bound values, a path and what may stand there; no value and no key ever becomes
//! part of a statement. Postgres walks the path as jsonpath, whose lax mode enters arrays. SQLite has
//! nothing like it, so there a recursive query takes one step per key and enters every array it meets.

use fhir_resource::patient_compartment::{CompartmentMembership, ElementPath, patient_compartment_membership};
use fhir_resource::{PatientCompartment, ResourceType};
use fhir_store::access_filter::{
    AccessFilterCriterion, ExactCodingMatch, GroupOwnershipFilter, OrganizationIdentifier,
};
use fhir_store::{AccessFilter, AccessFilterBranch, ElementEqualityFilter, member_match_group};
use serde_json::{Value, json};
use sql_engines::SqlDialect;

/// Whether something at path `$p` of the document equals one of the scalars `$v`.
const EQUALS_POSTGRES: &str =
    "jsonb_path_exists(t.resource, $p::TEXT::JSONPATH, jsonb_build_object('v', $v::TEXT::JSONB))";
/// Whether an object at path `$p` of the document, which ends with a test, passes it with the variables
/// `$v`.
const PASSES_POSTGRES: &str = "jsonb_path_exists(t.resource, $p::TEXT::JSONPATH, $v::TEXT::JSONB)";

/// What is at path `$p` of the document, tested by `{test}` with `$v`.
const WALK_SQLITE: &str = "EXISTS (
    WITH RECURSIVE walk (step, type, value) AS (
        SELECT 0, 'object', t.resource
        UNION ALL
        SELECT walk.step + (walk.type = 'object'), entry.type, entry.value
        FROM walk JOIN json_each(
            CASE WHEN walk.type IN ('object', 'array') THEN walk.value ELSE '[]' END
        ) AS entry
        WHERE walk.type = 'array' OR entry.key = json_extract($p, '$[' || walk.step || ']')
    )
    SELECT 1 FROM walk{test}
)";
const EQUALS_SQLITE: &str = " JOIN json_each($v) AS asked ON asked.value = walk.value
    WHERE walk.step = json_array_length($p) AND (
        asked.type = walk.type
        OR (asked.type IN ('integer', 'real') AND walk.type IN ('integer', 'real'))
    )";
const REFERS_SQLITE: &str = "
    WHERE walk.step = json_array_length($p) AND walk.type = 'object' AND (
        (walk.value ->> '$.resourceType' = 'Patient' AND walk.value ->> '$.id' = $v ->> '$.id')
        OR EXISTS (
            SELECT 1 FROM (
                SELECT walk.value ->> '$.reference' AS text UNION ALL SELECT walk.value ->> '$.uri'
            ) AS spelled
            WHERE spelled.text IN ($v ->> '$.relative', $v ->> '$.absolute')
                OR substr(spelled.text, 1, length($v ->> '$.relative_version')) = $v ->> '$.relative_version'
                OR substr(spelled.text, 1, length($v ->> '$.absolute_version')) = $v ->> '$.absolute_version'
        )
    )";
const CODED_SQLITE: &str = "
    WHERE walk.step = json_array_length($p) AND walk.type = 'object'
        AND ($v ->> '$.code' IS NULL OR walk.value ->> '$.code' = $v ->> '$.code')
        AND ($v ->> '$.system' IS NULL OR walk.value ->> '$.system' = $v ->> '$.system')
        AND ($v ->> '$.bare' = 0 OR json_type(walk.value, '$.system') IS NULL)";

const IDENTIFIED_SQLITE: &str = "
    WHERE walk.step = json_array_length($p) AND walk.type = 'object'
        AND walk.value ->> '$.system' = $v ->> '$.system' AND walk.value ->> '$.value' = $v ->> '$.value'";
/// The test for an Identifier.
const IDENTIFIED_JSONPATH: &str = " ? (@.\"system\" == $system && @.\"value\" == $value)";

/// The test for a reference to the patient, in the spellings [`PatientCompartment`] knows.
const REFERS_JSONPATH: &str = " ? ((@.\"resourceType\" == \"Patient\" && @.\"id\" == $id) \
    || @.\"reference\" == $relative || @.\"reference\" == $absolute \
    || @.\"reference\" starts with $relative_version || @.\"reference\" starts with $absolute_version \
    || @.\"uri\" == $relative || @.\"uri\" == $absolute \
    || @.\"uri\" starts with $relative_version || @.\"uri\" starts with $absolute_version)";

/// The first place behind those of a page.
const BEHIND_PAGE: usize = 3;

/// Conditions on the row `t` as SQL, and what is bound to it.
pub(crate) struct Conditions {
    pub(crate) sql: String,
    pub(crate) bound: Vec<String>,
    dialect: SqlDialect,
    /// The place of the first value that is bound.
    first: usize,
}

impl Conditions {
    /// Returns the condition, whose values are bound from `$3` on; `None` when nothing can meet them.
    pub(super) fn of(
        dialect: SqlDialect,
        kind: &ResourceType,
        (filters, within): (&[ElementEqualityFilter], &AccessFilter),
    ) -> Option<Self> {
        let mut conditions = Self::filters(dialect, filters, BEHIND_PAGE)?;
        if let AccessFilter::Within(regions) = within {
            let regions: Vec<String> = regions.iter().map(|region| conditions.region(kind, region)).collect();
            conditions.sql.extend([" AND ", &any(&regions)]);
        }
        Some(conditions)
    }

    /// All of these filters, the values bound from the place `first` on; `None` when nothing can meet them.
    pub(crate) fn filters(dialect: SqlDialect, filters: &[ElementEqualityFilter], first: usize) -> Option<Self> {
        let mut conditions = Self { sql: "TRUE".to_owned(), bound: Vec::new(), dialect, first };
        for filter in filters {
            conditions.add_filter(filter)?;
        }
        Some(conditions)
    }

    /// All of these criteria, the values bound from the place `first` on.
    pub(crate) fn criteria(dialect: SqlDialect, criteria: &[AccessFilterCriterion], first: usize) -> Self {
        let mut conditions = Self { sql: "TRUE".to_owned(), bound: Vec::new(), dialect, first };
        for criterion in criteria {
            let holds = conditions.criterion(criterion);
            conditions.sql.extend([" AND ", &holds]);
        }
        conditions
    }

    fn add_filter(&mut self, filter: &ElementEqualityFilter) -> Option<()> {
        let text = filter.value.as_str();
        // No document holds the character NUL, and Postgres refuses it even as a parameter.
        if text.contains('\0') || filter.path.iter().any(|key| key.contains('\0')) {
            return None;
        }
        if filter.required_id().is_some() {
            let place = self.bind(text.to_owned());
            self.sql.extend([" AND t.id = ", &place]);
            return Some(());
        }
        let path: Vec<&str> = filter.path.iter().map(String::as_str).collect();
        let values = self.bind(Value::from(filter.value.equal_json_scalars()).to_string());
        let holds = self.equals(&path, &values);
        self.sql.extend([" AND ", &holds]);
        Some(())
    }

    fn region(&mut self, kind: &ResourceType, region: &AccessFilterBranch) -> String {
        let mut all: Vec<String> = Vec::new();
        all.extend(region.compartment.as_ref().map(|compartment| self.inside(kind, compartment)));
        for criterion in &region.criteria {
            all.push(self.criterion(criterion));
        }
        format!("(TRUE AND {})", all.join(" AND "))
    }

    fn inside(&mut self, kind: &ResourceType, compartment: &PatientCompartment) -> String {
        match patient_compartment_membership(kind) {
            CompartmentMembership::Itself => format!("t.id = {}", self.bind(compartment.patient_id().to_string())),
            CompartmentMembership::Reference(paths) => {
                let [relative, absolute] = compartment.patient_references();
                let [relative_version, absolute_version] = compartment.versioned_reference_prefixes();
                let values = self.bind(
                    json!({
                        "id": compartment.patient_id().as_str(),
                        "relative": relative,
                        "absolute": absolute,
                        "relative_version": relative_version,
                        "absolute_version": absolute_version,
                    })
                    .to_string(),
                );
                let paths: Vec<String> = paths.iter().map(|path| self.refers(path, &values)).collect();
                any(&paths)
            }
            CompartmentMembership::Shared | CompartmentMembership::Closed => "FALSE".to_owned(),
        }
    }

    fn refers(&mut self, path: ElementPath, values: &str) -> String {
        match self.dialect {
            SqlDialect::Postgres => self.at(PASSES_POSTGRES, jsonpath(path, REFERS_JSONPATH), values),
            SqlDialect::Sqlite => self.walk(REFERS_SQLITE, path, values),
        }
    }

    fn criterion(&mut self, criterion: &AccessFilterCriterion) -> String {
        match criterion {
            AccessFilterCriterion::Coded(coded) => {
                let tokens = coded.accepted_codings().iter().map(|token| self.coded(coded.coding_path(), token));
                any(&tokens.collect::<Vec<_>>())
            }
            // Without the index nothing is known of it, so nothing is found.
            AccessFilterCriterion::Search(_) => any(&[]),
            AccessFilterCriterion::Ownership(ownership) => self.owned(ownership),
        }
    }

    /// Not a Group that a match made, or one that it made for the owner.
    fn owned(&mut self, ownership: &GroupOwnershipFilter) -> String {
        let profiles = self.bind(Value::from(member_match_group::MATCH_GROUP_PROFILES.as_slice()).to_string());
        let has_profile = self.equals(&["meta", "profile"], &profiles);
        let has_code = self.coded(
            &["code", "coding"],
            &ExactCodingMatch::System(member_match_group::MATCH_RESULT_CODE_SYSTEM.to_owned()),
        );
        let mut reached = vec![format!("NOT {}", any(&[has_profile, has_code]))];
        // No document holds the character NUL, and Postgres refuses it even as a parameter.
        let owner = ownership
            .owner
            .as_ref()
            .filter(|owner| ![&owner.system, &owner.value].iter().any(|text| text.contains('\0')));
        if let Some(OrganizationIdentifier { system, value }) = owner {
            let values = self.bind(json!({"system": system, "value": value}).to_string());
            for path in member_match_group::OWNER_IDENTIFIER_PATHS {
                reached.push(match self.dialect {
                    SqlDialect::Postgres => self.at(PASSES_POSTGRES, jsonpath(path, IDENTIFIED_JSONPATH), &values),
                    SqlDialect::Sqlite => self.walk(IDENTIFIED_SQLITE, path, &values),
                });
            }
        }
        any(&reached)
    }

    /// Returns whether something at a path is one of the scalars bound at `values`.
    fn equals(&mut self, path: &[&str], values: &str) -> String {
        match self.dialect {
            SqlDialect::Postgres => self.at(EQUALS_POSTGRES, jsonpath(path, " ? (@ == $v[*])"), values),
            SqlDialect::Sqlite => self.walk(EQUALS_SQLITE, path, values),
        }
    }

    fn coded(&mut self, path: ElementPath, token: &ExactCodingMatch) -> String {
        let (system, code) = token.system_and_code();
        let bare = matches!(token, ExactCodingMatch::NoSystem(_));
        let values = self.bind(json!({"system": system, "code": code, "bare": bare}).to_string());
        match self.dialect {
            SqlDialect::Postgres => {
                let mut tests: Vec<&str> = Vec::new();
                tests.extend(system.map(|_| "@.\"system\" == $system"));
                tests.extend(code.map(|_| "@.\"code\" == $code"));
                tests.extend(bare.then_some("!exists(@.\"system\")"));
                self.at(PASSES_POSTGRES, jsonpath(path, &format!(" ? ({})", tests.join(" && "))), &values)
            }
            SqlDialect::Sqlite => self.walk(CODED_SQLITE, path, &values),
        }
    }

    /// A test on Postgres, with the values bound at `values`.
    fn at(&mut self, test: &str, jsonpath: String, values: &str) -> String {
        let path = self.bind(jsonpath);
        test.replace("$p", &path).replace("$v", values)
    }

    /// A test on SQLite, with the values bound at `values`.
    fn walk(&mut self, test: &str, path: &[&str], values: &str) -> String {
        let path = self.bind(Value::from(path).to_string());
        WALK_SQLITE.replace("{test}", test).replace("$p", &path).replace("$v", values)
    }

    /// Binds one more value and returns its place.
    fn bind(&mut self, value: String) -> String {
        let place = self.first + self.bound.len();
        self.bound.push(value);
        format!("${place}")
    }
}

/// Returns whether any of the conditions holds; none holds where there are none.
fn any(conditions: &[String]) -> String {
    format!("(FALSE OR {})", if conditions.is_empty() { "FALSE".to_owned() } else { conditions.join(" OR ") })
}

/// Returns the path, and after it `test`. A key is quoted as JSON quotes strings, which is how jsonpath does.
fn jsonpath(path: &[&str], test: &str) -> String {
    let mut written = "$".to_owned();
    for key in path {
        written.extend([".", &Value::from(*key).to_string()]);
    }
    written + test
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(filters: &[ElementEqualityFilter], within: &AccessFilter) -> Conditions {
        Conditions::of(SqlDialect::Postgres, &"Observation".parse().unwrap(), (filters, within)).unwrap()
    }

    #[test]
    fn a_key_cannot_leave_its_quotes_in_a_jsonpath() {
        let path = jsonpath(&["a", "b\" ? (1 == 1)"], " ? (@ == $v[*])");
        assert_eq!(path, r#"$."a"."b\" ? (1 == 1)" ? (@ == $v[*])"#);
    }

    #[test]
    fn values_are_bound_after_the_page() {
        let conditions = of(
            &[ElementEqualityFilter::new(["name"], "x"), ElementEqualityFilter::by_id("y")],
            &AccessFilter::Everything,
        );
        assert!(conditions.sql.ends_with("AND t.id = $5"), "{}", conditions.sql);
        assert_eq!(conditions.bound, [r#"["x"]"#, r#"$."name" ? (@ == $v[*])"#, "y"]);
    }

    #[test]
    fn a_selection_of_nothing_selects_nothing() {
        assert_eq!(of(&[], &AccessFilter::union_of_branches(Vec::new())).sql, "TRUE AND (FALSE OR FALSE)");
        let compartment = PatientCompartment::of_patient("p".parse().unwrap(), "https://payer.example/fhir");
        let region = AccessFilterBranch { compartment: Some(compartment), criteria: Vec::new() };
        let within = AccessFilter::union_of_branches(vec![region]);
        let closed = Conditions::of(SqlDialect::Sqlite, &"Client".parse().unwrap(), (&[], &within)).unwrap();
        assert_eq!(closed.sql, "TRUE AND (FALSE OR (TRUE AND FALSE))");
    }
}
