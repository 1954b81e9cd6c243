//! `/sign-in/{link}`: the page of a link that signs a browser in once.
//!
//! Opening it changes nothing: programs that look through mail and chats open links too. Its button signs in.

use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::Extensions;
use axum::response::Response;
use axum::routing::get;
use chat_core::people::invitation::InvitationLink;
use chat_core::people::sign_in_link::{self, SignInLinkError};
use http::HeaderMap;
use serde::Deserialize;

use super::form_page::{FORM_MAX_BYTES, SubmittedForm, form_page, redirect};
use super::join::{finish, name_of, rendered};
use super::sign_in::may_sign_in;
use crate::browser;
use crate::error::ApiError;
use crate::rate::address;
use crate::state::{App, AppState};

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/sign-in/{link}", get(show).post(submit)).layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
}

#[derive(Template)]
#[template(path = "sign-in-link.html")]
struct LinkPage<'a> {
    realm: &'a str,
    address: &'a str,
    csrf_token: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SignInLinkForm {
    csrfmiddlewaretoken: String,
}

/// Shows whom the link signs in, and a button.
async fn show(State(app): State<App>, Path(end): Path<String>, headers: HeaderMap, extensions: Extensions) -> Response {
    match account(&app, &end, &extensions).await {
        Ok(address) => form_page(&app, &headers, |csrf_token| {
            rendered(&LinkPage { realm: name_of(&app.realm()), address: &address, csrf_token })
        }),
        Err(error) => finish(&app, Err(error)),
    }
}

/// Returns the address of the account. Another process made the link, maybe a moment ago, so the newest realm is asked.
async fn account(app: &AppState, end: &str, extensions: &Extensions) -> Result<String, ApiError> {
    app.server.by_address.check(&address(extensions))?;
    let link = parsed(end)?;
    app.realm.refresh_realm().await?;
    Ok(sign_in_link::find_sign_in_link_user(&app.realm(), &link, app.now_s())?.email.clone())
}

fn parsed(end: &str) -> Result<InvitationLink, ApiError> {
    Ok(InvitationLink::parse(end).map_err(|_| SignInLinkError)?)
}

/// Signs the browser in.
async fn submit(State(app): State<App>, Path(end): Path<String>, form: SubmittedForm<SignInLinkForm>) -> Response {
    match signed_in(&app, &end, &form).await {
        Ok(cookies) => redirect(&app, "/", cookies),
        Err(error) => finish(&app, Err(error)),
    }
}

/// Uses the link up, and returns the cookies of a new session.
async fn signed_in(app: &App, end: &str, form: &SubmittedForm<SignInLinkForm>) -> Result<HeaderMap, ApiError> {
    form.check(app, &form.fields.csrfmiddlewaretoken)?;
    let link = parsed(end)?;
    app.realm.refresh_realm().await?;
    let user_id = app.commit(|realm, commit| Ok(sign_in_link::redeem_sign_in_link(realm, &link, commit)?)).await?;
    let mut cookies = HeaderMap::new();
    browser::sign_in(app, user_id, (&form.headers, &mut cookies), |realm| may_sign_in(realm, user_id)).await?;
    Ok(cookies)
}
