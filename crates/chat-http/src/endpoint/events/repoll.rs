//! A poll that its client asks again: the same queue, by the same account, from a later event on.
//!
//! Nothing is believed because it was so before. The account, its key and the organization are asked about in the
//! newest realm, the queue is looked up, and the poll counts against the account's requests as any.

use std::pin::Pin;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use chat_core::id::EventId;
use chat_core::people::session::Session;

use super::{LAST_EVENT_ID, PollCaller, PollParams};
use crate::authentication::{AuthenticationError, CallerSecretHash, holder, may_authenticate};
use crate::error::ApiError;
use crate::long_wait::{LongPollSignal, RepollableRequest};
use crate::middleware::api_headers;
use crate::middleware::observe::{self, DeferredErrorResponse};
use crate::middleware::panic;
use crate::state::App;

/// The templates of the routes, for the counters: of programs, and of browsers.
const ROUTE: &str = "/api/v1/events";
const JSON_ROUTE: &str = "/json/events";

/// A poll that was authenticated once, offered to its connection for polls with another event number.
pub(super) struct OfferedRepoll {
    app: App,
    caller: PollCaller,
    queue_id: Box<str>,
}

impl OfferedRepoll {
    /// Returns what a poll offers its connection.
    pub(super) fn offered(app: &App, caller: PollCaller, queue_id: &str) -> Arc<dyn RepollableRequest> {
        Arc::new(Self { app: Arc::clone(app), caller, queue_id: queue_id.into() })
    }

    fn may_enter(&self) -> Result<(), AuthenticationError> {
        let realm = self.app.realm();
        may_authenticate(&realm, holder(&realm, self.caller.user_id, self.caller.secret)?)
    }

    /// Returns whether a browser's session has expired, or its use is to be written down: both happen where a request
    /// arrives as a whole.
    fn is_session_due(&self) -> bool {
        let Some(hash) = self.caller.secret.session_hash() else { return false };
        let (now_s, lifetime_s) = (self.app.now_s(), self.app.browser.session_lifetime_s);
        let found = Session::find_by_hash(&self.app.realm(), self.caller.user_id, hash);
        found.is_none_or(|session| session.needs_use_recorded(now_s) || session.is_expired(now_s, lifetime_s))
    }

    async fn answer(self: Arc<Self>, last_event_id: EventId) -> Result<Response, DeferredErrorResponse> {
        let Self { app, caller, queue_id } = &*self;
        let rate_limit = app.by_user.check(&caller.user_id).map_err(|exceeded| failing(exceeded.into()))?;
        let poll = PollParams { queue_id: queue_id.as_ref().to_owned(), last_event_id, dont_block: false };
        let answered = super::answer(app, *caller, poll, &LongPollSignal::default()).await;
        let secret = caller.secret;
        let with_rate_limit = move |mut response: Response| {
            if let Some(rate_limit) = rate_limit {
                rate_limit.add_headers(response.headers_mut());
            }
            match secret {
                CallerSecretHash::ApiKey(_) => api_headers::allow_any_origin(response.headers_mut()),
                CallerSecretHash::Session(_) => api_headers::keep_to_browser(response.headers_mut()),
            }
            response
        };
        match answered {
            Ok(answer) => Ok(with_rate_limit(answer.into_response(&[]))),
            Err(error) => Err(Box::new(move || with_rate_limit(error.into_response()))),
        }
    }
}

/// Returns the error's response when it is called, so that it is logged then.
fn failing(error: ApiError) -> DeferredErrorResponse {
    Box::new(move || error.into_response())
}

impl RepollableRequest for OfferedRepoll {
    fn varying_query_parameter(&self) -> &'static str {
        LAST_EVENT_ID
    }

    fn answer_with_number(self: Arc<Self>, number: i64) -> Option<Pin<Box<dyn Future<Output = Response> + Send>>> {
        // The caller is checked as usual when the realm is not known to be current.
        if !self.app.realm.is_realm_current() {
            return None;
        }
        self.may_enter().ok()?;
        if self.is_session_due() {
            return None;
        }
        let route = if self.caller.secret.session_hash().is_some() { JSON_ROUTE } else { ROUTE };
        let server = Arc::clone(&self.app.server);
        let answering = panic::caught_or(self.answer(EventId(number)), |error| Err(failing(error)));
        Some(Box::pin(observe::observe_again(server, route, answering)))
    }
}
