//! The chat server's main job: what one user sends, another receives the moment it is sent.

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{
    http::{Answer, Call, Variables, done},
    partner,
    server::{Program, Server, Start},
};
use xtask::interrupt;

const PROGRAM: Program = Program { name: "chat-server", listen: "CHAT_LISTEN", data_dir: "CHAT_DATA_DIR" };
const OWNER: &str = "ada@chat.example";
const MEMBER: &str = "grace@chat.example";
/// Every realm begins with it, and new users are in it.
const CHANNEL: &str = "general";
const TEXT: &str = "It works: **hello**, @**Grace Hopper** :tada:";

/// The running server with the realm's owner.
pub(super) struct Chat {
    server: Server,
    password: String,
    program: PathBuf,
    data: PathBuf,
}

/// Someone who signed in.
struct Person {
    email: &'static str,
    key: String,
}

/// Starts the server with a realm of this run alone.
///
/// # Errors
/// When it ends by itself or does not become healthy.
pub(super) fn start(binaries: &Path, folder: &Path, interrupted: &interrupt::Flag) -> Result<Chat> {
    let password = partner::secret()?;
    let environment = [
        ("CHAT_REALM_NAME", "Demonstration"),
        ("CHAT_OWNER_EMAIL", OWNER),
        ("CHAT_OWNER_NAME", "Ada Lovelace"),
        ("CHAT_OWNER_PASSWORD", password.as_str()),
    ];
    match Server::start(&PROGRAM, binaries, folder, &environment, interrupted)? {
        Start::Serving(server) => {
            let (program, data) = (binaries.join(PROGRAM.name), folder.join(PROGRAM.name));
            Ok(Chat { server, password, program, data })
        }
        Start::Ended { status, log } => bail!("chat-server ended by itself, {status}; its log:\n{log}"),
    }
}

impl Chat {
    /// Makes a second user, lets one listen and the other send, and prints each step.
    ///
    /// # Errors
    /// When a call is refused, or the message does not arrive as it was sent.
    pub(super) fn show(&self) -> Result<()> {
        println!("\nchat-server serves {} on its embedded database.", self.server.base_url());
        let ada = self.sign_in("Ada signs in with her password and gets her API key", OWNER)?;
        let fields = [("email", MEMBER), ("full_name", "Grace Hopper"), ("password", self.password.as_str())];
        done("Ada makes an account for Grace", &ada.signs(Call::post_form(self.url("/users"), &fields)))?;
        let grace = self.sign_in("Grace signs in", MEMBER)?;
        let (queue, last_event) = self.register(&grace)?;

        let poll = grace.signs(self.poll(&queue, last_event));
        let send = ada.signs(self.message());
        let (heard, took) = thread::scope(|scope| {
            let listening = scope.spawn(|| poll.send());
            let started = Instant::now();
            done("Ada sends a message while Grace's poll waits", &send)?;
            let heard = listening.join().ok().context("the poll broke down")??;
            Ok::<_, anyhow::Error>((heard, started.elapsed()))
        })?;
        show_event(&heard, &poll)?;
        println!("From sending to receiving, both answers included: {} ms.", took.as_millis());

        self.print_next(&ada, &grace);
        self.show_client()
    }

    /// Prints where the chat is in a browser, and a link that signs a browser in as Ada, once.
    ///
    /// # Errors
    /// When the program makes no link, or the link does not open.
    fn show_client(&self) -> Result<()> {
        let mut command = Command::new(&self.program);
        command.env_remove("DATABASE_URL").env(PROGRAM.data_dir, &self.data);
        let made = command.args(["user", "sign-in-link", "--email", OWNER]).output().context("cannot make a link")?;
        let told: Value = serde_json::from_slice(&made.stdout)
            .with_context(|| format!("no link was made: {}", String::from_utf8_lossy(&made.stderr)))?;
        let path = told.get("path").and_then(Value::as_str).context("the program printed no path")?;
        let link = format!("{}{path}", self.server.base_url());
        let opened = Call::get(link.clone()).send()?;
        ensure!(opened.status == 200, "the link to sign in answers {}", opened.status);
        println!("\nThe chat in a browser: {}", self.server.base_url());
        println!("Signs a browser in as Ada, once, within 15 minutes: {link}");
        Ok(())
    }

    fn sign_in(&self, what: &str, email: &'static str) -> Result<Person> {
        let fields = [("username", email), ("password", self.password.as_str())];
        let answer = done(what, &Call::post_form(self.url("/fetch_api_key"), &fields))?;
        let key = answer.body.get("api_key").and_then(Value::as_str).context("there is no API key in the answer")?;
        Ok(Person { email, key: key.to_owned() })
    }

    fn register(&self, person: &Person) -> Result<(String, i64)> {
        let fields = [("event_types", r#"["message"]"#), ("apply_markdown", "true")];
        let call = person.signs(Call::post_form(self.url("/register"), &fields));
        let answer = done("Grace registers an event queue", &call)?;
        let queue = answer.body.get("queue_id").and_then(Value::as_str).context("there is no queue in the answer")?;
        let last = answer.body.get("last_event_id").and_then(Value::as_i64).context("nor a last event")?;
        Ok((queue.to_owned(), last))
    }

    fn poll(&self, queue: &str, last_event: i64) -> Call {
        Call::get(self.url(&format!("/events?queue_id={queue}&last_event_id={last_event}")))
    }

    fn message(&self) -> Call {
        let fields = [("type", "stream"), ("to", CHANNEL), ("topic", "demonstration"), ("content", TEXT)];
        Call::post_form(self.url("/messages"), &fields)
    }

    fn print_next(&self, ada: &Person, grace: &Person) {
        let history = "/messages?anchor=newest&num_before=10&num_after=0&apply_markdown=false";
        let (of_ada, of_grace) = (ada.credentials(), grace.credentials());
        let variables = Variables::new([("CHAT", self.server.base_url()), ("ADA", &of_ada), ("GRACE", &of_grace)]);
        println!("\nTo try next. Paste these lines first:\n{}\nThen any of these:", variables.assignments());
        let commands = [
            ("what clients ask before they sign in", Call::get(self.url("/server_settings"))),
            ("Ada sends the message again", ada.signs(self.message())),
            ("what Grace can read back", grace.signs(Call::get(self.url(history)))),
            ("the channels there are", grace.signs(Call::get(self.url("/streams")))),
            ("the same without an API key: 401", Call::get(self.url("/streams"))),
        ];
        for (what, call) in commands {
            println!("# {what}\n{}", call.curl(&variables));
        }
        println!("# the Python client, unmodified, as Grace: prints what arrives (pip install zulip)");
        println!(
            "python3 -c 'import zulip; zulip.Client(email=\"{}\", api_key=\"{}\", site=\"{}\")\
             .call_on_each_message(lambda message: print(message[\"content\"]))'",
            grace.email,
            grace.key,
            self.server.base_url()
        );
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.server.base_url())
    }
}

impl Person {
    fn credentials(&self) -> String {
        format!("{}:{}", self.email, self.key)
    }

    fn signs(&self, call: Call) -> Call {
        call.basic(self.email, &self.key)
    }
}

/// Prints what the poll brought.
///
/// # Errors
/// When it is not the message.
fn show_event(heard: &Answer, poll: &Call) -> Result<()> {
    println!("\nGrace's poll is answered\n  {} → {}", poll.title(), heard.status);
    let event = heard.body.pointer("/events/0").context("the poll brought no event")?;
    println!("{event:#}");
    let content = event.pointer("/message/content").and_then(Value::as_str).unwrap_or_default();
    ensure!(content.contains("<strong>hello</strong>"), "this is not the message that was sent");
    let is_mentioned = |flags: &Vec<Value>| flags.iter().any(|flag| flag == "mentioned");
    let flags = event.get("flags").and_then(Value::as_array);
    ensure!(flags.is_some_and(is_mentioned), "the message does not mention its reader");
    Ok(())
}
