//! Searches as people make them: within a channel, for words that are common or rare, beside every other operator.
//!
//! Each is bounded by what it finds, so what stands beside them is one bound for all: a search that costs more than
//! that has read more than its answer.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::super::{
    Row, Target,
    load::{self, Wire},
};
use super::everyday::Measured;

/// What one of them may cost, the page of messages included.
const TARGET: Target = Target::alone(5_000.0);
/// Requests of a slice: of the kinds that the planner may get wrong, one takes seconds.
const COUNT: usize = 5;
/// The channel with one message of eleven.
const LARGE: &str = "Room 0";
/// One with one of five hundred.
const SMALL: &str = "Room 7";

/// A row for each kind.
///
/// # Errors
/// When an answer is not the right one.
pub(super) fn rows(measured: &Measured<'_, '_>) -> Result<Vec<Row>> {
    kinds().into_iter().map(|(work, narrow, finds)| row(measured, &work, &narrow, finds)).collect()
}

fn row(measured: &Measured<'_, '_>, work: &str, narrow: &Value, finds: Option<bool>) -> Result<Row> {
    let asked: String = form_urlencoded::byte_serialize(narrow.to_string().as_bytes()).collect();
    let path = format!("/api/v1/messages?anchor=newest&num_before=20&num_after=0&narrow={asked}");
    let request = [measured.reader.signed(load::get(measured.address(), &path))];
    let about = || format!("{work}: {narrow}");
    // A rare word need not be in every channel of a small database.
    if let Some(finds) = finds.filter(|_| measured.has_every_word()) {
        check(measured, &request, finds).with_context(about)?;
    }
    let ours = measured.each_us(&request, COUNT).with_context(about)?;
    Ok(Row { ours: Some(ours), target: Some(TARGET), ..measured.row(work) })
}

/// Whether something is found exactly where something is to be.
fn check(measured: &Measured<'_, '_>, request: &[Wire], finds: bool) -> Result<()> {
    let body = load::ask(measured.address(), request.first().context("there is no request")?)?;
    let answer: Value = serde_json::from_slice(&body).context("the answer is not JSON")?;
    let found = answer.get("messages").and_then(Value::as_array).context("no messages were answered")?;
    ensure!(found.is_empty() != finds, "{} messages were found", found.len());
    Ok(())
}

/// Each kind with its narrow, and whether it finds something, where that is the same at every size. `everyone` is in
/// each message, `third` and `tenth` in as many as they say, `ticket7` in one of a thousand. The reader has no direct
/// messages, follows and mutes nothing, and there is no resolved topic, reaction or content but texts: what takes
/// longest is to find out that there is nothing.
fn kinds() -> Vec<(String, Value, Option<bool>)> {
    let sender = || term("sender", "member7@example.org");
    let (large, small) = (|| term("channel", LARGE), || term("channel", SMALL));
    let mut kinds = vec![
        kind("sender, large channel", json!([large(), sender()]), true),
        kind("has:attachment, large channel", json!([large(), term("has", "attachment")]), false),
        kind("has:attachment", json!([term("has", "attachment")]), false),
        kind("has:reaction", json!([term("has", "reaction")]), false),
        kind("is:mentioned", json!([term("is", "mentioned")]), false),
        kind("is:starred", json!([term("is", "starred")]), false),
        kind("is:followed", json!([term("is", "followed")]), false),
        kind("a topic, any channel", json!([term("topic", "Topic 1")]), true),
        kind("dm-including", json!([term("dm-including", "member7@example.org")]), false),
        kind("a common word", json!([search("everyone")]), true),
        kind("three common words", json!([search("everyone third tenth")]), true),
        kind("a common word, large channel", json!([large(), search("everyone")]), true),
        kind("a common word, small channel", json!([small(), search("everyone")]), true),
        kind("a rare word, large channel", json!([large(), search("ticket7")]), true),
        kind("a common and a rare word, large channel", json!([large(), search("everyone ticket7")]), true),
        kind("words that are never together", json!([search("tenth ticket7")]), false),
        kind("words that are never together, large channel", json!([large(), search("tenth ticket7")]), false),
        kind("a common word of a sender, large channel", json!([large(), search("everyone"), sender()]), true),
        kind(
            "a common word in a topic, large channel",
            json!([large(), term("topic", "Topic 1"), search("everyone")]),
            true,
        ),
        kind(
            "a common word, not another, large channel",
            json!([large(), search("everyone"), {"operator": "search", "operand": "third", "negated": true}]),
            true,
        ),
        kind(
            "a common word, has:reaction, small channel",
            json!([small(), search("everyone"), term("has", "reaction")]),
            false,
        ),
    ];
    kinds.extend(beside_words());
    kinds
}

/// Every operator beside a common word and beside a rare one.
fn beside_words() -> impl Iterator<Item = (String, Value, Option<bool>)> {
    let operators = [
        ("sender", json!("member7@example.org"), Some(true)),
        ("channels", json!("public"), Some(true)),
        ("channels", json!("web-public"), Some(false)),
        ("dm", json!("member7@example.org"), Some(false)),
        ("dm-including", json!("member7@example.org"), Some(false)),
        ("is", json!("dm"), Some(false)),
        ("is", json!("starred"), Some(false)),
        ("is", json!("mentioned"), Some(false)),
        ("is", json!("alerted"), Some(false)),
        ("is", json!("unread"), Some(true)),
        ("is", json!("followed"), Some(false)),
        ("is", json!("muted"), Some(false)),
        ("is", json!("resolved"), Some(false)),
        ("in", json!("home"), Some(true)),
        ("has", json!("attachment"), Some(false)),
        ("has", json!("image"), Some(false)),
        ("has", json!("link"), Some(false)),
        ("has", json!("reaction"), Some(false)),
        ("id", json!(5_000), None),
        ("with", json!(5_000), None),
    ];
    let words = [("a common word", "everyone"), ("a rare word", "ticket7")];
    words.into_iter().flat_map(move |(name, word)| {
        let row = move |(operator, operand, finds): (&str, Value, Option<bool>)| {
            let said = operand.as_str().unwrap_or("a message").split('@').next().unwrap_or_default().to_owned();
            let narrow = json!([search(word), {"operator": operator, "operand": operand}]);
            // A rare word of one sender, or within one conversation, need not be there.
            let finds = finds.filter(|_| word == "everyone" || operator != "sender");
            (format!("{name}, {operator}:{said}"), narrow, finds)
        };
        operators.clone().map(row)
    })
}

fn kind(work: &str, narrow: Value, finds: bool) -> (String, Value, Option<bool>) {
    (work.to_owned(), narrow, Some(finds))
}

fn search(words: &str) -> Value {
    term("search", words)
}

fn term(operator: &str, operand: &str) -> Value {
    json!({"operator": operator, "operand": operand})
}
