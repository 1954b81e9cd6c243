use std::io::Read as _;

use flate2::read::GzDecoder;
use http_body_util::BodyExt as _;

use super::*;

const FILES: &[(&str, &[u8])] = &[
    ("app-1.js", b"start(); start(); start(); start(); start(); start(); start(); start(); start();"),
    ("dot-2.png", b"\x89PNG"),
    ("index.html", b"<!doctype html><script src=\"/static/web/app-1.js\"></script>"),
];

async fn body(response: Response) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
}

#[tokio::test]
async fn a_file_is_compressed_for_who_takes_it_and_cached_for_good() {
    let client = EmbeddedWebClient::of(FILES);
    let plain = client.serve_file("app-1.js", &HeaderMap::new()).unwrap();
    assert_eq!(plain.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
    assert_eq!(
        (&plain.headers()[CONTENT_TYPE], &plain.headers()[VARY]),
        (&HeaderValue::from_static("text/javascript; charset=utf-8"), &HeaderValue::from_static("accept-encoding"))
    );
    assert!(!plain.headers().contains_key(CONTENT_ENCODING));
    assert_eq!(body(plain).await, FILES[0].1);
    let packed = client.serve_file("app-1.js", &headers(&[(ACCEPT_ENCODING, "br, gzip;q=0.5")])).unwrap();
    assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
    let bytes = body(packed).await;
    let mut unpacked = Vec::new();
    GzDecoder::new(&bytes[..]).read_to_end(&mut unpacked).unwrap();
    assert!(bytes.len() < FILES[0].1.len() && unpacked == FILES[0].1);
    for refused in ["br", "gzip;q=0", "gzip; q=0.0", ""] {
        let sent = client.serve_file("app-1.js", &headers(&[(ACCEPT_ENCODING, refused)])).unwrap();
        assert!(!sent.headers().contains_key(CONTENT_ENCODING), "{refused}");
    }
    let picture = client.serve_file("dot-2.png", &headers(&[(ACCEPT_ENCODING, "gzip")])).unwrap();
    assert!(!picture.headers().contains_key(CONTENT_ENCODING) && picture.headers()[CONTENT_TYPE] == "image/png");
}

#[tokio::test]
async fn a_file_that_is_known_is_not_sent_again() {
    let client = EmbeddedWebClient::of(FILES);
    let etag = client.serve_file("app-1.js", &HeaderMap::new()).unwrap().headers()[ETAG].clone();
    let mut known = HeaderMap::new();
    known.insert(IF_NONE_MATCH, etag.clone());
    let response = client.serve_file("app-1.js", &known).unwrap();
    assert_eq!((response.status(), &response.headers()[ETAG]), (StatusCode::NOT_MODIFIED, &etag));
    assert!(body(response).await.is_empty());
    let other = client.serve_file("dot-2.png", &known).unwrap();
    assert_eq!(other.status(), StatusCode::OK);
}

#[tokio::test]
async fn the_page_is_not_cached_and_allows_no_script_but_files_of_this_server() {
    let client = EmbeddedWebClient::of(FILES);
    let page = client.serve_start_page(&headers(&[(IF_NONE_MATCH, "*")]));
    assert_eq!(
        (page.status(), &page.headers()[CACHE_CONTROL]),
        (StatusCode::OK, &HeaderValue::from_static("no-store"))
    );
    let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
    for part in ["default-src 'self'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{part}");
    }
    assert!(!policy.contains("http") && !policy.contains("unsafe-eval"));
    assert!(body(page).await.starts_with(b"<!doctype html>"));
    assert!(client.serve_file("index.html", &HeaderMap::new()).is_none());
    assert!(client.serve_file("../index.html", &HeaderMap::new()).is_none());
}

#[test]
fn the_embedded_page_names_files_that_are_embedded_and_has_nothing_inline() {
    let client = EmbeddedWebClient::load_and_compress();
    let page = std::str::from_utf8(client.index.bytes).unwrap();
    let named: Vec<_> = page.split("/static/web/").skip(1).filter_map(|rest| rest.split(['"', '\'']).next()).collect();
    assert!(!named.is_empty(), "{page}");
    for name in named {
        assert!(client.files.contains_key(name), "{name}");
    }
    let scripts = page.split("<script").skip(1);
    assert!(scripts.into_iter().all(|script| script.split('>').next().is_some_and(|tag| tag.contains("src="))));
    for inline in ["<style", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!page.contains(inline), "{inline}");
    }
}

#[test]
fn the_names_of_files_hold_a_hash() {
    for name in EmbeddedWebClient::load_and_compress().files.keys() {
        let has_hash =
            name.split(['-', '.']).any(|part| part.len() >= 8 && part.bytes().any(|byte| byte.is_ascii_digit()));
        assert!(has_hash, "{name} is cached for good and has no hash in its name");
    }
}
