//! Just enough of HTTP for one person's browser: a thread for each connection, and one request on each.

use std::{
    io::{BufReader, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context, Result};

/// The longest head of a request, in bytes.
const HEAD_MAX_BYTES: u64 = 16 * 1024;
/// How long a browser may take to send it: browsers open connections that they then do not use.
const READ_LIMIT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

/// A request without its headers.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    query: String,
}

impl Request {
    /// Reads the first line; `None` when it is none of HTTP.
    pub(super) fn parse(head: &str) -> Option<Self> {
        let mut words = head.lines().next()?.split(' ');
        let (method, target) = (words.next()?, words.next()?);
        words.next().filter(|version| version.starts_with("HTTP/1."))?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Some(Self { method: method.to_owned(), path: path.to_owned(), query: query.to_owned() })
    }

    /// A parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

/// A page, or the way to one.
#[derive(Debug)]
pub(super) struct Response {
    status: &'static str,
    location: Option<String>,
    body: String,
}

impl Response {
    pub(super) const fn page(body: String) -> Self {
        Self { status: "200 OK", location: None, body }
    }

    pub(super) fn see(location: &str) -> Self {
        Self { status: "303 See Other", location: Some(location.to_owned()), body: String::new() }
    }

    pub(super) fn not_found() -> Self {
        Self { status: "404 Not Found", location: None, body: "There is nothing here.".to_owned() }
    }

    #[cfg(test)]
    pub(super) fn location(&self) -> Option<&str> {
        self.location.as_deref()
    }

    #[cfg(test)]
    pub(super) fn body(&self) -> &str {
        &self.body
    }

    fn text(&self) -> String {
        // A line break would begin a header.
        let location = self.location.as_deref().map(|to| to.replace(['\r', '\n'], ""));
        let location = location.map(|to| format!("Location: {to}\r\n")).unwrap_or_default();
        format!(
            "HTTP/1.1 {}\r\n{location}Content-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\n\
             Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n{}",
            self.status,
            self.body.len(),
            self.body
        )
    }
}

/// A site that is served; dropping it ends that, after the requests that run.
pub(super) struct Serving<S> {
    site: Arc<S>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Send + Sync + 'static> Serving<S> {
    /// Answers what comes to `listener` from now on.
    ///
    /// # Errors
    /// When the system does not let the listener be polled.
    pub(super) fn start(listener: TcpListener, site: S, answer: fn(&S, &Request) -> Response) -> Result<Self> {
        listener.set_nonblocking(true).context("the sample app cannot listen")?;
        let (site, stop) = (Arc::new(site), Arc::new(AtomicBool::new(false)));
        let (served, stopped) = (Arc::clone(&site), Arc::clone(&stop));
        let thread = thread::spawn(move || accept(&listener, &*served, &stopped, answer));
        Ok(Self { site, stop, thread: Some(thread) })
    }

    pub(super) fn site(&self) -> &S {
        &self.site
    }
}

impl<S> Drop for Serving<S> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            eprintln!("the sample app broke down");
        }
    }
}

fn accept<S: Send + Sync>(listener: &TcpListener, site: &S, stop: &AtomicBool, answer: fn(&S, &Request) -> Response) {
    thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => drop(scope.spawn(move || converse(stream, |request| answer(site, request)))),
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(POLL),
                Err(error) => {
                    eprintln!("the sample app: {error}");
                    thread::sleep(POLL);
                }
            }
        }
    });
}

/// One request and its answer. A browser that goes away is no trouble.
fn converse(mut stream: TcpStream, answer: impl FnOnce(&Request) -> Response) {
    let Some(head) = read_head(&stream) else { return };
    let response = Request::parse(&head).map_or_else(Response::not_found, |request| answer(&request));
    drop(stream.write_all(response.text().as_bytes()));
}

/// The head of a request; `None` when it is too long, late or broken off.
fn read_head(stream: &TcpStream) -> Option<String> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(READ_LIMIT)).ok()?;
    let mut head = Vec::new();
    for byte in BufReader::new(stream.take(HEAD_MAX_BYTES)).bytes() {
        head.push(byte.ok()?);
        if head.ends_with(b"\r\n\r\n") {
            return String::from_utf8(head).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_parameters_of_a_query_are_decoded() {
        let request = Request::parse("GET /a?code=x%20y&state=s HTTP/1.1\r\nhost: h\r\n\r\n").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/a"));
        assert_eq!(request.parameter("code").as_deref(), Some("x y"));
        assert_eq!(request.parameter("other"), None);
        assert!(Request::parse("nonsense").is_none());
    }

    #[test]
    fn a_site_answers_until_it_is_dropped() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = Serving::start(listener, (), |(), request| Response::page(request.path.clone())).unwrap();
        let ask = || -> io::Result<String> {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(READ_LIMIT))?;
            stream.write_all(b"GET /hello HTTP/1.1\r\n\r\n")?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            Ok(text)
        };
        let text = ask().unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n/hello"), "{text}");
        drop(serving);
        // Another process may have the port by then.
        assert!(!ask().is_ok_and(|text| text.ends_with("/hello")));
    }
}
