use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::*;

const SET: &str = r#"{"keys":[]}"#;

/// A host on loopback that answers every connection with the same bytes; with none, it answers
/// nothing and keeps the connection open.
struct Host {
    address: SocketAddr,
    requests: Arc<std::sync::Mutex<Vec<String>>>,
    _accepting: JoinSet<()>,
}

impl Host {
    async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (bytes, requests) = (bytes.into(), Arc::new(std::sync::Mutex::default()));
        let seen: Arc<std::sync::Mutex<Vec<String>>> = Arc::clone(&requests);
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut kept = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..read]).into_owned();
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(&bytes).await;
                if bytes.is_empty() {
                    kept.push(stream);
                }
            }
        });
        Self { address, requests, _accepting: accepting }
    }

    async fn with(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n");
        Self::answering(format!("{head}{body}")).await
    }

    fn uri(&self) -> String {
        format!("http://{}/jwks.json", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn fetch(uri: &str) -> Result<FetchedJwks, JwksFetchError> {
    let patience = Patience { connect: Duration::from_millis(500), whole: Duration::from_millis(500) };
    HttpJwksFetch::new(Reach::Anywhere, patience).fetch(uri).await
}

#[tokio::test]
async fn a_key_set_is_fetched_with_one_plain_get() {
    let host = Host::with("200 OK", "cache-control: max-age=600\r\n", SET).await;
    let fetched = fetch(&host.uri()).await.unwrap();
    assert_eq!(fetched.body, SET.as_bytes());
    assert_eq!(fetched.fresh_for_s, Some(600));
    let [request] = host.requests().try_into().unwrap();
    assert!(request.starts_with("GET /jwks.json HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("accept: application/json\r\n"), "{request}");
}

#[tokio::test]
async fn another_status_than_200_is_no_key_set() {
    for status in [204, 304, 401, 404, 500] {
        let host = Host::with(&format!("{status} Whatever"), "", "").await;
        let refusal = fetch(&host.uri()).await.unwrap_err();
        assert!(matches!(refusal, JwksFetchError::Status(found) if found == status), "{refusal:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = Host::with("200 OK", "", SET).await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("location: {}\r\n", target.uri());
        let host = Host::with(&format!("{status} Moved"), &location, "").await;
        let refusal = fetch(&host.uri()).await.unwrap_err();
        assert!(matches!(refusal, JwksFetchError::Status(found) if found == status), "{refusal:?}");
    }
    assert_eq!(target.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn an_answer_of_the_largest_size_is_taken_and_one_byte_more_is_not() {
    let most = "x".repeat(JWKS_MAX_BYTES);
    let host = Host::with("200 OK", "", &most).await;
    assert_eq!(fetch(&host.uri()).await.unwrap().body.len(), JWKS_MAX_BYTES);
    let host = Host::with("200 OK", "", &format!("{most}x")).await;
    let refusal = fetch(&host.uri()).await.unwrap_err();
    assert!(matches!(refusal, JwksFetchError::TooLarge(JWKS_MAX_BYTES)));
}

#[tokio::test]
async fn a_size_that_is_not_announced_is_limited_while_it_arrives() {
    let body = "x".repeat(JWKS_MAX_BYTES + 1);
    let host = Host::answering(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")).await;
    let refusal = fetch(&host.uri()).await.unwrap_err();
    assert!(matches!(refusal, JwksFetchError::TooLarge(JWKS_MAX_BYTES)), "{refusal:?}");
}

#[tokio::test]
async fn a_host_that_says_nothing_is_given_up() {
    let host = Host::answering("").await;
    let refusal = fetch(&host.uri()).await.unwrap_err();
    assert_eq!(refusal.to_string(), "the host did not answer: it took too long");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_key_set() {
    let host = Host::answering("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{").await;
    let refusal = fetch(&host.uri()).await.unwrap_err();
    assert_eq!(refusal.to_string(), "the host did not answer: the answer broke off");
}

#[tokio::test]
async fn the_reason_names_no_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let refusal = fetch(&format!("http://{address}/")).await.unwrap_err();
    assert_eq!(refusal.to_string(), "the host did not answer: no connection");
}

#[tokio::test]
async fn hosts_inside_are_refused_by_address_and_by_name() {
    let host = Host::with("200 OK", "", SET).await;
    let port = host.address.port();
    let public = HttpJwksFetch::new(Reach::Public, Patience::default());
    for inside in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "localhost"] {
        let refusal = public.fetch(&format!("https://{inside}:{port}/")).await.unwrap_err();
        assert!(matches!(refusal, JwksFetchError::Refused(_)), "{inside}: {refusal:?}");
    }
    assert_eq!(host.requests(), Vec::<String>::new());
}

#[test]
fn only_https_without_credentials_is_called() {
    for (uri, public, anywhere) in [
        ("https://partner.example/jwks", true, true),
        ("http://partner.example/jwks", false, true),
        ("ftp://partner.example/jwks", false, false),
        ("file:///etc/passwd", false, false),
        ("https://user:pass@partner.example/", false, false),
        ("https://user@partner.example/", false, false),
        ("partner.example/jwks", false, false),
        ("", false, false),
        ("https://10.0.0.1/", false, true),
        ("https://[fd00::1]/", false, true),
        ("https://1.1.1.1/", true, true),
    ] {
        assert_eq!(permitted(uri, Reach::Public).is_ok(), public, "{uri}");
        assert_eq!(permitted(uri, Reach::Anywhere).is_ok(), anywhere, "{uri}");
    }
}

#[test]
fn freshness_follows_the_answer() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let date = ("date", "Tue, 14 Nov 2023 22:13:20 GMT");
    for (headers, expected) in [
        (&[][..], None),
        (&[("cache-control", "public")], None),
        (&[("last-modified", "Tue, 14 Nov 2022 22:13:20 GMT")], None),
        (&[("cache-control", "max-age=600")], Some(600)),
        (&[("cache-control", "private, Max-Age=600")], Some(600)),
        (&[("cache-control", "max-age=600, s-maxage=5")], Some(600)),
        (&[("cache-control", "public"), ("cache-control", "max-age=600")], Some(600)),
        (&[("cache-control", "max-age=600"), ("age", "100")], Some(500)),
        (&[("cache-control", "max-age=600"), ("age", "601")], Some(0)),
        (&[("cache-control", "max-age=600"), ("age", "18446744073709551615")], Some(0)),
        (&[("cache-control", "max-age=0")], Some(0)),
        (&[("cache-control", "no-store")], Some(0)),
        (&[("cache-control", "no-store, max-age=600")], Some(0)),
        (&[("cache-control", "no-cache")], Some(0)),
        (&[("cache-control", "max-age=many")], Some(0)),
        (&[date, ("expires", "Tue, 14 Nov 2023 22:23:20 GMT")], Some(600)),
        (&[date, ("expires", "0")], Some(0)),
    ] {
        let map = headers
            .iter()
            .map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_static(value)));
        let found = fresh_for_s("https://partner.example/", &map.collect(), now);
        assert_eq!(found, expected, "{headers:?}");
    }
}
