//! `to`, in the shapes clients have sent it in over the years.
//!
//! What a shape means depends on `type`, a parameter of its own, so the text is kept until it is known.

use std::collections::BTreeSet;

use chat_core::id::{ChannelId, UserId};
use serde_json::Value;

use super::{ParamDecoder, ParamError, ParamWireFormat, RawParam};
use crate::json_schema::JsonSchema;

/// The decoder of the parameter `to`, which keeps its text raw, because an e-mail address or a channel name may stand
/// in it without quotes.
#[derive(Debug)]
pub struct RecipientsParam;

impl ParamDecoder for RecipientsParam {
    type Value = RawRecipients;

    fn wire_format() -> ParamWireFormat {
        let meaning = "A channel by name or number, or users: a JSON list of numbers or of addresses, or addresses with \
                       commas between them.";
        ParamWireFormat::raw(JsonSchema::string().with_example("[1]").with_description(meaning))
    }

    fn decode(param: RawParam<'_>) -> Result<RawRecipients, ParamError> {
        Ok(RawRecipients(param.text.to_owned()))
    }
}

/// The value of `to`, not yet parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecipients(String);

/// A channel by one of its two names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelNameOrId {
    /// By number.
    Id(ChannelId),
    /// By name, as typed.
    Name(String),
}

/// The people a direct message goes to, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectMessageRecipients {
    /// By number, ascending.
    Ids(Vec<UserId>),
    /// By e-mail address, without white space around, in the order sent.
    Emails(Vec<String>),
}

/// The reason why the parameter `to` cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecipientsError {
    /// A list of none or several channels.
    #[error("Expected exactly one channel")]
    NotOneChannel,
    /// Neither number nor name of a channel.
    #[error("Invalid data type for channel")]
    NotAChannel,
    /// No number, where only a channel's number will do.
    #[error("Invalid data type for channel ID")]
    NotAChannelId,
    /// Neither numbers nor addresses.
    #[error("Invalid data type for recipients")]
    NotPeople,
    /// Numbers and addresses in one list.
    #[error("Recipient lists may contain emails or user IDs, but not both.")]
    Mixed,
    /// Something else than numbers, where only numbers will do.
    #[error("Recipient list may only contain user IDs")]
    NotIds,
}

impl RawRecipients {
    /// Parses the value as one channel: its bare or quoted name, its id, or a list with one of these.
    ///
    /// # Errors
    /// When it is another JSON value, or not one.
    pub fn parse_channel(&self) -> Result<ChannelNameOrId, RecipientsError> {
        let value = match serde_json::from_str(&self.0) {
            Err(_) => return Ok(ChannelNameOrId::Name(self.0.clone())),
            Ok(Value::Array(list)) => only(list)?,
            Ok(value) => value,
        };
        match value {
            Value::String(name) if !name.contains('\0') => Ok(ChannelNameOrId::Name(name)),
            value => integer(&value).map(|id| ChannelNameOrId::Id(ChannelId(id))).ok_or(RecipientsError::NotAChannel),
        }
    }

    /// Parses the value as recipients of a direct message: a list of user ids or of e-mail addresses, or addresses
    /// separated by commas. May be empty.
    ///
    /// # Errors
    /// When it is another JSON value, or a list of both.
    pub fn parse_direct_recipients(&self) -> Result<DirectMessageRecipients, RecipientsError> {
        let list = match serde_json::from_str(&self.0) {
            Err(_) => return Ok(DirectMessageRecipients::Emails(split(&self.0))),
            Ok(Value::String(addresses)) if !addresses.contains('\0') => {
                return Ok(DirectMessageRecipients::Emails(split(&addresses)));
            }
            Ok(Value::Array(list)) => list,
            Ok(_) => return Err(RecipientsError::NotPeople),
        };
        match list.first() {
            None => Ok(DirectMessageRecipients::Ids(Vec::new())),
            Some(Value::String(_)) => emails(&list).map(DirectMessageRecipients::Emails),
            Some(first) if integer(first).is_some() => {
                ids(&list, RecipientsError::Mixed).map(DirectMessageRecipients::Ids)
            }
            Some(_) => Err(RecipientsError::NotPeople),
        }
    }

    /// Parses the value as one channel id alone, as scheduled messages take it.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn parse_channel_id(&self) -> Result<ChannelId, RecipientsError> {
        let value = serde_json::from_str(&self.0).map_err(|_| RecipientsError::NotAChannelId)?;
        integer(&value).map(ChannelId).ok_or(RecipientsError::NotAChannelId)
    }

    /// Parses the value as a list of user ids alone, as scheduled messages take them; each once, ascending, may be
    /// empty.
    ///
    /// # Errors
    /// When it is no list, or one with something else in it.
    pub fn parse_user_ids(&self) -> Result<Vec<UserId>, RecipientsError> {
        match serde_json::from_str(&self.0) {
            Ok(Value::Array(list)) => ids(&list, RecipientsError::NotIds),
            _ => Err(RecipientsError::NotPeople),
        }
    }
}

fn only(list: Vec<Value>) -> Result<Value, RecipientsError> {
    let [value] = <[Value; 1]>::try_from(list).map_err(|_| RecipientsError::NotOneChannel)?;
    Ok(value)
}

fn integer(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn ids(list: &[Value], otherwise: RecipientsError) -> Result<Vec<UserId>, RecipientsError> {
    let ids: Option<BTreeSet<_>> = list.iter().map(|value| integer(value).map(UserId)).collect();
    ids.map(Vec::from_iter).ok_or(otherwise)
}

fn emails(list: &[Value]) -> Result<Vec<String>, RecipientsError> {
    let texts: Option<Vec<_>> = list.iter().map(Value::as_str).collect();
    let texts = texts.ok_or(RecipientsError::Mixed)?;
    if texts.iter().any(|text| text.contains('\0')) {
        return Err(RecipientsError::NotPeople);
    }
    Ok(each_once(texts.into_iter()))
}

fn split(addresses: &str) -> Vec<String> {
    each_once(addresses.split(','))
}

fn each_once<'a>(addresses: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    addresses.map(str::trim).filter(|text| !text.is_empty() && seen.insert(*text)).map(str::to_owned).collect()
}
