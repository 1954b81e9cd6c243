//! Long polls without their HTTP connection.
//!
//! A poll waits for most of a minute with nothing to read and nothing to write, while the HTTP library keeps its
//! buffers for it: most of what an idle poll took. So when a request says that it waits ([`LongWait`]), its
//! connection is taken apart ([`Parked`]). What is left is the stream, the answer in the making, and a request head
//! that stands for the one to be answered. When the answer comes, the library gets the stream again ([`Visit`]): it
//! reads that head, is given the answer for it, and goes on with what the client has sent meanwhile.
//!
//! So every byte of an answer is the library's, parked or not: keep-alive, `Connection: close`, HTTP/1.0, `HEAD`.
//! The road not taken is to write the answer here, which would be a second implementation of all that.
//!
//! Stays where it is: a request with a body or an upgrade, and any while an earlier answer is not wholly written.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use chat_http::LongWait;
use http::header::{CONNECTION, UPGRADE};
use http::{Method, Request, Response, Version};
use hyper::body::{Body as _, Bytes, Incoming};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What is read of a stream while its request waits; the rest stays with the sender.
const EARLY_BYTES: usize = 512;

/// An answer in the making.
pub(super) type Answering = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// The one request that a connection works on, where its owner can take it away from the HTTP library.
#[derive(Default)]
pub(super) struct Seat {
    state: Mutex<State>,
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
}

impl Seat {
    /// A connection whose first request has that answer, if there is one.
    pub(super) fn new(answer: Option<Response<Body>>) -> Arc<Self> {
        let state = answer.map_or(State::Free, State::Answered);
        Arc::new(Self { state: Mutex::new(state), unwritten: AtomicBool::new(false) })
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
                State::Seated(Guest { answering: route(request), wait, stand_in })
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
    guest: Guest,
    /// What the client has sent behind its request.
    early: Vec<u8>,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Parked<I> {
    /// `early` is what was read behind the request.
    pub(super) fn new(stream: I, guest: Guest, early: &[u8]) -> Self {
        Self { stream, guest, early: early.to_vec() }
    }

    /// Returns with the answer; without one when the client has left, who then gets none.
    pub(super) async fn answered(mut self, is_last: impl FnOnce() -> bool) -> Option<Visit<I>> {
        let answer = poll_fn(|context| self.poll(context)).await?;
        let Self { stream, guest, early } = self;
        let mut start = guest.stand_in.head(is_last());
        start.extend_from_slice(&early);
        Some(Visit { stream, start: start.into(), answer: Some(answer) })
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Response<Body>>> {
        while self.early.is_empty() {
            let mut room = [0; EARLY_BYTES];
            let mut read = ReadBuf::new(&mut room);
            match Pin::new(&mut self.stream).poll_read(context, &mut read) {
                Poll::Pending => break,
                Poll::Ready(Ok(())) if !read.filled().is_empty() => self.early.extend_from_slice(read.filled()),
                Poll::Ready(left) => {
                    let error = left.err();
                    tracing::debug!(?error, "connection ended early: its request was not answered yet");
                    return Poll::Ready(None);
                }
            }
        }
        self.guest.answering.as_mut().poll(context).map(Some)
    }
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
            return Pin::new(&mut self.stream).poll_read(context, to);
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
