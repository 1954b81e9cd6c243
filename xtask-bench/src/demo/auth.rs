//! The authorization server's main job: a Backend Services token with the B2B claim, and what it opens.

use std::{path::Path, time::UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{
    http::{Call, Variables, done},
    partner::{self, Partner},
    server::{Program, Server, Start},
};
use xtask::interrupt;

const PROGRAM: Program = Program { name: "auth-server", listen: "BOX_LISTEN", data_dir: "BOX_DATA_DIR" };
const ROOT: &str = "root";
const CLIENT: &str = "partner";
const ORGANIZATION: &str = "acme-health";
const SCOPE: &str = "system/*.read";
const EXT_BASE: &str = "http://platform.example/fhir";
const NPI: &str = "http://hl7.org/fhir/sid/us-npi";
const PURPOSE: &str = "http://terminology.hl7.org/CodeSystem/v3-ActReason";

/// The running server with who may administer it and who asks for a token.
pub(super) struct Auth {
    server: Server,
    root_secret: String,
    partner: Partner,
}

/// Starts the server with a bootstrap administrator of this run alone.
///
/// # Errors
/// When it ends by itself or does not become healthy.
pub(super) fn start(binaries: &Path, folder: &Path, interrupted: &interrupt::Flag) -> Result<Auth> {
    let root_secret = partner::secret()?;
    let environment =
        [("BOX_ROOT_CLIENT_ID", ROOT), ("BOX_ROOT_CLIENT_SECRET", root_secret.as_str()), ("BOX_EXT_BASE", EXT_BASE)];
    match Server::start(&PROGRAM, binaries, folder, &environment, interrupted)? {
        Start::Serving(server) => Ok(Auth { server, root_secret, partner: Partner::generate()? }),
        Start::Ended { status, log } => bail!("auth-server ended by itself, {status}; its log:\n{log}"),
    }
}

impl Auth {
    /// Registers a partner, gets its token, uses it, and prints each step.
    ///
    /// # Errors
    /// When a call is refused, or the token carries no B2B claim.
    pub(super) fn show(&self) -> Result<()> {
        println!("\nauth-server serves {} on its embedded database.", self.server.base_url());
        self.register()?;
        let token = self.token()?;
        let claims = partner::claims(&token)?;
        println!("The claims of the access token:\n{claims:#}");

        let told = done("Why a token of this Client does or does not carry the claim", &self.diagnosis())?;
        println!("{:#}", told.body);
        let known = done("The server knows its own token", &self.introspection(&token))?;
        println!("{:#}", known.body);
        let read = done("The token opens the data its scope and policy allow", &self.read(&token))?;
        println!("{:#}", read.body);

        self.print_next(&token)?;
        let claim = partner::b2b_claim(&claims);
        claim.context("the token carries no extensions.hl7-b2b; see the diagnosis above")?;
        Ok(())
    }

    fn register(&self) -> Result<()> {
        let organization = Call::put_fhir(self.url(&format!("/fhir/Organization/{ORGANIZATION}")), &organization());
        done("The administrator writes the partner's Organization", &self.as_root(organization))?;
        let client = Call::put(self.url(&format!("/Client/{CLIENT}")), &client(&self.partner.jwk()?));
        done("… the partner's Client with its public key and the extension", &self.as_root(client))?;
        let policy = Call::put(self.url("/AccessPolicy/partner-reads"), &policy());
        done("… and a policy that lets the Client in", &self.as_root(policy))?;
        Ok(())
    }

    fn token(&self) -> Result<String> {
        let answer = done("The partner signs an ES384 assertion and gets a token", &self.token_request()?)?;
        let token = answer.body.get("access_token").and_then(Value::as_str);
        token.map(str::to_owned).context("the answer has no access_token")
    }

    fn token_request(&self) -> Result<Call> {
        let endpoint = self.url("/auth/token");
        let assertion = self.partner.assertion(CLIENT, &endpoint, now_s()?)?;
        let fields = [
            ("grant_type", "client_credentials"),
            ("scope", SCOPE),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", &assertion),
        ];
        Ok(Call::post_form(endpoint, &fields))
    }

    fn diagnosis(&self) -> Call {
        self.as_root(Call::get(self.url(&format!("/Client/{CLIENT}/$b2b-claim"))))
    }

    fn introspection(&self, token: &str) -> Call {
        self.as_root(Call::post_form(self.url("/auth/introspect"), &[("token", token)]))
    }

    fn read(&self, token: &str) -> Call {
        Call::get(self.url(&format!("/fhir/Organization/{ORGANIZATION}"))).bearer(token)
    }

    fn print_next(&self, token: &str) -> Result<()> {
        let root = format!("{ROOT}:{}", self.root_secret);
        let base_url = self.server.base_url();
        let variables = Variables::new([("BASE", base_url), ("ROOT", &root), ("TOKEN", token)]);
        println!("\nTo try next. Paste these lines first:\n{}\nThen any of these:", variables.assignments());
        let commands = [
            ("what the server offers", Call::get(self.url("/.well-known/smart-configuration"))),
            ("the keys its tokens verify with", Call::get(self.url("/.well-known/jwks.json"))),
            ("the partner's data", self.read(token)),
            ("the same without a token: 401", Call::get(self.url(&format!("/fhir/Organization/{ORGANIZATION}")))),
            ("the Client as stored", self.as_root(Call::get(self.url(&format!("/Client/{CLIENT}"))))),
            ("why the claim is there", self.diagnosis()),
            ("what the token says", self.introspection(token)),
            ("a new token; works once, within 4 minutes", self.token_request()?),
        ];
        for (what, call) in commands {
            println!("# {what}\n{}", call.curl(&variables));
        }
        Ok(())
    }

    pub(super) fn as_root(&self, call: Call) -> Call {
        call.basic(ROOT, &self.root_secret)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.base_url())
    }
}

fn organization() -> Value {
    json!({
        "resourceType": "Organization",
        "id": ORGANIZATION,
        "name": "Acme Health",
        "identifier": [{"system": NPI, "value": "1234567893"}],
    })
}

fn client(jwk: &Value) -> Value {
    json!({
        "resourceType": "Client",
        "id": CLIENT,
        "active": true,
        "grant_types": ["client_credentials"],
        "auth": {"client_credentials": {
            "client_assertion_types": ["urn:ietf:params:oauth:client-assertion-type:jwt-bearer"],
            "token_format": "jwt",
            "access_token_expiration": 3600,
        }},
        "jwks": [jwk],
        "scope": [SCOPE],
        "extension": [{
            "url": format!("{EXT_BASE}/StructureDefinition/client-hl7B2b"),
            "extension": [
                {"url": "organization", "valueReference": {"reference": format!("Organization/{ORGANIZATION}")}},
                {"url": "organizationIdentifierSystem", "valueUri": NPI},
                {"url": "purposeOfUse", "valueCoding": {"system": PURPOSE, "code": "HPAYMT"}},
            ],
        }],
    })
}

fn policy() -> Value {
    json!({
        "resourceType": "AccessPolicy",
        "id": "partner-reads",
        "engine": "allow",
        "link": [{"reference": format!("Client/{CLIENT}")}],
    })
}

/// Seconds since 1970.
fn now_s() -> Result<u64> {
    #[expect(clippy::disallowed_methods, reason = "the demonstration is a client and owns its clock")]
    let now = std::time::SystemTime::now();
    Ok(now.duration_since(UNIX_EPOCH).context("the clock stands before 1970")?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_selects_an_identifier_its_organization_has() {
        let client = client(&json!({}));
        let parts = client["extension"][0]["extension"].as_array().unwrap();
        let part = |url: &str| parts.iter().find(|part| part["url"] == url).unwrap();
        let organization = organization();
        assert_eq!(part("organizationIdentifierSystem")["valueUri"], organization["identifier"][0]["system"]);
        assert_eq!(
            part("organization")["valueReference"]["reference"],
            format!("Organization/{}", organization["id"].as_str().unwrap())
        );
        assert_eq!(policy()["link"][0]["reference"], format!("Client/{}", client["id"].as_str().unwrap()));
    }
}
