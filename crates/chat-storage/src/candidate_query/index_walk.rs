//! Which messages of each recipient a narrow by place reads: all, or those that an index has by themselves.

use chat_core::messages::narrow::{HasOperand, NarrowCondition, ReadableMessageSelection};
use sql_engines::SqlDialect;

/// The number after which messages of a recipient are read, on Postgres.
const AFTER: &str = "greatest($2, wanted.after_id)";

/// The messages of a recipient that are read, in the order of their numbers.
///
/// **Why**: a narrow that names a place reads an index with the recipient first. Where the narrow names one more
/// property that an index has beside it, no other messages are read, so the cost follows the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexWalk {
    /// All of them.
    All,
    /// Those of a topic, by its key.
    Topic(String),
    /// Those of the topic that each pair names as its third member.
    EachTopic,
    /// Those of a sender.
    Sender(i64),
    /// Those with one of these bits of [`ContentFlags`](chat_core::model::message::ContentFlags).
    Marked(i64),
    /// Those with a reaction: each message of the recipient is looked at, within the statement.
    Reacted,
}

impl IndexWalk {
    /// Returns the property of which an index has the fewest messages, as far as one can tell.
    pub(crate) fn of(selection: &ReadableMessageSelection) -> Self {
        let asked = || selection.terms.iter().filter(|term| !term.negated).map(|term| &term.condition);
        let topic = asked().find_map(|condition| match condition {
            NarrowCondition::Topic(key) => Some(Self::Topic(key.clone())),
            _ => None,
        });
        let sender = asked().find_map(|condition| match condition {
            NarrowCondition::Sender(user) => Some(Self::Sender(user.0)),
            _ => None,
        });
        let marked = marked(selection).map(Self::Marked);
        let reacted =
            asked().any(|asked| *asked == NarrowCondition::Has(HasOperand::Reaction)).then_some(Self::Reacted);
        topic.or(sender).or(marked).or(reacted).unwrap_or(Self::All)
    }

    /// Returns the condition on a message `y`. Its parameter, if it has one, is `$5`.
    ///
    /// **Why**: on Postgres the column of the index is compared together with the number, and is the first that
    /// [`IndexWalk::order`] names, so no other index gives the rows in their order. With separate conditions the
    /// planner chose between two indexes by a sample of the table, at times the one that reads all messages of the
    /// recipient.
    pub(crate) fn sql(&self, dialect: SqlDialect) -> String {
        let more = match self {
            // As the index of the schema says it, and then more exactly.
            Self::Marked(bits) => format!(" AND (y.marks & 14) <> 0 AND (y.marks & {bits}) <> 0"),
            Self::Reacted => " AND EXISTS (SELECT 1 FROM reaction AS z WHERE z.message_id = y.id)".to_owned(),
            Self::All | Self::Topic(_) | Self::EachTopic | Self::Sender(_) => String::new(),
        };
        match (dialect, self.column()) {
            (SqlDialect::Sqlite, None) => more,
            (SqlDialect::Sqlite, Some((column, value))) => format!(" AND y.{column} = {value}"),
            (SqlDialect::Postgres, None) => format!(" AND y.id > {AFTER} AND y.id < $3{more}"),
            (SqlDialect::Postgres, Some((column, value))) => {
                format!(" AND (y.{column}, y.id) > ({value}, {AFTER}) AND (y.{column}, y.id) < ({value}, $3)")
            }
        }
    }

    /// Returns what the messages are ordered by before their number, with a comma behind it; empty for nothing.
    pub(crate) fn order(&self, dialect: SqlDialect, direction: &str) -> String {
        match self.column() {
            Some((column, _)) if dialect == SqlDialect::Postgres => format!("y.{column} {direction}, "),
            _ => String::new(),
        }
    }

    /// Returns the column that an index has beside the recipient, and what it is compared with.
    const fn column(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Topic(_) => Some(("topic_key", "$5")),
            Self::EachTopic => Some(("topic_key", "wanted.topic_key")),
            Self::Sender(_) => Some(("sender_id", "$5")),
            Self::All | Self::Marked(_) | Self::Reacted => None,
        }
    }
}

/// Returns the bit of what the messages have to have in them: a link, an image or an attachment.
pub(crate) fn marked(selection: &ReadableMessageSelection) -> Option<i64> {
    selection.terms.iter().filter(|term| !term.negated).find_map(|term| match term.condition {
        NarrowCondition::Has(HasOperand::Link) => Some(2),
        NarrowCondition::Has(HasOperand::Image) => Some(4),
        NarrowCondition::Has(HasOperand::Attachment) => Some(8),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use chat_core::model::message::ContentFlags;

    #[test]
    fn the_bits_of_the_index_are_those_of_the_marks() {
        let bit = |content_flags: ContentFlags| content_flags.to_bits();
        assert_eq!(bit(ContentFlags { has_link: true, ..ContentFlags::default() }), 2);
        assert_eq!(bit(ContentFlags { has_image: true, ..ContentFlags::default() }), 4);
        assert_eq!(bit(ContentFlags { has_attachment: true, ..ContentFlags::default() }), 8);
        assert_eq!(bit(ContentFlags { mentions_channel: true, ..ContentFlags::default() }), 16);
    }
}
