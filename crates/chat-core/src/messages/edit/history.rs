//! What a message was before.

use serde_json::{Value, json};

use super::html_diff::{PAIRS_MAX, html_diff_within};
use crate::model::message::{EditHistoryEntry, Message, Recipient};
use crate::model::realm::EditHistoryVisibility;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::wire_format::add;

/// The organization does not show what messages were before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Message edit history is disabled in this organization")]
pub struct EditHistoryHidden;

/// Checks that the organization shows some of what messages were before.
///
/// # Errors
/// When it shows nothing of that.
pub fn require_visible_edit_history(realm: &RealmSnapshot) -> Result<(), EditHistoryHidden> {
    if realm.edit_history_visibility() == EditHistoryVisibility::None { Err(EditHistoryHidden) } else { Ok(()) }
}

/// Returns the states of a message as wire objects, the oldest first: as it was sent, and after each edit together with
/// what it was before.
///
/// `past` is the newest first, as the store gives it. Where a message was is told by channel numbers alone. Where the
/// organization shows moves alone, every state has the text of today and edits of the text are left out.
///
/// # Source
/// Not specified; the keys are those existing clients know. For a state before a move an original server shows the text
/// of then; here what `moves` is to hide stays hidden.
#[must_use]
pub fn message_edit_history(
    message: &Message,
    past: &[EditHistoryEntry],
    visibility: EditHistoryVisibility,
) -> Vec<Value> {
    let moves;
    let past = match visibility {
        EditHistoryVisibility::All => past,
        EditHistoryVisibility::Moves => {
            let relocations = past.iter().filter(|edit| edit.channel.is_some() || edit.topic.is_some());
            moves = relocations.map(|edit| EditHistoryEntry { content: None, ..edit.clone() }).collect::<Vec<_>>();
            &moves
        }
        EditHistoryVisibility::None => &[],
    };
    states(message, past)
}

fn states(message: &Message, past: &[EditHistoryEntry]) -> Vec<Value> {
    let (mut content, mut html) = (message.content.as_str(), message.html.as_str());
    let (mut topic, mut pairs) = (message.topic.as_str(), PAIRS_MAX);
    let state = |(topic, content, html): (&str, &str, &str), at_s: i64, user_id| json!({"topic": topic, "content": content, "rendered_content": html, "timestamp": at_s, "user_id": user_id});
    let mut states = Vec::with_capacity(past.len() + 1);
    for edit in past {
        let mut entry = state((topic, content, html), edit.at_s, edit.user_id);
        if let Some((old, old_html)) = &edit.content {
            let diff = html_diff_within(old_html, html, &mut pairs);
            (content, html) = (old, old_html);
            let before = json!({"prev_content": old, "prev_rendered_content": old_html, "content_html_diff": diff});
            add(&mut entry, before);
        }
        if let Some((old, _)) = edit.topic.as_ref().filter(|_| matches!(message.recipient, Recipient::Channel(_))) {
            topic = old;
            add(&mut entry, json!({"prev_topic": old}));
        }
        if let Some((old, new)) = edit.channel {
            add(&mut entry, json!({"prev_stream": old, "stream": new}));
        }
        states.push(entry);
    }
    states.push(state((topic, content, html), message.sent_s, Some(message.sender_id)));
    states.reverse();
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChannelId, UserId};
    use crate::testing::{self, NOW_S};

    #[test]
    fn a_history_begins_with_what_was_sent() {
        let message = testing::message(4, Recipient::Channel(ChannelId(21)));
        let moved = EditHistoryEntry {
            at_s: NOW_S + 20,
            user_id: Some(UserId(2)),
            content: None,
            channel: Some((ChannelId(20), ChannelId(21))),
            topic: Some(("Breakfast".to_owned(), "Lunch".to_owned())),
        };
        let edited = EditHistoryEntry {
            at_s: NOW_S + 10,
            user_id: Some(UserId(4)),
            content: Some(("ho".to_owned(), "<p>ho</p>".to_owned())),
            channel: None,
            topic: None,
        };
        let now = |topic: &str, content: &str| json!({"topic": topic, "content": content, "rendered_content": format!("<p>{content}</p>")});
        let with = |mut state: Value, more: Value| {
            add(&mut state, more);
            state
        };
        assert_eq!(
            message_edit_history(&message, &[moved, edited], EditHistoryVisibility::All),
            [
                with(now("Breakfast", "ho"), json!({"timestamp": NOW_S, "user_id": 4})),
                with(
                    now("Breakfast", "hi"),
                    json!({
                        "timestamp": NOW_S + 10, "user_id": 4,
                        "prev_content": "ho", "prev_rendered_content": "<p>ho</p>",
                        "content_html_diff": "<div><p><span class=\"highlight_text_inserted\">hi</span> \
                            <span class=\"highlight_text_deleted\">ho</span></p></div>",
                    })
                ),
                with(
                    now("Lunch", "hi"),
                    json!({
                        "timestamp": NOW_S + 20, "user_id": 2,
                        "prev_topic": "Breakfast", "prev_stream": 20, "stream": 21,
                    })
                ),
            ]
        );
    }
}
