//! The values of a resource as rows of the index.
//!
//! Every row begins with a number that says of which parameter and type it is. The numbers of a
//! parameter are [`STRIDE`] apart, because what one parameter finds can be of several kinds: beside the
//! rows of its own there are those of the parts of a composite, of URIs and of typed identifiers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use aws_lc_rs::digest;
use fhir_search::IndexEntry;

use crate::elements::Elements;

/// How far the numbers of two parameters are apart.
pub(super) const STRIDE: i64 = 8;
/// Most parts of a composite.
const PARTS_MAX: usize = 5;
/// What is added to the number of a parameter for its URIs.
const OF_URI: i64 = 6;
/// What is added to the number of a parameter for its typed identifiers.
const OF_TYPED: i64 = 7;
/// The system of a code that is a unit as people read it, which no digest is.
pub(super) const READ_UNIT: i64 = -1;
/// Between the value of a typed identifier and the code of its type.
const TYPED_SEPARATOR: char = '\u{1}';
/// The digits of the number of an element, after the blank behind an id.
const ELEMENT_DIGITS: usize = 5;
/// Characters of an id that name the element of a composite.
pub(super) const ELEMENT_SUFFIX: usize = ELEMENT_DIGITS + 1;

/// A table of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Codes and URIs.
    Token,
    /// References to our own resources.
    Reference,
    /// Texts.
    Text,
    /// Times and numbers.
    Range,
    /// Numbers with a unit.
    Quantity,
}

impl Place {
    pub(super) const ALL: [Self; 5] = [Self::Token, Self::Reference, Self::Text, Self::Range, Self::Quantity];

    /// Returns the name of its table.
    pub(super) const fn table(self) -> &'static str {
        match self {
            Self::Token => "search_token",
            Self::Reference => "search_reference",
            Self::Text => "search_string",
            Self::Range => "search_range",
            Self::Quantity => "search_quantity",
        }
    }

    /// Returns the columns of its key, which are all it has.
    pub(super) const fn columns(self) -> &'static str {
        match self {
            Self::Token => "parameter, code, id, system",
            Self::Reference => "parameter, target, id, kind",
            Self::Text => "parameter, folded, id, exact",
            Self::Range => "parameter, id, low, high",
            Self::Quantity => "parameter, id, low, high, code, system",
        }
    }

    /// Returns the column behind the number in the table's key, where that is a value to be equal to.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Token => "code",
            Self::Reference => "target",
            Self::Text => "folded",
            Self::Range | Self::Quantity => "id",
        }
    }

    /// Returns whether an index leads from a parameter and a resource to the rows, whatever they hold. Codes have none:
    /// they are most of all rows.
    pub(super) const fn has_index_by_id(self) -> bool {
        !matches!(self, Self::Token)
    }

    /// Returns the index from a parameter and a resource to the rows, as it is named behind the table.
    pub(super) const fn by_id(self) -> &'static str {
        match self {
            Self::Token | Self::Range | Self::Quantity => "{by:NOT INDEXED}",
            Self::Reference => "{by:INDEXED BY search_reference_source}",
            Self::Text => "{by:INDEXED BY search_string_resource}",
        }
    }

    /// Deletes the rows of the numbers from `$1` to before `$2`.
    pub(super) const fn clearing(self) -> &'static str {
        match self {
            Self::Token => "DELETE FROM search_token WHERE parameter >= $1 AND parameter < $2",
            Self::Reference => "DELETE FROM search_reference WHERE parameter >= $1 AND parameter < $2",
            Self::Text => "DELETE FROM search_string WHERE parameter >= $1 AND parameter < $2",
            Self::Range => "DELETE FROM search_range WHERE parameter >= $1 AND parameter < $2",
            Self::Quantity => "DELETE FROM search_quantity WHERE parameter >= $1 AND parameter < $2",
        }
    }
}

/// The values of one row, without its number and its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cells {
    Token { code: String, system: i64 },
    Reference { target: String, kind: String },
    Text { folded: String, exact: i64 },
    Range { low: i64, high: i64 },
    Quantity { low: i64, high: i64, code: String, system: i64 },
}

impl Cells {
    pub(super) const fn place(&self) -> Place {
        match self {
            Self::Token { .. } => Place::Token,
            Self::Reference { .. } => Place::Reference,
            Self::Text { .. } => Place::Text,
            Self::Range { .. } => Place::Range,
            Self::Quantity { .. } => Place::Quantity,
        }
    }
}

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    Number(i64),
    Text(&'a str),
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) parameter: i64,
    pub(super) cells: Cells,
    /// The element of a composite, from 1; 0 for what is no part of one.
    pub(super) element: usize,
}

impl Row {
    /// Adds the row to the parameter of the statements on its table: the columns in the order of the table's
    /// key.
    pub(super) fn push_to(&self, elements: &mut Elements, id: &str) -> Result<(), sqlx::Error> {
        let (parameter, id) = (self.parameter, &*self.id_of(id));
        match &self.cells {
            Cells::Token { code, system } => elements.push(&(parameter, code, id, system)),
            Cells::Reference { target, kind } => elements.push(&(parameter, target, id, kind)),
            Cells::Text { folded, exact } => elements.push(&(parameter, folded, id, exact)),
            Cells::Range { low, high } => elements.push(&(parameter, id, low, high)),
            Cells::Quantity { low, high, code, system } => elements.push(&(parameter, id, low, high, code, system)),
        }
    }

    /// Hands out the values of the row in the same order.
    pub(super) fn each_cell<E>(&self, id: &str, mut out: impl FnMut(Cell<'_>) -> Result<(), E>) -> Result<(), E> {
        let id = Cell::Text(&self.id_of(id));
        out(Cell::Number(self.parameter))?;
        match &self.cells {
            Cells::Token { code: text, system: number } | Cells::Text { folded: text, exact: number } => {
                [Cell::Text(text), id, Cell::Number(*number)].into_iter().try_for_each(out)
            }
            Cells::Reference { target, kind } => {
                [Cell::Text(target), id, Cell::Text(kind)].into_iter().try_for_each(out)
            }
            Cells::Range { low, high } => [id, Cell::Number(*low), Cell::Number(*high)].into_iter().try_for_each(out),
            Cells::Quantity { low, high, code, system } => {
                [id, Cell::Number(*low), Cell::Number(*high), Cell::Text(code), Cell::Number(*system)]
                    .into_iter()
                    .try_for_each(out)
            }
        }
    }

    /// Returns the id of the row: that of its resource, and of which element of it.
    fn id_of<'i>(&self, id: &'i str) -> Cow<'i, str> {
        match self.element {
            0 => Cow::Borrowed(id),
            element => Cow::Owned(format!("{id} {element:0ELEMENT_DIGITS$}")),
        }
    }
}

/// The rows of a resource.
pub(super) type Rows = BTreeSet<Row>;

/// Adds the rows that stand for an entry of the parameter with this number; `elements` counts the
/// composite elements of the resource.
pub(super) fn add(rows: &mut Rows, parameter: i64, entry: &IndexEntry, elements: &mut usize) {
    let IndexEntry::Composite(parts) = entry else {
        add_cells(rows, (parameter, 0), entry);
        return;
    };
    *elements += 1;
    for (part, entry) in parts.iter().take(PARTS_MAX).enumerate() {
        add_cells(rows, (part_number(parameter, part), *elements), entry);
    }
}

/// Returns the number of the rows of a part of a composite, from 0.
pub(super) fn part_number(parameter: i64, part: usize) -> i64 {
    // A composite has five parts at most, so this is within the stride.
    parameter + 1 + i64::try_from(part.min(PARTS_MAX - 1)).unwrap_or_default()
}

/// Returns the number of the rows of a parameter's URIs.
pub(super) const fn uri_number(parameter: i64) -> i64 {
    parameter + OF_URI
}

/// Returns the number of the rows of a parameter's typed identifiers.
pub(super) const fn typed_number(parameter: i64) -> i64 {
    parameter + OF_TYPED
}

fn add_cells(rows: &mut Rows, (parameter, element): (i64, usize), entry: &IndexEntry) {
    let mut add = |parameter: i64, cells: Cells| {
        rows.insert(Row { parameter, cells, element });
    };
    match entry {
        IndexEntry::Token { system, code } => {
            let cells = Cells::Token { code: code.clone().unwrap_or_default(), system: digest_of(system.as_deref()) };
            add(parameter, cells);
        }
        IndexEntry::Display { folded } => add(parameter, Cells::Text { folded: folded.clone(), exact: 0 }),
        IndexEntry::TypedIdentifier { system, code, value } => {
            let cells = Cells::Token { code: typed(value, code), system: digest_of(system.as_deref()) };
            add(typed_number(parameter), cells);
        }
        IndexEntry::Text { folded, exact } => {
            add(parameter, Cells::Text { folded: folded.clone(), exact: digest_of(Some(exact)) });
        }
        IndexEntry::Reference { resource_type: kind, id } => {
            add(parameter, Cells::Reference { target: id.clone(), kind: kind.clone() });
        }
        IndexEntry::Uri { uri, version } => {
            let cells = Cells::Token { code: uri.clone(), system: digest_of(version.as_deref()) };
            add(uri_number(parameter), cells);
        }
        IndexEntry::Period { from_us, to_us } => add(parameter, Cells::Range { low: *from_us, high: *to_us }),
        IndexEntry::Number { low, high } => add(parameter, Cells::Range { low: ordered(*low), high: ordered(*high) }),
        IndexEntry::Quantity { low, high, system, code, unit } => {
            let (low, high) = (ordered(*low), ordered(*high));
            let coded = code.clone().unwrap_or_default();
            if let Some(unit) = unit.as_ref().filter(|unit| **unit != coded) {
                add(parameter, Cells::Quantity { low, high, code: unit.clone(), system: READ_UNIT });
            }
            add(parameter, Cells::Quantity { low, high, code: coded, system: digest_of(system.as_deref()) });
        }
        // A part of a composite is none itself.
        IndexEntry::Composite(_) => {}
    }
}

/// Returns how a typed identifier is written into one column.
pub(super) fn typed(value: &str, code: &str) -> String {
    format!("{value}{TYPED_SEPARATOR}{code}")
}

/// 64 bits of the SHA-256 of a text, 0 where there is none. Nobody who is to be told apart by a system
/// finds another text of the same bits: that takes 2^64 tries.
pub(super) fn digest_of(text: Option<&str>) -> i64 {
    let Some(text) = text else { return 0 };
    let digest = digest::digest(&digest::SHA256, text.as_bytes());
    let mut first = [0; 8];
    for (byte, of) in first.iter_mut().zip(digest.as_ref()) {
        *byte = *of;
    }
    match i64::from_be_bytes(first) {
        0 | READ_UNIT => 1,
        bits => bits,
    }
}

/// A number as an integer of the same order, exactly: no engine rounds it.
pub(super) fn ordered(number: f64) -> i64 {
    // Zero has two signs and is one number.
    let bits = if number == 0.0 { 0 } else { i64::from_ne_bytes(number.to_bits().to_ne_bytes()) };
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order_as_integers() {
        let numbers = [f64::MIN, -1e300, -2.5, -1.0, -1e-300, 0.0, 1e-300, 0.1, 1.0, 2.5, 1e300, f64::MAX];
        assert!(numbers.map(ordered).is_sorted());
        assert_eq!(ordered(-0.0), ordered(0.0));
        let distinct: BTreeSet<i64> = numbers.into_iter().map(ordered).collect();
        assert_eq!(distinct.len(), numbers.len());
    }

    #[test]
    fn a_unit_is_found_by_its_code_and_by_its_name() {
        let entry = IndexEntry::Quantity {
            low: 1.0,
            high: 1.0,
            system: Some("http://unitsofmeasure.org".to_owned()),
            code: Some("mg".to_owned()),
            unit: Some("milligram".to_owned()),
        };
        let mut rows = Rows::new();
        add(&mut rows, 8, &entry, &mut 0);
        let codes: Vec<(&str, bool)> = rows
            .iter()
            .filter_map(|row| match &row.cells {
                Cells::Quantity { code, system, .. } => Some((code.as_str(), *system == READ_UNIT)),
                _ => None,
            })
            .collect();
        assert_eq!(codes, [("mg", false), ("milligram", true)]);
    }

    #[test]
    fn the_parts_of_each_element_share_an_id_of_their_own() {
        let part = |code: &str| IndexEntry::Token { system: None, code: Some(code.to_owned()) };
        let (mut rows, mut elements) = (Rows::new(), 0);
        for codes in [["a", "b"], ["c", "d"]] {
            add(&mut rows, 16, &IndexEntry::Composite(codes.map(part).into()), &mut elements);
        }
        let mut elements = Elements::default();
        for row in &rows {
            row.push_to(&mut elements, "x").unwrap();
        }
        let expected = r#"[[17,"a","x 00001",0],[17,"c","x 00002",0],[18,"b","x 00001",0],[18,"d","x 00002",0]]"#;
        assert_eq!(elements.closed().unwrap(), expected);
    }

    #[test]
    fn no_text_has_the_digest_of_none() {
        assert_eq!(digest_of(None), 0);
        assert_ne!(digest_of(Some("")), 0);
        assert_ne!(digest_of(Some("http://loinc.org")), digest_of(Some("http://snomed.info/sct")));
    }
}
