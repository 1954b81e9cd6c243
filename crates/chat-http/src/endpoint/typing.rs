//! `/typing`.

use chat_core::id::{ChannelId, UserId};
use chat_core::people::typing::{self, TypingOp};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Stripped, Word, Words};
use crate::routes::{self, Routes, nothing};

pub(crate) fn routes() -> Routes {
    let typing = endpoint(post).says("Tell receivers that the caller writes, or stopped.", nothing);
    Routes::of("messages").api("/typing", routes::post(typing))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Direct,
    Channel,
}

impl Words for Kind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

impl Words for TypingOp {
    const WORDS: &'static [(&'static str, Self)] = &[("start", Self::Start), ("stop", Self::Stop)];
}

/// Who is written to.
enum To {
    Users(Option<Vec<UserId>>),
    Channel(Option<ChannelId>, Option<String>),
}

/// That somebody writes, or stopped.
pub(crate) struct Typed {
    op: TypingOp,
    to: To,
}

/// The parameters of the other kind are ignored, whatever is in them.
impl Params for Typed {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let kind = given.or::<Word<Kind>>("type", Kind::Direct)?;
        let op = given.required::<Word<TypingOp>>("op")?;
        let to = match kind {
            Kind::Direct => {
                given.pass_over(&["stream_id", "topic", "subject"]);
                To::Users(given.optional::<Json<Option<Vec<UserId>>>>("to")?.flatten())
            }
            Kind::Channel => {
                given.pass_over(&["to"]);
                let channel = given.optional::<Json<Option<ChannelId>>>("stream_id")?.flatten();
                To::Channel(channel, given.optional_either::<Stripped>(["topic", "subject"])?)
            }
        };
        Ok(Self { op, to })
    }
}

/// Tells those who would receive it that the caller writes, or does no more. Nothing is written down.
///
/// # Source
/// Specification, `POST /typing`.
pub(crate) async fn post(call: Call<Caller>, typed: Typed) -> Result<Answer, Fault> {
    let Caller { realm, user, .. } = &call.who;
    let now_s = call.app.now_s();
    let typing = match &typed.to {
        To::Users(to) => typing::to_users(realm, user, (typed.op, to.as_deref()), now_s)?,
        To::Channel(channel, topic) => {
            Some(typing::to_channel(realm, user, (typed.op, *channel, topic.as_deref()), now_s)?)
        }
    };
    if let Some(typing) = typing {
        call.app.typing.tell(typing);
    }
    Ok(Answer::empty())
}
