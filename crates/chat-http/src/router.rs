//! Every route, and every layer around them.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn;
use axum::response::Response;
use axum::routing::get;
use chat_core::messages::reminders as due_reminders;
use chat_core::messages::scheduled::delivery;
use http::StatusCode;
use server_kit::middleware::drain_body::respond_then_drain_body;
use tower::Service;

use crate::endpoint::{
    attachments, avatars, bot_storage, bots, channels, confirm_address, data_exports, domains, drafts, emoji,
    emoji_data, events, fetch_api_key, find_account, flags, health, home, icon, invites, join, linkifiers,
    message_edit, messages, openapi, organization, organization_images, password_reset, personal, pictures,
    playgrounds, presence, profile_fields, push, reactions, register, reminders, scheduled_messages, server_settings,
    sessions, settings, sign_in, sign_in_link, submessage, subscriptions, typing, uploads, user_groups,
    user_settings_defaults, users,
};
use crate::error::ApiError;
use crate::middleware::{api_headers, method, observe, panic};
use crate::rate::address;
use crate::routes::Routes;
use crate::state::{App, AppState, BaseComponents, ChatComponents, ServerState};

/// Builds the chat server's HTTP service. Without a domain it answers `/health`, and 404 everywhere under `/api/v1`.
///
/// Insert `ConnectInfo<SocketAddr>` into each request's extensions, so that the rate limit can tell strangers apart
/// by their address.
pub fn build_chat_service(parts: BaseComponents, domain: Option<ChatComponents>) -> ChatService {
    let server = Arc::new(ServerState::new(parts));
    let mut state = None;
    let routes = operations(&server);
    let routes = match domain {
        None => routes,
        Some(domain) => {
            let app = Arc::new(AppState::new(&server, domain));
            state = Some(Arc::clone(&app));
            routes
                .merge(api().into_router().with_state(Arc::clone(&app)))
                .merge(beside(app).layer(from_fn(observe::note_route)))
        }
    };
    ChatService { state, ..with_middleware(routes, &server) }
}

/// Returns the API: each area lists its own paths.
pub(crate) fn api() -> Routes {
    Routes::of("server")
        .merge(openapi::routes())
        .merge(server_settings::routes())
        .merge(events::routes())
        .merge(register::routes())
        .merge(messages::routes())
        .merge(channels::routes())
        .merge(subscriptions::routes())
        .merge(flags::routes())
        .merge(message_edit::routes())
        .merge(reactions::routes())
        .merge(fetch_api_key::routes())
        .merge(users::routes())
        .merge(presence::routes())
        .merge(settings::routes())
        .merge(user_settings_defaults::routes())
        .merge(personal::routes())
        .merge(organization::routes())
        .merge(user_groups::routes())
        .merge(profile_fields::routes())
        .merge(bots::routes())
        .merge(bot_storage::routes())
        .merge(domains::routes())
        .merge(typing::routes())
        .merge(scheduled_messages::routes())
        .merge(reminders::routes())
        .merge(drafts::routes())
        .merge(submessage::routes())
        .merge(linkifiers::routes())
        .merge(playgrounds::routes())
        .merge(emoji::routes())
        .merge(organization_images::routes())
        .merge(avatars::routes())
        .merge(pictures::routes())
        .merge(uploads::routes())
        .merge(attachments::routes())
        .merge(invites::routes())
        .merge(data_exports::routes())
        .merge(push::routes())
}

/// Returns what browsers and clients fetch outside the API.
fn beside(app: App) -> Router {
    let pages = join::routes()
        .merge(confirm_address::routes())
        .merge(home::routes())
        .merge(sign_in::routes())
        .merge(password_reset::routes())
        .merge(sign_in_link::routes())
        .merge(find_account::routes())
        .merge(sessions::routes())
        .with_state(app);
    emoji_data::routes().merge(icon::routes()).merge(pages)
}

/// The routes for the operator: they have no rate limit.
fn operations(server: &Arc<ServerState>) -> Router {
    let routes = Router::new().route("/health", get(health::get)).with_state(Arc::clone(server));
    routes.layer(from_fn(observe::note_route))
}

/// Returns what is around every route. The method is settled before a route is looked for, which is why this is no
/// router: one would have to be around another.
///
/// Functions around a function, and no layers of the router: it makes a copy of each layer, and of all that are
/// inside, for every request, and keeps a request's room in each for as long as its answer takes.
pub(crate) fn with_middleware(routes: Router, server: &Arc<ServerState>) -> ChatService {
    let unknown = Router::new().fallback(unknown_route).with_state(Arc::clone(server));
    let routes = routes.fallback_service(unknown).method_not_allowed_fallback(wrong_method);
    ChatService { server: Arc::clone(server), routes, state: None }
}

/// The chat server's HTTP service. A copy costs three counters.
#[derive(Clone)]
pub struct ChatService {
    server: Arc<ServerState>,
    routes: Router,
    /// What requests have in their state; `None` without a domain.
    state: Option<App>,
}

impl ChatService {
    /// Adds a `restart` event to every event queue; to be called once, before the server answers. A failure is logged
    /// here: clients that miss the event only keep what they loaded.
    pub async fn enqueue_restart_event(&self) {
        let Some(state) = &self.state else { return };
        if let Err(failure) = crate::restart::announce(state).await {
            failure.log("no restart event could be written");
        }
    }

    /// Sends the scheduled messages that are due and says whether there may be more of them already; to be called every
    /// second or so, on as many nodes as there are. What fails is logged here and tried again the next time.
    pub async fn send_due_scheduled_messages(&self) -> bool {
        let Some(state) = &self.state else { return false };
        delivery::send_due_scheduled_messages(&state.message_ports(), state.scheduled.as_ref()).await.unwrap_or_else(
            |failure| {
                ApiError::from(failure).log("scheduled messages could not be sent");
                false
            },
        )
    }

    /// Sends some of the reminders that are due, and returns whether there may be more; to be called every second or so, on
    /// as many nodes as there are. What fails is logged here and tried again the next time.
    pub async fn send_due_reminders(&self) -> bool {
        let Some(state) = &self.state else { return false };
        let sent = due_reminders::send_due_reminders(&state.message_ports(), state.reminders.as_ref()).await;
        sent.unwrap_or_else(|failure| {
            ApiError::from(failure).log("reminders could not be sent");
            false
        })
    }

    /// Deletes some of the uploads that were abandoned before they were whole, and says whether there may be more; to be
    /// called every minute or so, on as many nodes as there are. What fails is logged here and tried again the next time.
    pub async fn end_abandoned_uploads(&self) -> bool {
        let Some(state) = &self.state else { return false };
        state.resumable_uploads().end_abandoned(state.now_s()).await.unwrap_or_else(|failure| {
            ApiError::from(failure).log("abandoned uploads could not be deleted");
            false
        })
    }
}

impl Service<Request> for ChatService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    /// Always ready.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let answering = around(&self.server, self.routes.clone(), request);
        Box::pin(async { Ok(answering.await) })
    }
}

/// One request, from the outside in.
fn around(server: &Arc<ServerState>, mut routes: Router, request: Request) -> impl Future<Output = Response> + use<> {
    let route = move |request| {
        let answering = routes.call(request);
        panic::caught(async {
            let Ok(answer) = answering.await;
            answer
        })
    };
    let around_routes = Arc::clone(server);
    observe::observe(Arc::clone(server), request, |request| {
        api_headers::answer(request, |request| {
            respond_then_drain_body(request, |request| method::settle(around_routes, request, route))
        })
    })
}

/// Returns what [`method::settle`] makes an answer of.
async fn wrong_method(request: Request) -> StatusCode {
    observe::Route::note(request.extensions());
    StatusCode::METHOD_NOT_ALLOWED
}

/// Looking for addresses counts as calling one.
async fn unknown_route(State(server): State<Arc<ServerState>>, request: Request) -> ApiError {
    match server.by_address.check(&address(request.extensions())) {
        Ok(_) => ApiError::UnknownRoute,
        Err(exceeded) => exceeded.into(),
    }
}

#[cfg(test)]
mod tests;
