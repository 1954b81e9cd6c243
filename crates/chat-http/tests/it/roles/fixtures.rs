//! What the names in braces stand for: things made for one call.

use std::sync::atomic::{AtomicU64, Ordering};

use chat_core::event_log::store::EventLog as _;
use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::data_exports;
use crate::file_store::{form, png};
use crate::test_app::{NOW_S, Person, TestApp};

/// The channel everybody is in.
const SQUARE: &str = "square";

/// A channel that nobody is in but its founder.
const DOCK: &str = "dock";
/// Names in the templates of links, which are nobody's to fill.
const VARIABLES: [&str; 2] = ["id", "code"];

/// A day passes for every invitation, because there are not many of them in one; this is later, in unix seconds.
const SOON_S: i64 = NOW_S + 300_000_000;

/// What there is from the beginning.
pub(crate) struct RoleFixtures {
    square: i64,
    count: AtomicU64,
}

impl RoleFixtures {
    pub(crate) async fn new(app: &TestApp) -> Self {
        let square = channel(app, &app.ada, SQUARE).await;
        channel(app, &app.ada, DOCK).await;
        Self { square, count: AtomicU64::new(1) }
    }

    /// A number nobody had.
    pub(crate) fn number(&self) -> u64 {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    /// Puts a user into the square.
    pub(crate) async fn admit(&self, app: &TestApp, who: &Person) {
        let subscriptions = json!([{"name": SQUARE}]).to_string();
        let principals = json!([who.id]).to_string();
        let parameters = [("subscriptions", subscriptions.as_str()), ("principals", &principals)];
        app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
    }

    /// A new bot of a user.
    pub(crate) async fn bot(&self, app: &TestApp, owner: &Person) -> Person {
        let name = format!("helper-{}", self.number());
        let response = app.call(owner, "POST /bots", &[("full_name", &name), ("short_name", &name)]).await.success();
        Person {
            id: response["user_id"].as_i64().unwrap(),
            email: format!("{name}-bot@chat.example.org"),
            key: response["api_key"].as_str().unwrap().to_owned(),
        }
    }

    /// The text with everything it names made for that caller. Braces around anything else stay.
    pub(crate) async fn filled(&self, app: &TestApp, caller: &Person, text: &str) -> String {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let name = after.split('}').next().unwrap();
            let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
            if is_name && !VARIABLES.contains(&name) {
                filled.push_str(&self.made(app, caller, name).await);
                rest = &after[name.len() + 1..];
            } else {
                filled.push('{');
                rest = after;
            }
        }
        filled + rest
    }

    async fn made(&self, app: &TestApp, caller: &Person, name: &str) -> String {
        match name {
            "realm" => "1".to_owned(),
            "token" => format!("{:064x}", self.number()),
            "new_emoji" => format!("buoy{}", self.number()),
            "number" => self.number().to_string(),
            "square" => self.square.to_string(),
            "me" => caller.id.to_string(),
            "soon" => SOON_S.to_string(),
            "last" => app.store.last_event_id().0.to_string(),
            "own" => self.said(app, caller).await.0,
            "others" => self.said(app, &app.ada).await.0,
            "topic" => self.said(app, &app.ada).await.1,
            "queue" => text(&self.call(app, caller, "POST /register", &[]).await["queue_id"]),
            "channel" | "entered" => self.place(app, caller, name).await,
            "draft" | "scheduled" | "reminder" | "snippet" | "view" | "attachment" | "file" | "muted" | "reacted"
            | "poll" | "apple" | "google" => self.own(app, caller, name).await,
            "person" | "present" | "gone" | "bot" => self.somebody(app, name).await,
            _ => self.of_realm(app, caller, name).await,
        }
    }

    async fn call(&self, app: &TestApp, who: &Person, call: &str, parameters: &[(&str, &str)]) -> Value {
        app.call(who, call, parameters).await.success()
    }

    /// A message in the square, and its topic.
    async fn said(&self, app: &TestApp, who: &Person) -> (String, String) {
        let (to, topic) = (self.square.to_string(), format!("topic {}", self.number()));
        let parameters = [("type", "channel"), ("to", to.as_str()), ("topic", &topic), ("content", "hello")];
        (text(&self.call(app, who, "POST /messages", &parameters).await["id"]), topic.clone())
    }

    /// A public channel that only the founder is in, or the caller too.
    async fn place(&self, app: &TestApp, caller: &Person, name: &str) -> String {
        let title = format!("place {}", self.number());
        let id = channel(app, &app.ada, &title).await;
        if name == "entered" {
            let subscriptions = json!([{"name": title}]).to_string();
            let principals = json!([caller.id]).to_string();
            let parameters = [("subscriptions", subscriptions.as_str()), ("principals", &principals)];
            app.call(&app.ada, "POST /users/me/subscriptions", &parameters).await.success();
        }
        id.to_string()
    }

    /// What only its owner has.
    async fn own(&self, app: &TestApp, caller: &Person, name: &str) -> String {
        match name {
            "draft" => {
                let drafts = json!([{"type": "", "to": [], "topic": "", "content": "x"}]).to_string();
                text(&self.call(app, caller, "POST /drafts", &[("drafts", &drafts)]).await["ids"][0])
            }
            "scheduled" => {
                let (to, at) = (json!([caller.id]).to_string(), SOON_S.to_string());
                let at = ("scheduled_delivery_timestamp", at.as_str());
                let parameters = [("type", "direct"), ("to", to.as_str()), ("content", "x"), at];
                text(&self.call(app, caller, "POST /scheduled_messages", &parameters).await["scheduled_message_id"])
            }
            "reminder" => {
                let (message, at) = (self.said(app, &app.ada).await.0, SOON_S.to_string());
                let parameters = [("message_id", message.as_str()), ("scheduled_delivery_timestamp", at.as_str())];
                text(&self.call(app, caller, "POST /reminders", &parameters).await["reminder_id"])
            }
            "snippet" => {
                let parameters = [("title", "x"), ("content", "y")];
                text(&self.call(app, caller, "POST /saved_snippets", &parameters).await["saved_snippet_id"])
            }
            "view" => {
                let parameters = [("fragment", "recent"), ("is_pinned", "false")];
                self.call(app, caller, "POST /navigation_views", &parameters).await;
                "recent".to_owned()
            }
            "muted" => {
                let muted = self.somebody(app, "person").await;
                self.call(app, caller, &format!("POST /users/me/muted_users/{muted}"), &[]).await;
                muted
            }
            "reacted" => {
                let message = self.said(app, &app.ada).await.0;
                let call = format!("POST /messages/{message}/reactions");
                self.call(app, caller, &call, &[("emoji_name", "tada")]).await;
                message
            }
            "poll" => {
                let to = self.square.to_string();
                let topic = format!("topic {}", self.number());
                let content = ("content", "/poll Where?\nhere\nthere");
                let parameters = [("type", "channel"), ("to", to.as_str()), ("topic", &topic), content];
                text(&self.call(app, &app.ada, "POST /messages", &parameters).await["id"])
            }
            "apple" | "google" => self.device(app, caller, name).await,
            _ => self.upload(app, caller, name).await,
        }
    }

    /// A registered telephone.
    async fn device(&self, app: &TestApp, caller: &Person, name: &str) -> String {
        let token = format!("{:064x}", self.number());
        let call =
            if name == "apple" { "POST /users/me/apns_device_token" } else { "POST /users/me/android_gcm_reg_id" };
        // Bots have none.
        app.call(caller, call, &[("token", &token), ("appid", "org.example.chat")]).await;
        token
    }

    async fn upload(&self, app: &TestApp, caller: &Person, name: &str) -> String {
        let file = format!("log-{}.txt", self.number());
        let form = form(&[("file", &file, "text/plain", b"All is well.")]);
        let url = text(&app.call_with_files(caller, "POST /user_uploads", form).await.success()["url"]);
        if name == "file" {
            return url.trim_start_matches("/user_uploads/1/").to_owned();
        }
        let listed = self.call(app, caller, "GET /attachments", &[]).await["attachments"].clone();
        let found = listed.as_array().unwrap().iter().find(|one| one["name"] == json!(file)).unwrap().clone();
        text(&found["id"])
    }

    /// Another user.
    async fn somebody(&self, app: &TestApp, name: &str) -> String {
        let person = app.person(&format!("other-{}", self.number()), Role::Member).await;
        match name {
            "bot" => self.bot(app, &person).await.id.to_string(),
            "present" => {
                self.call(app, &person, "POST /users/me/presence", &[("status", "active")]).await;
                person.id.to_string()
            }
            "gone" => {
                self.call(app, &app.ada, &format!("DELETE /users/{}", person.id), &[]).await;
                person.id.to_string()
            }
            _ => person.id.to_string(),
        }
    }

    /// What the founder made for everybody.
    async fn of_realm(&self, app: &TestApp, caller: &Person, name: &str) -> String {
        let number = self.number();
        let ada = &app.ada;
        match name {
            "folder" => {
                let title = format!("folder {number}");
                let made = self.call(app, ada, "POST /channel_folders/create", &[("name", &title)]).await;
                text(&made["channel_folder_id"])
            }
            "group" | "mygroup" => {
                let title = format!("group {number}");
                let members = if name == "group" { json!([ada.id]) } else { json!([caller.id]) }.to_string();
                let parameters = [("name", title.as_str()), ("description", ""), ("members", &members)];
                self.call(app, ada, "POST /user_groups/create", &parameters).await;
                let groups = self.call(app, ada, "GET /user_groups", &[]).await["user_groups"].clone();
                let found = groups.as_array().unwrap().iter().find(|one| one["name"] == json!(title)).unwrap().clone();
                text(&found["id"])
            }
            "linkifier" => {
                let pattern = format!("L{number}-(?P<id>[0-9]+)");
                let template = ("url_template", "https://example.org/{id}");
                text(&self.call(app, ada, "POST /realm/filters", &[("pattern", &pattern), template]).await["id"])
            }
            "playground" => {
                let (title, template) = (format!("play {number}"), ("url_template", "https://example.org/{code}"));
                let parameters = [("name", title.as_str()), ("pygments_language", "Rust"), template];
                text(&self.call(app, ada, "POST /realm/playgrounds", &parameters).await["id"])
            }
            "field" => {
                let title = format!("field {number}");
                let parameters = [("name", title.as_str()), ("field_type", "1")];
                text(&self.call(app, ada, "POST /realm/profile_fields", &parameters).await["id"])
            }
            "export" => data_exports::archived(app).await.to_string(),
            "domain" => {
                let domain = format!("d{number}.example.org");
                let parameters = [("domain", domain.as_str()), ("allow_subdomains", "false")];
                self.call(app, ada, "POST /realm/domains", &parameters).await;
                domain
            }
            "emoji" => {
                let emoji = format!("buoy{number}");
                let form = form(&[("file", "red.png", "image/png", &png(20, 20))]);
                app.call_with_files(ada, &format!("POST /realm/emoji/{emoji}"), form).await.success();
                emoji
            }
            "linkifiers" => self.ids(app, "GET /realm/linkifiers", "linkifiers").await,
            "fields" => self.ids(app, "GET /realm/profile_fields", "custom_fields").await,
            _ => self.invitation(app, name).await,
        }
    }

    /// The numbers of all there are.
    async fn ids(&self, app: &TestApp, call: &str, key: &str) -> String {
        let response = self.call(app, &app.ada, call, &[]).await;
        let ids: Vec<_> = response[key].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
        json!(ids).to_string()
    }

    /// An open invitation of the founder.
    async fn invitation(&self, app: &TestApp, name: &str) -> String {
        assert!(matches!(name, "invitation" | "link"), "nobody knows what {name} is");
        app.wait_s(86_400);
        let address = format!("new-{}@example.com", self.number());
        match name {
            "invitation" => {
                let parameters = [("invitee_emails", address.as_str()), ("stream_ids", "[]")];
                self.call(app, &app.ada, "POST /invites", &parameters).await;
            }
            _ => {
                self.call(app, &app.ada, "POST /invites/multiuse", &[]).await;
            }
        }
        let invites = self.call(app, &app.ada, "GET /invites", &[]).await["invites"].clone();
        let is_link = name == "link";
        let of_kind = |one: &&Value| one["is_multiuse"] == json!(is_link);
        let newest = invites.as_array().unwrap().iter().filter(of_kind).map(|one| one["id"].as_i64().unwrap()).max();
        newest.unwrap().to_string()
    }
}

/// A public channel, and its number.
async fn channel(app: &TestApp, maker: &Person, name: &str) -> i64 {
    let subscriptions = json!([{"name": name}]).to_string();
    app.call(maker, "POST /users/me/subscriptions", &[("subscriptions", &subscriptions)]).await.success();
    app.realm().channel_by_name(name).unwrap().id.0
}

/// A text, or a number as one.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
