//! Rendering a text without sending it.

use chat_core::model::message;
use chat_core::model::render_context::RenderSettings;
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::endpoint::uploads;
use crate::error::Fault;
use crate::params::{ParamFault, Params, Reader, Verbatim};
use crate::schema::{Member, Schema, has};

/// The text.
pub(crate) struct Asked {
    content: String,
}

impl Params for Asked {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { content: given.required::<Verbatim>("content")? })
    }
}

/// Returns how a message of the caller would look. A text that is too long is cut as a message is; blanks at its end
/// stay, which a message loses when it is sent.
pub(crate) async fn post(call: Call<Caller>, asked: Asked) -> Result<Answer, Fault> {
    let content = message::shown_content(&asked.content)?;
    let realm = call.app.realm();
    let lexicon = call.app.lexicon(&realm);
    let uploads = uploads::usable(&call.app, &realm, &call.who.user, &content).await?;
    let (realm_url, now_s) = (&call.app.settings.base_url, call.app.now_s());
    let setting = RenderSettings { realm_url, lexicon: &lexicon, uploads: Some(&uploads), now_s };
    Answer::of(&json!({"rendered": setting.render(&realm, &call.who.user, &content).html}))
}

/// Returns the members of the response.
pub(super) fn told() -> Vec<Member> {
    vec![has("rendered", Schema::string())]
}
