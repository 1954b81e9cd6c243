//! Arrays of JSON under way: what `{elements:$1}` of a statement reads.

use serde::Serialize;

/// An array of JSON that grows element by element, without a document being made of each.
#[derive(Debug, Default)]
pub(crate) struct Elements(Vec<u8>);

impl Elements {
    /// Adds an element.
    pub(crate) fn push(&mut self, element: &impl Serialize) -> Result<(), sqlx::Error> {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut self.0, element).map_err(|error| sqlx::Error::Encode(Box::new(error)))
    }

    /// Returns the whole array.
    pub(crate) fn closed(mut self) -> Result<String, sqlx::Error> {
        self.0.extend(if self.0.is_empty() { b"[]".as_slice() } else { b"]" });
        String::from_utf8(self.0).map_err(|error| sqlx::Error::Encode(Box::new(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_json_whatever_it_holds() {
        let mut elements = Elements::default();
        assert_eq!(Elements::default().closed().unwrap(), "[]");
        elements.push(&1).unwrap();
        elements.push(&("a\"", 2)).unwrap();
        assert_eq!(elements.closed().unwrap(), r#"[1,["a\"",2]]"#);
    }
}
