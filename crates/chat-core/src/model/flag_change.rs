//! The addition or removal of a flag of messages.

use serde::{Deserialize, Serialize};

use crate::model::message::{MessageFlag, MessageFlagError};

/// The operation on a message flag: add or remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagOp {
    /// Set.
    Add,
    /// Taken away.
    Remove,
}

impl FlagOp {
    /// Returns the name of the operation on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
        }
    }
}

/// The addition or removal of a message flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagChange {
    /// The flag.
    pub flag: MessageFlag,
    /// What becomes of it.
    pub op: FlagOp,
}

/// The reason why a flag cannot be added or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagChangeError {
    /// The flag is unknown, or not the user's.
    #[error(transparent)]
    Flag(#[from] MessageFlagError),
    /// Neither set nor taken away.
    #[error("Invalid message flag operation: '{0}'")]
    UnknownOperation(String),
}

impl FlagChange {
    /// The change that marks messages as read.
    pub const MARK_READ: Self = Self { flag: MessageFlag::Read, op: FlagOp::Add };

    /// Parses the wire's `flag` and `op`.
    ///
    /// # Errors
    /// See [`FlagChangeError`].
    pub fn parse(flag: &str, op: &str) -> Result<Self, FlagChangeError> {
        let flag = MessageFlag::parse_editable(flag)?;
        let mut known = [FlagOp::Add, FlagOp::Remove].into_iter();
        match known.find(|known| known.wire_name() == op) {
            Some(op) => Ok(Self { flag, op }),
            None => Err(FlagChangeError::UnknownOperation(op.to_owned())),
        }
    }

    /// Returns whether the event of the change includes the location of each message: clients may not have messages
    /// that become unread.
    #[must_use]
    pub fn needs_message_details(self) -> bool {
        self == Self { flag: MessageFlag::Read, op: FlagOp::Remove }
    }
}
