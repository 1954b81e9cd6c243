//! What a bot's program keeps at the server: texts under keys, each bot's its own.

use async_trait::async_trait;

use crate::StoreError;
use crate::id::UserId;

/// The outcome of storing values for a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BotStorageOutcome {
    /// They are durable.
    Done,
    /// With them it would be so many characters too much; nothing was written.
    TooMuch(i64),
}

/// One of the requested keys is not in the bot's storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Key does not exist.")]
pub struct MissingBotStorageKey;

/// The key-value storage of bots. It can be large and is read rarely, so no node has it in memory.
#[async_trait]
pub trait BotStorage: Send + Sync {
    /// Stores values under their keys, each key once, in place of existing ones: all or none. The user's keys and
    /// values then have at most `limit_chars` characters.
    async fn store_bot_values(
        &self,
        user_id: UserId,
        entries: &[(String, String)],
        limit_chars: i64,
    ) -> Result<BotStorageOutcome, StoreError>;

    /// Returns the values under the given keys that exist, or all, in no order.
    async fn load_bot_values(
        &self,
        user_id: UserId,
        keys: Option<&[String]>,
    ) -> Result<Vec<(String, String)>, StoreError>;

    /// Deletes the values under the given keys, each named once, or all. None is deleted when one of the keys is
    /// missing.
    async fn delete_bot_values(
        &self,
        user_id: UserId,
        keys: Option<&[String]>,
    ) -> Result<Result<(), MissingBotStorageKey>, StoreError>;
}
