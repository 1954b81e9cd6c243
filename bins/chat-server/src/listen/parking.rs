//! Long polls without their HTTP connection.
//!
//! A poll waits for most of a minute with nothing to read and nothing to write, while the HTTP library keeps its
//! buffers for it: most of what an idle poll took. So when a request says that it waits ([`LongWait`]), its
//! connection is taken apart ([`Parked`]). What is left is the stream, the answer in the making, and a request head
//! that stands for the one to be answered. When the answer comes, the library gets the stream again ([`Visit`]): it
//! reads that head, is given the answer for it, and goes on with what the client has sent meanwhile.
//!
//! So every byte of an answer is the library's, parked or not: keep-alive, `Connection: close`, HTTP/1.0, `HEAD`.
//! One kind of answer is written here, because most are of it: that to a poll whose client asks the same again
//! ([`super::repeat`]). Such a conversation goes on without the library for as long as nothing else is said.
//!
//! Stays where it is: a request with a body or an upgrade, and any while an earlier answer is not wholly written.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use chat_http::{LongWait, Repeat};
use http::header::{CONNECTION, UPGRADE};
use http::{Method, Request, Response, Version};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;

use super::repeat::{self, Pattern};
use crate::shutdown::Stop;

/// An answer in the making.
pub(super) type Answering = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// The one request that a connection works on, where its owner can take it away from the HTTP library.
#[derive(Default)]
pub(super) struct Seat {
    state: Mutex<State>,
    /// What was read last, where it may be a whole head.
    head: Mutex<Vec<u8>>,
    /// Whether bytes were written since the last time that all were.
    unwritten: AtomicBool,
}

#[derive(Default)]
enum State {
    #[default]
    Free,
    /// The answer to the request that is read next.
    Answered(Response<Body>),
    /// A request that may be taken away.
    Seated(Guest),
    /// A request that may not.
    Bound(Answering),
}

/// A request at work.
pub(super) struct Guest {
    answering: Answering,
    wait: LongWait,
    stand_in: StandIn,
    /// The head as it was sent, of a request that may be answered without the library when it comes again.
    head: Option<Box<[u8]>>,
}

impl Seat {
    /// A connection whose first request has that answer, if there is one.
    pub(super) fn new(answer: Option<Response<Body>>) -> Arc<Self> {
        let state = answer.map_or(State::Free, State::Answered);
        Arc::new(Self { state: Mutex::new(state), ..Self::default() })
    }

    /// Takes the next request of the connection to be answered by `route`, unless its answer is there.
    pub(super) fn admit(&self, mut request: Request<Incoming>, route: impl FnOnce(Request<Incoming>) -> Answering) {
        let mut state = self.state();
        if matches!(*state, State::Answered(_)) {
            return;
        }
        *state = match StandIn::of(&request) {
            None => State::Bound(route(request)),
            Some(stand_in) => {
                let wait = LongWait::default();
                request.extensions_mut().insert(wait.clone());
                let head = self.head();
                let head = repeat::is_plain(&request, &head).then(|| head.as_slice().into());
                State::Seated(Guest { answering: route(request), wait, stand_in, head })
            }
        };
    }

    /// The answer to that request. Never, when it was taken away: the connection ends without it.
    pub(super) async fn answer(self: Arc<Self>) -> Response<Body> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        let mut state = self.state();
        let answer = match &mut *state {
            State::Free => return Poll::Pending,
            State::Seated(Guest { answering, .. }) | State::Bound(answering) => {
                ready!(answering.as_mut().poll(context))
            }
            State::Answered(_) => match std::mem::take(&mut *state) {
                State::Answered(answer) => answer,
                _ => return Poll::Pending,
            },
        };
        *state = State::Free;
        Poll::Ready(answer)
    }

    /// Takes the request away if it waits and nothing is left to write. To be asked when the connection was polled
    /// and has come to rest.
    pub(super) fn take(&self) -> Option<Guest> {
        if self.unwritten.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state();
        match std::mem::take(&mut *state) {
            State::Seated(guest) if guest.wait.has_begun() => Some(guest),
            other => {
                *state = other;
                None
            }
        }
    }

    /// What was read just now.
    fn heard(&self, bytes: &[u8]) {
        let mut head = self.head();
        head.clear();
        if repeat::is_whole_head(bytes) {
            head.extend_from_slice(bytes);
        }
    }

    fn head(&self) -> MutexGuard<'_, Vec<u8>> {
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What of a request decides on the form of its answer.
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

    /// The head, as a client would send it.
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

/// A stream whose request waits.
pub(super) struct Parked<I> {
    stream: I,
    answering: Answering,
    stand_in: StandIn,
    again: Option<Again>,
    /// What the client has sent behind its request.
    early: Vec<u8>,
}

/// How the request is recognised when it comes again, and answered.
struct Again {
    pattern: Pattern,
    repeat: Arc<dyn Repeat>,
}

impl Again {
    /// `None` where that cannot be.
    fn of(guest: &Guest) -> Option<Self> {
        let repeat = Arc::clone(guest.wait.repeat()?);
        let pattern = Pattern::of(guest.head.as_deref()?, repeat.parameter())?;
        Some(Self { pattern, repeat })
    }

    /// The answer to what came next, if it is the same request.
    fn answering(&self, asked: &[u8]) -> Option<Answering> {
        let number = self.pattern.number(asked)?;
        Arc::clone(&self.repeat).again(number)
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> Parked<I> {
    /// `early` is what was read behind the request.
    pub(super) fn new(stream: I, guest: Guest, early: &[u8]) -> Self {
        let again = Again::of(&guest);
        let Guest { answering, stand_in, .. } = guest;
        Self { stream, answering, stand_in, again, early: early.to_vec() }
    }

    /// Returns when the library is needed: with an answer that is its to write, or with what the client has sent after
    /// one that was written here. Not at all when the conversation is over; a client has `patience` to ask again.
    pub(super) async fn answered(mut self, stop: &mut Stop, patience: Duration) -> Option<Visit<I>> {
        loop {
            let answer = poll_fn(|context| self.poll(context)).await?;
            let is_writable = self.again.is_some() && self.early.is_empty() && !stop.is_set();
            if !is_writable || !repeat::is_ordinary(&answer) {
                return Some(self.visit(answer, stop.is_set()));
            }
            // Boxed, as what is not waited in for long.
            Box::pin(self.write(answer)).await?;
            let asked = tokio::select! {
                biased;
                asked = timeout(patience, poll_fn(|context| self.read(context))) => asked.ok()??,
                () = stop.stopped() => return None,
            };
            match self.again.as_ref().and_then(|again| again.answering(&asked)) {
                Some(answering) => self.answering = answering,
                None => return Some(Visit { stream: self.stream, start: asked, answer: None }),
            }
        }
    }

    fn visit(self, answer: Response<Body>, is_last: bool) -> Visit<I> {
        let Self { stream, stand_in, early, .. } = self;
        let mut start = stand_in.head(is_last);
        start.extend_from_slice(&early);
        Visit { stream, start: start.into(), answer: Some(answer) }
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
        self.answering.as_mut().poll(context).map(Some)
    }

    /// What the client sends next; `None` when it has left.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut room = [0; repeat::HEAD_MAX_BYTES];
        let mut read = ReadBuf::new(&mut room);
        let outcome = ready!(Pin::new(&mut self.stream).poll_read(context, &mut read));
        let came = outcome.is_ok() && !read.filled().is_empty();
        Poll::Ready(came.then(|| Bytes::copy_from_slice(read.filled())))
    }

    /// Writes an answer, all of it; `None` when the connection breaks.
    async fn write(&mut self, answer: Response<Body>) -> Option<()> {
        let (head, body) = answer.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        let text = repeat::written(&Response::from_parts(head, ()), &body, now());
        self.stream.write_all(&text).await.ok()?;
        self.stream.flush().await.ok()
    }
}

#[expect(clippy::disallowed_methods, reason = "the date of an answer, as the HTTP library has it")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// A stream on its way to the HTTP library.
pub(super) struct Visit<I> {
    stream: I,
    /// What is to be read before the stream.
    start: Bytes,
    /// The answer to the request that is read first.
    pub(super) answer: Option<Response<Body>>,
}

impl<I> Visit<I> {
    /// A stream that nothing was read of.
    pub(super) fn first(stream: I) -> Self {
        Self { stream, start: Bytes::new(), answer: None }
    }

    /// What the library reads from and writes to.
    pub(super) fn wire(self, seat: &Arc<Seat>) -> Wire<I> {
        Wire { stream: self.stream, start: self.start, seat: Arc::clone(seat) }
    }
}

/// A stream with bytes before it, that tells whether all was written.
pub(super) struct Wire<I> {
    stream: I,
    start: Bytes,
    seat: Arc<Seat>,
}

impl<I> Wire<I> {
    pub(super) fn into_stream(self) -> I {
        self.stream
    }

    fn writing(&mut self) -> &mut I {
        self.seat.unwritten.store(true, Ordering::Relaxed);
        &mut self.stream
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Wire<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.start.is_empty() {
            let before = to.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, to))?;
            self.seat.heard(to.filled().get(before..).unwrap_or_default());
            return Poll::Ready(Ok(()));
        }
        let size_bytes = self.start.len().min(to.remaining());
        to.put_slice(&self.start.split_to(size_bytes));
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Wire<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.writing()).poll_write(context, from)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(self.writing()).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all was handed over to the stream, and not before.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.seat.unwritten.store(false, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
