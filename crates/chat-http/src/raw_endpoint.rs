//! Endpoints outside the envelope: the body is read as it comes, or the response is a file.
//!
//! Who calls, how often they may, and how they stand are as for [`crate::api_call`]; the rest is the handler's.

use std::pin::Pin;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;

use crate::api_call::CallerKind;
use crate::error::ApiError;
use crate::json_schema::SchemaMember;
use crate::middleware::observe::Route;
use crate::routes::{DocumentedHandler, OperationDoc};
use crate::state::App;

/// One call of a raw endpoint.
pub(crate) struct RawCall<W> {
    /// The state.
    pub(crate) app: App,
    /// Who calls.
    pub(crate) caller: W,
    /// What the request says of itself.
    pub(crate) headers: HeaderMap,
    /// The path of its address.
    pub(crate) uri_path: String,
    path: Vec<(String, String)>,
}

impl<W> RawCall<W> {
    /// A text in the path, decoded. One with a NUL is no address of ours.
    pub(crate) fn path_text(&self, name: &str) -> Result<&str, ApiError> {
        let found = self.path.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
        found.filter(|text| !text.contains('\0')).ok_or(ApiError::UnknownRoute)
    }
}

/// Returns a raw endpoint as the router takes it. The handler is given the body unread.
pub(crate) fn raw_endpoint<W, F, R>(run: F) -> RawEndpoint<W, F>
where
    F: Fn(RawCall<W>, Body) -> R,
{
    RawEndpoint { run, takes: std::marker::PhantomData }
}

/// A raw endpoint that runs `F`.
pub(crate) struct RawEndpoint<W, F> {
    run: F,
    takes: std::marker::PhantomData<fn(W)>,
}

impl<W: CallerKind, F> RawEndpoint<W, F> {
    /// Documents what an endpoint of the API does, and the members of its response. It takes no parameters.
    pub(crate) fn documented(
        self,
        summary: &'static str,
        answer: fn() -> Vec<SchemaMember>,
    ) -> DocumentedHandler<Self> {
        DocumentedHandler::new(self, OperationDoc::new(summary, Vec::new, answer, W::NEEDS_ACCOUNT))
    }
}

impl<W, F: Clone> Clone for RawEndpoint<W, F> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), takes: std::marker::PhantomData }
    }
}

impl<W, F, R> Handler<(), App> for RawEndpoint<W, F>
where
    W: CallerKind + 'static,
    F: Fn(RawCall<W>, Body) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Response, ApiError>> + Send,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Route::note(request.extensions());
        Box::pin(async move {
            let (mut head, body) = request.into_parts();
            let uri_path = head.uri.path().to_owned();
            let (caller, rate_limit) = match W::identify(&app, &head).await {
                Ok(identified) => identified,
                Err(error) => return error.into_response(),
            };
            let answered = match RawPathParams::from_request_parts(&mut head, &()).await {
                Ok(params) => {
                    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                    (self.run)(RawCall { app, caller, headers: head.headers, uri_path, path }, body).await
                }
                Err(_) => Err(ApiError::UnknownRoute),
            };
            let mut response = answered.unwrap_or_else(ApiError::into_response);
            if let Some(rate_limit) = rate_limit {
                rate_limit.add_headers(response.headers_mut());
            }
            response
        })
    }
}
