//! Every route, and every layer around them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;

use crate::call::endpoint;
use crate::endpoint::{
    channels, emoji_data, events, fetch_api_key, flags, health, icon, message_edit, messages, presence, reactions,
    register, server_settings, settings, subscriptions, user_groups, users,
};
use crate::error::Fault;
use crate::middleware::{drain, method, observe, panic};
use crate::rate::address;
use crate::state::{App, Domain, Frame, Parts, Site};

/// The chat server as a service. Without a domain it answers `/health`, and 404 everywhere under `/api/v1`.
///
/// Insert `ConnectInfo<SocketAddr>` into each request's extensions, so that the rate limit can tell strangers apart
/// by their address.
pub fn router(parts: Parts, domain: Option<Domain>) -> Router {
    let frame = Arc::new(Frame::new(parts));
    let routes = operations(&frame);
    let routes = match domain {
        None => routes,
        Some(domain) => {
            let app = Arc::new(Site::new(&frame, domain));
            routes
                .merge(Router::new().nest("/api/v1", api()).with_state(app))
                .merge(emoji_data::routes())
                .merge(icon::routes())
        }
    };
    framed(routes, &frame)
}

/// The API below `/api/v1`: each area lists its own paths, one line for each.
fn api() -> Router<App> {
    Router::new()
        .route("/server_settings", get(endpoint(server_settings::get)))
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
        .merge(user_groups::routes())
}

/// For whoever runs the server: not counted.
fn operations(frame: &Arc<Frame>) -> Router {
    Router::new().route("/health", get(health::get)).with_state(Arc::clone(frame))
}

/// What is around every route. A request passes from the last layer here to the first; the method is settled
/// before a route is looked for, which is why the routes are inside a router of their own.
pub(crate) fn framed(routes: Router, frame: &Arc<Frame>) -> Router {
    let unknown = Router::new().fallback(unknown_route).with_state(Arc::clone(frame));
    let routes = routes.fallback_service(unknown).layer(panic::layer()).layer(from_fn(observe::name_route));
    Router::new()
        .fallback_service(routes)
        .layer(from_fn_with_state(Arc::clone(frame), method::settle))
        .layer(from_fn(drain::drain))
        .layer(from_fn_with_state(Arc::clone(frame), observe::observe))
}

/// Looking for addresses counts as calling one.
async fn unknown_route(State(frame): State<Arc<Frame>>, request: Request) -> Fault {
    match frame.by_address.check(&address(request.extensions())) {
        Ok(_) => Fault::UnknownRoute,
        Err(exceeded) => exceeded.into(),
    }
}

#[cfg(test)]
mod tests;
