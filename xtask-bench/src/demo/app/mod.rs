//! A small app for the member's side: sign-in, consent, data and revocation, in a browser.
//!
//! It is what an app's developer would write first: a public app with PKCE at a loopback address, three calls of the
//! authorization server, and pages of plain HTML. It keeps one member's token in memory and is no example of sessions.

mod listen;
mod pages;

use std::{
    net::TcpListener,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result, ensure};
use aws_lc_rs::digest;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{
    auth::Auth,
    http::{Call, done},
    partner,
};
use listen::{Request, Response, Serving};

const CLIENT: &str = "sample-app";
const NAME: &str = "Health Diary";
const MEMBER: &str = "ada";
const SCOPE: &str =
    "launch/patient openid fhirUser patient/Patient.rs patient/Observation.rs patient/AllergyIntolerance.rs";
/// What the app reads, each under its heading.
const READS: [(&str, &str); 3] = [
    ("Your name and contact details", "/fhir/Patient/ada"),
    ("Your test results", "/fhir/Observation"),
    ("Your allergies", "/fhir/AllergyIntolerance"),
];
/// Characters of the member's password: enough to be none of the common ones, few enough to type.
const PASSWORD_LENGTH: usize = 16;

/// The app while it serves; dropping it ends it.
pub(super) struct App {
    address: String,
    password: String,
    serving: Serving<Site>,
}

/// The app's pages and what they know.
struct Site {
    /// The authorization server's address.
    server: String,
    redirect_uri: String,
    session: Mutex<Session>,
}

/// The one member the app serves.
#[derive(Default)]
struct Session {
    /// `state` and the PKCE verifier of a request that is on its way.
    pending: Option<(String, String)>,
    /// The answer of the token endpoint.
    tokens: Option<Value>,
    /// What went wrong the last time.
    trouble: Option<String>,
}

/// Registers the app and a member with some data, and serves the app on a free port.
///
/// # Errors
/// When a call is refused, or no port can be had.
pub(super) fn start(auth: &Auth) -> Result<App> {
    let listener = TcpListener::bind("127.0.0.1:0").context("the sample app finds no free port")?;
    let address = format!("http://{}", listener.local_addr()?);
    let redirect_uri = format!("{address}/callback");
    let mut password = partner::secret()?;
    password.truncate(PASSWORD_LENGTH);
    register(auth, &redirect_uri, &password)?;
    let site = Site { server: auth.url(""), redirect_uri, session: Mutex::default() };
    let serving = Serving::start(listener, site, Site::answer)?;
    Ok(App { address, password, serving })
}

fn register(auth: &Auth, redirect_uri: &str, password: &str) -> Result<()> {
    println!("\nA member's side: a small app, and a member with some data.");
    for (path, document) in documents() {
        done("The administrator writes the member's data", &auth.as_root(Call::put_fhir(auth.url(path), &document)))?;
    }
    let user = json!({
        "resourceType": "User", "id": MEMBER, "userName": MEMBER, "password": password,
        "name": {"givenName": "Ada", "familyName": "Lovelace"}, "fhirUser": {"reference": "Patient/ada"},
    });
    done("… the member's account", &auth.as_root(Call::put(auth.url("/User/ada"), &user)))?;
    let client = json!({
        "resourceType": "Client", "id": CLIENT, "type": "smart-app", "name": NAME, "grant_types": ["code"],
        "auth": {"authorization_code": {
            "redirect_uri": redirect_uri, "token_format": "jwt", "access_token_expiration": 600,
            "secret_required": false, "pkce": true,
        }},
    });
    done("… the app", &auth.as_root(Call::put(auth.url("/Client/sample-app"), &client)))?;
    let policy = json!({
        "resourceType": "AccessPolicy", "id": CLIENT, "engine": "allow", "link": [{"reference": "Client/sample-app"}],
    });
    done(
        "… and a policy that lets the app in",
        &auth.as_root(Call::put(auth.url("/AccessPolicy/sample-app"), &policy)),
    )?;
    Ok(())
}

fn documents() -> [(&'static str, Value); 3] {
    [
        (
            "/fhir/Patient/ada",
            json!({
                "resourceType": "Patient", "id": "ada", "gender": "female", "birthDate": "1985-12-10",
                "name": [{"family": "Lovelace", "given": ["Ada"]}],
                "address": [{"line": ["12 St James's Square"], "city": "Springfield", "state": "IL"}],
            }),
        ),
        (
            "/fhir/Observation/ada-hemoglobin",
            json!({
                "resourceType": "Observation", "id": "ada-hemoglobin", "status": "final",
                "category": [{"coding": [{
                    "system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory",
                }]}],
                "code": {"coding": [{"system": "http://loinc.org", "code": "718-7", "display": "Hemoglobin"}]},
                "subject": {"reference": "Patient/ada"}, "effectiveDateTime": "2026-05-04",
                "valueQuantity": {"value": 13.6, "unit": "g/dL"},
            }),
        ),
        (
            "/fhir/AllergyIntolerance/ada-penicillin",
            json!({
                "resourceType": "AllergyIntolerance", "id": "ada-penicillin", "code": {"text": "Penicillin"},
                "patient": {"reference": "Patient/ada"},
            }),
        ),
    ]
}

impl App {
    /// Tries the way to the sign-in page, and prints where to begin.
    ///
    /// # Errors
    /// When the app or the sign-in page does not answer as it should.
    pub(super) fn show(&self) -> Result<()> {
        done("The app's page", &Call::get(format!("{}/", self.address)))?;
        let asked = Call::get(self.serving.site().begin()?).send()?;
        let sign_in = asked.location.filter(|location| location.contains("/auth/login?"));
        let sign_in = sign_in.context("the authorization request did not lead to the sign-in page")?;
        let page = Call::get(absolute(&self.serving.site().server, &sign_in)).send()?;
        ensure!(page.status == 200, "the sign-in page answered {}", page.status);

        println!("\nTo try in a browser:");
        println!("  open          {}/", self.address);
        println!("  sign in as    {MEMBER}");
        println!("  password      {}", self.password);
        println!("Choose Connect, sign in, and untick what {NAME} should not see: the page shows what it gets.");
        println!("Take it back at {}/auth/apps, and reload the app's page.", self.serving.site().server);
        Ok(())
    }
}

fn absolute(server: &str, location: &str) -> String {
    if location.starts_with('/') { format!("{server}{location}") } else { location.to_owned() }
}

impl Site {
    fn answer(&self, request: &Request) -> Response {
        let answer = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => Ok(Response::page(self.home())),
            ("GET", "/connect") => self.begin().map(|address| Response::see(&address)),
            ("GET", "/callback") => self.redeem(request).map(|()| Response::see("/")),
            ("POST", "/disconnect") => self.disconnect().map(|()| Response::see("/")),
            _ => Ok(Response::not_found()),
        };
        answer.unwrap_or_else(|error| {
            self.session().trouble = Some(format!("{error:#}"));
            Response::see("/")
        })
    }

    fn home(&self) -> String {
        let mut session = self.session();
        let trouble = session.trouble.take();
        let tokens = session.tokens.clone();
        drop(session);
        let read = |token: &str| READS.map(|read| self.read(read, token));
        let token = tokens.as_ref().and_then(|tokens| tokens.get("access_token")).and_then(Value::as_str);
        pages::home(&pages::Home {
            app: NAME,
            apps: &format!("{}/auth/apps", self.server),
            trouble: trouble.as_deref(),
            scope: tokens.as_ref().and_then(|tokens| tokens.get("scope")).and_then(Value::as_str),
            reads: token.map(read).as_ref().map(<[_; READS.len()]>::as_slice),
        })
    }

    /// The address of an authorization request, which is the one on its way from now on.
    fn begin(&self) -> Result<String> {
        let (state, verifier) = (partner::secret()?, partner::secret()? + &partner::secret()?);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, verifier.as_bytes()));
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", CLIENT)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("scope", SCOPE)
            .append_pair("state", &state)
            .append_pair("aud", &format!("{}/fhir", self.server))
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        self.session().pending = Some((state, verifier));
        Ok(format!("{}/auth/authorize?{query}", self.server))
    }

    /// Takes the answer to the request that is on its way.
    fn redeem(&self, request: &Request) -> Result<()> {
        let pending = self.session().pending.take();
        let (state, verifier) = pending.context("no request was on its way; choose Connect")?;
        ensure!(request.parameter("state").as_deref() == Some(&state), "this answers another request");
        if let Some(error) = request.parameter("error") {
            let told = request.parameter("error_description").unwrap_or_default();
            anyhow::bail!("nothing new was shared: {error} ({told})");
        }
        let code = request.parameter("code").context("the answer has no code")?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", &code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", &verifier),
        ];
        let answer = Call::post_form(format!("{}/auth/token", self.server), &fields).send()?;
        ensure!(answer.status == 200, "the token endpoint answered {}: {}", answer.status, answer.body);
        self.session().tokens = Some(answer.body);
        Ok(())
    }

    /// Gives the token back to the server and forgets it.
    fn disconnect(&self) -> Result<()> {
        let tokens = self.session().tokens.take();
        let token = tokens.as_ref().and_then(|tokens| tokens.get("access_token")).and_then(Value::as_str);
        let Some(token) = token else { return Ok(()) };
        let fields = [("client_id", CLIENT), ("token", token)];
        Call::post_form(format!("{}/auth/revoke", self.server), &fields).send().map(drop)
    }

    fn read(&self, (title, path): (&'static str, &'static str), token: &str) -> pages::Reading {
        let (status, body) = match Call::get(format!("{}{path}", self.server)).bearer(token).send() {
            Ok(answer) => (answer.status, format!("{:#}", answer.body)),
            Err(error) => (0, format!("{error:#}")),
        };
        pages::Reading { title, path, status, body }
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        // Nothing is left half done under the lock.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        let server = "http://127.0.0.1:9".to_owned();
        Site { server, redirect_uri: "http://127.0.0.1:8/callback".to_owned(), session: Mutex::default() }
    }

    fn get(site: &Site, target: &str) -> Response {
        site.answer(&Request::parse(&format!("GET {target} HTTP/1.1\r\n\r\n")).unwrap())
    }

    #[test]
    fn an_answer_to_no_request_of_the_app_gives_nothing() {
        let site = site();
        for target in ["/callback?code=c&state=s", "/callback"] {
            assert_eq!(get(&site, target).location(), Some("/"));
            assert!(site.session().trouble.take().unwrap().contains("no request was on its way"));
        }
        site.begin().unwrap();
        get(&site, "/callback?code=c&state=another");
        let session = site.session();
        assert!(session.tokens.is_none() && session.trouble.as_ref().unwrap().contains("another request"));
    }

    #[test]
    fn a_denial_is_shown_as_text_and_not_as_markup() {
        let site = site();
        let address = site.begin().unwrap();
        let state = site.session().pending.clone().unwrap().0;
        assert!(address.contains(&format!("state={state}")) && address.contains("code_challenge_method=S256"));
        get(&site, &format!("/callback?error=access_denied&error_description=%3Cb%3Eno&state={state}"));
        let page = get(&site, "/");
        assert!(page.body().contains("access_denied (&lt;b&gt;no)"), "{}", page.body());
    }
}
