//! Calls outside the envelope: whose body is read as it comes, or whose answer is a file.
//!
//! Who calls, how often they may, and how they stand are as for [`crate::call`]; the rest is the handler's.

use std::pin::Pin;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;

use crate::call::Who;
use crate::error::Fault;
use crate::middleware::observe::Route;
use crate::routes::{Said, Saying};
use crate::schema::Member;
use crate::state::App;

/// One call.
pub(crate) struct Plain<W> {
    /// The state.
    pub(crate) app: App,
    /// Who calls.
    pub(crate) who: W,
    /// What the request says of itself.
    pub(crate) headers: HeaderMap,
    path: Vec<(String, String)>,
}

impl<W> Plain<W> {
    /// A text in the path, decoded. One with a NUL is no address of ours.
    pub(crate) fn path_text(&self, name: &str) -> Result<&str, Fault> {
        let found = self.path.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
        found.filter(|text| !text.contains('\0')).ok_or(Fault::UnknownRoute)
    }
}

/// Returns the whole of such a call, as the router takes it. The handler is given the body unread.
pub(crate) fn plain<W, F, R>(run: F) -> Handled<W, F>
where
    F: Fn(Plain<W>, Body) -> R,
{
    Handled { run, takes: std::marker::PhantomData }
}

/// A call that runs `F`.
pub(crate) struct Handled<W, F> {
    run: F,
    takes: std::marker::PhantomData<fn(W)>,
}

impl<W: Who, F> Handled<W, F> {
    /// Says of a call of the API what it does, and what it answers. It takes no parameters.
    pub(crate) fn says(self, summary: &'static str, answer: fn() -> Vec<Member>) -> Said<Self> {
        Said::new(self, Saying::new(summary, Vec::new, answer, W::NEEDS_ACCOUNT))
    }
}

impl<W, F: Clone> Clone for Handled<W, F> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), takes: std::marker::PhantomData }
    }
}

impl<W, F, R> Handler<(), App> for Handled<W, F>
where
    W: Who + 'static,
    F: Fn(Plain<W>, Body) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Response, Fault>> + Send,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Route::note(request.extensions());
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let (who, standing) = match W::identify(&app, &head).await {
                Ok(identified) => identified,
                Err(fault) => return fault.into_response(),
            };
            let answered = match RawPathParams::from_request_parts(&mut head, &()).await {
                Ok(params) => {
                    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                    (self.run)(Plain { app, who, headers: head.headers, path }, body).await
                }
                Err(_) => Err(Fault::UnknownRoute),
            };
            let mut response = answered.unwrap_or_else(Fault::into_response);
            if let Some(standing) = standing {
                standing.add_headers(response.headers_mut());
            }
            response
        })
    }
}
