//! The limits of what goes over HTTP: servers that do nothing but the one thing that cannot be left out.
//!
//! The same library, runtime and socket options as our servers; no route, no rule, no log. What they cost, nobody
//! who answers through this library goes below.

use std::{
    collections::VecDeque,
    convert::Infallible,
    fs::File,
    io::{BufRead, BufReader, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    str::FromStr,
    sync::Arc,
};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, Response, body::Incoming, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use xtask::process;

/// The one thing such a server does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Answers everything with so many bytes from memory.
    Fixed(usize),
    /// Answers each `GET` when the next `POST` has come, with its body and so many bytes more.
    Broadcast(usize),
    /// Writes the body of each request to this file, and answers when it is on the disk; who comes meanwhile shares
    /// the next sync.
    Journal(PathBuf),
}

impl Kind {
    fn text(&self) -> String {
        match self {
            Self::Fixed(bytes) => format!("fixed:{bytes}"),
            Self::Broadcast(bytes) => format!("broadcast:{bytes}"),
            Self::Journal(file) => format!("journal:{}", file.display()),
        }
    }
}

impl FromStr for Kind {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':').context("a kind and what it needs")? {
            ("fixed", bytes) => Ok(Self::Fixed(bytes.parse()?)),
            ("broadcast", bytes) => Ok(Self::Broadcast(bytes.parse()?)),
            ("journal", file) => Ok(Self::Journal(Path::new(file).to_owned())),
            (other, _) => bail!("there is no bare server of kind {other}"),
        }
    }
}

/// The server as a process of its own, so that its CPU time is told apart; dropping it ends it.
#[derive(Debug)]
pub(super) struct Bare {
    child: Child,
    address: SocketAddr,
}

impl Bare {
    /// Starts this program again as the server.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn start(kind: &Kind) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "--bare-server", &kind.text()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the bare server")?;
        let mut line = String::new();
        let out = child.stdout.take().context("the bare server has no output")?;
        let read = BufReader::new(out).read_line(&mut line);
        match read.map_err(Into::into).and_then(|_| line.trim().parse().context("the bare server told no address")) {
            Ok(address) => Ok(Self { child, address }),
            Err(error) => {
                // The first error is the one to report.
                let _ = process::end(&mut child, "TERM");
                Err(error)
            }
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        if let Err(error) = process::end(&mut self.child, "TERM") {
            eprintln!("cannot stop the bare server: {error}");
        }
    }
}

/// Serves until it is ended; its first line of output is its address.
///
/// # Errors
/// When there is no port to listen on.
pub(super) fn serve(kind: &Kind) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match kind {
        Kind::Fixed(bytes) => {
            let body = Bytes::from(vec![b'a'; *bytes]);
            runtime.block_on(accept(move |_| {
                let body = body.clone();
                async { body }
            }))
        }
        Kind::Broadcast(bytes) => {
            let news = Arc::new(News::new(*bytes));
            runtime.block_on(accept(move |request| Arc::clone(&news).answer(request)))
        }
        Kind::Journal(path) => {
            let file = File::options().create(true).append(true).open(path).context("cannot open the journal")?;
            let (sender, receiver) = mpsc::channel(JOURNAL_WAITING_MAX);
            std::thread::spawn(move || write_journal(file, receiver));
            runtime.block_on(accept(move |request| remember(request, sender.clone())))
        }
    }
}

async fn accept<F, R>(answer: F) -> Result<()>
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Bytes> + Send,
{
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?);
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        let service = service_fn(move |request| {
            let answer = answer(request);
            async move {
                let mut response = Response::new(Full::new(answer.await));
                let json = header::HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
        connections.spawn(connection);
    }
}

/// What was said.
struct News {
    padding: String,
    said: watch::Sender<Said>,
}

/// What was said last, and a little of what was said before.
#[derive(Default)]
struct Said {
    number: usize,
    /// The whole answer of a poll that lacks the last alone, as nearly all do.
    answer: Bytes,
    /// The newest events, the oldest first.
    events: VecDeque<String>,
}

/// More than a poll misses while it is on its way back.
const EVENTS_KEPT: usize = 64;

impl Said {
    fn say(&mut self, content: &str, padding: &str) {
        self.number += 1;
        let event = format!("{{\"id\":{},\"message\":{{\"content\":\"{content}\"}},\"a\":\"{padding}\"}}", self.number);
        self.answer = format!("{{\"events\":[{event}]}}").into();
        self.events.push_back(event);
        if self.events.len() > EVENTS_KEPT {
            self.events.pop_front();
        }
    }

    fn after(&self, number: usize) -> Bytes {
        let missed = self.number.saturating_sub(number);
        if missed <= 1 {
            return self.answer.clone();
        }
        let known = self.events.len().saturating_sub(missed);
        let events: Vec<&str> = self.events.iter().skip(known).map(String::as_str).collect();
        format!("{{\"events\":[{}]}}", events.join(",")).into()
    }
}

impl News {
    fn new(padding_bytes: usize) -> Self {
        Self { padding: "a".repeat(padding_bytes), said: watch::Sender::default() }
    }

    /// As the event queues of the chat: `last_event_id` is the last number of the query.
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Bytes {
        if request.method() == Method::POST {
            let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let content = String::from_utf8_lossy(&body);
            self.said.send_modify(|said| said.say(&content, &self.padding));
            return Bytes::from_static(b"{}");
        }
        let query = request.uri().query().unwrap_or_default();
        let after: usize = query.rsplit('=').next().and_then(|number| number.parse().ok()).unwrap_or_default();
        drop(request);
        let mut said = self.said.subscribe();
        let heard = said.wait_for(|said| said.number > after).await;
        heard.map(|said| said.after(after)).unwrap_or_default()
    }
}

/// A line of the journal, and whom to tell that it is on the disk.
type Line = (Bytes, oneshot::Sender<()>);
/// More than there are connections.
const JOURNAL_WAITING_MAX: usize = 1024;

async fn remember(request: Request<Incoming>, journal: mpsc::Sender<Line>) -> Bytes {
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let (done, written) = oneshot::channel();
    let sent = journal.send((body, done)).await.is_ok() && written.await.is_ok();
    Bytes::from_static(if sent { b"{\"result\":\"success\",\"id\":1}" } else { b"" })
}

/// Ends the process when the disk fails: who measures it gets no answer then.
fn write_journal(mut file: File, mut lines: mpsc::Receiver<Line>) {
    let mut batch = Vec::new();
    while let Some(line) = lines.blocking_recv() {
        batch.push(line);
        while let Ok(line) = lines.try_recv() {
            batch.push(line);
        }
        let text: Vec<u8> = batch.iter().flat_map(|(line, _)| line.iter().copied()).collect();
        if file.write_all(&text).and_then(|()| file.sync_data()).is_err() {
            return;
        }
        for (_, done) in batch.drain(..) {
            // Who does not wait any more needs no word.
            let _ = done.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_gets_all_that_it_missed() {
        let mut said = Said::default();
        for content in ["m0", "m1", "m2"] {
            said.say(content, "");
        }
        assert_eq!(said.after(2), said.answer);
        let missed = String::from_utf8(said.after(1).to_vec()).unwrap();
        assert!(missed.contains("m1") && missed.contains("m2") && !missed.contains("m0"), "{missed}");
    }

    #[test]
    fn a_kind_survives_the_command_line() {
        for kind in [Kind::Fixed(7), Kind::Broadcast(0), Kind::Journal("/tmp/a:b".into())] {
            assert_eq!(kind.text().parse::<Kind>().unwrap(), kind);
        }
        assert!("other:1".parse::<Kind>().is_err());
        assert!("fixed".parse::<Kind>().is_err());
    }
}
