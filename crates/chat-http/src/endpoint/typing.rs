//! `/typing`.

use axum::Router;
use axum::routing;
use chat_core::id::{ChannelId, UserId};
use chat_core::typing::{self, Op};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Stripped, Verbatim, Word, Words};
use crate::router::ApiRoutes;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().api("/typing", routing::post(endpoint(post)))
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

impl Words for Op {
    const WORDS: &'static [(&'static str, Self)] = &[("start", Self::Start), ("stop", Self::Stop)];
}

/// Who is written to.
enum To {
    Users(Option<Vec<UserId>>),
    Channel(Option<ChannelId>, Option<String>),
}

/// That somebody writes, or stopped.
pub(crate) struct Typed {
    op: Op,
    to: To,
}

/// The parameters of the other kind are ignored, whatever is in them.
impl Params for Typed {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let kind = given.or::<Word<Kind>>("type", Kind::Direct)?;
        let op = given.required::<Word<Op>>("op")?;
        let to = match kind {
            Kind::Direct => {
                given.optional::<Verbatim>("stream_id")?;
                given.optional::<Verbatim>("topic")?;
                given.optional::<Verbatim>("subject")?;
                To::Users(given.optional::<Json<Option<Vec<UserId>>>>("to")?.flatten())
            }
            Kind::Channel => {
                given.optional::<Verbatim>("to")?;
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
        To::Channel(channel, topic) => typing::to_channel(realm, user, (typed.op, *channel, topic.as_deref()), now_s)?,
    };
    call.app.typing.tell(typing);
    Ok(Answer::empty())
}
