//! The messages a narrow selects for a caller, and stretches of them.

use std::sync::Arc;

use chat_core::messages::narrow::{
    Anchor, MessageWindow, NarrowTerm, ReadableMessageSelection, check_channel_direct_conflict, check_search_word_limit,
};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::permission::access;

use crate::error::ApiError;
use crate::params::{EndpointParams, JsonParam, NonNegativeInteger, ParamError, ParamReader, RawNarrow, TextParam};
use crate::state::AppState;

/// The parameters of a window of messages around an anchor.
pub(crate) struct AnchorParams {
    anchor: Option<String>,
    include_anchor: bool,
    before: NonNegativeInteger,
    after: NonNegativeInteger,
}

/// The parameters that name messages around an anchor, for requests that may name them one by one instead.
pub(crate) struct OptionalAnchorParams {
    anchor: Option<String>,
    include_anchor: bool,
    before: Option<NonNegativeInteger>,
    after: Option<NonNegativeInteger>,
}

impl EndpointParams for OptionalAnchorParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            anchor: reader.optional::<TextParam>("anchor")?,
            include_anchor: reader.optional_or::<JsonParam<bool>>("include_anchor", true)?,
            before: reader.optional::<JsonParam<NonNegativeInteger>>("num_before")?,
            after: reader.optional::<JsonParam<NonNegativeInteger>>("num_after")?,
        })
    }
}

impl OptionalAnchorParams {
    /// Returns whether the parameters ask for no message.
    pub(super) fn are_absent(&self) -> bool {
        let is_none = |count: &Option<NonNegativeInteger>| count.as_ref().is_none_or(|count| count.get() == 0);
        self.anchor.is_none() && is_none(&self.before) && is_none(&self.after)
    }

    /// Returns the parameters of a request that names no message by itself.
    pub(super) fn required(self) -> Result<AnchorParams, ParamError> {
        Ok(AnchorParams {
            anchor: self.anchor,
            include_anchor: self.include_anchor,
            before: self.before.ok_or(ParamError::Missing { name: "num_before" })?,
            after: self.after.ok_or(ParamError::Missing { name: "num_after" })?,
        })
    }
}

impl EndpointParams for AnchorParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            anchor: reader.optional::<TextParam>("anchor")?,
            include_anchor: reader.optional_or::<JsonParam<bool>>("include_anchor", true)?,
            before: reader.required::<JsonParam<NonNegativeInteger>>("num_before")?,
            after: reader.required::<JsonParam<NonNegativeInteger>>("num_after")?,
        })
    }
}

impl AnchorParams {
    /// Returns how many messages before and after the anchor are asked for.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.before.get().unsigned_abs(), self.after.get().unsigned_abs())
    }

    /// So many messages before and after the anchor that is named; without one, as `first_unread` says.
    pub(super) fn window(&self, counts: (u64, u64), first_unread: bool) -> Result<MessageWindow, ApiError> {
        let anchor = Anchor::parse(self.anchor.as_deref(), first_unread)?;
        Ok(MessageWindow::new(anchor, counts, self.include_anchor)?)
    }
}

/// Returns what the narrow asks for, bounded by what the reader may have. `None` asks for everything.
pub(crate) async fn select(
    app: &AppState,
    realm: &Arc<RealmSnapshot>,
    reader: &User,
    narrow: Option<&RawNarrow>,
) -> Result<ReadableMessageSelection, ApiError> {
    let mut terms = Vec::new();
    for term in narrow.map(|narrow| narrow.0.as_slice()).unwrap_or_default() {
        terms.extend(NarrowTerm::parse(realm, reader, (&term.operator, &term.operand), term.negated)?);
    }
    check_search_word_limit(&terms)?;
    if let Some(id) = ReadableMessageSelection::with_operator_message(&terms) {
        let found = app.messages.find_messages(reader.id, &[id]).await?.into_iter().next().map(|(message, _)| message);
        let message = found.filter(|message| access::may_read_message(realm, reader, message));
        terms = ReadableMessageSelection::resolve_with_operator(terms, message.as_ref());
    }
    check_channel_direct_conflict(&terms)?;
    Ok(ReadableMessageSelection::new(realm, reader, terms))
}
