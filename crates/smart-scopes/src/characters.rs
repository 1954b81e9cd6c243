//! The characters that a scope may consist of.

use crate::ScopeParseError;

/// Returns an error when `text` has a character that a scope may not have (RFC 6749, section 3.3).
pub(crate) fn check_characters(text: &str) -> Result<(), ScopeParseError> {
    let is_legal = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
    match text.char_indices().find(|(_, c)| !is_legal(*c)) {
        Some((position, _)) => Err(ScopeParseError::IllegalCharacter { position }),
        None => Ok(()),
    }
}
