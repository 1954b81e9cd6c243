//! A poll that its client asks again: the same queue, by the same account, from a later event on.
//!
//! Nothing is believed because it was so before. The account, its key and the organization are asked about in the
//! newest realm, the queue is looked up, and the poll counts against the account's requests as any.

use std::pin::Pin;
use std::sync::Arc;

use axum::response::{IntoResponse as _, Response};
use chat_core::id::EventId;

use super::{Asker, LAST_EVENT_ID, Poll};
use crate::auth::{Unauthenticated, holder, may_enter};
use crate::error::Fault;
use crate::long_wait::{LongWait, Repeat};
use crate::middleware::observe::{self, Failing};
use crate::middleware::panic;
use crate::middleware::surface;
use crate::state::App;

/// The template of the route, for the counters.
const ROUTE: &str = "/api/v1/events";

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

    async fn answer(self: Arc<Self>, last_event_id: EventId) -> Result<Response, Failing> {
        let Self { app, asker, queue_id } = &*self;
        let standing = app.by_user.check(&asker.user_id).map_err(|exceeded| failing(exceeded.into()))?;
        let poll = Poll { queue_id: queue_id.as_ref().to_owned(), last_event_id, dont_block: false };
        let answered = super::answer(app, *asker, poll, &LongWait::default()).await;
        let with_standing = move |mut response: Response| {
            if let Some(standing) = standing {
                standing.add_headers(response.headers_mut());
            }
            surface::allow_any_origin(response.headers_mut());
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
        let frame = Arc::clone(&self.app.frame);
        let answering = panic::caught_or(self.answer(EventId(number)), |fault| Err(failing(fault)));
        Some(Box::pin(observe::observe_again(frame, ROUTE, answering)))
    }
}
