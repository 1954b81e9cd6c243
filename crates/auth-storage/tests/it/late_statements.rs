//! A network on which statements reach Postgres late.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use url::Url;

/// How late what runs a statement arrives.
const DELAY: Duration = Duration::from_millis(300);
/// The message that runs a prepared statement begins with this byte (Postgres 15, section 55.7 "Message Formats").
const BIND: u8 = b'B';

/// A way to the database on which every prepared statement arrives late, but no cancellation; until it is dropped.
pub(crate) struct LateStatements {
    /// The URL of the database by this way.
    pub(crate) url: String,
    _network: JoinSet<()>,
}

impl LateStatements {
    pub(crate) async fn to(url: &str) -> Self {
        let mut url = Url::parse(url).unwrap();
        let server = (url.host_str().unwrap().to_owned(), url.port().unwrap());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        url.set_ip_host(Ipv4Addr::LOCALHOST.into()).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let mut network = JoinSet::new();
        network.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(connect(client, TcpStream::connect(&server).await.unwrap()));
            }
        });
        Self { url: url.into(), _network: network }
    }
}

async fn connect(client: TcpStream, server: TcpStream) {
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, to_server) = server.into_split();
    tokio::join!(forward(from_client, to_server), async {
        // Its end is the end of the connection.
        let _ended = copy(&mut from_server, &mut to_client).await;
    });
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let mut chunk = vec![0; 65_536];
    let mut is_canceller = false;
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        let sent = &chunk[..length];
        is_canceller |= sent.windows(CANCEL.len()).any(|part| part == CANCEL);
        if sent[0] == BIND && !is_canceller {
            sleep(DELAY).await;
        }
        if to.write_all(sent).await.is_err() {
            return;
        }
    }
}

/// Stands in what the connection that cancels has sent before it cancels.
const CANCEL: &[u8] = b"pg_cancel_backend";
