//! Some of the messages of a narrow, around an anchor.

use crate::id::MessageId;
use crate::limits::MAX_MESSAGES_PER_RESPONSE;

/// The anchor of a message window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At a message, or where it would be.
    At(MessageId),
    /// Before the first.
    Oldest,
    /// After the last.
    Newest,
    /// At the first the reader has not read; after the last when there is none.
    FirstUnread,
}

/// The message id that the wire uses as the anchor "newest".
pub const NEWEST_ANCHOR: MessageId = MessageId(10_000_000_000_000_000);

/// A number of messages before and after an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageWindow {
    /// Where.
    pub anchor: Anchor,
    /// At most so many before it.
    pub before: u64,
    /// At most so many after it.
    pub after: u64,
    /// Whether the message at the anchor is wanted too, beside those.
    pub include_anchor: bool,
}

/// The reason why a message window is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageWindowError {
    /// Nobody said where.
    #[error("Missing 'anchor' argument.")]
    NoAnchor,
    /// Neither a number nor one of the words.
    #[error("Invalid anchor")]
    BadAnchor,
    /// More than [`MAX_MESSAGES_PER_RESPONSE`] messages.
    #[error("Too many messages requested (maximum {MAX_MESSAGES_PER_RESPONSE}).")]
    TooMany,
    /// A hole in the middle.
    #[error("The anchor can only be excluded at an end of the range")]
    AnchorExcluded,
}

impl Anchor {
    /// Parses the wire's `anchor`; `first_unread`, its older form, wins over it.
    ///
    /// # Errors
    /// [`MessageWindowError::NoAnchor`] and [`MessageWindowError::BadAnchor`].
    pub fn parse(written: Option<&str>, first_unread: bool) -> Result<Self, MessageWindowError> {
        if first_unread {
            return Ok(Self::FirstUnread);
        }
        match written.ok_or(MessageWindowError::NoAnchor)? {
            "oldest" => Ok(Self::Oldest),
            "newest" => Ok(Self::Newest),
            "first_unread" => Ok(Self::FirstUnread),
            number => Self::numbered(number.trim()),
        }
    }

    /// A number beyond all messages is held at the end it is beyond.
    fn numbered(text: &str) -> Result<Self, MessageWindowError> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(MessageWindowError::BadAnchor);
        }
        let beyond = if text.starts_with('-') { 0 } else { NEWEST_ANCHOR.0 };
        let number: i64 = text.parse().unwrap_or(beyond);
        Ok(Self::At(MessageId(number.clamp(0, NEWEST_ANCHOR.0))))
    }
}

impl MessageWindow {
    /// Returns a window of messages around an anchor, when its size is allowed.
    ///
    /// # Errors
    /// [`MessageWindowError::TooMany`] and [`MessageWindowError::AnchorExcluded`].
    pub fn new(anchor: Anchor, (before, after): (u64, u64), include_anchor: bool) -> Result<Self, MessageWindowError> {
        if before.saturating_add(after) > MAX_MESSAGES_PER_RESPONSE {
            return Err(MessageWindowError::TooMany);
        }
        if before > 0 && after > 0 && !include_anchor {
            return Err(MessageWindowError::AnchorExcluded);
        }
        Ok(Self { anchor, before, after, include_anchor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_a_word_or_a_number_held_within_bounds() {
        let parse = |text: &str| Anchor::parse(Some(text), false);
        let at = |id| Ok(Anchor::At(MessageId(id)));
        assert_eq!(parse("newest"), Ok(Anchor::Newest));
        assert_eq!(parse("oldest"), Ok(Anchor::Oldest));
        assert_eq!(parse("first_unread"), Ok(Anchor::FirstUnread));
        assert_eq!([parse("17"), parse("-5"), parse(&"9".repeat(40))], [at(17), at(0), at(NEWEST_ANCHOR.0)]);
        assert_eq!(parse(&format!("-{}", "9".repeat(40))), at(0));
        for odd in ["", "x", "1.5", "-", "--1", "0x1"] {
            assert_eq!(parse(odd), Err(MessageWindowError::BadAnchor), "{odd}");
        }
        assert_eq!(Anchor::parse(None, false), Err(MessageWindowError::NoAnchor));
        assert_eq!(Anchor::parse(Some("0"), true), Ok(Anchor::FirstUnread));
    }

    #[test]
    fn a_window_has_a_size_and_no_hole() {
        assert!(MessageWindow::new(Anchor::Newest, (5_000, 0), false).is_ok());
        assert_eq!(MessageWindow::new(Anchor::Newest, (2_500, 2_501), true), Err(MessageWindowError::TooMany));
        assert_eq!(MessageWindow::new(Anchor::Newest, (u64::MAX, 1), true), Err(MessageWindowError::TooMany));
        assert_eq!(MessageWindow::new(Anchor::Newest, (1, 1), false), Err(MessageWindowError::AnchorExcluded));
    }
}
