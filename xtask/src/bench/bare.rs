//! The limit of every answer over HTTP: a server that does nothing but give it.
//!
//! The same library, runtime and socket options as our servers, the answer ready in memory, no route, no
//! rule, no log. What it costs, nobody who answers through this library goes below.

use std::{
    convert::Infallible,
    io::{BufRead, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, header, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, task::JoinSet};

use crate::process;

/// The server as a process of its own, so that its CPU time is told apart; dropping it ends it.
#[derive(Debug)]
pub(super) struct Bare {
    child: Child,
    address: SocketAddr,
}

impl Bare {
    /// Starts this program again as the server, with an answer of so many bytes.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn start(body_bytes: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "--bare-server", &body_bytes.to_string()])
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
pub(super) fn serve(body_bytes: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        println!("{}", listener.local_addr()?);
        let body = Bytes::from(vec![b'a'; body_bytes]);
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let body = body.clone();
            let service = service_fn(move |_| {
                let mut response = Response::new(Full::new(body.clone()));
                let json = header::HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                async { Ok::<_, Infallible>(response) }
            });
            let connection =
                http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service);
            connections.spawn(connection);
        }
    })
}
