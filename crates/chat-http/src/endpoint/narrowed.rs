//! The messages a narrow selects for a caller.

use chat_core::access;
use chat_core::narrow::{Selection, Term, check_place};
use chat_core::snapshot::RealmSnapshot;
use chat_core::user::User;

use crate::error::Fault;
use crate::params::Narrow;
use crate::state::Site;

/// What the narrow asks for, bounded by what the reader may have. `None` asks for everything.
pub(crate) async fn select(
    app: &Site,
    realm: &RealmSnapshot,
    reader: &User,
    narrow: Option<&Narrow>,
) -> Result<Selection, Fault> {
    let mut terms = Vec::new();
    for term in narrow.map(|narrow| narrow.0.as_slice()).unwrap_or_default() {
        terms.extend(Term::parse(realm, reader, (&term.operator, &term.operand), term.negated)?);
    }
    if let Some(id) = Selection::asked_with(&terms) {
        let found = app.messages.find(reader.id, &[id]).await?.into_iter().next().map(|(message, _)| message);
        let message = found.filter(|message| access::reads(realm, reader, message));
        terms = Selection::with_conversation_of(terms, message.as_ref());
    }
    check_place(&terms)?;
    Ok(Selection::new(realm, reader, terms))
}
