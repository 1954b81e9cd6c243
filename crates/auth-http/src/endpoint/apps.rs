//! `/auth/apps`: which apps one has let in, and taking that back.

use axum::extract::{RawQuery, State};
use axum::response::Response;
use oauth_core::connected_apps::AppConnectionId;

use crate::error::{ApiError, CsrfError};
use crate::page::view::ConnectedAppsPage;
use crate::page::{self, APPS, BrowserContext, LOGIN, LOGOUT, PageForm, REVOKE, texts};
use crate::state::App;

/// What the page says to who has just taken access back.
const REMOVED: &str = "removed";

/// Returns the page; who is not signed in does so first.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: BrowserContext,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let Some(person) = app.oauth.sessions.signed_in_user(&app.env(), visitor.as_browser()).await? else {
        return page::see(&app.pages.link(LOGIN));
    };
    let apps = app.oauth.connected_apps.list_connected_apps(&app.env(), &person).await?;
    page::show(&ConnectedAppsPage {
        frame: app.pages.frame(),
        revoke: page::form(&app, &visitor, REVOKE),
        logout: page::form(&app, &visitor, LOGOUT),
        person: &person.display_name,
        connected: apps.iter().map(texts::connected).collect(),
        notice: (query.as_deref() == Some(REMOVED)).then_some("The app has no access any more."),
    })
}

/// Takes back what one let an app do.
pub(crate) async fn revoke(State(app): State<App>, form: PageForm) -> Result<Response, ApiError> {
    let held = match (form.get(texts::GRANT_FIELD), form.get(texts::CLIENT_FIELD)) {
        (Some(grant), None) => AppConnectionId::Grant(grant.to_owned()),
        (None, Some(client)) => AppConnectionId::Direct(client.to_owned()),
        _ => return Err(CsrfError::Incomplete.into()),
    };
    let Some(person) = app.oauth.sessions.signed_in_user(&app.env(), form.visitor.as_browser()).await? else {
        return page::see(&app.pages.link(LOGIN));
    };
    app.oauth.connected_apps.revoke_app_access(&app.env(), (&person, form.visitor.address.as_deref()), &held).await?;
    page::see(&format!("{}?{REMOVED}", app.pages.link(APPS)))
}
