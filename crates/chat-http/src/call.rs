//! One call of an endpoint: who, with what, and the answer around what it returns.
//!
//! An endpoint is a function of a [`Call`] and its parameters that returns an [`Answer`] or a [`Fault`]. Everything
//! that is the same for all of them, in its order, is `endpoint`: identify, count, read, decode, run, wrap. So
//! no endpoint can forget the envelope, the report of ignored parameters or the rate limit.

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

use crate::agent::{Agent, client_name};
use crate::answer::Answer;
use crate::auth::{Caller, authenticate, credentials};
use crate::body;
use crate::browser;
use crate::error::Fault;
use crate::limits::FORM_MAX_BYTES;
use crate::long_wait::LongWait;
use crate::middleware::method::Overridden;
use crate::middleware::observe::Route;
use crate::params::{Encoding, File, Params, RawRequest, Reader, client, declared};
use crate::rate::{Standing, address};
use crate::routes::{Said, Saying};
use crate::schema::Member;
use crate::state::{App, noting_writes};

/// Who an endpoint is for.
pub(crate) trait Who: Clone + Send {
    /// Whether it asks who calls.
    const NEEDS_ACCOUNT: bool;

    /// Finds out who calls, and counts the call.
    fn identify(app: &App, head: &Parts) -> impl Future<Output = Result<(Self, Option<Standing>), Fault>> + Send;

    /// Returns who that is now that the request is complete: its body may have taken its time.
    fn renewed(self, app: &App) -> Result<Self, Fault>;
}

/// Endpoints for everybody: an `Authorization` header is not looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anyone;

impl Who for Anyone {
    const NEEDS_ACCOUNT: bool = false;

    async fn identify(app: &App, head: &Parts) -> Result<(Self, Option<Standing>), Fault> {
        app.frame.by_address.check(&address(&head.extensions))?;
        browser::check_json(app, head)?;
        app.ensure_current().await?;
        Ok((Self, None))
    }

    fn renewed(self, _: &App) -> Result<Self, Fault> {
        Ok(self)
    }
}

/// Endpoints for accounts. Who fails to show one counts by address, so that guessing has a price.
impl Who for Caller {
    const NEEDS_ACCOUNT: bool = true;

    async fn identify(app: &App, head: &Parts) -> Result<(Self, Option<Standing>), Fault> {
        app.ensure_current().await?;
        let caller = match authenticated(app, head) {
            Ok(caller) => caller,
            Err(fault) => {
                app.frame.by_address.check(&address(&head.extensions))?;
                if !fault.may_be_stale() {
                    return Err(fault);
                }
                // Another node may have let them in a moment ago.
                app.realm.refresh().await?;
                authenticated(app, head)?
            }
        };
        let standing = app.by_user.check(&caller.id())?;
        browser::note_use(app, &caller).await;
        Ok((caller, standing))
    }

    fn renewed(self, app: &App) -> Result<Self, Fault> {
        Ok(Self::renewed(self, app.realm())?)
    }
}

fn authenticated(app: &App, head: &Parts) -> Result<Caller, Fault> {
    if browser::is_by_session(app, head) {
        return browser::caller(app, head);
    }
    let shown = credentials(&head.headers)?;
    Ok(authenticate(app.realm(), &shown)?)
}

/// One call.
pub struct Call<W> {
    /// The state.
    pub(crate) app: App,
    /// Who calls.
    pub who: W,
    /// Files of a multipart body.
    pub files: Vec<File>,
    /// To be told before waiting for long.
    pub(crate) wait: LongWait,
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

impl<W> Call<W> {
    /// Returns the client's program, by its `User-Agent`.
    #[must_use]
    pub fn agent(&self) -> Agent {
        Agent::of(&self.headers)
    }

    /// Returns the name of the client: its own word, else the program's.
    #[must_use]
    pub fn client(&self) -> String {
        client_name(self.client.as_deref(), &self.agent())
    }

    /// A number in the path. One with another character than digits is no address of ours.
    ///
    /// # Errors
    /// When it is none, or no number this server gives.
    pub fn path_id(&self, name: &str) -> Result<i64, Fault> {
        let text = self.path_text(name)?;
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().ok_or(Fault::UnknownRoute)
    }

    /// A text in the path, decoded. One with a NUL is no address of ours.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn path_text(&self, name: &str) -> Result<&str, Fault> {
        let found = self.path.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
        found.filter(|text| !text.contains('\0')).ok_or(Fault::UnknownRoute)
    }
}

/// Returns the whole of an endpoint, as the router takes it.
pub(crate) fn endpoint<W, P, F, R>(run: F) -> Endpoint<W, P, F>
where
    F: Fn(Call<W>, P) -> R,
{
    Endpoint { run, takes: PhantomData }
}

/// An endpoint that runs `F`.
pub(crate) struct Endpoint<W, P, F> {
    run: F,
    takes: PhantomData<fn(W, P)>,
}

impl<W: Who, P: Params, F> Endpoint<W, P, F> {
    /// Says of the endpoint what it does, and what it answers beside the envelope.
    pub(crate) fn says(self, summary: &'static str, answer: fn() -> Vec<Member>) -> Said<Self> {
        Said::new(self, Saying::new(summary, declared::<P>, answer, W::NEEDS_ACCOUNT))
    }
}

impl<W, P, F: Clone> Clone for Endpoint<W, P, F> {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), takes: PhantomData }
    }
}

impl<W, P, F, R> Handler<(), App> for Endpoint<W, P, F>
where
    W: Who + 'static,
    P: Params + Send + 'static,
    F: Fn(Call<W>, P) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Answer, Fault>> + Send,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Route::note(request.extensions());
        // Boxed by itself, so that what the request was made of does not stay while an endpoint waits.
        let admitted = Box::pin(admit::<W, P>(app, request));
        Box::pin(async move {
            let (prepared, standing) = match admitted.await {
                Ok(admitted) => admitted,
                Err(fault) => return fault.into_response(),
            };
            let mut response = match prepared {
                Ok(Prepared { call, params, ignored, once_more }) => {
                    let answered = match once_more {
                        None => (self.run)(call, params).await,
                        Some(once_more) => match noting_writes((self.run)(call, params)).await {
                            (Err(fault), false) if fault.may_be_stale() => {
                                Box::pin(once_more.run(&self.run, fault)).await
                            }
                            (answered, _) => answered,
                        },
                    };
                    let wrap = |answer: Answer| answer.into_response(&ignored);
                    answered.map_or_else(Fault::into_response, wrap)
                }
                Err(fault) => fault.into_response(),
            };
            if let Some(standing) = standing {
                standing.add_headers(response.headers_mut());
            }
            response
        })
    }
}

/// What an endpoint runs with.
struct Prepared<W, P> {
    call: Call<W>,
    params: P,
    /// The names of what was sent beside the parameters.
    ignored: Vec<String>,
    once_more: Option<OnceMore<W>>,
}

/// A request that may be answered a second time.
///
/// **Why**: a node hears of what another node did a moment later. A refusal is not given before the node has heard of
/// everything, and decided again if there was news. So the first node that answers binds all others, and what is
/// answered with success costs nothing more. A request that has written something before it was refused is not answered
/// again.
struct OnceMore<W> {
    app: App,
    who: W,
    head: Parts,
    headers: Arc<HeaderMap>,
    encoding: Encoding,
    body: Bytes,
    /// The last change of the realm that the first answer knew.
    changed: EventId,
}

impl<W: Who> OnceMore<W> {
    /// Returns the answer on the newest realm; the first refusal when there is no other.
    async fn run<P, F, R>(self, run: &F, refused: Fault) -> Result<Answer, Fault>
    where
        P: Params,
        F: Fn(Call<W>, P) -> R,
        R: Future<Output = Result<Answer, Fault>>,
    {
        let Self { app, who, mut head, headers, encoding, body, changed } = self;
        app.realm.refresh().await?;
        if app.realm().changed() <= changed {
            return Err(refused);
        }
        let raw = parse(&head, &encoding, body).await?;
        let who = who.renewed(&app)?;
        let params = P::read(&mut Reader::new(&raw))?;
        let call = call(app, who, (&mut head, headers), raw).await?;
        run(call, params).await
    }
}

/// Returns who calls and how they stand; and what with, where that can be read.
async fn admit<W: Who, P: Params>(
    app: App,
    request: Request,
) -> Result<(Result<Prepared<W, P>, Fault>, Option<Standing>), Fault> {
    let (head, body) = request.into_parts();
    let (who, standing) = W::identify(&app, &head).await?;
    Ok((prepare(app, who, head, body).await, standing))
}

async fn prepare<W: Who, P: Params>(app: App, who: W, mut head: Parts, body: Body) -> Result<Prepared<W, P>, Fault> {
    let encoding = Encoding::of(&head.headers)?;
    let body = read(&app, &head, body, &encoding).await?;
    let raw = parse(&head, &encoding, body.clone()).await?;
    let who = who.renewed(&app)?;
    let mut reader = Reader::new(&raw);
    let params = P::read(&mut reader)?;
    let ignored: Vec<_> = reader.ignored().into_iter().map(str::to_owned).collect();
    let headers = Arc::new(std::mem::take(&mut head.headers));
    let is_plain = ignored.is_empty() && !headers.contains_key(server_kit::middleware::request_id::HEADER);
    // Files are too large to be kept, and an endpoint that waits keeps nothing.
    let repeats = !P::WAITS && !raw.has_files();
    let (changed, again) = (app.realm().changed(), repeats.then(|| (app.clone(), who.clone(), Arc::clone(&headers))));
    let call = Call { is_plain, ..call(app, who, (&mut head, headers), raw).await? };
    let once_more = again.map(|(app, who, headers)| OnceMore { app, who, head, headers, encoding, body, changed });
    Ok(Prepared { call, params, ignored, once_more })
}

/// Returns what only some requests need is in boxes of its own: all others would make its room and move it about.
async fn read(app: &App, head: &Parts, body: Body, encoding: &Encoding) -> Result<Bytes, Fault> {
    let most = app.settings.max_body_bytes;
    match encoding {
        Encoding::Multipart(_) => Box::pin(body::read(&head.headers, body, most)).await,
        Encoding::Urlencoded => Box::pin(body::read(&head.headers, body, most.min(FORM_MAX_BYTES))).await,
        Encoding::None => Ok(Bytes::new()),
    }
}

async fn parse(head: &Parts, encoding: &Encoding, body: Bytes) -> Result<RawRequest, Fault> {
    let mut raw = RawRequest::read(head.uri.query().unwrap_or_default(), encoding, body).await?;
    if head.extensions.get::<Overridden>().is_some() {
        raw.forget(Overridden::PARAMETER);
    }
    Ok(raw)
}

async fn call<W>(
    app: App,
    who: W,
    (head, headers): (&mut Parts, Arc<HeaderMap>),
    raw: RawRequest,
) -> Result<Call<W>, Fault> {
    let wait = head.extensions.remove::<LongWait>().unwrap_or_default();
    let params = RawPathParams::from_request_parts(head, &()).await.map_err(|_| Fault::UnknownRoute)?;
    let path = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let client = client(&raw).map(str::to_owned);
    Ok(Call {
        from: address(&head.extensions),
        headers,
        client,
        files: raw.into_files(),
        app,
        who,
        wait,
        path,
        is_plain: false,
    })
}
