//! One HTTP call: sent by the demonstration, and printed as the command that does the same.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use ureq::Agent;

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A request that can be sent, or shown.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: &'static str,
    url: String,
    credentials: Credentials,
    prefer: Option<&'static str>,
    body: Option<Body>,
}

#[derive(Debug, Clone)]
enum Credentials {
    None,
    Basic { id: String, secret: String },
    Bearer(String),
}

#[derive(Debug, Clone)]
struct Body {
    media_type: &'static str,
    text: String,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The document, or the bare text where it is no JSON.
    pub(crate) body: Value,
    /// Where a redirect leads.
    pub(crate) location: Option<String>,
}

impl Call {
    pub(crate) fn get(url: String) -> Self {
        Self::new("GET", url, None)
    }

    /// A resource for the native endpoint.
    pub(crate) fn put(url: String, document: &Value) -> Self {
        Self::new("PUT", url, Some(("application/json", document.to_string())))
    }

    /// A resource for the FHIR endpoint.
    pub(crate) fn put_fhir(url: String, document: &Value) -> Self {
        Self::new("PUT", url, Some(("application/fhir+json", document.to_string())))
    }

    /// A Bundle for the FHIR endpoint.
    pub(crate) fn post_fhir(url: String, document: &Value) -> Self {
        Self::new("POST", url, Some(("application/fhir+json", document.to_string())))
    }

    /// With a preference for the answer.
    pub(crate) fn preferring(self, prefer: &'static str) -> Self {
        Self { prefer: Some(prefer), ..self }
    }

    pub(crate) fn post_form(url: String, fields: &[(&str, &str)]) -> Self {
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        Self::new("POST", url, Some(("application/x-www-form-urlencoded", form)))
    }

    fn new(method: &'static str, url: String, body: Option<(&'static str, String)>) -> Self {
        Self {
            method,
            url,
            credentials: Credentials::None,
            prefer: None,
            body: body.map(|(media_type, text)| Body { media_type, text }),
        }
    }

    pub(crate) fn basic(mut self, id: &str, secret: &str) -> Self {
        self.credentials = Credentials::Basic { id: id.to_owned(), secret: secret.to_owned() };
        self
    }

    pub(crate) fn bearer(mut self, token: &str) -> Self {
        self.credentials = Credentials::Bearer(token.to_owned());
        self
    }

    /// Sends it; any status is an answer.
    ///
    /// # Errors
    /// When the server cannot be reached or does not answer within 10 s.
    pub(crate) fn send(&self) -> Result<Answer> {
        let agent: Agent = Agent::config_builder()
            .timeout_global(Some(LIMIT))
            .http_status_as_error(false)
            .max_redirects(0)
            // Both servers are on this machine.
            .proxy(None)
            .build()
            .into();
        let mut request = ureq::http::Request::builder().method(self.method).uri(&self.url);
        if let Some(value) = self.authorization() {
            request = request.header("authorization", value);
        }
        if let Some(prefer) = self.prefer {
            request = request.header("prefer", prefer);
        }
        if let Some(body) = &self.body {
            request = request.header("content-type", body.media_type);
        }
        let sent = match &self.body {
            Some(body) => agent.run(request.body(body.text.clone())?),
            None => agent.run(request.body(())?),
        };
        let mut response = sent.with_context(|| format!("{} {}", self.method, self.url))?;
        let location = response.headers().get("location").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let text = response.body_mut().read_to_string()?;
        Ok(Answer {
            location,
            status: response.status().as_u16(),
            body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
        })
    }

    /// The same call as one line for a shell in which these variables are set, its answer as formatted JSON.
    pub(crate) fn curl(&self, variables: &Variables) -> String {
        let mut words = vec!["curl".to_owned(), "-s".to_owned()];
        let mut add = |flag: &str, value: &str| words.extend([flag.to_owned(), variables.word(value)]);
        if self.method != "GET" {
            add("-X", self.method);
        }
        match &self.credentials {
            Credentials::None => {}
            Credentials::Basic { id, secret } => add("-u", &format!("{id}:{secret}")),
            Credentials::Bearer(token) => add("-H", &format!("Authorization: Bearer {token}")),
        }
        if let Some(prefer) = self.prefer {
            add("-H", &format!("Prefer: {prefer}"));
        }
        if let Some(body) = &self.body {
            add("-H", &format!("Content-Type: {}", body.media_type));
            add("--data-raw", &body.text);
        }
        words.push(variables.word(&self.url));
        format!("{} | python3 -m json.tool", words.join(" "))
    }

    /// Method and path, as a heading.
    pub(crate) fn title(&self) -> String {
        let path = self.url.splitn(4, '/').nth(3).unwrap_or_default();
        format!("{} /{path}", self.method)
    }

    fn authorization(&self) -> Option<String> {
        match &self.credentials {
            Credentials::None => None,
            Credentials::Basic { id, secret } => {
                Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{secret}"))))
            }
            Credentials::Bearer(token) => Some(format!("Bearer {token}")),
        }
    }
}

/// Sends a call, prints how it went, and refuses any status but success.
///
/// # Errors
/// When it was not sent or not answered with success.
pub(super) fn done(what: &str, call: &Call) -> Result<Answer> {
    let answer = call.send()?;
    println!("\n{what}\n  {} → {}", call.title(), answer.status);
    if (200..300).contains(&answer.status) {
        return Ok(answer);
    }
    bail!("{} answered {}: {:#}", call.title(), answer.status, answer.body)
}

/// Long values that commands name instead of repeating them.
#[derive(Debug, Default)]
pub(crate) struct Variables(Vec<(&'static str, String)>);

impl Variables {
    pub(crate) fn new<const N: usize>(values: [(&'static str, &str); N]) -> Self {
        Self(values.map(|(name, value)| (name, value.to_owned())).into())
    }

    /// The lines that set them.
    pub(crate) fn assignments(&self) -> String {
        let lines = self.0.iter().map(|(name, value)| format!("{name}={}", quote(value)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// A shell word that means exactly this text.
    pub(crate) fn word(&self, text: &str) -> String {
        let first = self.0.iter().find_map(|(name, value)| Some((name, text.split_once(value.as_str())?)));
        let Some((name, (before, after))) = first else { return quote(text) };
        let part = |text: &str| if text.is_empty() { String::new() } else { self.word(text) };
        format!("{}\"${name}\"{}", part(before), part(after))
    }
}

/// A shell word that means exactly this text, without quotes where it needs none.
fn quote(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=@%+".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        let text = r#"it's {"a": "$b"} `c` \d"#;
        let output = Command::new("sh").args(["-c", &format!("printf %s {}", quote(text))]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
    }

    #[test]
    fn the_printed_command_carries_the_whole_call() {
        let call = Call::put("http://h:1/Client/a".into(), &json!({"id": "a"})).basic("root", "s");
        assert_eq!(
            call.curl(&Variables::default()),
            "curl -s -X PUT -u root:s -H 'Content-Type: application/json' --data-raw '{\"id\":\"a\"}' \
             http://h:1/Client/a | python3 -m json.tool"
        );
        assert_eq!(call.title(), "PUT /Client/a");
    }

    #[test]
    fn long_values_are_named_and_a_shell_reads_them_back() {
        let variables = Variables::new([("BASE", "http://h:1"), ("TOKEN", "a b'c$d")]);
        let call = Call::get("http://h:1/x?y=$z".into()).bearer("a b'c$d");
        let command = call.curl(&variables);
        assert!(!command.contains("a b") && command.contains("$TOKEN") && command.contains("\"$BASE\""), "{command}");
        let words = variables.word("Authorization: Bearer a b'c$d!");
        let script = format!("{}\nprintf %s {words}", variables.assignments());
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "Authorization: Bearer a b'c$d!");
    }

    #[test]
    fn a_form_keeps_its_special_characters_apart() {
        let call = Call::post_form("http://h:1/t".into(), &[("scope", "system/*.read a&b")]);
        assert_eq!(call.body.unwrap().text, "scope=system%2F*.read+a%26b");
    }
}
