//! `/password-reset/`: a letter for who forgot their password, and the page that its link opens.

use std::time::Duration;

use askama::Template;
use attempt_limits::password_attempt_limits::AttemptOutcome;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::Extensions;
use axum::response::Response;
use axum::routing::get;
use chat_core::model::user::{check_password_strength, fold_case, parse_email};
use chat_core::people::invitation::InvitationLink;
use chat_core::people::password_reset::{self, PasswordResetError};
use chat_core::permission::account_administration::AccountChangeError;
use http::HeaderMap;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::form_page::{FORM_MAX_BYTES, PASSWORD_MAX_BYTES, SubmittedForm, form_page, refused};
use super::invites::fresh_secret;
use super::join::{finish, name_of, rendered};
use crate::error::ApiError;
use crate::params::ParamError;
use crate::password::{self, PasswordAttempt};
use crate::rate::address;
use crate::state::{App, AppState};

/// The time a request for a letter takes, whether there is an account or not: a letter is written to the disk, and the
/// time of that would show that there is one.
const ANSWER_AFTER: Duration = Duration::from_millis(400);

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/password-reset/", get(show).post(request))
        .route("/password-reset/{link}", get(show_link).post(complete))
        .layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
}

#[derive(Template)]
#[template(path = "reset.html")]
struct RequestPage<'a> {
    realm: &'a str,
    email: &'a str,
    csrf_token: &'a str,
    alert: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "new-password.html")]
struct PasswordPage<'a> {
    realm: &'a str,
    address: &'a str,
    csrf_token: &'a str,
    alert: Option<&'a str>,
}

/// A page with a way to sign in.
#[derive(Template)]
#[template(path = "done.html")]
struct DonePage<'a> {
    realm: &'a str,
    heading: &'a str,
    text: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PasswordResetForm {
    email: String,
    password: String,
    csrfmiddlewaretoken: String,
}

async fn show(State(app): State<App>, headers: HeaderMap, extensions: Extensions) -> Response {
    if let Err(exceeded) = app.server.by_address.check(&address(&extensions)) {
        return finish(&app, Err(exceeded.into()));
    }
    form_page(&app, &headers, |token| request_form(&app, "", token, None))
}

fn request_form(app: &AppState, email: &str, csrf_token: &str, alert: Option<&str>) -> Result<String, ApiError> {
    rendered(&RequestPage { realm: name_of(&app.realm()), email, csrf_token, alert })
}

/// Sends a letter, when there is an account. The answer is the same when there is none.
async fn request(State(app): State<App>, form: SubmittedForm<PasswordResetForm>) -> Response {
    let answered_at = Instant::now() + ANSWER_AFTER;
    let requested = requested(&app, &form).await;
    sleep_until(answered_at).await;
    match requested {
        Ok(()) => {
            let text = "If there is an account with this address, a letter is on its way to it. Open the link in it \
                        within an hour. Look into the spam folder too.";
            finish(&app, done(&app, "Look into your mail", text))
        }
        Err(error) => refused(&app, &form.headers, error, |token, alert| {
            request_form(&app, &form.fields.email, token, Some(alert))
        }),
    }
}

async fn requested(app: &App, form: &SubmittedForm<PasswordResetForm>) -> Result<(), ApiError> {
    let SubmittedForm { fields, extensions, .. } = form;
    form.check(app, &fields.csrfmiddlewaretoken)?;
    let account = fold_case(parse_email(&fields.email)?);
    let claim = PasswordAttempt { account: &account, user_id: None, from: address(extensions) };
    password::admitted(app, &app.password_resets, claim).await?.record_outcome(AttemptOutcome::Wrong);
    let secret = fresh_secret(app)?;
    app.commit(|realm, commit| {
        password_reset::request_password_reset(realm, &account, (&secret, &app.settings.base_url), commit);
        Ok(())
    })
    .await
}

/// Shows the form of a link. Opening it changes nothing: programs that look through mail open links too.
async fn show_link(
    State(app): State<App>,
    Path(end): Path<String>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let link = app.server.by_address.check(&address(&extensions)).map_err(ApiError::from).and_then(|_| parsed(&end));
    match link.and_then(|link| address_of(&app, &link)) {
        Ok(address) => form_page(&app, &headers, |token| password_form(&app, &address, token, None)),
        Err(error) => finish(&app, Err(error)),
    }
}

fn parsed(end: &str) -> Result<InvitationLink, ApiError> {
    Ok(InvitationLink::parse(end).map_err(|_| PasswordResetError::Unknown)?)
}

fn address_of(app: &AppState, link: &InvitationLink) -> Result<String, ApiError> {
    Ok(password_reset::find_password_reset_user(&app.realm(), link, app.now_s())?.email.clone())
}

fn password_form(app: &AppState, address: &str, csrf_token: &str, alert: Option<&str>) -> Result<String, ApiError> {
    rendered(&PasswordPage { realm: name_of(&app.realm()), address, csrf_token, alert })
}

/// Sets the password.
async fn complete(State(app): State<App>, Path(end): Path<String>, form: SubmittedForm<PasswordResetForm>) -> Response {
    match completed(&app, &end, &form).await {
        Ok(()) => finish(&app, done(&app, "Your new password is set", "Every browser was signed out.")),
        Err(error) => match parsed(&end).and_then(|link| address_of(&app, &link)) {
            Ok(address) => {
                refused(&app, &form.headers, error, |token, alert| password_form(&app, &address, token, Some(alert)))
            }
            Err(_) => finish(&app, Err(error)),
        },
    }
}

/// What can be refused is refused before the password costs a hash.
async fn completed(app: &App, end: &str, form: &SubmittedForm<PasswordResetForm>) -> Result<(), ApiError> {
    let fields = &form.fields;
    form.check(app, &fields.csrfmiddlewaretoken)?;
    let link = parsed(end)?;
    app.realm.refresh_realm().await?;
    address_of(app, &link)?;
    check_password_strength(&fields.password).map_err(AccountChangeError::from)?;
    if fields.password.len() > PASSWORD_MAX_BYTES {
        return Err(ParamError::TooLong { path: "The password".to_owned(), limit: PASSWORD_MAX_BYTES }.into());
    }
    let hash = app.passwords.hash(fields.password.clone()).await?;
    app.commit(|realm, commit| Ok(password_reset::complete_password_reset(realm, &link, &hash, commit)?)).await
}

fn done(app: &AppState, heading: &str, text: &str) -> Result<String, ApiError> {
    rendered(&DonePage { realm: name_of(&app.realm()), heading, text })
}
