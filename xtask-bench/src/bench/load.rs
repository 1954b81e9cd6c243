//! Load on one server: kept-alive connections that ask as soon as they are answered.
//!
//! One thread looks at all of them in turn and sleeps on a timer, not on a socket: the callers of a real
//! server are on other machines, and a server that wakes a sleeping thread for every answer is charged for
//! that, a third of the cost of a small answer where it was measured. Only who measures delays sleeps on sockets.

use std::{
    io::{ErrorKind, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream},
    str, thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use tokio::net::TcpSocket;

/// Connections that ask at the same time.
const CONNECTIONS: usize = 32;
/// How long one answer may take.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Between two looks at connections that were all still waiting.
pub(super) const PAUSE: Duration = Duration::from_micros(50);
/// Largest answer taken.
const ANSWER_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Room for one read.
const CHUNK_BYTES: usize = 16 * 1024;

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

/// The same request with one header field more.
pub(super) fn with_header(mut request: Wire, name: &str, value: &str) -> Wire {
    let line_end = request.windows(2).position(|bytes| bytes == b"\r\n").map_or(0, |place| place + 2);
    request.splice(line_end..line_end, format!("{name}: {value}\r\n").into_bytes());
    request
}

/// Sends `count` requests, over and over from the first when there are fewer, and reads every answer.
///
/// # Errors
/// At the first answer that is not 200, with its text, and when the server cannot be reached or is silent
/// for 30 s.
pub(super) fn drive(server: SocketAddr, requests: &[Wire], count: usize) -> Result<()> {
    Callers::open(server)?.drive(requests, count)
}

/// Connections that stay open from one drive to the next.
pub(super) struct Callers(Vec<Connection>);

impl Callers {
    /// Connects, and asks nothing yet.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub(super) fn open(server: SocketAddr) -> Result<Self> {
        let opened = (0..CONNECTIONS).map(|_| Connection::open(server));
        Ok(Self(opened.collect::<Result<_>>()?))
    }

    /// As [`drive`].
    ///
    /// # Errors
    /// As [`drive`].
    pub(super) fn drive(&mut self, requests: &[Wire], count: usize) -> Result<()> {
        self.each(requests.iter().cycle().take(count), |_, reply| reply.accepted().map(drop))
    }

    /// Sends every request once; the replies in the order of the requests, whatever their status.
    ///
    /// # Errors
    /// When the server cannot be reached or is silent for 30 s.
    pub(super) fn exchange(&mut self, requests: &[Wire]) -> Result<Vec<Reply>> {
        let mut replies = Vec::with_capacity(requests.len());
        self.each(requests.iter(), |number, reply| {
            replies.push((number, reply));
            Ok(())
        })?;
        replies.sort_unstable_by_key(|(number, _)| *number);
        Ok(replies.into_iter().map(|(_, reply)| reply).collect())
    }

    /// Gives every reply and the number of its request away as it arrives.
    fn each<'r>(
        &mut self,
        requests: impl Iterator<Item = &'r Wire>,
        mut take: impl FnMut(usize, Reply) -> Result<()>,
    ) -> Result<()> {
        let mut left = requests.enumerate();
        let mut asking = Vec::with_capacity(self.0.len());
        for (connection, (number, request)) in self.0.iter_mut().zip(&mut left) {
            connection.send(request)?;
            asking.push(number);
        }
        let (mut waiting, mut heard) = (asking.len(), Instant::now());
        while waiting > 0 {
            let mut progress = false;
            let asked = self.0.iter_mut().zip(&mut asking);
            for (connection, asked) in asked.filter(|(connection, _)| connection.waits) {
                let Some(reply) = connection.reply()? else { continue };
                take(*asked, reply)?;
                progress = true;
                match left.next() {
                    Some((number, request)) => {
                        connection.send(request)?;
                        *asked = number;
                    }
                    None => waiting -= 1,
                }
            }
            if progress {
                heard = Instant::now();
            } else {
                ensure!(heard.elapsed() < ANSWER_MAX, "no answer for {} s", ANSWER_MAX.as_secs());
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

/// Sends one request and gives the body of its answer.
///
/// # Errors
/// As [`drive`].
pub(super) fn ask(server: SocketAddr, request: &[u8]) -> Result<Vec<u8>> {
    reply(server, request)?.accepted()
}

/// Sends one request and gives its reply, whatever its status.
///
/// # Errors
/// When the server cannot be reached or is silent for 30 s.
pub(super) fn reply(server: SocketAddr, request: &[u8]) -> Result<Reply> {
    let mut connection = Connection::open(server)?;
    connection.send(request)?;
    let sent = Instant::now();
    while sent.elapsed() < ANSWER_MAX {
        if let Some(reply) = connection.reply()? {
            return Ok(reply);
        }
        thread::sleep(PAUSE);
    }
    bail!("no answer within {} s", ANSWER_MAX.as_secs())
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) status: String,
    /// Status line and header fields.
    head: String,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// The values of a header field, in the order they came.
    pub(super) fn fields(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The body of an answer of status 200.
    ///
    /// # Errors
    /// When it has another, with its text.
    pub(super) fn accepted(self) -> Result<Vec<u8>> {
        ensure!(self.status == "200", "answered {}: {}", self.status, String::from_utf8_lossy(&self.body));
        Ok(self.body)
    }
}

/// A kept-alive connection that is looked at.
pub(super) struct Connection {
    stream: TcpStream,
    /// Room for one read, made once: clearing it for each look would cost more than the look.
    chunk: Vec<u8>,
    /// What has arrived of the next answer.
    received: Vec<u8>,
    /// Whether a request was sent and not answered yet.
    waits: bool,
}

impl Connection {
    /// # Errors
    /// When the server cannot be reached.
    pub(super) fn open(server: SocketAddr) -> Result<Self> {
        Self::over(TcpStream::connect(server).with_context(|| format!("cannot reach {server}"))?)
    }

    /// From another address of this machine, as if from another machine.
    ///
    /// # Errors
    /// When the address is not one of this machine, or the server cannot be reached.
    pub(super) async fn open_from(source: IpAddr, server: SocketAddr) -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(source, 0)).with_context(|| format!("cannot speak from {source}"))?;
        let stream = socket.connect(server).await.with_context(|| format!("cannot reach {server} from {source}"))?;
        Self::over(stream.into_std()?)
    }

    fn over(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, chunk: vec![0; CHUNK_BYTES], received: Vec::new(), waits: false })
    }

    /// A request is far smaller than a socket's buffer, which is empty here: it is taken at once or never.
    ///
    /// # Errors
    /// When the connection is gone.
    pub(super) fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request).context("cannot send")?;
        self.waits = true;
        Ok(())
    }

    /// Whether a request was sent and not answered yet.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Sleeps until something arrives on one of these that wait, or it is time for the `next` request and one of them
    /// is free for it; 30 s at most.
    ///
    /// For delays: where work is measured, the server would be charged for waking whoever asks.
    ///
    /// # Errors
    /// When the system refuses to wait.
    pub(super) fn wait(connections: &[Self], next: Option<Instant>) -> Result<()> {
        let waiting = connections.iter().filter(|connection| connection.waits);
        let mut waiting: Vec<_> = waiting.map(|one| PollFd::new(&one.stream, PollFlags::IN)).collect();
        // With none free a request that is due would be asked about without a pause.
        let next = next.filter(|_| waiting.len() < connections.len());
        let wait = next.map_or(ANSWER_MAX, |next| next.saturating_duration_since(Instant::now()));
        match poll(&mut waiting, Some(&wait.try_into()?)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("cannot wait for answers"),
        }
    }

    /// The body of the answer, when all of it has arrived.
    ///
    /// # Errors
    /// When the answer is not 200, or the connection is gone.
    pub(super) fn answer(&mut self) -> Result<Option<Vec<u8>>> {
        self.reply()?.map(Reply::accepted).transpose()
    }

    /// The answer, whatever its status, when all of it has arrived.
    ///
    /// # Errors
    /// When the connection is gone.
    pub(super) fn reply(&mut self) -> Result<Option<Reply>> {
        match self.stream.read(&mut self.chunk) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(read) => self.received.extend_from_slice(self.chunk.get(..read).unwrap_or_default()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(None),
            Err(error) => return Err(error).context("cannot receive"),
        }
        let reply = take_reply(&mut self.received)?;
        self.waits &= reply.is_none();
        Ok(reply)
    }
}

/// Takes an answer, when it is there as a whole.
///
/// # Source
/// RFC 9112, sections 4 and 6, with `Content-Length` alone: our servers know the size of what they send.
fn take_reply(received: &mut Vec<u8>) -> Result<Option<Reply>> {
    const HEAD_END: &[u8] = b"\r\n\r\n";
    ensure!(received.len() <= ANSWER_MAX_BYTES, "the answer is longer than {ANSWER_MAX_BYTES} bytes");
    let Some(head_length) = received.windows(HEAD_END.len()).position(|bytes| bytes == HEAD_END) else {
        return Ok(None);
    };
    let (head, rest) = received.split_at(head_length);
    let head = str::from_utf8(head).context("the head of the answer is no text")?.to_owned();
    let status = head.split(' ').nth(1).context("the answer has no status")?.to_owned();
    let mut reply = Reply { status, head, body: Vec::new() };
    let length: usize =
        reply.fields("content-length").next().map_or(Ok(0), str::parse).context("content-length is no number")?;
    if rest.len() < HEAD_END.len() + length {
        return Ok(None);
    }
    reply.body = rest.iter().skip(HEAD_END.len()).take(length).copied().collect();
    received.drain(..head_length + HEAD_END.len() + length);
    Ok(Some(reply))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_status_and_as_much_body_as_it_says() {
        let mut wire = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx: y\r\n\r\nokHTTP/1.1 404 Not Found\r\n\r\n".to_vec();
        let reply = take_reply(&mut wire).unwrap().unwrap();
        assert_eq!((reply.status.as_str(), reply.body.as_slice()), ("200", b"ok".as_slice()));
        assert_eq!(reply.fields("X").collect::<Vec<_>>(), ["y"]);
        assert_eq!(reply.accepted().unwrap(), b"ok");
        let reply = take_reply(&mut wire).unwrap().unwrap();
        assert_eq!((reply.status.as_str(), reply.body.len()), ("404", 0));
        assert!(reply.accepted().is_err());
        assert_eq!(take_reply(&mut wire).unwrap(), None);
    }

    #[test]
    fn an_answer_that_has_not_arrived_is_waited_for() {
        for wire in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no"] {
            let mut received = wire.as_bytes().to_vec();
            assert_eq!(take_reply(&mut received).unwrap(), None, "{wire}");
            assert_eq!(received, wire.as_bytes());
        }
    }

    #[test]
    fn a_request_that_is_due_ends_the_sleep_only_where_a_connection_is_free() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let mut connections = [Connection::open(server).unwrap(), Connection::open(server).unwrap()];
        let mut accepted = [listener.accept().unwrap().0, listener.accept().unwrap().0];
        let due = Some(Instant::now());
        connections[0].send(b"asked").unwrap();
        Connection::wait(&connections, due).unwrap();
        assert_eq!(connections[0].reply().unwrap(), None);
        connections[1].send(b"asked").unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                accepted[0].write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            });
            Connection::wait(&connections, due).unwrap();
            assert!(connections[0].reply().unwrap().is_some());
        });
    }

    #[test]
    fn an_answer_of_another_protocol_is_refused() {
        assert!(take_reply(&mut b"HELLO\r\n\r\n".to_vec()).is_err());
        assert!(take_reply(&mut b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n".to_vec()).is_err());
    }

    #[test]
    fn a_header_field_goes_behind_the_request_line() {
        let wire = with_header(get("127.0.0.1:1".parse().unwrap(), "/t"), "x", "y");
        let text = String::from_utf8(wire).unwrap();
        assert!(text.starts_with("GET /t HTTP/1.1\r\nx: y\r\nhost: 127.0.0.1:1\r\n"), "{text}");
    }

    #[test]
    fn a_form_says_its_length() {
        let wire = post_form("127.0.0.1:1".parse().unwrap(), "/t", &[("a", "b c")]);
        let text = String::from_utf8(wire).unwrap();
        assert!(text.starts_with("POST /t HTTP/1.1\r\nhost: 127.0.0.1:1\r\n"), "{text}");
        assert!(text.ends_with("content-length: 5\r\n\r\na=b+c"), "{text}");
    }
}
