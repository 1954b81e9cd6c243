//! `/confirm-address/{link}`: the page that a letter to a new address opens.
//!
//! Opening it changes nothing: programs that look through mail open links too. Its button does.

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::Extensions;
use axum::response::Response;
use axum::routing::get;
use chat_core::people::email_change::{self, EmailChangeError};
use chat_core::people::invitation::InvitationLink;

use crate::endpoint::join::{finish, name_of, rendered, said};
use crate::error::ApiError;
use crate::rate;
use crate::state::{App, AppState};

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/confirm-address/{link}", get(show).post(confirm))
}

/// The address, and a button.
#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage<'a> {
    realm: &'a str,
    address: &'a str,
}

/// Shows the address.
async fn show(State(app): State<App>, Path(end): Path<String>, extensions: Extensions) -> Response {
    let page = link(&app, &end, &extensions).and_then(|link| {
        let realm = app.realm();
        let (_, address) = email_change::find_email_change_by_link(&realm, &link, app.now_s())?;
        rendered(&ConfirmPage { realm: name_of(&realm), address: &address })
    });
    finish(&app, page)
}

/// Makes the address the user's.
async fn confirm(State(app): State<App>, Path(end): Path<String>, extensions: Extensions) -> Response {
    let page = match link(&app, &end, &extensions) {
        Ok(link) => confirmed(&app, &link).await,
        Err(error) => Err(error),
    };
    finish(&app, page)
}

async fn confirmed(app: &AppState, link: &InvitationLink) -> Result<String, ApiError> {
    let (_, address) = email_change::find_email_change_by_link(&app.realm(), link, app.now_s())?;
    app.commit(|realm, commit| Ok(email_change::confirm_email_change(realm, link, commit)?)).await?;
    let login = Some((app.settings.base_url.as_str(), address.as_str()));
    let text = "Log in with it from now on; your password is the same.";
    said(app, ("Your address is confirmed", text), login)
}

/// Trying links counts by address, as everything does that needs no account.
fn link(app: &AppState, end: &str, extensions: &Extensions) -> Result<InvitationLink, ApiError> {
    app.server.by_address.check(&rate::address(extensions))?;
    Ok(InvitationLink::parse(end).map_err(|_| EmailChangeError::Unknown)?)
}
