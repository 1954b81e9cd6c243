//! `/submessage`: taking part in a poll or a list.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::id::MessageId;
use chat_core::messages::store::WriteOutcome;
use chat_core::messages::widget;
use chat_core::model::message::SUBMESSAGE_KIND;
use chat_core::permission::access::add_to;

use super::{following, readable};
use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text, Word, Words};
use crate::routes::{self, Routes, nothing};
use crate::state::DECISIONS_MAX;

pub(crate) fn routes() -> Routes {
    Routes::of("messages").api("/submessage", routes::post(endpoint(post).says("Add to a poll or a list.", nothing)))
}

/// The one kind of submessage there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind;

impl Words for Kind {
    const WORDS: &'static [(&'static str, Self)] = &[(SUBMESSAGE_KIND, Self)];
}

/// What is added to a message.
struct Addition {
    message_id: i64,
    content: String,
}

impl Params for Addition {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let message_id = given.required::<Json<i64>>("message_id")?;
        given.required::<Word<Kind>>("msg_type")?;
        Ok(Self { message_id, content: given.required::<Text>("content")? })
    }
}

/// Adds to a poll or a list.
async fn post(call: Call<Caller>, addition: Addition) -> Result<Answer, Fault> {
    for _ in 0..DECISIONS_MAX {
        let readable::Copy { realm, user, message } =
            readable::find_by_id(&call, MessageId(addition.message_id)).await?;
        add_to(&realm, &user, &message)?;
        widget::may_add(&message, user.id, &addition.content)?;
        let added = (user.id, addition.content.as_str());
        let decided = (&message, realm.changed());
        if call.app.widgets.add_submessage(decided, added, call.app.now_s()).await? != WriteOutcome::Unchanged {
            following::after_taking_part(&call.app, user.id, &message).await;
            return Ok(Answer::empty());
        }
    }
    Err(readable::outrun())
}
