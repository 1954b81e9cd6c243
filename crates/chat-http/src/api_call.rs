//! One call of an endpoint: who, with what, and the answer around what it returns.
//!
//! An endpoint is a function of a [`ApiCall`] and its parameters that returns an [`ApiResponsePayload`] or an
//! [`ApiError`]. Everything that is the same for all of them, in its order, is `endpoint`: identify, count, read,
//! decode, run, wrap. So no endpoint can forget the envelope, the report of ignored parameters or the rate limit.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use chat_core::id::EventId;
use http::HeaderMap;
use http::request::Parts;

use crate::api_response::ApiResponsePayload;
use crate::authentication::{AuthenticatedCaller, authenticate_by_api_key, credentials_from_headers};
use crate::body;
use crate::browser;
use crate::error::ApiError;
use crate::json_schema::SchemaMember;
use crate::limits::FILELESS_BODY_MAX_BYTES;
use crate::long_wait::LongPollSignal;
use crate::middleware::method::MethodOverride;
use crate::middleware::observe::Route;
use crate::params::{
    BodyEncoding, EndpointParams, ParamReader, RawRequestParams, UploadedFile, client, declared_params,
};
use crate::rate::{RemainingRateLimit, address};
use crate::routes::{DocumentedHandler, OperationDoc};
use crate::state::{App, noting_writes};
use crate::user_agent::{ParsedUserAgent, resolve_client_name};

/// A kind of caller that an endpoint takes: an account, or any client.
pub(crate) trait CallerKind: Clone + Send {
    /// Whether it asks who calls.
    const NEEDS_ACCOUNT: bool;

    /// Finds out who calls, and counts the call.
    fn identify(
        app: &App,
        head: &Parts,
    ) -> impl Future<Output = Result<(Self, Option<RemainingRateLimit>), ApiError>> + Send;

    /// Returns who that is now that the request is complete: its body may have taken its time.
    fn renewed(self, app: &App) -> Result<Self, ApiError>;
}

/// The caller of an endpoint that needs no account: the `Authorization` header is not read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anonymous;

impl CallerKind for Anonymous {
    const NEEDS_ACCOUNT: bool = false;

    async fn identify(app: &App, head: &Parts) -> Result<(Self, Option<RemainingRateLimit>), ApiError> {
        app.server.by_address.check(&address(&head.extensions))?;
        browser::check_json(app, head)?;
        app.ensure_current().await?;
        Ok((Self, None))
    }

    fn renewed(self, _: &App) -> Result<Self, ApiError> {
        Ok(self)
    }
}

/// Endpoints for accounts. Who fails to show one counts by address, so that guessing has a price.
impl CallerKind for AuthenticatedCaller {
    const NEEDS_ACCOUNT: bool = true;

    async fn identify(app: &App, head: &Parts) -> Result<(Self, Option<RemainingRateLimit>), ApiError> {
        app.ensure_current().await?;
        let caller = match authenticated(app, head) {
            Ok(caller) => caller,
            Err(error) => {
                app.server.by_address.check(&address(&head.extensions))?;
                if !error.may_be_stale() {
                    return Err(error);
                }
                // Another node may have let them in a moment ago.
                app.realm.refresh_realm().await?;
                authenticated(app, head)?
            }
        };
        let rate_limit = app.by_user.check(&caller.user_id())?;
        browser::note_use(app, &caller).await;
        Ok((caller, rate_limit))
    }

    fn renewed(self, app: &App) -> Result<Self, ApiError> {
        Ok(Self::reload_from_realm(self, app.realm())?)
    }
}

fn authenticated(app: &App, head: &Parts) -> Result<AuthenticatedCaller, ApiError> {
    if browser::is_by_session(app, head) {
        return browser::caller(app, head);
    }
    let shown = credentials_from_headers(&head.headers)?;
    Ok(authenticate_by_api_key(app.realm(), &shown)?)
}

/// The context of one API call, without its parameters: caller, files, path and headers.
pub struct ApiCall<W> {
    /// The state.
    pub(crate) app: App,
    /// Who calls.
    pub caller: W,
    /// Files of a multipart body.
    pub files: Vec<UploadedFile>,
    /// Receives the report that the call waits for long.
    pub(crate) wait: LongPollSignal,
    /// Whether its answer says nothing that stands in the request alone: parameters that are ignored, a name of the
    /// caller's own.
    pub(crate) is_plain: bool,
    path: Vec<(String, String)>,
    headers: Arc<HeaderMap>,
    /// Where it comes from: of IPv6 the network alone; `None` where the listener names no peer.
    pub(crate) from: Option<IpAddr>,
    /// The caller's own name for its client.
    client: Option<String>,
}

impl<W> ApiCall<W> {
    /// Returns the parsed `User-Agent` of the client.
    #[must_use]
    pub fn user_agent(&self) -> ParsedUserAgent {
        ParsedUserAgent::from_headers(&self.headers)
    }

    /// Returns the client's name: the one it gave, else that of its `User-Agent`.
    #[must_use]
    pub fn client_name(&self) -> String {
        resolve_client_name(self.client.as_deref(), &self.user_agent())
    }

    /// Returns the number in the path segment `name`. One with another character than digits is no address of this
    /// server.
    ///
    /// # Errors
    /// When it is none, or no number this server gives.
    pub fn path_id(&self, name: &str) -> Result<i64, ApiError> {
        let text = self.path_text(name)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().ok_or(ApiError::UnknownRoute)
    }

    /// Returns the decoded text of the path segment `name`. One with a NUL is no address of this server.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn path_text(&self, name: &str) -> Result<&str, ApiError> {
        let found = self.path.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
        found.filter(|text| !text.contains('\0')).ok_or(ApiError::UnknownRoute)
    }
}

/// Returns the whole of an endpoint, as the router takes it.
pub(crate) fn endpoint<W, P, F, R>(run: F) -> Endpoint<W, P, F>
where
    F: Fn(ApiCall<W>, P) -> R,
{
    Endpoint { run, takes: PhantomData }
}

/// An endpoint that runs `F`.
pub(crate) struct Endpoint<W, P, F> {
    run: F,
    takes: PhantomData<fn(W, P)>,
}

impl<W: CallerKind, P: EndpointParams, F> Endpoint<W, P, F> {
    /// Documents what the endpoint does, and the members of its response beside the envelope.
    pub(crate) fn documented(
        self,
        summary: &'static str,
        answer: fn() -> Vec<SchemaMember>,
    ) -> DocumentedHandler<Self> {
        DocumentedHandler::new(self, OperationDoc::new(summary, declared_params::<P>, answer, W::NEEDS_ACCOUNT))
    }
}

impl<W, P, F: Clone> Clone for Endpoint<W, P, F> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), takes: PhantomData }
    }
}

impl<W, P, F, R> Handler<(), App> for Endpoint<W, P, F>
where
    W: CallerKind + 'static,
    P: EndpointParams + Send + 'static,
    F: Fn(ApiCall<W>, P) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<ApiResponsePayload, ApiError>> + Send,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Route::note(request.extensions());
        // Boxed by itself, so that what the request was made of does not stay while an endpoint waits.
        let admitted = Box::pin(admit::<W, P>(app, request));
        Box::pin(async move {
            let (prepared, rate_limit) = match admitted.await {
                Ok(admitted) => admitted,
                Err(error) => return error.into_response(),
            };
            let mut response = match prepared {
                Ok(PreparedCall { call, params, ignored, retry }) => {
                    let answered = match retry {
                        None => (self.run)(call, params).await,
                        Some(retry) => match noting_writes((self.run)(call, params)).await {
                            (Err(error), false) if error.may_be_stale() => Box::pin(retry.run(&self.run, error)).await,
                            (answered, _) => answered,
                        },
                    };
                    let wrap = |answer: ApiResponsePayload| answer.into_response(&ignored);
                    answered.map_or_else(ApiError::into_response, wrap)
                }
                Err(error) => error.into_response(),
            };
            if let Some(rate_limit) = rate_limit {
                rate_limit.add_headers(response.headers_mut());
            }
            response
        })
    }
}

/// A call with its decoded parameters, ready to run.
struct PreparedCall<W, P> {
    call: ApiCall<W>,
    params: P,
    /// The names of what was sent beside the parameters.
    ignored: Vec<String>,
    retry: Option<FreshRealmRetry<W>>,
}

/// A request that may be answered a second time.
///
/// **Why**: a node hears of what another node did a moment later. A refusal is not given before the node has heard of
/// everything, and decided again if there was news. So the first node that answers binds all others, and what is
/// answered with success costs nothing more. A request that has written something before it was refused is not answered
/// again.
struct FreshRealmRetry<W> {
    app: App,
    caller: W,
    head: Parts,
    headers: Arc<HeaderMap>,
    encoding: BodyEncoding,
    body: Bytes,
    /// The last change of the realm that the first answer knew.
    changed: EventId,
}

impl<W: CallerKind> FreshRealmRetry<W> {
    /// Returns the answer on the newest realm; the first refusal when there is no other.
    async fn run<P, F, R>(self, run: &F, refused: ApiError) -> Result<ApiResponsePayload, ApiError>
    where
        P: EndpointParams,
        F: Fn(ApiCall<W>, P) -> R,
        R: Future<Output = Result<ApiResponsePayload, ApiError>>,
    {
        let Self { app, caller, mut head, headers, encoding, body, changed } = self;
        app.realm.refresh_realm().await?;
        if app.realm().changed_at() <= changed {
            return Err(refused);
        }
        let raw = parse(&head, &encoding, body).await?;
        let caller = caller.renewed(&app)?;
        let params = P::from_reader(&mut ParamReader::new(&raw))?;
        let call = call(app, caller, (&mut head, headers), raw).await?;
        run(call, params).await
    }
}

/// Returns who calls and how they stand; and what with, where that can be read.
async fn admit<W: CallerKind, P: EndpointParams>(
    app: App,
    request: Request,
) -> Result<(Result<PreparedCall<W, P>, ApiError>, Option<RemainingRateLimit>), ApiError> {
    let (head, body) = request.into_parts();
    let (caller, rate_limit) = W::identify(&app, &head).await?;
    Ok((prepare(app, caller, head, body).await, rate_limit))
}

async fn prepare<W: CallerKind, P: EndpointParams>(
    app: App,
    caller: W,
    mut head: Parts,
    body: Body,
) -> Result<PreparedCall<W, P>, ApiError> {
    let encoding = BodyEncoding::from_headers(&head.headers)?;
    let body = read(&app, &head, body, &encoding).await?;
    let raw = parse(&head, &encoding, body.clone()).await?;
    let caller = caller.renewed(&app)?;
    let mut reader = ParamReader::new(&raw);
    let params = P::from_reader(&mut reader)?;
    let ignored: Vec<_> = reader.unread_names().into_iter().map(str::to_owned).collect();
    let headers = Arc::new(std::mem::take(&mut head.headers));
    let is_plain = ignored.is_empty() && !headers.contains_key(server_kit::middleware::request_id::REQUEST_ID_HEADER);
    // Files are too large to be kept, and an endpoint that waits keeps nothing.
    let repeats = !P::MAY_LONG_POLL && !raw.has_files();
    let (changed, again) =
        (app.realm().changed_at(), repeats.then(|| (app.clone(), caller.clone(), Arc::clone(&headers))));
    let call = ApiCall { is_plain, ..call(app, caller, (&mut head, headers), raw).await? };
    let retry =
        again.map(|(app, caller, headers)| FreshRealmRetry { app, caller, head, headers, encoding, body, changed });
    Ok(PreparedCall { call, params, ignored, retry })
}

/// Returns what only some requests need is in boxes of its own: all others would make its room and move it about.
async fn read(app: &App, head: &Parts, body: Body, encoding: &BodyEncoding) -> Result<Bytes, ApiError> {
    let most = app.settings.max_body_bytes;
    match encoding {
        BodyEncoding::Multipart(_) => Box::pin(body::read(&head.headers, body, most)).await,
        BodyEncoding::Urlencoded => Box::pin(body::read(&head.headers, body, most.min(FILELESS_BODY_MAX_BYTES))).await,
        BodyEncoding::None => Ok(Bytes::new()),
    }
}

async fn parse(head: &Parts, encoding: &BodyEncoding, body: Bytes) -> Result<RawRequestParams, ApiError> {
    let mut raw = RawRequestParams::parse(head.uri.query().unwrap_or_default(), encoding, body).await?;
    if head.extensions.get::<MethodOverride>().is_some() {
        raw.forget(MethodOverride::PARAMETER);
    }
    Ok(raw)
}

async fn call<W>(
    app: App,
    caller: W,
    (head, headers): (&mut Parts, Arc<HeaderMap>),
    raw: RawRequestParams,
) -> Result<ApiCall<W>, ApiError> {
    let wait = head.extensions.remove::<LongPollSignal>().unwrap_or_default();
    let params = RawPathParams::from_request_parts(head, &()).await.map_err(|_| ApiError::UnknownRoute)?;
    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let client = client(&raw).map(str::to_owned);
    Ok(ApiCall {
        from: address(&head.extensions),
        headers,
        client,
        files: raw.into_files(),
        app,
        caller,
        wait,
        path,
        is_plain: false,
    })
}
