//! Long polls that wait without the HTTP library.
//!
//! A poll waits for most of a minute with nothing to read and nothing to write, while the HTTP library keeps its
//! buffers for it: most of the memory of an idle poll. So when a request reports that it waits ([`LongPollSignal`]),
//! its connection is taken apart. What is left is the stream, the response in the making, and a request head that
//! stands for the one that was read. When the response is there, the library gets the stream again
//! ([`ResumedConnection`]): it reads that head, is given the response for it, and goes on with what the client has sent
//! in the meantime.
//!
//! So the library writes every byte of a response, detached or not: keep-alive, `Connection: close`, HTTP/1.0, `HEAD`.
//! One kind of response is written here, because most are of it: that to a client that polls again
//! ([`crate::fast_repoll`]). Such a conversation goes on without the library until the client sends another request.
//!
//! A request with a body or an upgrade is not detached, nor any request while an earlier response is not wholly
//! written.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use chat_http::{LongPollSignal, RepollableRequest};
use http::header::{CONNECTION, UPGRADE};
use http::{Method, Request, Response, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use server_kit::http_listener::{
    BoxedConnectionStream, DetachableRequest, DetachedConnection, ResponseFuture, ResumedConnection,
};
use server_kit::shutdown::CancellationToken;
use tokio::io::{AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;

use crate::fast_repoll::{self, Pattern};

/// The request in flight on one connection, where its owner can take it away from the HTTP library.
#[derive(Default)]
pub(crate) struct InFlight {
    state: Mutex<State>,
    /// What was read last, where it may be a whole head.
    head: Mutex<Vec<u8>>,
    /// Whether bytes were written since everything was.
    unwritten: AtomicBool,
}

#[derive(Default)]
enum State {
    #[default]
    Free,
    /// The response to the request that is read next.
    Responded(Response<Body>),
    /// A request that may be detached.
    Detachable(Detached),
    /// A request that may not.
    Bound(ResponseFuture),
}

/// A request that may wait without the library.
pub(crate) struct Detached {
    responding: ResponseFuture,
    wait: LongPollSignal,
    stand_in: StandIn,
    /// The head as it was sent, of a request that may be answered without the library when it is sent again.
    head: Option<Box<[u8]>>,
}

impl InFlight {
    /// Holds the next request of the connection, unless its response is there.
    fn admit(&self, mut request: Request<Incoming>, route: impl FnOnce(Request<Incoming>) -> ResponseFuture) {
        let mut state = self.state();
        if matches!(*state, State::Responded(_)) {
            return;
        }
        *state = match StandIn::of(&request) {
            None => State::Bound(route(request)),
            Some(stand_in) => {
                let wait = LongPollSignal::default();
                request.extensions_mut().insert(wait.clone());
                let head = self.head();
                let head = fast_repoll::is_plain(&request, &head).then(|| head.as_slice().into());
                State::Detachable(Detached { responding: route(request), wait, stand_in, head })
            }
        };
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let mut state = self.state();
        let response = match &mut *state {
            State::Free => return Poll::Pending,
            State::Detachable(Detached { responding, .. }) | State::Bound(responding) => {
                ready!(responding.as_mut().poll(context))
            }
            State::Responded(_) => match std::mem::take(&mut *state) {
                State::Responded(response) => response,
                _ => return Poll::Pending,
            },
        };
        *state = State::Free;
        Poll::Ready(response)
    }

    fn head(&self) -> MutexGuard<'_, Vec<u8>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DetachableRequest for InFlight {
    type DetachedRequest = Detached;

    fn new_for_connection(response: Option<Response<Body>>) -> Arc<Self> {
        let state = response.map_or(State::Free, State::Responded);
        Arc::new(Self { state: Mutex::new(state), ..Self::default() })
    }

    fn respond_to_next_request(
        self: &Arc<Self>,
        request: Request<Incoming>,
        route: impl FnOnce(Request<Incoming>) -> ResponseFuture,
    ) -> impl Future<Output = Response<Body>> + Send + 'static {
        self.admit(request, route);
        let in_flight = Arc::clone(self);
        poll_fn(move |context| in_flight.poll(context))
    }

    fn on_bytes_read(&self, bytes: &[u8]) {
        let mut head = self.head();
        head.clear();
        if fast_repoll::is_whole_head(bytes) {
            head.extend_from_slice(bytes);
        }
    }

    fn on_write_started(&self) {
        self.unwritten.store(true, Ordering::Relaxed);
    }

    fn on_all_written(&self) {
        self.unwritten.store(false, Ordering::Relaxed);
    }

    fn detach_if_possible(&self) -> Option<Detached> {
        if self.unwritten.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            State::Detachable(detached) if detached.wait.is_waiting() => Some(detached),
            other => {
                *state = other;
                None
            }
        }
    }

    fn wait_for_resume(
        detached: DetachedConnection<Detached>,
        stopping: &CancellationToken,
        keep_alive_timeout: Duration,
    ) -> impl Future<Output = Option<ResumedConnection>> + Send {
        WaitingPoll::new(detached).resume(stopping, keep_alive_timeout)
    }
}

/// The properties of a request that decide on the format of its response.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StandIn {
    method: Method,
    version: Version,
    /// The values of `Connection`, copied: the field itself would keep the whole buffer it was read into.
    connection: Vec<Box<[u8]>>,
}

impl StandIn {
    /// `None` for a request that has more to it than its head.
    fn of(request: &Request<Incoming>) -> Option<Self> {
        let headers = request.headers();
        let whole = request.body().is_end_stream() && !headers.contains_key(UPGRADE);
        whole.then(|| Self {
            method: request.method().clone(),
            version: request.version(),
            connection: headers.get_all(CONNECTION).iter().map(|value| value.as_bytes().into()).collect(),
        })
    }

    /// Returns the head, as a client would send it.
    fn head(&self, is_last: bool) -> Vec<u8> {
        let mut head = format!("{} / {:?}\r\n", self.method, self.version).into_bytes();
        let close: &[u8] = b"close";
        for value in self.connection.iter().map(|value| &**value).chain(is_last.then_some(close)) {
            head.extend_from_slice(b"connection: ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

/// A connection whose request waits.
struct WaitingPoll {
    stream: BoxedConnectionStream,
    responding: ResponseFuture,
    stand_in: StandIn,
    repoll: Option<RecognizedPoll>,
    /// What the client has sent after its request.
    early: Vec<u8>,
}

/// How the request is recognized when the client sends it again, and answered.
struct RecognizedPoll {
    pattern: Pattern,
    repoll: Arc<dyn RepollableRequest>,
}

impl RecognizedPoll {
    /// `None` where the library has to read each request.
    fn of(detached: &Detached) -> Option<Self> {
        let repoll = Arc::clone(detached.wait.offered_repoll()?);
        let pattern = Pattern::of(detached.head.as_deref()?, repoll.varying_query_parameter())?;
        Some(Self { pattern, repoll })
    }

    /// Answers the next bytes of the client, if they are the same request.
    fn respond(&self, bytes: &[u8]) -> Option<ResponseFuture> {
        let number = self.pattern.number(bytes)?;
        Arc::clone(&self.repoll).answer_with_number(number)
    }
}

impl WaitingPoll {
    fn new(connection: DetachedConnection<Detached>) -> Self {
        let DetachedConnection { stream, request, early } = connection;
        let repoll = RecognizedPoll::of(&request);
        let Detached { responding, stand_in, .. } = request;
        Self { stream, responding, stand_in, repoll, early }
    }

    /// Waits until the library is needed: with a response that it has to write, or with what the client has sent after
    /// a response that was written here. Returns `None` when the connection is over.
    async fn resume(mut self, stopping: &CancellationToken, keep_alive_timeout: Duration) -> Option<ResumedConnection> {
        loop {
            let response = poll_fn(|context| self.poll(context)).await?;
            let is_stopping = stopping.is_cancelled();
            let is_writable = self.repoll.is_some() && self.early.is_empty() && !is_stopping;
            if !is_writable || !fast_repoll::is_ordinary(&response) {
                return Some(self.resumed(response, is_stopping));
            }
            // Boxed, because the future does not wait in it for long.
            Box::pin(self.write(response)).await?;
            let request = tokio::select! {
                biased;
                bytes = timeout(keep_alive_timeout, poll_fn(|context| self.read(context))) => bytes.ok()??,
                () = stopping.cancelled() => return None,
            };
            match self.repoll.as_ref().and_then(|repoll| repoll.respond(&request)) {
                Some(responding) => self.responding = responding,
                None => return Some(ResumedConnection { stream: self.stream, start: request, response: None }),
            }
        }
    }

    fn resumed(self, response: Response<Body>, is_last: bool) -> ResumedConnection {
        let Self { stream, stand_in, early, .. } = self;
        let mut start = stand_in.head(is_last);
        start.extend_from_slice(&early);
        ResumedConnection { stream, start: start.into(), response: Some(response) }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Response<Body>>> {
        if self.early.is_empty()
            && let Poll::Ready(read) = self.read(context)
        {
            let Some(early) = read else {
                tracing::debug!("connection ended early: its request was not answered yet");
                return Poll::Ready(None);
            };
            self.early = early.into();
        }
        self.responding.as_mut().poll(context).map(Some)
    }

    /// Returns what the client sends next; `None` when it has left.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut room = [0; fast_repoll::HEAD_MAX_BYTES];
        let mut read = ReadBuf::new(&mut room);
        let outcome = ready!(self.stream.as_mut().poll_read(context, &mut read));
        let came = outcome.is_ok() && !read.filled().is_empty();
        Poll::Ready(came.then(|| Bytes::copy_from_slice(read.filled())))
    }

    /// Writes the whole response; `None` when the connection breaks.
    async fn write(&mut self, response: Response<Body>) -> Option<()> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let text = fast_repoll::written(&Response::from_parts(head, ()), &body, now());
        self.stream.write_all(&text).await.ok()?;
        self.stream.flush().await.ok()
    }
}

#[expect(clippy::disallowed_methods, reason = "the date of an answer, as the HTTP library has it")]
fn now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests;
