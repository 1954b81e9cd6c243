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
    kinds().into_iter().map(|(work, narrow, finds)| row(measured, work, &narrow, finds)).collect()
}

fn row(measured: &Measured<'_, '_>, work: &str, narrow: &Value, finds: bool) -> Result<Row> {
    let asked: String = form_urlencoded::byte_serialize(narrow.to_string().as_bytes()).collect();
    let path = format!("/api/v1/messages?anchor=newest&num_before=20&num_after=0&narrow={asked}");
    let request = [measured.reader.signed(load::get(measured.address(), &path))];
    let about = || format!("{work}: {narrow}");
    // A rare word need not be in every channel of a small database.
    if measured.has_every_word() {
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

/// Each kind with its narrow, and whether it finds something. `everyone` is in each message, `third` and `tenth` in as
/// many as they say, `ticket7` in one of a thousand.
fn kinds() -> Vec<(&'static str, Value, bool)> {
    let search = |words: &str| json!({"operator": "search", "operand": words});
    let without = |words: &str| json!({"operator": "search", "operand": words, "negated": true});
    let term = |operator: &str, operand: &str| json!({"operator": operator, "operand": operand});
    let (large, small) = (|| term("channel", LARGE), || term("channel", SMALL));
    let sender = || term("sender", "member7@example.org");
    vec![
        ("a common word", json!([search("everyone")]), true),
        ("three common words", json!([search("everyone third tenth")]), true),
        ("a common word, large channel", json!([large(), search("everyone")]), true),
        ("a common word, small channel", json!([small(), search("everyone")]), true),
        ("a rare word, large channel", json!([large(), search("ticket7")]), true),
        ("a common and a rare word, large channel", json!([large(), search("everyone ticket7")]), true),
        ("words that are never together", json!([search("tenth ticket7")]), false),
        ("words that are never together, large channel", json!([large(), search("tenth ticket7")]), false),
        ("a common word of a sender", json!([search("everyone"), sender()]), true),
        ("a common word of a sender, large channel", json!([large(), search("everyone"), sender()]), true),
        (
            "a common word in a topic, large channel",
            json!([large(), term("topic", "Topic 1"), search("everyone")]),
            true,
        ),
        ("a common word, not another, large channel", json!([large(), search("everyone"), without("third")]), true),
        ("a common word, is:starred", json!([search("everyone"), term("is", "starred")]), false),
        ("a common word, is:mentioned", json!([search("everyone"), term("is", "mentioned")]), false),
        ("a common word, is:unread", json!([search("everyone"), term("is", "unread")]), true),
        ("a common word, has:attachment", json!([search("everyone"), term("has", "attachment")]), false),
        (
            "a common word, has:reaction, small channel",
            json!([small(), search("everyone"), term("has", "reaction")]),
            false,
        ),
        ("sender, large channel", json!([large(), sender()]), true),
        ("has:attachment, large channel", json!([large(), term("has", "attachment")]), false),
        ("has:attachment", json!([term("has", "attachment")]), false),
        ("has:reaction", json!([term("has", "reaction")]), false),
        ("is:mentioned", json!([term("is", "mentioned")]), false),
        ("is:starred", json!([term("is", "starred")]), false),
        ("is:followed", json!([term("is", "followed")]), false),
        ("a topic, any channel", json!([term("topic", "Topic 1")]), true),
        ("dm-including", json!([term("dm-including", "member7@example.org")]), false),
    ]
}
