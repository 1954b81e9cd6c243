//! `/join/{link}`: the page a link of an invitation opens. It works without script, and loads nothing but its style.

use askama::Template;
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::FormRejection;
use axum::extract::{DefaultBodyLimit, Form, Path, State};
use axum::http::Extensions;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::messages::notices;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::check_password_strength;
use chat_core::people::account::check_new_account;
use chat_core::people::invitation::{
    self, Invitation, InvitationLink, JoinError, JoinRequest, ReusableLinkJoinRequest,
};
use chat_core::permission::account_administration::AccountChangeError;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use crate::endpoint::invites::fresh_secret;
use crate::error::{ApiError, ErrorPage, InternalError};
use crate::params::ParamError;
use crate::rate::address;
use crate::state::{App, AppState};

/// The largest form, in bytes: three short fields.
const FORM_MAX_BYTES: usize = 16 * 1024;
/// The longest password, in bytes: hashing more would be work for a stranger's pleasure.
const PASSWORD_MAX_BYTES: usize = 1024;

static STYLE: &str = include_str!("../../templates/join.css");

/// What browsers hold the page to.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (CACHE_CONTROL, "no-store"),
    // The link is a secret, and the address of the page.
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
];

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/join/{link}", get(show).post(submit))
        .layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
        .route("/static/join.css", get(style))
}

/// Returns the style of the page.
async fn style() -> ([(HeaderName, &'static str); 2], &'static str) {
    ([(CONTENT_TYPE, "text/css; charset=utf-8"), (CACHE_CONTROL, "public, max-age=3600")], STYLE)
}

/// The form of an invitation's page.
#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage<'a> {
    realm: &'a str,
    inviter: &'a str,
    /// The address they are invited at; `None` for a link that asks for one.
    invited: Option<&'a str>,
    /// What they typed before.
    fields: &'a JoinForm,
    alert: Option<&'a str>,
}

/// A page without a form.
#[derive(Template)]
#[template(path = "said.html")]
struct MessagePage<'a> {
    realm: &'a str,
    heading: &'a str,
    text: &'a str,
    /// Where they log in, and with which address.
    login: Option<(&'a str, &'a str)>,
    /// Whether a browser can be signed in to read messages.
    has_client: bool,
}

/// The fields of the form.
#[derive(Default, Deserialize)]
#[serde(default)]
struct JoinForm {
    email: String,
    full_name: String,
    password: String,
}

/// Shows the form.
async fn show(State(app): State<App>, Path(link): Path<String>, extensions: Extensions) -> Response {
    let shown = admitted(&app, &link, &extensions);
    finish(&app, shown.and_then(|(_, invitation)| form(&app, &invitation, (&JoinForm::default(), None))))
}

/// Takes the form. What is wrong with it is said above it.
async fn submit(
    State(app): State<App>,
    Path(end): Path<String>,
    extensions: Extensions,
    fields: Result<Form<JoinForm>, FormRejection>,
) -> Response {
    let (link, invitation) = match admitted(&app, &end, &extensions) {
        Ok(admitted) => admitted,
        Err(error) => return finish(&app, Err(error)),
    };
    let Form(fields) = fields.unwrap_or_default();
    let taken = match invitation.invitee_email() {
        Some(address) => join(&app, link, address, &fields).await,
        None => ask(&app, &link, &fields).await,
    };
    let Err(error) = taken else { return finish(&app, taken) };
    // Where another form would not do, the page logs the error once.
    if !ErrorPage::concerns_form(&error) {
        return finish(&app, Err(error));
    }
    let mut said = ErrorPage::of(&error);
    let page = form(&app, &invitation, (&fields, Some(&said.text)));
    let mut response = finish(&app, page);
    *response.status_mut() = said.status;
    said.add_headers(response.headers_mut());
    response
}

/// Returns the invitation a link opens. Trying links counts by address, as everything does that needs no account.
fn admitted(app: &AppState, end: &str, extensions: &Extensions) -> Result<(InvitationLink, Invitation), ApiError> {
    app.server.by_address.check(&address(extensions))?;
    let link = InvitationLink::parse(end).map_err(|_| JoinError::Unknown)?;
    let invitation = invitation::find_invitation_by_link(&app.realm(), &link, app.now_s())?;
    Ok((link, invitation))
}

/// Makes the account. What can be refused is refused before the password costs a hash.
async fn join(app: &AppState, link: InvitationLink, address: &str, fields: &JoinForm) -> Result<String, ApiError> {
    check_new_account(&app.realm(), &fields.full_name, address)?;
    check_password_strength(&fields.password).map_err(AccountChangeError::from)?;
    if fields.password.len() > PASSWORD_MAX_BYTES {
        return Err(ParamError::TooLong { path: "The password".to_owned(), limit: PASSWORD_MAX_BYTES }.into());
    }
    let joining = JoinRequest {
        link,
        full_name: fields.full_name.clone(),
        password_hash: Some(app.passwords.hash(fields.password.clone()).await?),
        api_key: app.fresh_key()?,
    };
    let user_id = app.commit(|realm, commit| Ok(invitation::join_by_invitation(realm, &joining, commit)?)).await?;
    notices::welcome_newcomer(&app.message_ports(), user_id).await;
    let login = Some((app.settings.base_url.as_str(), address));
    let text = "Open your app, and log in with your e-mail address and your password.";
    said(app, ("Welcome! Your account is made", text), login)
}

/// Sends a link to the address that was given.
async fn ask(app: &AppState, link: &InvitationLink, fields: &JoinForm) -> Result<String, ApiError> {
    let secret = fresh_secret(app)?;
    let (base_url, daily_limit) = (&app.settings.base_url, app.invitations.per_day);
    let request = ReusableLinkJoinRequest { link, address: &fields.email, secret: &secret, base_url, daily_limit };
    app.commit(|realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::send_personal_join_link(realm, &request, commit)?)
    })
    .await?;
    let text = "We have sent you a letter. Open the link in it to make your account.";
    said(app, ("Look into your mail", text), None)
}

fn form(
    app: &AppState,
    invitation: &Invitation,
    (fields, alert): (&JoinForm, Option<&str>),
) -> Result<String, ApiError> {
    let realm = app.realm();
    let page = JoinPage {
        realm: name_of(&realm),
        inviter: realm.user(invitation.inviter_id).map_or("", |inviter| &inviter.full_name),
        invited: invitation.invitee_email(),
        fields,
        alert,
    };
    rendered(&page)
}

pub(super) fn said(
    app: &AppState,
    (heading, text): (&str, &str),
    login: Option<(&str, &str)>,
) -> Result<String, ApiError> {
    let has_client = app.browser.client.is_some();
    rendered(&MessagePage { realm: name_of(&app.realm()), heading, text, login, has_client })
}

pub(super) fn name_of(realm: &RealmSnapshot) -> &str {
    realm.realm().map_or("", |realm| &realm.name)
}

pub(super) fn rendered(page: &impl Template) -> Result<String, ApiError> {
    page.render().map_err(|error| InternalError::new("a page was not written", error).into())
}

/// Returns the page with its headers; for an error, a page that says what is wrong.
pub(super) fn finish(app: &AppState, page: Result<String, ApiError>) -> Response {
    let mut error = page.as_ref().err().map(ErrorPage::of);
    let text = match (page, &error) {
        (Err(_), Some(error)) => said(app, (error.heading, &error.text), None).unwrap_or_default(),
        (page, _) => page.unwrap_or_default(),
    };
    let mut response = Body::from(text).into_response();
    if let Some(error) = &mut error {
        *response.status_mut() = error.status;
        error.add_headers(response.headers_mut());
    }
    harden(response.headers_mut());
    response
}

fn harden(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
