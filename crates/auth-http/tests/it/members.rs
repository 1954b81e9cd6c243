//! Members, their records, and the apps they let in.

use oauth_core::jose::{encode_base64url, sha256};
use serde_json::{Value, json};

use crate::browser::{Browser, Page};
use crate::world::{BASE, World};

pub(crate) const PASSWORD: &str = "correct horse battery staple";
pub(crate) const CALLBACK: &str = "https://diary.example/callback";
pub(crate) const STATE: &str = "a state & <more>";
/// What a public app proves with that it is the one that asked.
pub(crate) const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters-0123456789";

impl World {
    /// A member with a record of her own; both have this id.
    pub(crate) async fn member(&self, id: &str, name: (&str, &str)) {
        let (given, family) = name;
        let patient = json!({"name": [{"given": [given], "family": family}], "birthDate": "1987-05-12"});
        self.put(&format!("/Patient/{id}"), &patient).await;
        self.user(id, name, Some(&format!("Patient/{id}"))).await;
    }

    /// Somebody who can sign in, and which resource that is.
    pub(crate) async fn user(&self, id: &str, (given, family): (&str, &str), is: Option<&str>) {
        let mut user = json!({
            "userName": id,
            "password": PASSWORD,
            "name": {"givenName": given, "familyName": family},
        });
        if let Some(reference) = is {
            user["fhirUser"] = json!({"reference": reference});
        }
        self.put(&format!("/User/{id}"), &user).await;
    }

    /// A public app with PKCE.
    pub(crate) async fn public_app(&self, id: &str) {
        self.public_app_with(id, &json!({})).await;
    }

    /// The same with members of its own.
    pub(crate) async fn public_app_with(&self, id: &str, members: &Value) {
        let mut app = json!({
            "type": "smart-app",
            "grant_types": ["code"],
            "smart": {
                "name": "Health Diary",
                "description": "Keeps it all in one place.",
                "launch_uri": "https://diary.example/launch",
            },
            "auth": {"authorization_code": {
                "redirect_uri": CALLBACK,
                "pkce": true,
                "refresh_token": true,
                "token_format": "jwt",
                "access_token_expiration": 600,
            }},
        });
        for (name, value) in members.as_object().unwrap() {
            app[name] = value.clone();
        }
        self.put(&format!("/Client/{id}"), &app).await;
    }
}

/// The address an app sends a browser to.
pub(crate) fn request(client: &str, scope: &str) -> String {
    request_with(client, scope, &[])
}

/// The same with parameters of its own, which win.
pub(crate) fn request_with(client: &str, scope: &str, own: &[(&str, &str)]) -> String {
    let challenge = encode_base64url(&sha256(VERIFIER.as_bytes()));
    let audience = format!("{BASE}/fhir");
    let usual = [
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", scope),
        ("state", STATE),
        ("aud", &audience),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    let usual = usual.iter().filter(|(name, _)| own.iter().all(|(other, _)| other != name));
    let pairs = usual.chain(own).filter(|(_, value)| !value.is_empty());
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    format!("/auth/authorize?{query}")
}

impl Browser<'_> {
    /// Signs in on the page it is at.
    pub(crate) async fn sign_in(&self, page: &Page, user: &str) -> Page {
        assert_eq!(page.path(), "/auth/login", "{page:?}");
        self.submit(&page.form("/auth/login").with("username", user).with("password", PASSWORD)).await
    }

    /// Goes to an address as somebody, who signs in on the way.
    pub(crate) async fn open_as(&self, user: &str, address: &str) -> Page {
        let page = self.open(address).await;
        self.sign_in(&page, user).await
    }

    /// Allows everything on the page it is at.
    pub(crate) async fn allow(&self, page: &Page) -> Page {
        self.submit(&page.form("/auth/grant").choose("decision", "allow")).await
    }
}

impl Page {
    /// A parameter that the app was told, wherever it stands.
    pub(crate) fn told(&self, name: &str) -> Option<String> {
        assert!(self.left, "{self:?}");
        assert!(self.at.starts_with(CALLBACK), "{}", self.at);
        self.parameter(name)
    }
}
