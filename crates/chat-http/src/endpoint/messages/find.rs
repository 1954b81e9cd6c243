//! Reading one message.

use chat_core::id::MessageId;
use chat_core::permission::access::{self, MessageNotFound};
use chat_core::wire::{MessageFormat, StoredMessage};

use super::list::{Told, write_all};
use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::error::{Failure, Fault};
use crate::params::{Json, ParamFault, Params, Reader};
use crate::schema::{Member, Schema, has};

/// How it is shown.
pub(crate) struct Asked {
    html: bool,
}

impl Params for Asked {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { html: given.or::<Json<bool>>("apply_markdown", true)? })
    }
}

/// A message the caller may read, and its text as typed, which is deprecated and always sent.
pub(crate) async fn get(call: Call<Caller>, asked: Asked) -> Result<Answer, Fault> {
    let id = MessageId(call.path_id("message_id")?);
    let found = call.app.messages.find(call.who.id(), &[id]).await?.into_iter();
    let mut read = found.filter(|(message, _)| access::reads(&call.who.realm, &call.who.user, message));
    let found = read.next().map(|(message, flags)| (StoredMessage::passing(message), flags)).ok_or(MessageNotFound)?;
    let (message, _) = &found;
    let mut body = b"{\"raw_content\":".to_vec();
    serde_json::to_writer(&mut body, &message.content)
        .map_err(|error| Failure::new("a text was not serialized", error))?;
    let form = MessageFormat { html: asked.html, client_gravatar: true };
    let mut list = Vec::new();
    write_all(
        &call.app,
        &call.app.realm(),
        (std::slice::from_ref(&found), &Told { form, marked: Vec::new() }),
        &mut list,
    )
    .await?;
    body.extend_from_slice(b",\"message\":");
    body.extend_from_slice(list.get(1..list.len().saturating_sub(1)).unwrap_or_default());
    body.push(b'}');
    Ok(Answer::from_object(&body))
}

/// Returns the members of the response.
pub(super) fn told() -> Vec<Member> {
    vec![has("raw_content", Schema::string()), has("message", Schema::named("Message"))]
}
