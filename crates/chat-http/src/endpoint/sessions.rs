//! The browsers that a user is signed in with: a page at `/sessions/`, and `/json/sessions` for the client.

use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::Extensions;
use axum::response::Response;
use axum::routing::{delete, get};
use chat_core::people::session::{self, ListedSession};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use super::form_page::{FORM_MAX_BYTES, SubmittedForm, form_page, redirect};
use super::join::{finish, name_of, rendered};
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::browser;
use crate::error::{ApiError, BrowserRequestError};
use crate::state::{App, AppState};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/json/sessions", get(endpoint(list)).delete(endpoint(end_others)))
        .route("/json/sessions/{id}", delete(endpoint(end_one)))
        .route("/sessions/", get(show).post(submit))
        .layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
}

fn listed(app: &AppState, caller: &AuthenticatedCaller) -> Vec<ListedSession> {
    session::list_sessions(&app.realm(), caller.user_id(), app.now_s(), app.browser.session_lifetime_s)
}

/// Lists the sessions of the caller, the one used last first.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let current = call.caller.secret.session_hash().map(session::public_session_id);
    let sessions = listed(&call.app, &call.caller).into_iter().map(|ListedSession { id, session }| {
        json!({
            "created": session.created_s,
            "last_used": session.used_s,
            "user_agent": session.user_agent,
            "is_current": current.as_ref() == Some(&id),
            "id": id,
        })
    });
    ApiResponsePayload::from_payload(&json!({"sessions": sessions.collect::<Vec<_>>()}))
}

/// Ends a session of the caller, also the one of the request.
async fn end_one(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    end(&call.app, &call.caller, call.path_text("id")?).await?;
    Ok(ApiResponsePayload::empty())
}

/// Ends all sessions of the caller but the one of the request.
async fn end_others(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    end_all_others(&call.app, &call.caller).await?;
    Ok(ApiResponsePayload::empty())
}

async fn end(app: &App, caller: &AuthenticatedCaller, id: &str) -> Result<(), ApiError> {
    let is_found = app.commit(|realm, commit| {
        let user = caller.account_in_realm(realm)?;
        Ok(session::end_session_by_id(realm, user.id, id, commit))
    });
    if is_found.await? { Ok(()) } else { Err(BrowserRequestError::NoSession.into()) }
}

async fn end_all_others(app: &App, caller: &AuthenticatedCaller) -> Result<(), ApiError> {
    app.commit(|realm, commit| {
        let user = caller.account_in_realm(realm)?;
        session::end_user_sessions(realm, user.id, caller.secret.session_hash(), commit);
        Ok(())
    })
    .await
}

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage<'a> {
    realm: &'a str,
    csrf_token: &'a str,
    sessions: Vec<SessionRow>,
}

/// A session as the page shows it.
struct SessionRow {
    id: String,
    program: String,
    created: String,
    used: String,
    is_current: bool,
}

/// The session to end; without one all others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct EndSessionForm {
    id: String,
    csrfmiddlewaretoken: String,
}

/// Shows the sessions, each with a button that ends it.
async fn show(State(app): State<App>, headers: HeaderMap, extensions: Extensions) -> Response {
    match browser::account(&app, &headers, &extensions).await {
        Ok(Some(caller)) => form_page(&app, &headers, |csrf_token| page(&app, &caller, csrf_token)),
        Ok(None) => redirect(&app, "/login/?next=/sessions/", HeaderMap::new()),
        Err(error) => finish(&app, Err(error)),
    }
}

fn page(app: &AppState, caller: &AuthenticatedCaller, csrf_token: &str) -> Result<String, ApiError> {
    let current = caller.secret.session_hash().map(session::public_session_id);
    let row = |ListedSession { id, session }: ListedSession| SessionRow {
        program: program(&session.user_agent),
        created: day(session.created_s),
        used: day(session.used_s),
        is_current: current.as_ref() == Some(&id),
        id,
    };
    let sessions = listed(app, caller).into_iter().map(row).collect();
    rendered(&SessionsPage { realm: name_of(&app.realm()), csrf_token, sessions })
}

/// Ends one session, or all others.
async fn submit(State(app): State<App>, form: SubmittedForm<EndSessionForm>) -> Response {
    let caller = match browser::account(&app, &form.headers, &form.extensions).await {
        Ok(Some(caller)) => caller,
        Ok(None) => return redirect(&app, "/login/?next=/sessions/", HeaderMap::new()),
        Err(error) => return finish(&app, Err(error)),
    };
    let ended = match form.check(&app, &form.fields.csrfmiddlewaretoken) {
        Err(error) => Err(error),
        Ok(()) if form.fields.id.is_empty() => end_all_others(&app, &caller).await,
        Ok(()) => end(&app, &caller, &form.fields.id).await,
    };
    match ended {
        Ok(()) => redirect(&app, "/sessions/", HeaderMap::new()),
        Err(error) => finish(&app, Err(error)),
    }
}

/// A `User-Agent` header in the words of the person who reads the page. What is not known is shown as it was sent.
fn program(user_agent: &str) -> String {
    /// What stands in the header, and what it is; the first that stands there counts.
    const PROGRAMS: [(&str, &str); 6] = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Electron/", "Desktop app"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS X", "Mac"),
        ("Linux", "Linux"),
    ];
    let found = |words: &[(&str, &'static str)]| {
        words.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    match (found(&PROGRAMS), found(&SYSTEMS)) {
        (Some(program), Some(system)) => format!("{program} on {system}"),
        (Some(program), None) => program.to_owned(),
        (None, _) if user_agent.is_empty() => "A program without a name".to_owned(),
        (None, _) => user_agent.to_owned(),
    }
}

fn day(unix_s: i64) -> String {
    let day = jiff::Timestamp::from_second(unix_s).ok();
    day.map_or_else(String::new, |day| day.strftime("%-d %B %Y, %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_as_people_know_it() {
        let chrome =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36";
        assert_eq!(program(chrome), "Chrome on Linux");
        assert_eq!(program(&format!("{chrome} Edg/142.0")), "Edge on Linux");
        let iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19 Safari/604";
        assert_eq!(program(iphone), "Safari on iPhone");
        assert_eq!((program("curl/8"), program("")), ("curl/8".to_owned(), "A program without a name".to_owned()));
        assert_eq!(day(1_800_000_000), "15 January 2027, 08:00 UTC");
    }
}
