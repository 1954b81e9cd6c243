//! Members, staff and apps of the tests, and a browser that is led through the pages.

use oauth_core::authorization_endpoint::{
    self, AuthorizationPageError, AuthorizationParameters, AuthorizationRedirectError, AuthorizationRequestError,
    BrowserSessionContext, ClientRedirect, ConsentDecision, ConsentPage, NextPageOrRedirect,
};
use oauth_core::jose::sha256;
use oauth_core::ports::PatientSummary;
use oauth_core::secret_hash::hash_password;
use oauth_core::sign_in::{SignInAttempt, SignInError, SignedInUser};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::world::World;

pub(crate) const CALLBACK: &str = "https://app.example/callback";
pub(crate) const PASSWORD: &str = "correct horse battery";
/// The S256 challenge of RFC 7636, appendix B.
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
/// What a patient-access app asks for.
pub(crate) const SCOPE: &str = "launch/patient openid fhirUser patient/*.rs offline_access";

/// A public app that is registered for everything a member can allow.
pub(crate) fn app() -> Value {
    json!({
        "type": "smart-app",
        "name": "Heart Diary",
        "grant_types": ["code"],
        "smart": {"launch_uri": "https://app.example/launch"},
        "auth": {"authorization_code": {
            "redirect_uri": CALLBACK, "token_format": "jwt", "pkce": true, "refresh_token": true,
        }},
    })
}

/// A deployment with the app `app` and the member `ada`, who is the patient `p-ada`.
pub(crate) async fn clinic() -> World {
    let world = World::new().await;
    world.memory.put_resource("Client", "app", app());
    user(&world, "ada", json!({"fhirUser": {"reference": "Patient/p-ada"}, "name": {"formatted": "Ada Lovelace"}}));
    for (id, name) in [("p-ada", "Ada Lovelace"), ("p-bob", "Bob Lovelace"), ("p-eve", "Eve Stranger")] {
        let patient = PatientSummary { id: id.to_owned(), name: name.to_owned(), ..PatientSummary::default() };
        world.memory.lock_rows().patients.push(patient);
    }
    world
}

/// Puts a User with [`PASSWORD`].
pub(crate) fn user(world: &World, id: &str, members: Value) {
    let mut resource = json!({"userName": id, "email": format!("{id}@example.org"), "active": true});
    let password = hash_password(&world.env(), PASSWORD.as_bytes()).unwrap().to_text();
    resource["password"] = json!(password);
    if let (Value::Object(resource), Value::Object(members)) = (&mut resource, members) {
        resource.extend(members);
    }
    world.memory.put_resource("User", id, resource);
}

/// A good authorization request of `app`, with these parameters in place of its own; an empty value takes one
/// away.
pub(crate) fn request(changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = [
        ("response_type", "code"),
        ("client_id", "app"),
        ("redirect_uri", CALLBACK),
        ("scope", SCOPE),
        ("state", "st&te"),
        ("aud", "https://payer.example/fhir"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let kept = own.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    let pairs = kept.chain(changes).filter(|(_, value)| !value.is_empty());
    pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

impl World {
    pub(crate) async fn begin(
        &self,
        changes: &[(&str, &str)],
        cookie: Option<&str>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        self.begin_with(request(changes), cookie).await
    }

    pub(crate) async fn begin_with(
        &self,
        pairs: Vec<(String, String)>,
        cookie: Option<&str>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        let browser = BrowserSessionContext { session: cookie, address: Some("192.0.2.7") };
        self.server.authorize.begin_authorization(&self.env(), &AuthorizationParameters::new(pairs), browser).await
    }

    pub(crate) async fn resume(
        &self,
        transaction: &str,
        cookie: Option<&str>,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        let browser = BrowserSessionContext { session: cookie, address: Some("192.0.2.7") };
        self.server.authorize.resume_authorization(&self.env(), transaction, browser).await
    }

    pub(crate) async fn pick(
        &self,
        transaction: &str,
        patient: &str,
        cookie: &str,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        let browser = BrowserSessionContext { session: Some(cookie), address: Some("192.0.2.7") };
        self.server.authorize.choose_patient(&self.env(), transaction, patient, browser).await
    }

    pub(crate) async fn decide(
        &self,
        transaction: &str,
        decision: ConsentDecision,
        cookie: &str,
    ) -> Result<NextPageOrRedirect, AuthorizationRequestError> {
        let browser = BrowserSessionContext { session: Some(cookie), address: Some("192.0.2.7") };
        self.server.authorize.decide_consent(&self.env(), transaction, decision, browser).await
    }

    /// Presses Allow with these ticks.
    pub(crate) async fn allow(&self, page: &ConsentPage, scopes: &[&str], cookie: &str) -> ClientRedirect {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        leave(self.decide(&page.transaction, ConsentDecision::Allow { scopes }, cookie).await)
    }

    pub(crate) async fn try_password(&self, login: &str, password: &str) -> Result<SignedInUser, SignInError> {
        let password = password.to_owned().into();
        let attempt = SignInAttempt { login, password: &password, session: None, address: None, app: None };
        self.server.sign_in.sign_in(&self.env(), &attempt).await
    }

    /// The cookie of a fresh session.
    pub(crate) async fn cookie_of(&self, login: &str) -> String {
        self.try_password(login, PASSWORD).await.unwrap().cookie.expose_secret().to_owned()
    }

    /// What the one code of a departure is bound to, as stored.
    pub(crate) fn authorization(&self, departure: &ClientRedirect) -> Value {
        let code = parameter(&departure.location, "code").unwrap();
        let digest = sha256(code.as_bytes());
        let members = self.memory.lock_rows();
        // Before it stands the moment.
        let (_, stored) = members.codes.iter().find(|(hash, _)| hash[8..] == digest[8..]).unwrap();
        stored.code.authorization.clone()
    }

    pub(crate) fn codes(&self) -> usize {
        self.memory.lock_rows().codes.len()
    }
}

/// A decoded parameter of an address.
pub(crate) fn parameter(location: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(location).unwrap();
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

pub(crate) fn leave(step: Result<NextPageOrRedirect, AuthorizationRequestError>) -> ClientRedirect {
    match step {
        Ok(NextPageOrRedirect::Leave(departure)) => departure,
        other => panic!("the browser should leave: {other:?}"),
    }
}

pub(crate) fn consent(step: Result<NextPageOrRedirect, AuthorizationRequestError>) -> ConsentPage {
    match step {
        Ok(NextPageOrRedirect::Consent(page)) => page,
        other => panic!("the person should be asked: {other:?}"),
    }
}

pub(crate) fn sign_in_page(
    step: Result<NextPageOrRedirect, AuthorizationRequestError>,
) -> authorization_endpoint::SignInPage {
    match step {
        Ok(NextPageOrRedirect::SignIn(page)) => page,
        other => panic!("the person should sign in: {other:?}"),
    }
}

pub(crate) fn patient_page(
    step: Result<NextPageOrRedirect, AuthorizationRequestError>,
) -> authorization_endpoint::PatientSelectionPage {
    match step {
        Ok(NextPageOrRedirect::PickPatient(page)) => page,
        other => panic!("the person should choose: {other:?}"),
    }
}

/// The `error` the app is told, with its description.
pub(crate) fn refusal(
    step: Result<NextPageOrRedirect, AuthorizationRequestError>,
) -> (String, AuthorizationRedirectError) {
    match step {
        Err(AuthorizationRequestError::Redirect { departure, cause }) => {
            assert!(departure.location.starts_with(CALLBACK), "{}", departure.location);
            (parameter(&departure.location, "error").unwrap(), *cause)
        }
        other => panic!("the app should be refused: {other:?}"),
    }
}

pub(crate) fn page_fault(step: Result<NextPageOrRedirect, AuthorizationRequestError>) -> AuthorizationPageError {
    match step {
        Err(AuthorizationRequestError::Page(fault)) => fault,
        other => panic!("the person should see a page: {other:?}"),
    }
}
