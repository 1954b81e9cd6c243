//! A poll that its client asks again: the same queue, by the same account, from a later event on.
//!
//! Nothing is believed because it was so before. The account, its key and the organization are asked about in the
//! newest realm, the queue is looked up, and the poll counts against the account's requests as any.

use std::pin::Pin;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use chat_core::id::EventId;
use chat_core::people::session::Session;

use super::{Asker, LAST_EVENT_ID, Poll};
use crate::auth::{CallerSecret, Unauthenticated, holder, may_enter};
use crate::error::Fault;
use crate::long_wait::{LongWait, Repeat};
use crate::middleware::observe::{self, Failing};
use crate::middleware::panic;
use crate::middleware::surface;
use crate::state::App;

/// The templates of the routes, for the counters: of programs, and of browsers.
const ROUTE: &str = "/api/v1/events";
const JSON_ROUTE: &str = "/json/events";

/// A poll that was let in once.
pub(super) struct Again {
    app: App,
    asker: Asker,
    queue_id: Box<str>,
}

impl Again {
    /// Returns what a poll offers its connection.
    pub(super) fn offered(app: &App, asker: Asker, queue_id: &str) -> Arc<dyn Repeat> {
        Arc::new(Self { app: Arc::clone(app), asker, queue_id: queue_id.into() })
    }

    fn may_enter(&self) -> Result<(), Unauthenticated> {
        let realm = self.app.realm();
        may_enter(&realm, holder(&realm, self.asker.user_id, self.asker.secret)?)
    }

    /// Returns whether a browser's session has expired, or its use is to be written down: both happen where a request
    /// arrives as a whole.
    fn is_session_due(&self) -> bool {
        let Some(hash) = self.asker.secret.session() else { return false };
        let (now_s, lifetime_s) = (self.app.now_s(), self.app.browser.session_lifetime_s);
        let found = Session::find(&self.app.realm(), self.asker.user_id, hash);
        found.is_none_or(|session| session.is_use_due(now_s) || session.is_expired(now_s, lifetime_s))
    }

    async fn answer(self: Arc<Self>, last_event_id: EventId) -> Result<Response, Failing> {
        let Self { app, asker, queue_id } = &*self;
        let standing = app.by_user.check(&asker.user_id).map_err(|exceeded| failing(exceeded.into()))?;
        let poll = Poll { queue_id: queue_id.as_ref().to_owned(), last_event_id, dont_block: false };
        let answered = super::answer(app, *asker, poll, &LongWait::default()).await;
        let secret = asker.secret;
        let with_standing = move |mut response: Response| {
            if let Some(standing) = standing {
                standing.add_headers(response.headers_mut());
            }
            match secret {
                CallerSecret::ApiKey(_) => surface::allow_any_origin(response.headers_mut()),
                CallerSecret::Session(_) => surface::keep_to_browser(response.headers_mut()),
            }
            response
        };
        match answered {
            Ok(answer) => Ok(with_standing(answer.into_response(&[]))),
            Err(fault) => Err(Box::new(move || with_standing(fault.into_response()))),
        }
    }
}

/// Returns what went wrong is told when it is answered.
fn failing(fault: Fault) -> Failing {
    Box::new(move || fault.into_response())
}

impl Repeat for Again {
    fn parameter(&self) -> &'static str {
        LAST_EVENT_ID
    }

    fn again(self: Arc<Self>, number: i64) -> Option<Pin<Box<dyn Future<Output = Response> + Send>>> {
        // Whoever it was is asked about as usual when the realm is not known to be current.
        if !self.app.realm.is_current() {
            return None;
        }
        self.may_enter().ok()?;
        if self.is_session_due() {
            return None;
        }
        let route = if self.asker.secret.session().is_some() { JSON_ROUTE } else { ROUTE };
        let frame = Arc::clone(&self.app.frame);
        let answering = panic::caught_or(self.answer(EventId(number)), |fault| Err(failing(fault)));
        Some(Box::pin(observe::observe_again(frame, route, answering)))
    }
}
