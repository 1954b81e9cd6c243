//! `/messages/{message_id}/reactions`.

use chat_core::log::event;
use chat_core::messages::reaction::{RequestedEmoji, to_add, to_remove};
use chat_core::messages::store::WriteOutcome;
use chat_core::model::flag_change::FlagOp;
use chat_core::permission::access;

use super::{following, readable};
use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{ParamFault, Params, Reader, Text};
use crate::routes::{Routes, nothing, post};
use crate::state::DECISIONS_MAX;

pub(crate) fn routes() -> Routes {
    let reactions = post(endpoint(add).says("Put an emoji on a message.", nothing))
        .delete(endpoint(remove).says("Take an emoji off a message.", nothing));
    Routes::of("messages").api("/messages/{message_id}/reactions", reactions)
}

/// The emoji of a new reaction.
pub(crate) struct Add {
    name: String,
    code: Option<String>,
    kind: Option<String>,
}

impl Params for Add {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.required::<Text>("emoji_name")?,
            code: given.optional::<Text>("emoji_code")?,
            kind: given.optional::<Text>("reaction_type")?,
        })
    }
}

/// The emoji of a reaction that goes.
pub(crate) struct Remove {
    name: Option<String>,
    code: Option<String>,
    kind: Option<String>,
}

impl Params for Remove {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.optional::<Text>("emoji_name")?,
            code: given.optional::<Text>("emoji_code")?,
            kind: given.optional::<Text>("reaction_type")?,
        })
    }
}

/// Puts the caller's emoji on a message.
pub(crate) async fn add(call: Call<Caller>, params: Add) -> Result<Answer, Fault> {
    let asked = RequestedEmoji { name: Some(&params.name), code: params.code.as_deref(), kind: params.kind.as_deref() };
    for _ in 0..DECISIONS_MAX {
        let copy = readable::find(&call).await?;
        access::add_to(&copy.realm, &copy.user, &copy.message)?;
        let reaction = to_add(&copy.realm, copy.user.id, &copy.message, asked)?;
        let event = event::reacted(&copy.user, &copy.message, &reaction, FlagOp::Add);
        let written = call.app.messages.react(&copy.decided(), &reaction, (call.app.now_s(), event)).await?;
        if written != WriteOutcome::Unchanged {
            following::after_taking_part(&call.app, copy.user.id, &copy.message).await;
            return Ok(Answer::empty());
        }
    }
    Err(readable::outrun())
}

/// Takes the caller's emoji off a message.
///
/// # Source
/// Specification, `DELETE /messages/{message_id}/reactions`.
pub(crate) async fn remove(call: Call<Caller>, params: Remove) -> Result<Answer, Fault> {
    let asked =
        RequestedEmoji { name: params.name.as_deref(), code: params.code.as_deref(), kind: params.kind.as_deref() };
    for _ in 0..DECISIONS_MAX {
        let copy = readable::find(&call).await?;
        let reaction = to_remove(&copy.realm, copy.user.id, &copy.message, asked)?;
        let event = event::reacted(&copy.user, &copy.message, &reaction, FlagOp::Remove);
        let written = call.app.messages.unreact(&copy.decided(), &reaction, (call.app.now_s(), event)).await?;
        if written != WriteOutcome::Unchanged {
            return Ok(Answer::empty());
        }
    }
    Err(readable::outrun())
}
