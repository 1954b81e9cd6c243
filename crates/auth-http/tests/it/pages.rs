//! What holds for every page: its headers, its frame, what its forms believe.

use std::sync::{Arc, Mutex};

use auth_http::{AccentColors, LogoFormat, PageLogo, PageTheme};
use bytes::Bytes;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::browser::{Browser, tags};
use crate::members::request;
use crate::world::{Choice, World};

/// Every address where people are, with a method it takes.
const PAGES: [(&str, &str); 9] = [
    ("GET", "/auth/authorize"),
    ("POST", "/auth/authorize"),
    ("GET", "/auth/login"),
    ("POST", "/auth/login"),
    ("GET", "/auth/patient"),
    ("GET", "/auth/grant"),
    ("GET", "/auth/apps"),
    ("POST", "/auth/apps/revoke"),
    ("POST", "/auth/logout"),
];

#[tokio::test]
async fn no_answer_to_a_browser_can_be_framed_kept_or_made_to_load_what_is_foreign() {
    let world = World::new().await;
    for (method, path) in PAGES.into_iter().chain([("DELETE", "/auth/login"), ("GET", "/auth/login/deeper")]) {
        let answer = world.call(method, path).header("origin", "https://app.example").send().await;
        let policy = answer.header("content-security-policy");
        let rules =
            "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";
        assert_eq!(policy, rules, "{method} {path}");
        assert_eq!(answer.header("x-frame-options"), "DENY", "{method} {path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{method} {path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{method} {path}");
        if PAGES.contains(&(method, path)) {
            assert_eq!(answer.header("access-control-allow-origin"), "", "{method} {path}");
        }
    }
    world.end().await;
}

#[tokio::test]
async fn the_address_of_the_server_says_what_runs_there_and_where_to_go() {
    let world = World::new().await;
    for accept in ["text/html,application/xhtml+xml;q=0.9,*/*;q=0.8", "*/*", "text/html, application/json"] {
        let answer = world.get("/").header("accept", accept).send().await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (200, "text/html; charset=utf-8"),
            "{accept}"
        );
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none';"));
    }
    let page = Browser::new(&world).open("/").await;
    assert_eq!(page.title(), "Start");
    assert!(page.html().contains("https://payer.example/fhir"), "the FHIR base");
    let links: Vec<String> =
        tags(page.html()).into_iter().filter_map(|(name, it)| (name == "a").then(|| it["href"].clone())).collect();
    assert!(links.contains(&"/auth/apps".to_owned()), "{links:?}");
    for link in links.iter().filter(|link| !link.starts_with('#')) {
        assert_eq!(Browser::new(&world).open(link).await.answer.status, 200, "{link}");
    }
    for accept in ["application/json", "application/fhir+json"] {
        let answer = world.get("/").header("accept", accept).send().await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
        assert_eq!(answer.body["fhir_base"], "https://payer.example/fhir");
        for path in ["smart_configuration", "capability_statement", "health"] {
            let address = answer.body[path].as_str().unwrap().strip_prefix("https://payer.example").unwrap();
            assert_eq!(world.get(address).send().await.status, 200, "{path}");
        }
    }
    assert_eq!(world.call("DELETE", "/").by_root().send().await.outcome().0, 405, "the native endpoint is as it was");
    world.end().await;
}

#[tokio::test]
async fn a_page_needs_no_script_and_loads_one_stylesheet() {
    let world = World::new().await;
    let page = Browser::new(&world).open("/auth/login").await;
    assert_eq!(page.answer.status, 200);
    assert_eq!(page.answer.header("content-type"), "text/html; charset=utf-8");
    let tags = tags(page.html());
    assert!(
        tags.iter().all(|(name, attributes)| name != "script" && !attributes.keys().any(|key| key.starts_with("on")))
    );
    assert!(tags.iter().any(|(name, attributes)| name == "html" && attributes["lang"] == "en"));
    assert!(
        tags.iter()
            .any(|(name, attributes)| name == "meta" && attributes.get("name").is_some_and(|it| it == "viewport"))
    );
    let sheets: Vec<_> = tags.iter().filter(|(_, it)| it.get("rel").is_some_and(|rel| rel == "stylesheet")).collect();
    assert_eq!(sheets.len(), 1);

    let sheet = world.get(&sheets[0].1["href"]).send().await;
    assert_eq!(sheet.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(sheet.header("cache-control"), "public, max-age=31536000, immutable");
    let again = world.get(&sheets[0].1["href"]).header("if-none-match", sheet.header("etag")).send().await;
    assert_eq!((again.status.as_u16(), again.length), (304, 0));
    assert_eq!(world.get("/auth/style/other.css").send().await.oauth_error().0, 404);
    world.end().await;
}

#[tokio::test]
async fn every_field_has_a_label_and_every_control_of_a_group_its_legend() {
    let world = World::new().await;
    let page = Browser::new(&world).open("/auth/login").await;
    let tags = tags(page.html());
    let labels: Vec<_> =
        tags.iter().filter_map(|(name, it)| (name == "label").then(|| it.get("for")).flatten()).collect();
    for (_, input) in tags.iter().filter(|(name, it)| name == "input" && it["type"] != "hidden") {
        assert!(labels.contains(&&input["id"]), "{input:?}");
    }
    for landmark in ["header", "main", "footer", "h1"] {
        assert_eq!(tags.iter().filter(|(name, _)| name == landmark).count(), 1, "{landmark}");
    }
    world.end().await;
}

#[tokio::test]
async fn the_host_of_an_organization_s_logo_is_the_only_one_a_page_loads_from() {
    let logo = Some(PageLogo::Url("https://cdn.lake.example/a/logo.svg".to_owned()));
    let world = World::with(Choice { look: PageTheme { logo, ..PageTheme::default() }, ..Choice::default() }).await;
    let answer = world.get("/auth/login").send().await;
    assert!(answer.text.contains("https://cdn.lake.example/a/logo.svg"));
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("img-src 'self' https://cdn.lake.example data:;"), "{policy}");
    world.end().await;
}

#[tokio::test]
async fn an_app_s_host_does_not_learn_that_a_member_looks_at_its_page() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.public_app_with("diary", &json!({"details": {"logo_uri": "https://diary.example/logo.png"}})).await;
    let browser = Browser::new(&world);
    let consent = browser.open_as("amy", &request("diary", "launch/patient patient/Patient.rs")).await;
    assert_eq!(consent.path(), "/auth/grant");
    browser.allow(&consent).await;
    for page in [consent, browser.open("/auth/apps").await] {
        assert!(page.html().contains("Health Diary") && !page.html().contains("logo.png"));
        assert!(tags(page.html()).iter().all(|(name, _)| name != "img"));
    }
    world.end().await;
}

#[tokio::test]
async fn an_organization_s_name_logo_and_colours_are_on_its_pages() {
    let accents = AccentColors::new(Some("#7a0019".parse().unwrap()), Some("#ffb3c1".parse().unwrap())).unwrap();
    let look = PageTheme {
        title: "Lake & Shore <Health>".parse().unwrap(),
        logo: Some(PageLogo::File {
            bytes: Bytes::from_static(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
            kind: LogoFormat::Svg,
        }),
        accents,
        help: Some("mailto:help@lake.example".to_owned()),
    };
    let world = World::with(Choice { look, ..Choice::default() }).await;
    let page = Browser::new(&world).open("/auth/login").await;
    assert!(page.html().contains("Lake &#38; Shore &#60;Health&#62;</title>"));
    let tags = tags(page.html());
    let logo = tags.iter().find(|(name, _)| name == "img").unwrap();
    assert_eq!(logo.1["alt"], "Lake & Shore <Health>");
    let picture = world.get(&logo.1["src"]).send().await;
    assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, "image/svg+xml"));
    assert!(picture.header("content-security-policy").contains("sandbox"), "a drawing may hold script");
    assert!(tags.iter().any(|(name, it)| name == "a" && it["href"] == "mailto:help@lake.example"));
    let (_, sheet) = tags.iter().find(|(_, it)| it.get("rel").is_some_and(|rel| rel == "stylesheet")).unwrap();
    let css = world.get(&sheet["href"]).send().await.text;
    assert!(css.contains("--accent-on-light: #7a0019") && css.contains("--accent-on-dark: #ffb3c1"));
    world.end().await;
}

#[tokio::test]
async fn a_form_without_the_mark_of_its_browser_is_refused_with_a_page() {
    let world = World::new().await;
    let (own, other) = (Browser::new(&world), Browser::new(&world));
    let form = own.open("/auth/login").await.form("/auth/login");
    let foreign = other.open("/auth/login").await.form("/auth/login").value("csrf").to_owned();
    for forged in [form.clone().with("csrf", ""), form.clone().without("csrf"), form.clone().with("csrf", &foreign)] {
        let answer = own.submit(&forged).await;
        assert_eq!(answer.answer.status, 403, "{forged:?}");
        assert_eq!(answer.title(), "This page is out of date");
        assert_eq!(answer.answer.header("content-type"), "text/html; charset=utf-8");
    }
    let moved = form.to("/auth/logout");
    assert_eq!(own.submit(&moved).await.answer.status, 403, "the mark of one form opens no other");
    world.end().await;
}

#[tokio::test]
async fn a_form_that_the_browser_says_is_another_site_s_is_refused_whatever_its_mark() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let form = browser.open("/auth/login").await.form("/auth/login");
    let pairs = [("csrf", form.value("csrf")), ("username", "a"), ("password", "b")];
    let send = async |name: &str, value: &str| {
        let call = world.post("/auth/login").header("host", "payer.example").header(name, value);
        browser.send(call.form(&pairs)).await.text
    };
    let is_refused = |html: String| html.contains("out of date");
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://app.example"),
        ("origin", "http://payer.example.evil.example"),
    ] {
        assert!(is_refused(send(name, value).await), "{name}: {value}");
    }
    for (name, value) in [("sec-fetch-site", "same-origin"), ("origin", "https://payer.example"), ("origin", "null")] {
        assert!(!is_refused(send(name, value).await), "{name}: {value}");
    }
    world.end().await;
}

#[tokio::test]
async fn the_cookie_of_a_browser_is_its_host_s_alone_and_stays() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let first = browser.get("/auth/login").await;
    let set = first.header("set-cookie");
    assert!(set.starts_with("__Host-browser=") && !set.contains("Max-Age"), "{set}");
    for attribute in ["HttpOnly", "SameSite=Lax", "Secure", "Path=/"] {
        assert!(set.contains(attribute), "{set}");
    }
    assert_eq!(browser.get("/auth/login").await.header("set-cookie"), "", "it has one already");
    world.end().await;
}

#[tokio::test]
async fn a_refusal_where_people_are_is_a_page_with_a_reference_and_a_cause() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let call = world.get("/auth/authorize?client_id=nobody").header("x-request-id", "seen-in-the-log");
    let answer = browser.send(call).await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (400, "text/html; charset=utf-8"));
    assert!(answer.text.contains("This app cannot be connected"));
    assert!(answer.text.contains("seen-in-the-log") && answer.text.contains("invalid_client"));
    let head = world.call("HEAD", "/auth/login").send().await;
    assert_eq!((head.status.as_u16(), head.length), (200, 0));
    let wrong = world.call("DELETE", "/auth/login").send().await;
    assert_eq!((wrong.status.as_u16(), wrong.header("content-type")), (405, "text/html; charset=utf-8"));
    world.end().await;
}

#[tokio::test]
async fn the_reference_of_an_error_page_is_in_the_log_at_the_default_level_with_the_cause() {
    let world = World::new().await;
    let log = Log::default();
    let default = tracing_subscriber::fmt().with_max_level(tracing::Level::INFO).with_ansi(false);
    let _guard = tracing::subscriber::set_default(default.with_writer(log.clone()).finish());
    for (id, path, cause) in [
        ("reference-1", "/auth/authorize?client_id=nobody", "the app is not known here"),
        ("reference-2", "/auth/grant?transaction=AAAA", "the request cannot be read any more"),
        ("reference-3", "/auth/login/deeper", "there is nothing at this address"),
    ] {
        let page = world.get(path).header("x-request-id", id).send().await;
        assert!(page.text.contains(id), "{path}");
        let logged = log.text();
        let line = logged.lines().find(|line| line.contains(id));
        assert!(line.is_some_and(|line| line.contains(cause)), "{path}: {logged}");
    }
    assert!(!log.text().contains("AAAA"), "nothing of the query");
    world.end().await;
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_page_that_fails_says_nothing_of_the_inside() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let form = browser.open("/auth/login").await.form("/auth/login").with("username", "amy").with("password", "x");
    world.break_database().await;
    let page = browser.submit(&form).await;
    assert_eq!(page.answer.status, 503);
    for inner in ["pool", "sql", "SELECT", "closed"] {
        assert!(!page.html().to_lowercase().contains(&inner.to_lowercase()), "{inner}: {page:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_request_sent_as_a_form_comes_again_with_get() {
    let world = World::new().await;
    let fields = [("client_id", "a b"), ("state", "x&y"), ("scope", "openid patient/*.rs")];
    let answer = world.post("/auth/authorize").header("origin", "https://app.example").form(&fields).send().await;
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), "/auth/authorize?client_id=a+b&state=x%26y&scope=openid+patient%2F*.rs");
    let json = world.post("/auth/authorize").text("application/json", "{}").send().await;
    assert_eq!(json.status, 400);
    world.end().await;
}

#[tokio::test]
async fn too_many_requests_for_pages_are_refused_with_a_page() {
    let world = World::with(Choice { rate_limit_per_minute: 2, ..Choice::default() }).await;
    let browser = Browser::new(&world);
    for _ in 0..2 {
        assert_eq!(browser.get("/auth/login").await.status, 200);
    }
    let page = browser.open("/auth/login").await;
    assert_eq!((page.answer.status.as_u16(), page.answer.header("retry-after")), (429, "30"));
    assert_eq!(page.title(), "Too many attempts");
    world.end().await;
}
