//! Messages that readers take part in: polls, lists of things to do, and choices.
//!
//! A message that begins with `/poll` or `/todo` is one of the former; programs say themselves what choices there are.
//! What it shows is not in its text but in submessages: the first is its author's and is made with it, the others are
//! what readers add. Clients put them together; here it is decided who may add what.

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::StoreError;
use crate::event_log::event::{self, NewEvent};
use crate::id::{EventId, UserId};
use crate::limits::MAX_MESSAGE_CHARS;
use crate::messages::store::MessageWriteOutcome;
use crate::model::message::{Message, Submessage, WIDGET_SUBMESSAGE_TYPE};

/// The maximum number of characters of a submessage. Not specified; it is a vote or a line.
pub const MAX_SUBMESSAGE_CHARS: usize = 1_000;
/// The maximum number of submessages of one message. Not specified; all of them are shown with it to every reader.
pub const MAX_SUBMESSAGES_PER_MESSAGE: usize = 2_000;

/// The reason why a submessage or widget is refused.
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
    #[error("Too many submessages (maximum {MAX_SUBMESSAGES_PER_MESSAGE}).")]
    TooMany,
    /// A part of it is missing, or of another type.
    #[error("{0}")]
    Shape(String),
    /// What a program says beside the text of a message is no JSON.
    #[error("Widgets: API programmer sent invalid JSON content")]
    NotGiven,
    /// What a program says beside the text of a message is no widget.
    #[error("Widgets: {0}")]
    Given(String),
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

/// Returns the initial submessage of a message with that text, if it is a widget.
///
/// # Source
/// Not specified. The texts are those existing clients know; their JSON has a space after each comma and colon.
#[must_use]
pub fn initial_widget_submessage(content: &str) -> Option<String> {
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

/// Parses the widget that a program sends with a message: choices, each of which sends a reply. Returns the submessage.
///
/// # Errors
/// When it is anything else, or longer than a message.
///
/// # Source
/// Not specified; the one widget programs can send is the one existing clients know.
pub fn parse_choices_widget(text: &str) -> Result<String, WidgetError> {
    let wrong = |what: &str| Err(WidgetError::Given(what.to_owned()));
    if text.chars().nth(MAX_MESSAGE_CHARS).is_some() {
        return Err(WidgetError::Given(format!("widget_content is too long (limit: {MAX_MESSAGE_CHARS} characters)")));
    }
    let Ok(widget) = serde_json::from_str::<Value>(text) else { return Err(WidgetError::NotGiven) };
    let Some(members) = widget.as_object() else { return wrong("widget_content is not a dict") };
    let Some(kind) = members.get("widget_type") else { return wrong("widget_type is not in widget_content") };
    let Some(data) = members.get("extra_data") else { return wrong("extra_data is not in widget_content") };
    let Some(data) = data.as_object() else { return wrong("extra_data is not a dict") };
    match (kind.as_str(), data.get("type").map(Value::as_str)) {
        (Some("zform"), None) => return wrong("zform is missing type field"),
        (Some("zform"), Some(Some("choices"))) => choices(data)?,
        (Some("zform"), Some(other)) => return wrong(&format!("unknown zform type: {}", other.unwrap_or_default())),
        (other, _) => return wrong(&format!("unknown widget type: {}", other.unwrap_or_default())),
    }
    Ok(format!(r#"{{"widget_type": "zform", "extra_data": {}}}"#, spaced(&Value::Object(data.clone()))))
}

/// A heading, and what can be chosen: a short name, a long one, and the reply it sends.
fn choices(data: &Map<String, Value>) -> Result<(), WidgetError> {
    let wrong = |what: String| WidgetError::Given(what);
    let text = |members: &Map<String, Value>, key: &str, path: &str| match members.get(key) {
        None => Err(wrong(format!("{key} key is missing from {path}"))),
        Some(Value::String(_)) => Ok(()),
        Some(_) => Err(wrong(format!(r#"{path}["{key}"] is not a string"#))),
    };
    text(data, "heading", "extra_data")?;
    let list = data.get("choices").ok_or_else(|| wrong("choices key is missing from extra_data".to_owned()))?;
    let list = list.as_array().ok_or_else(|| wrong(r#"extra_data["choices"] is not a list"#.to_owned()))?;
    for (place, choice) in list.iter().enumerate() {
        let path = format!(r#"extra_data["choices"][{place}]"#);
        let choice = choice.as_object().ok_or_else(|| wrong(format!("{path} is not a dict")))?;
        for key in ["short_name", "long_name", "reply"] {
            text(choice, key, &path)?;
        }
    }
    Ok(())
}

/// JSON with a space after each comma and colon.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{}: {}", text(key), spaced(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
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

/// Checks whether the user may add this submessage to the message, which they may read.
///
/// # Errors
/// See [`WidgetError`].
pub fn may_add_submessage(message: &Message, user_id: UserId, content: &str) -> Result<(), WidgetError> {
    // Clients take the first for what the others are about, and believe it to be the author's.
    let first = message.submessages.first().filter(|first| first.sender_id == message.sender_id);
    let first = first.ok_or(WidgetError::NotHere)?;
    if content.chars().nth(MAX_SUBMESSAGE_CHARS).is_some() {
        return Err(WidgetError::TooLong);
    }
    let data: Value = serde_json::from_str(content).map_err(|_| WidgetError::NotJson)?;
    if message.submessages.len() >= MAX_SUBMESSAGES_PER_MESSAGE {
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

/// The store of submessages.
#[async_trait]
pub trait SubmessageStore: Send + Sync {
    /// Adds a submessage to a message and notifies its readers; `realm` is
    /// [`RealmSnapshot::changed_at`](crate::model::realm_snapshot::RealmSnapshot::changed_at) when the message was
    /// read. [`MessageWriteOutcome::Unchanged`] when the message is gone, or it or the realm's rules have changed
    /// since.
    async fn add_submessage(
        &self,
        (message, realm): (&Message, EventId),
        (sender_id, content): (UserId, &str),
        at_s: i64,
    ) -> Result<MessageWriteOutcome, StoreError>;
}

/// Returns the event that reports a submessage added to a message.
#[must_use]
pub fn submessage_event(message: &Message, submessage: &Submessage) -> NewEvent {
    let Submessage { id, sender_id, content } = submessage;
    let event = json!({
        "type": "submessage",
        "msg_type": WIDGET_SUBMESSAGE_TYPE,
        "message_id": message.id,
        "submessage_id": id,
        "sender_id": sender_id,
        "content": content,
    });
    NewEvent::same_for_everyone(event::message_audience(message), event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChannelId;
    use crate::model::message::Recipient;
    use crate::testing;

    fn widget(content: &str) -> Message {
        let first = Submessage { id: 50, sender_id: UserId(4), content: initial_widget_submessage(content).unwrap() };
        Message { submessages: vec![first], ..testing::message(4, Recipient::Channel(ChannelId(20))) }
    }

    fn said(message: &Message, user: i64, data: &Value) -> String {
        may_add_submessage(message, UserId(user), &data.to_string())
            .map_or_else(|error| error.to_string(), |()| "added".to_owned())
    }

    #[test]
    fn a_program_says_what_can_be_chosen_and_nothing_else() {
        let choice = json!({"short_name": "A", "long_name": "Äpfel", "reply": "a, b: c"});
        let form = |data: Value| json!({"widget_type": "zform", "extra_data": data}).to_string();
        let data = json!({"type": "choices", "heading": "Which?", "choices": [choice, choice]});
        let stored = parse_choices_widget(&form(data.clone())).unwrap();
        let one = r#"{"short_name": "A", "long_name": "Äpfel", "reply": "a, b: c"}"#;
        let expected = format!(r#"{{"type": "choices", "heading": "Which?", "choices": [{one}, {one}]}}"#);
        assert_eq!(stored, format!(r#"{{"widget_type": "zform", "extra_data": {expected}}}"#));
        let without = |key: &str, value: Value| {
            let mut data = data.clone();
            data[key] = value;
            form(data)
        };
        for (text, refusal) in [
            ("{".to_owned(), "Widgets: API programmer sent invalid JSON content"),
            ("[]".to_owned(), "Widgets: widget_content is not a dict"),
            (json!({"extra_data": {}}).to_string(), "Widgets: widget_type is not in widget_content"),
            (json!({"widget_type": "zform"}).to_string(), "Widgets: extra_data is not in widget_content"),
            (form(json!([])), "Widgets: extra_data is not a dict"),
            (form(json!({})), "Widgets: zform is missing type field"),
            (form(json!({"type": "x"})), "Widgets: unknown zform type: x"),
            (json!({"widget_type": "poll", "extra_data": {}}).to_string(), "Widgets: unknown widget type: poll"),
            (without("heading", json!(1)), r#"Widgets: extra_data["heading"] is not a string"#),
            (form(json!({"type": "choices"})), "Widgets: heading key is missing from extra_data"),
            (without("choices", json!({})), r#"Widgets: extra_data["choices"] is not a list"#),
            (without("choices", json!([1])), r#"Widgets: extra_data["choices"][0] is not a dict"#),
            (
                without("choices", json!([{"short_name": "A"}])),
                r#"Widgets: long_name key is missing from extra_data["choices"][0]"#,
            ),
            ("x".repeat(10_001), "Widgets: widget_content is too long (limit: 10000 characters)"),
        ] {
            assert_eq!(parse_choices_widget(&text).unwrap_err().to_string(), refusal);
        }
    }

    #[test]
    fn a_poll_has_a_question_and_options_without_their_bullets() {
        assert_eq!(
            initial_widget_submessage("/poll What \"now\"?\n- tea\n* coffee\n2. milk\n\n-water").unwrap(),
            r#"{"widget_type": "poll", "extra_data": {"question": "What \"now\"?", "options": ["tea", "coffee", "2. milk", "water"]}}"#
        );
        let titleless = r#"{"widget_type": "poll", "extra_data": {"question": "", "options": ["tea"]}}"#;
        assert_eq!(initial_widget_submessage("/poll\ntea").unwrap(), titleless);
        assert_eq!(
            initial_widget_submessage("/poll").unwrap(),
            r#"{"widget_type": "poll", "extra_data": {"question": "", "options": []}}"#
        );
    }

    #[test]
    fn a_list_has_a_title_and_tasks_with_their_descriptions() {
        assert_eq!(
            initial_widget_submessage("/todo Today\nmilk: two\n- bread").unwrap(),
            concat!(
                r#"{"widget_type": "todo", "extra_data": {"task_list_title": "Today", "#,
                r#""tasks": [{"task": "milk", "desc": "two"}, {"task": "bread", "desc": ""}]}}"#
            )
        );
    }

    #[test]
    fn what_does_not_begin_with_the_word_is_no_widget() {
        for content in ["/polls", "a /poll", "poll", "/me", "/pol", ""] {
            assert_eq!(initial_widget_submessage(content), None, "{content}");
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
        assert_eq!(may_add_submessage(&poll, UserId(3), "x"), Err(WidgetError::NotJson));
        assert_eq!(may_add_submessage(&poll, UserId(3), &"x".repeat(1_001)), Err(WidgetError::TooLong));
        let first = poll.submessages[0].clone();
        let full = Message { submessages: vec![first; MAX_SUBMESSAGES_PER_MESSAGE], ..poll };
        let vote = r#"{"type": "vote", "key": "canned,0", "vote": 1}"#;
        assert_eq!(may_add_submessage(&full, UserId(3), vote), Err(WidgetError::TooMany));
    }
}
