//! Load on one server: kept-alive connections that ask as fast as they are answered.
//!
//! Blocking threads instead of an asynchronous client: they are not what is measured, and a reader of a
//! dozen lines takes less from the machine than a client that can do everything.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail};

/// Connections that ask at the same time.
pub(super) const CONNECTIONS: usize = 32;
/// How long one answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Largest answer taken.
const BODY_MAX_BYTES: usize = 1024 * 1024;

/// A request as it goes over the wire.
pub(super) type Wire = Vec<u8>;

/// A `GET`.
pub(super) fn get(server: SocketAddr, path: &str) -> Wire {
    format!("GET {path} HTTP/1.1\r\nhost: {server}\r\naccept: application/json\r\n\r\n").into_bytes()
}

/// A form sent by `POST`.
pub(super) fn post_form(server: SocketAddr, path: &str, fields: &[(&str, &str)]) -> Wire {
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    format!(
        "POST {path} HTTP/1.1\r\nhost: {server}\r\naccept: application/json\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    )
    .into_bytes()
}

/// Sends `count` requests, over and over from the first when there are fewer, and reads every answer.
///
/// # Errors
/// At the first answer that is not 200, with its text, and when the server cannot be reached.
pub(super) fn drive(server: SocketAddr, requests: &[Wire], count: usize) -> Result<()> {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CONNECTIONS).map(|_| scope.spawn(|| ask_while_there_is(server, requests, count, &next))).collect();
        let ends = clients.into_iter().map(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")));
        // All of them are joined before the first error is told.
        ends.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Sends one request and gives the body of its answer.
///
/// # Errors
/// As [`drive`].
pub(super) fn ask(server: SocketAddr, request: &[u8]) -> Result<Vec<u8>> {
    Connection::open(server)?.ask(request)
}

fn ask_while_there_is(server: SocketAddr, requests: &[Wire], count: usize, next: &AtomicUsize) -> Result<()> {
    let mut connection = Connection::open(server)?;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(());
        }
        let request = number.checked_rem(requests.len()).and_then(|place| requests.get(place));
        connection.ask(request.context("there is no request to send")?)?;
    }
}

struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(server: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(server).with_context(|| format!("cannot reach {server}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        self.0.get_mut().write_all(request)?;
        let (status, body) = read_answer(&mut self.0)?;
        if status == "200" {
            return Ok(body);
        }
        bail!("answered {status}: {}", String::from_utf8_lossy(&body))
    }
}

/// Reads one answer: its status and its body.
///
/// # Source
/// RFC 9112, sections 4 and 6, with `Content-Length` alone: our servers know the size of what they send.
fn read_answer(stream: &mut impl BufRead) -> Result<(String, Vec<u8>)> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).map(str::to_owned);
    let status = status.with_context(|| format!("no answer of HTTP/1.1: {line:?}"))?;
    let mut length = 0;
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            bail!("the answer broke off in its head");
        }
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(|_| anyhow!("content-length is {value:?}"))?;
        }
    }
    anyhow::ensure!(length <= BODY_MAX_BYTES, "the answer has {length} bytes");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).context("the answer broke off")?;
    Ok((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_status_and_as_much_body_as_it_says() {
        let mut wire: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx: y\r\n\r\nokHTTP/1.1 404 Not Found\r\n\r\n";
        assert_eq!(read_answer(&mut wire).unwrap(), ("200".to_owned(), b"ok".to_vec()));
        assert_eq!(read_answer(&mut wire).unwrap(), ("404".to_owned(), Vec::new()));
        assert!(read_answer(&mut wire).is_err());
    }

    #[test]
    fn an_answer_that_breaks_off_is_no_answer() {
        for wire in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no"] {
            assert!(read_answer(&mut wire.as_bytes()).is_err(), "{wire}");
        }
    }

    #[test]
    fn a_form_says_its_length() {
        let wire = post_form("127.0.0.1:1".parse().unwrap(), "/t", &[("a", "b c")]);
        let text = String::from_utf8(wire).unwrap();
        assert!(text.starts_with("POST /t HTTP/1.1\r\nhost: 127.0.0.1:1\r\n"), "{text}");
        assert!(text.ends_with("content-length: 5\r\n\r\na=b+c"), "{text}");
    }
}
