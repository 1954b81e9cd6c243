//! `/auth/login`: who is there.

use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oauth_core::authorization_endpoint::{BrowserSessionContext, NextPageOrRedirect, SignInPage};
use oauth_core::sign_in::{SignInAttempt, SignInError};
use secrecy::{ExposeSecret as _, SecretString};

use crate::error::ApiError;
use crate::page::view::{AlertView, SignInPageView};
use crate::page::{self, APPS, BrowserContext, LOGIN, PageForm, next, texts};
use crate::page_frame::CookieKind;
use crate::state::App;

/// What the page says to who has just signed out.
pub(super) const SIGNED_OUT: &str = "signed-out";

/// Returns the page; for a pending authorization that needs nobody to sign in, what comes next instead.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: BrowserContext,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = query.unwrap_or_default();
    let waiting = match page::parameter(&query, "transaction") {
        None => None,
        Some(transaction) => {
            match app.oauth.authorize.resume_authorization(&app.env(), &transaction, visitor.as_browser()).await {
                Ok(NextPageOrRedirect::SignIn(page)) => Some(page),
                other => return next::go(&app, other),
            }
        }
    };
    let hint = waiting.as_ref().and_then(|page| page.login_hint.clone()).unwrap_or_default();
    let mut page = sign_in(&app, &visitor, waiting.as_ref(), &hint);
    page.notice = (query == SIGNED_OUT).then_some("You are signed out.");
    let response = page::show(&page)?;
    Ok(visitor.remembered(&app, response))
}

/// Signs in.
pub(crate) async fn post(State(app): State<App>, form: PageForm) -> Result<Response, ApiError> {
    let password = SecretString::from(form.get("password").unwrap_or_default());
    let attempt = SignInAttempt {
        login: form.get("username").unwrap_or_default(),
        password: &password,
        session: form.visitor.session.as_deref(),
        address: form.visitor.address.as_deref(),
        app: None,
    };
    let signed_in = match app.oauth.sign_in.sign_in(&app.env(), &attempt).await {
        Ok(signed_in) => signed_in,
        Err(SignInError::Store(cause)) => return Err(cause.into()),
        Err(fault) => return again(&app, &form, ApiError::SignIn(fault)).await,
    };
    let session = signed_in.cookie.expose_secret();
    let response = match form.get("transaction") {
        None => page::see(&app.pages.link(APPS))?,
        Some(transaction) => {
            let browser = BrowserSessionContext { session: Some(session), ..form.visitor.as_browser() };
            next::go(&app, app.oauth.authorize.resume_authorization(&app.env(), transaction, browser).await)?
        }
    };
    let lasts = Duration::from_secs(u64::try_from(signed_in.lifetime_s).unwrap_or(0));
    Ok(page::with_cookie(response, app.pages.cookies().set(CookieKind::Session, session, Some(lasts))))
}

/// Returns the page again, with what was wrong.
async fn again(app: &App, form: &PageForm, fault: ApiError) -> Result<Response, ApiError> {
    let visitor = &form.visitor;
    let waiting = match form.get("transaction") {
        None => None,
        Some(transaction) => {
            match app.oauth.authorize.resume_authorization(&app.env(), transaction, visitor.as_browser()).await {
                Ok(NextPageOrRedirect::SignIn(page)) => Some(page),
                other => return next::go(app, other),
            }
        }
    };
    let mut page = sign_in(app, visitor, waiting.as_ref(), form.get("username").unwrap_or_default());
    page.alert = Some(alert(&fault, &app.pages.frame().title));
    page::show_again(&page, &fault, app.base_url())
}

fn sign_in<'a>(
    app: &'a App,
    visitor: &BrowserContext,
    waiting: Option<&'a SignInPage>,
    username: &'a str,
) -> SignInPageView<'a> {
    SignInPageView {
        frame: app.pages.frame(),
        form: page::form(app, visitor, LOGIN),
        transaction: waiting.map_or("", |page| page.transaction.as_str()),
        app_name: waiting.map(|page| page.app_name.as_str()),
        username,
        alert: None,
        notice: None,
    }
}

/// Returns what went wrong, and what to do. `organization` is the one whose account it is.
fn alert(fault: &ApiError, organization: &str) -> AlertView {
    match fault {
        ApiError::SignIn(SignInError::Inactive) => AlertView {
            heading: "This account is turned off",
            text: format!(
                "Your password is right, but this account cannot be used. Contact {organization} to turn it on again."
            ),
        },
        ApiError::SignIn(SignInError::SecondFactor) => AlertView {
            heading: "This account cannot sign in here",
            text: format!(
                "Your password is right, but this account also asks for a second step, such as a code on your phone, \
                 and this page does not have that step. Contact {organization} to find out where you can sign in."
            ),
        },
        ApiError::SignIn(SignInError::TooMany { retry_after_s } | SignInError::Crowded { retry_after_s }) => {
            AlertView {
                heading: "Please wait a moment",
                text: format!(
                    "There were too many attempts to sign in. Try again in {}.",
                    texts::duration(*retry_after_s)
                ),
            }
        }
        _ => AlertView {
            heading: "That did not work",
            text: "The user name or the password is wrong. Check both and try again.".to_owned(),
        },
    }
}
