//! The addition or removal of a flag of messages.

use serde::{Deserialize, Serialize};

use crate::model::message::{Flag, FlagError};

/// Whether a flag is set or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlagOp {
    /// Set.
    Add,
    /// Taken away.
    Remove,
}

impl FlagOp {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
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
    pub flag: Flag,
    /// What becomes of it.
    pub op: FlagOp,
}

/// The reason why a flag cannot be set or taken away.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagChangeError {
    /// The flag is unknown, or not the user's.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// Neither set nor taken away.
    #[error("Invalid message flag operation: '{0}'")]
    UnknownOperation(String),
}

impl FlagChange {
    /// The message is read.
    pub const READ: Self = Self { flag: Flag::Read, op: FlagOp::Add };

    /// Reads the wire's `flag` and `op`.
    ///
    /// # Errors
    /// See [`FlagChangeError`].
    pub fn parse(flag: &str, op: &str) -> Result<Self, FlagChangeError> {
        let flag = Flag::editable(flag)?;
        let mut known = [FlagOp::Add, FlagOp::Remove].into_iter();
        match known.find(|known| known.name() == op) {
            Some(op) => Ok(Self { flag, op }),
            None => Err(FlagChangeError::UnknownOperation(op.to_owned())),
        }
    }

    /// Returns whether its event says of each message where it is: clients may not have what is no longer read.
    #[must_use]
    pub fn wants_details(self) -> bool {
        self == Self { flag: Flag::Read, op: FlagOp::Remove }
    }
}
