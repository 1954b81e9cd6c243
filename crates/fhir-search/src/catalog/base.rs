//! The parameters of R4, which stay text until a type is asked for.

use std::collections::HashMap;

use serde_json::Value;

use super::ROOTS;
use super::definition::Definition;
use crate::parameter::SearchParameterType;

/// One line for each definition, so that those of one type are found without reading the rest:
/// `[number, id, code, type, [base…], expression, [target…], [[type, expression]…]]`.
const DATA: &str = include_str!("../../data/r4-search-parameters.json");

/// A type of which only some parameters are used, and those: audit events are written many times a second, and each
/// parameter costs rows. Those of all resources are not counted.
const KEPT: (&str, &[&str]) =
    ("AuditEvent", &["action", "agent", "date", "entity", "outcome", "patient", "subtype", "type"]);

/// What the URLs of R4's parameters begin with.
const URL: &str = "http://hl7.org/fhir/SearchParameter/";

fn lines() -> impl Iterator<Item = &'static str> {
    DATA.lines().filter(|line| line.starts_with('[')).map(|line| line.trim_end_matches(','))
}

/// Returns the types the definitions name, as the second line of the data lists them: `"kinds":[…],`.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    let list = DATA.lines().find_map(|line| line.strip_prefix("\"kinds\":[")?.split(']').next());
    list.into_iter().flat_map(|list| list.split(',')).map(|resource_type| resource_type.trim_matches('"'))
}

/// Returns the types a line is about: its first list.
fn bases(line: &'static str) -> impl Iterator<Item = &'static str> {
    let list = line.split_once(",[").and_then(|(_, rest)| rest.split_once(']'));
    list.into_iter().flat_map(|(list, _)| list.split(',')).map(|base| base.trim_matches('"'))
}

/// Returns the definitions about a type, those of all resources among them.
pub(super) fn of(resource_type: &str) -> Vec<Definition> {
    let about = lines().filter(|line| bases(line).any(|base| base == resource_type || ROOTS.contains(&base)));
    about.filter_map(read).filter(|definition| is_kept(resource_type, definition)).collect()
}

fn is_kept(resource_type: &str, definition: &Definition) -> bool {
    let (of, codes) = KEPT;
    resource_type != of || codes.contains(&definition.code.as_str()) || definition.code.starts_with('_')
}

/// What R4 itself has: looked into once for each installed definition.
pub(super) struct Known {
    /// The lines by what is behind [`URL`].
    ids: HashMap<&'static str, &'static str>,
    /// The ids by type and code.
    codes: HashMap<(&'static str, &'static str), &'static str>,
}

impl Known {
    /// Reads the beginnings of all lines.
    pub(super) fn read() -> Self {
        let mut known = Self { ids: HashMap::new(), codes: HashMap::new() };
        for line in lines() {
            let mut quoted = line.split('"').skip(1).step_by(2);
            if let (Some(id), Some(code)) = (quoted.next(), quoted.next()) {
                known.ids.insert(id, line);
                known.codes.extend(bases(line).map(|base| ((base, code), id)));
            }
        }
        known
    }

    /// Returns whether R4 itself defines this URL.
    pub(super) fn has(&self, url: &str) -> bool {
        self.line_of(url).is_some()
    }

    /// Returns the type of the parameter of this URL.
    pub(super) fn kind_of(&self, url: &str) -> Option<SearchParameterType> {
        self.line_of(url).and_then(read).map(|definition| definition.parameter_type)
    }

    /// Returns the URL of the parameter that a type has under this code.
    pub(super) fn url_of(&self, resource_type: &str, code: &str) -> Option<String> {
        let mut kinds = ROOTS.into_iter().chain([resource_type]);
        kinds.find_map(|resource_type| self.codes.get(&(resource_type, code))).map(|id| format!("{URL}{id}"))
    }

    fn line_of(&self, url: &str) -> Option<&'static str> {
        self.ids.get(url.strip_prefix(URL)?).copied()
    }
}

fn read(line: &str) -> Option<Definition> {
    let Value::Array(fields) = serde_json::from_str(line).ok()? else { return None };
    let text = |at: usize| fields.get(at)?.as_str();
    let texts = |at: usize| fields.get(at)?.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
    let components = fields.get(7)?.as_array()?.iter().map(|part| {
        let parameter_type = SearchParameterType::from_code(part.get(0)?.as_str()?)?;
        Some((parameter_type, part.get(1)?.as_str()?.to_owned()))
    });
    Some(Definition {
        number: fields.first()?.as_i64()?,
        url: format!("{URL}{}", text(1)?),
        code: text(2)?.to_owned(),
        parameter_type: SearchParameterType::from_code(text(3)?)?,
        bases: texts(4)?.into_iter().map(str::to_owned).collect(),
        expression: text(5)?.to_owned(),
        targets: texts(6)?.into_iter().map(|target| target.parse().ok()).collect::<Option<_>>()?,
        components: components.collect::<Option<_>>()?,
    })
}
