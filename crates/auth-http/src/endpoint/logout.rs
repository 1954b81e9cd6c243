//! `/auth/logout`: the end of a session.

use axum::extract::State;
use axum::response::Response;

use crate::error::ApiError;
use crate::page::{self, LOGIN, PageForm};
use crate::page_frame::CookieKind;
use crate::state::App;

/// Signs out. In the middle of an authorization somebody else may sign in then.
pub(crate) async fn post(State(app): State<App>, form: PageForm) -> Result<Response, ApiError> {
    app.oauth.sessions.end_browser_session(&app.env(), form.visitor.as_browser()).await?;
    let location = match form.get("transaction") {
        Some(transaction) => app.pages.link_with(LOGIN, transaction),
        None => format!("{}?{}", app.pages.link(LOGIN), super::login::SIGNED_OUT),
    };
    Ok(page::with_cookie(page::see(&location)?, app.pages.cookies().forget(CookieKind::Session)))
}
