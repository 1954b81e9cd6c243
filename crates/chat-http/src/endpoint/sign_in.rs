//! `/login/` and `/logout/`: pages that sign a browser in and out. They work without script.

use askama::Template;
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::Extensions;
use axum::response::Response;
use axum::routing::get;
use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::{fold_case, parse_email};
use chat_core::people::session;
use http::HeaderMap;
use serde::Deserialize;

use super::fetch_api_key::person;
use super::form_page::{FORM_MAX_BYTES, PASSWORD_MAX_BYTES, SubmittedForm, form_page, redirect, refused};
use super::join::{finish, name_of, rendered};
use crate::authentication::PasswordLoginError;
use crate::browser::{self, Cookies, next_path};
use crate::error::ApiError;
use crate::password::{self, PasswordAttempt};
use crate::rate::address;
use crate::state::{App, AppState};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/login/", get(show).post(submit))
        .route("/login", get(show_with_slash))
        .route("/logout/", get(show_sign_out).post(sign_out))
        .layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    realm: &'a str,
    /// What was typed before.
    username: &'a str,
    next: &'a str,
    csrf_token: &'a str,
    alert: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "logout.html")]
struct LogoutPage<'a> {
    realm: &'a str,
    address: &'a str,
    csrf_token: &'a str,
}

/// The query of the page: where the browser goes after sign-in.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NextPath {
    next: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoginForm {
    username: String,
    password: String,
    next: String,
    csrfmiddlewaretoken: String,
}

/// Shows the form. A browser that is signed in goes on.
async fn show(
    State(app): State<App>,
    after: Result<Query<NextPath>, QueryRejection>,
    headers: HeaderMap,
    extensions: Extensions,
) -> Response {
    let after = after.map(|Query(after)| after).unwrap_or_default();
    let next = next_path(&after.next);
    match browser::account(&app, &headers, &extensions).await {
        Err(error) => finish(&app, Err(error)),
        Ok(Some(_)) => redirect(&app, next, HeaderMap::new()),
        Ok(None) => form_page(&app, &headers, |token| login_form(&app, ("", next), token, None)),
    }
}

async fn show_with_slash(State(app): State<App>) -> Response {
    redirect(&app, "/login/", HeaderMap::new())
}

fn login_form(
    app: &AppState,
    (username, next): (&str, &str),
    csrf_token: &str,
    alert: Option<&str>,
) -> Result<String, ApiError> {
    rendered(&LoginPage { realm: name_of(&app.realm()), username, next, csrf_token, alert })
}

/// Signs the browser in.
async fn submit(State(app): State<App>, form: SubmittedForm<LoginForm>) -> Response {
    let next = next_path(&form.fields.next);
    match signed_in(&app, &form).await {
        Ok(cookies) => redirect(&app, next, cookies),
        Err(error) => refused(&app, &form.headers, error, |token, alert| {
            login_form(&app, (&form.fields.username, next), token, Some(alert))
        }),
    }
}

/// Returns the cookies of a new session. A wrong address and a wrong password give one answer after the same work, and
/// count as they do where programs get their key.
async fn signed_in(app: &App, form: &SubmittedForm<LoginForm>) -> Result<HeaderMap, ApiError> {
    let SubmittedForm { fields, headers, extensions } = form;
    form.check(app, &fields.csrfmiddlewaretoken)?;
    // A wrong password counts, so a person whom another node has just let in must be known here.
    app.realm.refresh_realm().await?;
    let realm = app.realm();
    let account = fold_case(parse_email(&fields.username)?);
    let user = person(&realm, &account);
    let claim = PasswordAttempt { account: &account, user_id: user.map(|user| user.id), from: address(extensions) };
    let password = Some(&fields.password).filter(|password| password.len() <= PASSWORD_MAX_BYTES);
    let checked = password::check(app, claim, password.cloned().unwrap_or_default()).await?;
    let (user, credentials) = user.zip(checked).ok_or(PasswordLoginError::WrongPassword)?;
    let mut cookies = HeaderMap::new();
    let user_id = user.id;
    let begun = browser::sign_in(app, user_id, (headers, &mut cookies), |realm| may_sign_in(realm, user_id));
    let token = begun.await?;
    // The password may have been replaced while it was compared, which ended the sessions that there were then.
    let now = app.realm.load_credentials(user_id).await?;
    if now.is_none_or(|now| now.password_hash != credentials.password_hash) {
        app.commit(|realm, commit| {
            session::end_session(realm, user_id, token.hash(realm.key_hasher()), commit);
            Ok(())
        })
        .await?;
        return Err(PasswordLoginError::WrongPassword.into());
    }
    Ok(cookies)
}

/// Refuses an account that is closed, or whose organization is.
pub(super) fn may_sign_in(realm: &RealmSnapshot, user_id: UserId) -> Result<(), ApiError> {
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(PasswordLoginError::RealmDeactivated.into());
    }
    let is_open = realm.user(user_id).is_some_and(|user| user.is_active && user.bot.is_none());
    if is_open { Ok(()) } else { Err(PasswordLoginError::AccountDeactivated.into()) }
}

/// Shows a button: opening an address signs no browser out.
async fn show_sign_out(State(app): State<App>, headers: HeaderMap, extensions: Extensions) -> Response {
    let caller = match browser::account(&app, &headers, &extensions).await {
        Ok(Some(caller)) => caller,
        Ok(None) => return redirect(&app, "/login/", HeaderMap::new()),
        Err(error) => return finish(&app, Err(error)),
    };
    form_page(&app, &headers, |csrf_token| {
        rendered(&LogoutPage { realm: name_of(&caller.realm), address: &caller.user.email, csrf_token })
    })
}

/// Signs the browser out: ends its session on every node, and makes it forget the cookies.
async fn sign_out(State(app): State<App>, form: SubmittedForm<LoginForm>) -> Response {
    if let Err(error) = form.check(&app, &form.fields.csrfmiddlewaretoken) {
        return finish(&app, Err(error));
    }
    if let Err(error) = browser::sign_out(&app, &form.headers).await {
        return finish(&app, Err(error));
    }
    let mut cookies = HeaderMap::new();
    Cookies::of(&app).forget(&mut cookies);
    redirect(&app, "/login/", cookies)
}
