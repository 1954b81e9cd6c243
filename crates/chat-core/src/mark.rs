//! Flags that users set on their own copies of messages.

use serde_json::{Value, json};

use crate::access::reads_copy;
use crate::event::add;
use crate::id::UserId;
use crate::message::{Flag, FlagError, Recipient};
use crate::own_copy::OwnCopy;
use crate::personal::topic;
use crate::ports::FlagOp;
use crate::snapshot::RealmSnapshot;
use crate::user::User;

/// A flag, set or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The flag.
    pub flag: Flag,
    /// What becomes of it.
    pub op: FlagOp,
}

/// Why a flag cannot be set or taken away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// The flag is unknown, or not the user's.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// Neither set nor taken away.
    #[error("Invalid message flag operation: '{0}'")]
    UnknownOperation(String),
}

impl Mark {
    /// The message is read.
    pub const READ: Self = Self { flag: Flag::Read, op: FlagOp::Add };

    /// Reads the wire's `flag` and `op`.
    ///
    /// # Errors
    /// See [`MarkError`].
    pub fn parse(flag: &str, op: &str) -> Result<Self, MarkError> {
        let flag = Flag::editable(flag)?;
        let mut known = [FlagOp::Add, FlagOp::Remove].into_iter();
        match known.find(|known| known.name() == op) {
            Some(op) => Ok(Self { flag, op }),
            None => Err(MarkError::UnknownOperation(op.to_owned())),
        }
    }

    /// Whether it changes the user's copy of a message.
    ///
    /// A message the user may not read is left alone, and one they never received stays read, because nobody waits
    /// for them to read it.
    #[must_use]
    pub fn changes(self, realm: &RealmSnapshot, user: &User, copy: &OwnCopy) -> bool {
        let stays = self.flag == Flag::Read && copy.flags.contains(&Flag::Historical);
        let has = copy.flags.contains(&self.flag);
        has == (self.op == FlagOp::Remove) && !stays && reads_copy(realm, user, copy)
    }

    /// Whether its event says of each message where it is: clients may not have what is no longer read.
    #[must_use]
    pub fn wants_details(self) -> bool {
        self == Self { flag: Flag::Read, op: FlagOp::Remove }
    }
}

/// What the event of a message that is no longer read says of it.
#[must_use]
pub fn details(realm: &RealmSnapshot, user_id: UserId, copy: &OwnCopy) -> Value {
    let mut details = match copy.recipient {
        Recipient::Channel(channel_id) => {
            let is_muted = topic::is_muted(realm, user_id, channel_id, &copy.topic);
            json!({
                "type": "stream",
                "stream_id": channel_id,
                "topic": copy.topic,
                "unmuted_stream_msg": !is_muted,
            })
        }
        Recipient::Direct(_) => {
            let alone = copy.direct_users.len() == 1;
            let others: Vec<_> = copy.direct_users.iter().filter(|user| alone || **user != user_id).collect();
            json!({"type": "private", "user_ids": others})
        }
    };
    if copy.flags.iter().any(|flag| flag.is_mention()) {
        add(&mut details, json!({"mentioned": true}));
    }
    details
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::channel::Privacy;
    use crate::id::{ChannelId, DirectId};
    use crate::message::Message;
    use crate::realm::Rules;
    use crate::testing;

    #[test]
    fn an_unknown_flag_is_told_before_an_unknown_operation() {
        let told = |flag, op| Mark::parse(flag, op).map_err(|error| error.to_string());
        assert_eq!(told("read", "add"), Ok(Mark::READ));
        assert_eq!(told("x", "y"), Err("Invalid flag: 'x'".to_owned()));
        assert_eq!(told("mentioned", "add"), Err("Flag not editable: 'mentioned'".to_owned()));
        assert_eq!(told("starred", "y"), Err("Invalid message flag operation: 'y'".to_owned()));
    }

    #[test]
    fn a_mark_changes_what_may_be_read_and_is_otherwise() {
        let realm = testing::realm(
            Rules::default(),
            vec![Change::Channel(Box::new(testing::channel(20, Privacy::PrivateSharedHistory)))],
        );
        let private = testing::message(2, Recipient::Channel(ChannelId(20)));
        let copy = |message: &Message, flags: &[Flag]| OwnCopy::of(message, flags.to_vec());
        let own = Message { direct_users: vec![UserId(4)], ..testing::message(4, Recipient::Direct(DirectId(5))) };
        let user = realm.user(UserId(4)).unwrap();
        let star = Mark::parse("starred", "add").unwrap();
        assert!(!star.changes(&realm, user, &copy(&private, &[])));
        assert!(star.changes(&realm, user, &copy(&own, &[])));
        assert!(star.changes(&realm, user, &copy(&own, &[Flag::Read, Flag::Historical])));
        assert!(!star.changes(&realm, user, &copy(&own, &[Flag::Starred])));
        let unread = Mark::parse("read", "remove").unwrap();
        assert!(!unread.changes(&realm, user, &copy(&own, &[Flag::Read, Flag::Historical])));
        assert!(unread.changes(&realm, user, &copy(&own, &[Flag::Read])));
        assert!(!Mark::READ.changes(&realm, user, &copy(&own, &[Flag::Read])));
    }

    #[test]
    fn what_is_no_longer_read_is_told_with_its_place() {
        let realm = testing::realm(
            Rules::default(),
            vec![
                Change::Channel(Box::new(testing::channel(20, Privacy::Public))),
                Change::Subscription(Box::new(testing::subscription(20, 4))),
            ],
        );
        let message = testing::message(2, Recipient::Channel(ChannelId(20)));
        assert_eq!(
            details(&realm, UserId(4), &OwnCopy::of(&message, vec![Flag::Mentioned])),
            json!({"type": "stream", "stream_id": 20, "topic": "Lunch", "unmuted_stream_msg": true, "mentioned": true})
        );
        let direct = |users: &[i64]| Message {
            direct_users: users.iter().copied().map(UserId).collect(),
            ..testing::message(4, Recipient::Direct(DirectId(5)))
        };
        let told = |users| details(&realm, UserId(4), &OwnCopy::of(&direct(users), Vec::new()));
        assert_eq!(told(&[2, 4]), json!({"type": "private", "user_ids": [2]}));
        assert_eq!(told(&[4]), json!({"type": "private", "user_ids": [4]}));
    }
}
