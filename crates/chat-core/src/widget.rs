//! Messages that readers take part in: polls and lists of things to do.
//!
//! A message that begins with `/poll` or `/todo` is one. What it shows is not in its text but in submessages: the first
//! is its author's and is made with it, the others are what readers add. Clients put them together; here it is decided
//! who may add what.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::event::{self, NewEvent};
use crate::id::{MessageId, UserId};
use crate::message::Message;
use crate::ports::{StoreError, Written};

/// Characters of a submessage. Not specified; it is a vote or a line.
pub const MAX_SUBMESSAGE_CHARS: usize = 1_000;
/// Submessages of one message. Not specified; all of them are shown with it, whoever reads it.
pub const MAX_SUBMESSAGES: usize = 2_000;
/// The one kind of submessage there is.
pub const KIND: &str = "widget";

/// A part of a message that came after it, or with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submessage {
    /// The place in the log at which it came; that of its message for the one that came with it.
    pub id: i64,
    /// Who added it.
    pub sender_id: UserId,
    /// What it says, a JSON text.
    pub content: String,
}

/// Why nothing is added to a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WidgetError {
    /// The message takes none, or not from this user.
    #[error("You cannot attach a submessage to this message.")]
    NotHere,
    /// It is no JSON.
    #[error("Invalid json for submessage")]
    NotJson,
    /// It is longer than what can be kept.
    #[error("content is too long (limit: {MAX_SUBMESSAGE_CHARS} characters)")]
    TooLong,
    /// The message has as many as one may have.
    #[error("Too many submessages (maximum {MAX_SUBMESSAGES}).")]
    TooMany,
    /// A part of it is missing, or of another type.
    #[error("{0}")]
    Shape(String),
    /// A poll takes no such thing.
    #[error("Unknown type for poll data: {0}")]
    UnknownInPoll(String),
    /// A list takes no such thing.
    #[error("Unknown type for todo data: {0}")]
    UnknownInTodo(String),
    /// The question is the author's.
    #[error("You can't edit a question unless you are the author.")]
    NotTheAsker,
    /// The title is the author's.
    #[error("You can't edit the task list title unless you are the author.")]
    NotTheLister,
}

/// What widgets there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Widget {
    Poll,
    Todo,
}

/// The submessage that comes with a message of that text, if it is a widget.
///
/// # Source
/// Not specified. The texts are those existing clients know; their JSON has a space after each comma and colon.
#[must_use]
pub fn of(content: &str) -> Option<String> {
    let (widget, rest) = command(content)?;
    let mut lines = rest.split('\n').map(str::trim);
    let heading = text(lines.next().unwrap_or_default());
    let lines = lines.filter(|line| !line.is_empty());
    Some(match widget {
        Widget::Poll => {
            let options: Vec<String> = lines.map(|line| text(without_bullet(line))).collect();
            let data = format!(r#"{{"question": {heading}, "options": [{}]}}"#, options.join(", "));
            format!(r#"{{"widget_type": "poll", "extra_data": {data}}}"#)
        }
        Widget::Todo => {
            let tasks: Vec<String> = lines.map(task).collect();
            let data = format!(r#"{{"task_list_title": {heading}, "tasks": [{}]}}"#, tasks.join(", "));
            format!(r#"{{"widget_type": "todo", "extra_data": {data}}}"#)
        }
    })
}

fn command(content: &str) -> Option<(Widget, &str)> {
    let (widget, rest) = match (content.strip_prefix("/poll"), content.strip_prefix("/todo")) {
        (Some(rest), _) => (Widget::Poll, rest),
        (_, Some(rest)) => (Widget::Todo, rest),
        _ => return None,
    };
    // `/polls` is another word.
    rest.chars().next().is_none_or(char::is_whitespace).then_some((widget, rest))
}

fn task(line: &str) -> String {
    let (task, desc) = without_bullet(line).split_once(':').unwrap_or((without_bullet(line), ""));
    format!(r#"{{"task": {}, "desc": {}}}"#, text(task.trim()), text(desc.trim()))
}

fn without_bullet(line: &str) -> &str {
    line.strip_prefix(['*', '-']).map_or(line, str::trim_start)
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

/// Whether the user may add this to the message, which they may read.
///
/// # Errors
/// See [`WidgetError`].
pub fn may_add(message: &Message, user_id: UserId, content: &str) -> Result<(), WidgetError> {
    // Clients take the first for what the others are about, and believe it to be the author's.
    let first = message.submessages.first().filter(|first| first.sender_id == message.sender_id);
    let first = first.ok_or(WidgetError::NotHere)?;
    if content.chars().nth(MAX_SUBMESSAGE_CHARS).is_some() {
        return Err(WidgetError::TooLong);
    }
    let data: Value = serde_json::from_str(content).map_err(|_| WidgetError::NotJson)?;
    if message.submessages.len() >= MAX_SUBMESSAGES {
        return Err(WidgetError::TooMany);
    }
    let what: Value = serde_json::from_str(&first.content).unwrap_or_default();
    let is_author = user_id == message.sender_id;
    match what.get("widget_type").and_then(Value::as_str) {
        Some("poll") => in_poll(&Shape::of(&data)?, is_author),
        Some("todo") => in_todo(&Shape::of(&data)?, is_author),
        _ => Err(WidgetError::NotHere),
    }
}

fn in_poll(data: &Shape<'_>, is_author: bool) -> Result<(), WidgetError> {
    match data.text("type")? {
        "vote" => {
            data.text("key")?;
            let vote = data.number("vote")?;
            if vote.abs() == 1 { Ok(()) } else { Err(WidgetError::Shape("Invalid poll data".to_owned())) }
        }
        "question" if !is_author => Err(WidgetError::NotTheAsker),
        "question" => data.text("question").map(drop),
        "new_option" => {
            data.text("option")?;
            data.number("idx").map(drop)
        }
        other => Err(WidgetError::UnknownInPoll(other.to_owned())),
    }
}

fn in_todo(data: &Shape<'_>, is_author: bool) -> Result<(), WidgetError> {
    match data.text("type")? {
        "new_task" => {
            data.text("task")?;
            data.text("desc")?;
            data.number("key")?;
            data.flag("completed").map(drop)
        }
        "strike" => data.text("key").map(drop),
        "new_task_list_title" if !is_author => Err(WidgetError::NotTheLister),
        "new_task_list_title" => data.text("title").map(drop),
        other => Err(WidgetError::UnknownInTodo(other.to_owned())),
    }
}

/// The members of what is added, in the words of refusals about them.
struct Shape<'a>(&'a Map<String, Value>);

impl<'a> Shape<'a> {
    fn of(data: &'a Value) -> Result<Self, WidgetError> {
        data.as_object().map(Self).ok_or_else(|| WidgetError::Shape("widget data is not a dict".to_owned()))
    }

    fn member<T>(
        &self,
        key: &str,
        (read, type_name): (impl FnOnce(&'a Value) -> Option<T>, &str),
    ) -> Result<T, WidgetError> {
        let member =
            self.0.get(key).ok_or_else(|| WidgetError::Shape(format!("{key} key is missing from widget data")))?;
        read(member).ok_or_else(|| WidgetError::Shape(format!("widget data[\"{key}\"] is not {type_name}")))
    }

    fn text(&self, key: &str) -> Result<&'a str, WidgetError> {
        self.member(key, (Value::as_str, "a string"))
    }

    fn number(&self, key: &str) -> Result<i64, WidgetError> {
        self.member(key, (Value::as_i64, "an integer"))
    }

    fn flag(&self, key: &str) -> Result<bool, WidgetError> {
        self.member(key, (Value::as_bool, "a boolean"))
    }
}

/// Submessages of messages that exist.
#[async_trait]
pub trait WidgetStore: Send + Sync {
    /// Adds to a message and tells its readers. [`Written::Unchanged`] when the message is gone or has changed since it
    /// was read.
    async fn add_submessage(
        &self,
        message: &Message,
        (sender_id, content): (UserId, &str),
        at_s: i64,
    ) -> Result<Written, StoreError>;
}

/// A reader added something to a message, at that place of the log.
#[must_use]
pub fn added(message: &Message, submessage: &Submessage) -> NewEvent {
    let Submessage { id, sender_id, content } = submessage;
    let event = json!({
        "type": "submessage",
        "msg_type": KIND,
        "message_id": message.id,
        "submessage_id": id,
        "sender_id": sender_id,
        "content": content,
    });
    NewEvent::plain(event::readers(message), event)
}

/// The object of the wire.
#[must_use]
pub fn object(message_id: MessageId, submessage: &Submessage) -> Value {
    let Submessage { id, sender_id, content } = submessage;
    json!({"id": id, "message_id": message_id, "sender_id": sender_id, "msg_type": KIND, "content": content})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChannelId;
    use crate::message::Recipient;
    use crate::testing;

    fn widget(content: &str) -> Message {
        let first = Submessage { id: 50, sender_id: UserId(4), content: of(content).unwrap() };
        Message { submessages: vec![first], ..testing::message(4, Recipient::Channel(ChannelId(20))) }
    }

    fn said(message: &Message, user: i64, data: &Value) -> String {
        may_add(message, UserId(user), &data.to_string())
            .map_or_else(|error| error.to_string(), |()| "added".to_owned())
    }

    #[test]
    fn a_poll_has_a_question_and_options_without_their_bullets() {
        assert_eq!(
            of("/poll What \"now\"?\n- tea\n* coffee\n2. milk\n\n-water").unwrap(),
            r#"{"widget_type": "poll", "extra_data": {"question": "What \"now\"?", "options": ["tea", "coffee", "2. milk", "water"]}}"#
        );
        let titleless = r#"{"widget_type": "poll", "extra_data": {"question": "", "options": ["tea"]}}"#;
        assert_eq!(of("/poll\ntea").unwrap(), titleless);
        assert_eq!(of("/poll").unwrap(), r#"{"widget_type": "poll", "extra_data": {"question": "", "options": []}}"#);
    }

    #[test]
    fn a_list_has_a_title_and_tasks_with_their_descriptions() {
        assert_eq!(
            of("/todo Today\nmilk: two\n- bread").unwrap(),
            concat!(
                r#"{"widget_type": "todo", "extra_data": {"task_list_title": "Today", "#,
                r#""tasks": [{"task": "milk", "desc": "two"}, {"task": "bread", "desc": ""}]}}"#
            )
        );
    }

    #[test]
    fn what_does_not_begin_with_the_word_is_no_widget() {
        for content in ["/polls", "a /poll", "poll", "/me", "/pol", ""] {
            assert_eq!(of(content), None, "{content}");
        }
    }

    #[test]
    fn anybody_votes_and_adds_options_and_the_author_alone_changes_the_question() {
        let poll = widget("/poll q\na");
        for data in [
            json!({"type": "vote", "key": "canned,0", "vote": 1}),
            json!({"type": "vote", "key": "4,1", "vote": -1}),
            json!({"type": "new_option", "idx": 1, "option": "b"}),
        ] {
            assert_eq!((said(&poll, 4, &data), said(&poll, 3, &data)), ("added".to_owned(), "added".to_owned()));
        }
        let question = json!({"type": "question", "question": "?"});
        assert_eq!(said(&poll, 4, &question), "added");
        assert_eq!(said(&poll, 3, &question), "You can't edit a question unless you are the author.");
        assert_eq!(said(&poll, 3, &json!({"type": "vote", "key": "x", "vote": 7})), "Invalid poll data");
        assert_eq!(said(&poll, 3, &json!({"type": "vote", "key": "x"})), "vote key is missing from widget data");
        assert_eq!(said(&poll, 3, &json!({"type": "vote", "key": 1})), "widget data[\"key\"] is not a string");
        assert_eq!(said(&poll, 3, &json!({"type": "strike"})), "Unknown type for poll data: strike");
        assert_eq!(said(&poll, 3, &json!([])), "widget data is not a dict");
    }

    #[test]
    fn anybody_adds_and_strikes_tasks_and_the_author_alone_changes_the_title() {
        let list = widget("/todo t");
        let task = json!({"type": "new_task", "key": 2, "task": "a", "desc": "", "completed": false});
        assert_eq!(said(&list, 3, &task), "added");
        assert_eq!(said(&list, 3, &json!({"type": "strike", "key": "0,canned"})), "added");
        let title = json!({"type": "new_task_list_title", "title": "x"});
        assert_eq!(said(&list, 4, &title), "added");
        assert_eq!(said(&list, 3, &title), "You can't edit the task list title unless you are the author.");
        assert_eq!(said(&list, 3, &json!({"type": "vote"})), "Unknown type for todo data: vote");
    }

    #[test]
    fn a_message_without_the_authors_own_first_submessage_takes_none() {
        let vote = json!({"type": "vote", "key": "canned,0", "vote": 1});
        let plain = testing::message(4, Recipient::Channel(ChannelId(20)));
        assert_eq!(said(&plain, 4, &vote), "You cannot attach a submessage to this message.");
        let mut foreign = widget("/poll q");
        foreign.submessages[0].sender_id = UserId(3);
        assert_eq!(said(&foreign, 3, &vote), "You cannot attach a submessage to this message.");
    }

    #[test]
    fn what_is_no_json_or_too_much_is_not_added() {
        let poll = widget("/poll q");
        assert_eq!(may_add(&poll, UserId(3), "x"), Err(WidgetError::NotJson));
        assert_eq!(may_add(&poll, UserId(3), &"x".repeat(1_001)), Err(WidgetError::TooLong));
        let first = poll.submessages[0].clone();
        let full = Message { submessages: vec![first; MAX_SUBMESSAGES], ..poll };
        let vote = r#"{"type": "vote", "key": "canned,0", "vote": 1}"#;
        assert_eq!(may_add(&full, UserId(3), vote), Err(WidgetError::TooMany));
    }
}
