//! A bot that answers each direct message with the number of its words.
//!
//! `chat-bot SERVER EMAIL API_KEY`, for example `chat-bot http://127.0.0.1:9991 count-bot@example.org KEY`.

use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::{Value, json};
use ureq::Agent;

/// The server waits for less than a minute before it answers a poll with a heartbeat.
const POLL: Duration = Duration::from_secs(90);

struct Bot {
    agent: Agent,
    server: String,
    email: String,
    authorization: String,
}

impl Bot {
    fn new(server: String, email: String, api_key: &str) -> Self {
        let credentials = base64::prelude::BASE64_STANDARD.encode(format!("{email}:{api_key}"));
        let agent = Agent::config_builder().timeout_global(Some(POLL)).build().new_agent();
        Self { agent, server, email, authorization: format!("Basic {credentials}") }
    }

    fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Value> {
        let request = self.agent.post(format!("{}/api/v1/{path}", self.server));
        Ok(request
            .header("Authorization", &self.authorization)
            .send_form(form.iter().copied())?
            .body_mut()
            .read_json()?)
    }

    fn poll(&self, queue: &str, last: i64) -> Result<Value> {
        let request = self.agent.get(format!("{}/api/v1/events", self.server)).query("queue_id", queue);
        let request = request.query("last_event_id", last.to_string());
        Ok(request.header("Authorization", &self.authorization).call()?.body_mut().read_json()?)
    }

    /// Answers messages until the queue ends.
    fn run(&self) -> Result<()> {
        let queue = self.post("register", &[("event_types", r#"["message"]"#), ("apply_markdown", "false")])?;
        let id = queue["queue_id"].as_str().context("no queue_id")?.to_owned();
        let mut last = queue["last_event_id"].as_i64().context("no last_event_id")?;
        println!("listening");
        loop {
            let answer = self.poll(&id, last)?;
            for event in answer["events"].as_array().context("no events")? {
                last = last.max(event["id"].as_i64().context("an event without id")?);
                self.reply(&event["message"])?;
            }
        }
    }

    fn reply(&self, message: &Value) -> Result<()> {
        let is_own = message["sender_email"].as_str() == Some(self.email.as_str());
        if message["type"] != "private" || is_own {
            return Ok(());
        }
        let words = message["content"].as_str().unwrap_or_default().split_whitespace().count();
        let to = json!([message["sender_id"]]).to_string();
        self.post("messages", &[("type", "direct"), ("to", &to), ("content", &format!("{words} words"))])?;
        Ok(())
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |name: &'static str| arguments.next().context(name);
    let (server, email, api_key) = (next("SERVER")?, next("EMAIL")?, next("API_KEY")?);
    Bot::new(server, email, &api_key).run()
}
