//! What an app of a member costs: the redirect with a code, the tokens for it, and their renewal.
//!
//! Fifty members have signed in and allowed one public app with PKCE by the pages a browser shows; what is measured is
//! what comes after that, day after day. They take turns, because no user has 32 browsers that ask at the same moment,
//! which would wait for each other at the member's one grant. Every redirect finds the stored grant and leaves a code,
//! every code begins a family of refresh tokens, every renewal replaces one: each is committed before its answer. No
//! identity token is asked for, so that the one signature is the access token's. Beside each stands the bare server
//! that answers when what it was sent is on the disk, and that signature.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use aws_lc_rs::digest;
use serde_json::{Value, json};

use super::super::{
    Bench, Row, Target,
    bare::{self, Bare},
    cpu::Stopwatch,
    crypto::{Algorithm, encoded},
    limits::Signatures,
    load::{self, Callers, Reply, Wire},
    slices::Medians,
};
use super::{
    Cost, cost,
    deployment::Deployment,
    partner::{decoded, random_text},
    slice_us,
};

/// Requests of one slice. The codes of all slices are redeemed within their minute: together they take seconds.
const COUNT: usize = 500;
/// More than there are connections, fewer than the 60 that may sign in from one address at once.
const MEMBERS: usize = 50;
/// Answers of the bare server in one slice.
const JOURNALED: usize = 4_000;
/// What the bare server took for an answer after a shared sync, and a signature, when our rows first met what they
/// are held to: the issue gives no limit beside it.
const JOURNAL_THEN_US: f64 = 13.3;
const SIGNATURE_THEN_US: f64 = 20.0;
/// What a code or a refresh token may cost beyond the signature.
const BEYOND_SIGNATURE_US: f64 = 300.0;
const REDIRECT_TARGET: Target = Target::beside(JOURNAL_THEN_US, 150.0);
const TOKENS_TARGET: Target =
    Target::beside(JOURNAL_THEN_US + SIGNATURE_THEN_US, BEYOND_SIGNATURE_US + SIGNATURE_THEN_US);

pub(super) const APP: &str = "bench-app";
const SCOPE: &str = "launch/patient patient/*.rs offline_access";
/// Nobody follows it: the code is read from the redirect.
const REDIRECT_URI: &str = "https://app.example/callback";
pub(super) const LOGIN: &str = "/auth/login";
const GRANT: &str = "/auth/grant";

/// The redirect, the tokens for its code, and their renewal.
///
/// # Errors
/// When an answer is not the right one.
pub(super) fn rows(
    bench: &Bench<'_>,
    deployment: &Deployment<'_>,
    (limits, folder): (&Signatures, &Path),
) -> Result<Vec<Row>> {
    let app = App::register(deployment)?;
    let browsers = (0..MEMBERS).map(|number| app.let_in(&format!("bench-member-{number}")));
    let browsers = browsers.collect::<Result<Vec<_>>>()?;
    let mut callers = Callers::open(deployment.address())?;
    let mut journal = Journal::start(bench, folder)?;

    let visits = browsers.iter().cycle().take(COUNT).map(|cookie| app.visit(cookie));
    let visits = visits.collect::<Result<Vec<_>>>()?;
    let unmeasured = callers.exchange(&visits)?;
    let mut codes = Vec::new();
    let redirects = |_| measured_us(deployment, &mut callers, &visits, &mut codes);
    // Nothing is signed.
    let redirect = cost(deployment, COUNT, redirects, || journal.slice_us())?;

    let mut signed = || Ok(journal.slice_us()? + limits.slice_us(bench, Signatures::sign_es256)?);
    app.renewals(&callers.exchange(&app.redemptions(&unmeasured)?)?)?;
    let redeemed = app.redemptions(&codes)?;
    let mut families = Vec::new();
    let redemptions = |slice: usize| {
        let own = redeemed.get(slice * COUNT..(slice + 1) * COUNT).context("a slice has no codes")?;
        measured_us(deployment, &mut callers, own, &mut families)
    };
    let redemption = cost(deployment, COUNT, redemptions, &mut signed)?;

    // As many families as there are requests in a slice; each answer has the token of the next slice.
    let mut latest = callers.exchange(&app.renewals(families.get(..COUNT).context("no families")?)?)?;
    let renewals = |_| {
        let requests = app.renewals(&latest)?;
        latest.clear();
        measured_us(deployment, &mut callers, &requests, &mut latest)
    };
    let renewal = cost(deployment, COUNT, renewals, &mut signed)?;

    let mut rows = table_rows(deployment, "authorize → code, grant stored", &redirect, REDIRECT_TARGET);
    rows.extend(table_rows(deployment, "code → ES256 and refresh token", &redemption, TOKENS_TARGET));
    rows.extend(table_rows(deployment, "refresh → ES256 and refresh token", &renewal, TOKENS_TARGET));
    Ok(rows)
}

/// An access token of the app for the record of a member, who signs in for it.
///
/// # Errors
/// When an answer is not the right one.
pub(super) fn token(deployment: &Deployment<'_>, member: &str) -> Result<String> {
    let app = App::register(deployment)?;
    let cookie = app.let_in(member)?;
    let redirect = load::reply(deployment.address(), &app.visit(&cookie)?)?;
    let redemption = app.redemptions(std::slice::from_ref(&redirect))?;
    let answer = load::ask(deployment.address(), redemption.first().context("there is no request")?)?;
    let answer: Value = serde_json::from_slice(&answer)?;
    let token = answer.get("access_token").and_then(Value::as_str);
    token.map(str::to_owned).context("there is no access token")
}

/// The bare server that answers when what was sent is on the disk.
struct Journal {
    bare: Bare,
    callers: Callers,
    request: [Wire; 1],
}

impl Journal {
    fn start(bench: &Bench<'_>, folder: &Path) -> Result<Self> {
        bench.take_measured_core()?;
        let bare = Bare::start(&bare::Kind::Journal(folder.join("journal")))?;
        bench.take_other_core()?;
        let request = [load::post_form(bare.address(), "/", &[("code", &random_text()?)])];
        let mut callers = Callers::open(bare.address())?;
        callers.drive(&request, JOURNALED)?;
        Ok(Self { bare, callers, request })
    }

    fn slice_us(&mut self) -> Result<f64> {
        slice_us(self.bare.process(), &mut self.callers, &self.request, JOURNALED)
    }
}

/// What each request took from the server; the replies are kept.
fn measured_us(
    deployment: &Deployment<'_>,
    callers: &mut Callers,
    requests: &[Wire],
    replies: &mut Vec<Reply>,
) -> Result<f64> {
    let watch = Stopwatch::start(deployment.process())?;
    let answered = callers.exchange(requests)?;
    let each_us = watch.micros_each(u32::try_from(requests.len())?)?;
    replies.extend(answered);
    Ok(each_us)
}

fn table_rows(deployment: &Deployment<'_>, work: &str, cost: &Cost, target: Target) -> Vec<Row> {
    let row = |work: &str| Row { engine: deployment.engine(), ..Row::cpu(work) };
    let Medians { limit, ours } = cost.server;
    let mut rows = vec![Row { limit: Some(limit), ours: Some(ours), target: Some(target), ..row(work) }];
    if cost.postgres_us.is_some() {
        rows.push(Row { ours: cost.postgres_us, ..row(&format!("{work}: Postgres itself")) });
    }
    rows
}

/// The app that members let in.
struct App<'d, 'p> {
    deployment: &'d Deployment<'p>,
    /// What it proves that it asked with.
    verifier: String,
}

impl<'d, 'p> App<'d, 'p> {
    fn register(deployment: &'d Deployment<'p>) -> Result<Self> {
        deployment.put(&json!({
            "resourceType": "Client",
            "id": APP,
            "type": "smart-app",
            "active": true,
            "grant_types": ["code"],
            "auth": {"authorization_code": {
                "redirect_uri": REDIRECT_URI,
                "token_format": "jwt",
                "access_token_expiration": 600,
                "access_token_signing_alg": Algorithm::Es256.name(),
                "refresh_token": true,
                "secret_required": false,
                "pkce": true,
            }},
        }))?;
        Ok(Self { deployment, verifier: random_text()? + &random_text()? })
    }

    /// Registers a member, signs it in, and allows all that is asked for; the session, as the browser sends it.
    fn let_in(&self, member: &str) -> Result<String> {
        let (server, password) = (self.deployment.address(), random_text()?);
        register(self.deployment, member, &password)?;
        let form = SignIn::begin(self.deployment)?;
        let signed_in = load::reply(server, &form.attempt(member, &password))?;
        ensure!(signed_in.status == "303", "the sign-in answered {}", signed_in.status);
        let cookie = cookie(&signed_in, "asid")?;

        let asked = load::reply(server, &self.visit(&cookie)?)?;
        let transaction = told(&asked, "transaction")?;
        let page = load::get(server, &format!("{GRANT}?{}", query(&[("transaction", &transaction)])));
        let page = String::from_utf8(load::ask(server, &in_browser(page, &cookie))?)?;
        let (_, form) = page.split_once(&format!("{GRANT}\"")).context("the consent page has no form")?;
        let csrf = values(form, "csrf").next().context("the consent page has no mark")?;
        let mut fields = vec![("csrf", csrf), ("transaction", &transaction), ("decision", "allow")];
        fields.extend(values(form, "scope").map(|scope| ("scope", scope)));
        let allowed = load::reply(server, &in_browser(load::post_form(server, GRANT, &fields), &cookie))?;
        told(&allowed, "code").context("the app was not let in")?;
        self.check(member, &cookie)?;
        Ok(cookie)
    }

    /// The app sends a browser to be let in.
    fn visit(&self, cookie: &str) -> Result<Wire> {
        let challenge = encoded(digest::digest(&digest::SHA256, self.verifier.as_bytes()).as_ref());
        let query = query(&[
            ("response_type", "code"),
            ("client_id", APP),
            ("redirect_uri", REDIRECT_URI),
            ("scope", SCOPE),
            ("state", &random_text()?),
            ("aud", &format!("{}/fhir", self.deployment.base_url())),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        Ok(in_browser(load::get(self.deployment.address(), &format!("/auth/authorize?{query}")), cookie))
    }

    /// The app redeems the codes that were handed out.
    fn redemptions(&self, redirects: &[Reply]) -> Result<Vec<Wire>> {
        let redemption = |redirect| {
            let fields = [
                ("grant_type", "authorization_code"),
                ("code", &told(redirect, "code")?),
                ("redirect_uri", REDIRECT_URI),
                ("code_verifier", &self.verifier),
                ("client_id", APP),
            ];
            Ok(load::post_form(self.deployment.address(), "/auth/token", &fields))
        };
        redirects.iter().map(redemption).collect()
    }

    /// The app uses the refresh tokens that were handed out.
    fn renewals(&self, answers: &[Reply]) -> Result<Vec<Wire>> {
        let renewal = |answer: &Reply| {
            let answer: Value = serde_json::from_slice(&answer.clone().accepted()?)?;
            let token = answer.get("refresh_token").and_then(Value::as_str).context("there is no refresh token")?;
            let fields = [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", APP)];
            Ok(load::post_form(self.deployment.address(), "/auth/token", &fields))
        };
        answers.iter().map(renewal).collect()
    }

    /// Whether both token requests give what is meant to be measured.
    fn check(&self, member: &str, cookie: &str) -> Result<()> {
        let server = self.deployment.address();
        let redirect = load::reply(server, &self.visit(cookie)?)?;
        let mut requests = self.redemptions(std::slice::from_ref(&redirect))?;
        for _ in 0..2 {
            let answer = load::reply(server, requests.first().context("there is no request")?)?;
            requests = self.renewals(std::slice::from_ref(&answer))?;
            is_meant(&serde_json::from_slice(&answer.body)?, member)?;
        }
        Ok(())
    }
}

fn register(deployment: &Deployment<'_>, member: &str, password: &str) -> Result<()> {
    let name = json!([{"family": "Shaw", "given": ["Amy"]}]);
    deployment.put_fhir(&json!({"resourceType": "Patient", "id": member, "name": name}))?;
    deployment.put(&json!({
        "resourceType": "User",
        "id": member,
        "userName": member,
        "password": password,
        "fhirUser": {"reference": format!("Patient/{member}")},
    }))
}

fn in_browser(request: Wire, cookie: &str) -> Wire {
    load::with_header(request, "cookie", cookie)
}

/// The page to sign in at, as one browser got it.
pub(super) struct SignIn<'d, 'p> {
    deployment: &'d Deployment<'p>,
    cookie: String,
    csrf: String,
}

impl<'d, 'p> SignIn<'d, 'p> {
    /// Opens it.
    ///
    /// # Errors
    /// When it is not what it should be.
    pub(super) fn begin(deployment: &'d Deployment<'p>) -> Result<Self> {
        let page = load::reply(deployment.address(), &load::get(deployment.address(), LOGIN))?;
        let cookie = cookie(&page, "browser")?;
        let text = String::from_utf8(page.accepted()?)?;
        let csrf = values(&text, "csrf").next().context("the sign-in page has no mark")?.to_owned();
        Ok(Self { deployment, cookie, csrf })
    }

    /// Its form, filled in.
    pub(super) fn attempt(&self, name: &str, password: &str) -> Wire {
        let fields = [("csrf", self.csrf.as_str()), ("username", name), ("password", password)];
        in_browser(load::post_form(self.deployment.address(), LOGIN, &fields), &self.cookie)
    }
}

/// Whether a token answer has an ES256 access token for the member, a refresh token, and no identity token.
fn is_meant(answer: &Value, member: &str) -> Result<()> {
    let token = answer.get("access_token").and_then(Value::as_str).context("there is no access token")?;
    let header = token.split('.').next().and_then(decoded).context("the access token is no JWT")?;
    let algorithm = Algorithm::Es256.name();
    ensure!(header.get("alg").and_then(Value::as_str) == Some(algorithm), "the token is not {algorithm}: {header}");
    ensure!(answer.get("patient").and_then(Value::as_str) == Some(member), "it is nobody's record");
    ensure!(answer.get("refresh_token").is_some_and(Value::is_string), "there is no refresh token");
    ensure!(answer.get("id_token").is_none(), "there is an identity token, which costs a signature more");
    Ok(())
}

/// A parameter of the address that a browser is sent to.
fn told(redirect: &Reply, name: &str) -> Result<String> {
    let (status, body) = (&redirect.status, String::from_utf8_lossy(&redirect.body));
    let location = redirect.fields("location").next();
    let location = location.with_context(|| format!("answered {status} without a redirect: {body}"))?;
    let (_, query) = location.split_once('?').unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let (_, value) = pairs.next().with_context(|| format!("there is no {name} in {location}"))?;
    Ok(value.into_owned())
}

/// A cookie as a browser sends it back.
fn cookie(reply: &Reply, name: &str) -> Result<String> {
    let pairs = reply.fields("set-cookie").filter_map(|line| line.split(';').next());
    let mut named = pairs.filter(|pair| pair.split_once('=').is_some_and(|(key, _)| key == name));
    named.next().map(str::to_owned).with_context(|| format!("status {} sets no cookie {name}", reply.status))
}

/// The values of the fields of this name in a page of ours, which need no unescaping.
fn values<'t>(page: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let start = format!("name=\"{name}\" value=\"");
    let fields: Vec<&str> = page.split(&start).skip(1).collect();
    fields.into_iter().filter_map(|rest| rest.split_once('"')).map(|(value, _)| value)
}

fn query(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_form_are_found_by_name() {
        let page =
            r#"<input name="csrf" value="m1"><input name="scope" value="a"><input name="scope" value="b" checked>"#;
        assert_eq!(values(page, "scope").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(values(page, "csrf").collect::<Vec<_>>(), ["m1"]);
        assert_eq!(values(page, "transaction").count(), 0);
    }

    #[test]
    fn only_the_tokens_that_are_meant_are_measured() {
        let jwt = |algorithm: &str| format!("{}.e30.c2ln", encoded(json!({"alg": algorithm}).to_string().as_bytes()));
        let good = json!({"access_token": jwt("ES256"), "refresh_token": "r", "patient": "amy"});
        assert!(is_meant(&good, "amy").is_ok());
        for (name, value) in [
            ("access_token", json!(jwt("ES384"))),
            ("access_token", json!("opaque")),
            ("refresh_token", Value::Null),
            ("patient", json!("somebody-else")),
            ("id_token", json!("one more")),
        ] {
            let mut answer = good.clone();
            answer[name] = value;
            assert!(is_meant(&answer, "amy").is_err(), "{name}");
        }
    }
}
