//! `to`, in the shapes clients have sent it in over the years.
//!
//! What a shape means depends on `type`, a parameter of its own, so the text is kept until it is known.

use std::collections::BTreeSet;

use chat_core::id::{ChannelId, UserId};
use serde_json::Value;

use super::{Form, Given, Kind, ParamFault};
use crate::schema::Schema;

/// The kind of `to`: raw, because an e-mail address or a channel name may stand in it without quotes.
#[derive(Debug)]
pub struct Recipients;

impl Kind for Recipients {
    type Value = To;

    fn form() -> Form {
        let meaning = "A channel by name or number, or users: a JSON list of numbers or of addresses, or addresses with \
                       commas between them.";
        Form::raw(Schema::string().such_as("[1]").meaning(meaning))
    }

    fn decode(given: Given<'_>) -> Result<To, ParamFault> {
        Ok(To(given.text.to_owned()))
    }
}

/// Where a message goes, unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To(String);

/// A channel by one of its two names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelName {
    /// By number.
    Id(ChannelId),
    /// By name, as typed.
    Name(String),
}

/// The people a direct message goes to, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectTo {
    /// By number, ascending.
    Ids(Vec<UserId>),
    /// By e-mail address, without white space around, in the order sent.
    Emails(Vec<String>),
}

/// The reason why `to` names nobody and nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecipientsFault {
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

impl To {
    /// One channel: its bare or quoted name, its number, or a list with one of these.
    ///
    /// # Errors
    /// When it is another JSON value, or not one.
    pub fn channel(&self) -> Result<ChannelName, RecipientsFault> {
        let value = match serde_json::from_str(&self.0) {
            Err(_) => return Ok(ChannelName::Name(self.0.clone())),
            Ok(Value::Array(list)) => only(list)?,
            Ok(value) => value,
        };
        match value {
            Value::String(name) if !name.contains('\0') => Ok(ChannelName::Name(name)),
            value => integer(&value).map(|id| ChannelName::Id(ChannelId(id))).ok_or(RecipientsFault::NotAChannel),
        }
    }

    /// People: a list of numbers or of addresses, or addresses separated by commas. May be empty.
    ///
    /// # Errors
    /// When it is another JSON value, or a list of both.
    pub fn direct(&self) -> Result<DirectTo, RecipientsFault> {
        let list = match serde_json::from_str(&self.0) {
            Err(_) => return Ok(DirectTo::Emails(split(&self.0))),
            Ok(Value::String(addresses)) if !addresses.contains('\0') => {
                return Ok(DirectTo::Emails(split(&addresses)));
            }
            Ok(Value::Array(list)) => list,
            Ok(_) => return Err(RecipientsFault::NotPeople),
        };
        match list.first() {
            None => Ok(DirectTo::Ids(Vec::new())),
            Some(Value::String(_)) => emails(&list).map(DirectTo::Emails),
            Some(first) if integer(first).is_some() => ids(&list, RecipientsFault::Mixed).map(DirectTo::Ids),
            Some(_) => Err(RecipientsFault::NotPeople),
        }
    }

    /// One channel by number alone, as scheduled messages take it.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn channel_id(&self) -> Result<ChannelId, RecipientsFault> {
        let value = serde_json::from_str(&self.0).map_err(|_| RecipientsFault::NotAChannelId)?;
        integer(&value).map(ChannelId).ok_or(RecipientsFault::NotAChannelId)
    }

    /// People by number alone, as scheduled messages take them; each once, ascending, may be empty.
    ///
    /// # Errors
    /// When it is no list, or one with something else in it.
    pub fn user_ids(&self) -> Result<Vec<UserId>, RecipientsFault> {
        match serde_json::from_str(&self.0) {
            Ok(Value::Array(list)) => ids(&list, RecipientsFault::NotIds),
            _ => Err(RecipientsFault::NotPeople),
        }
    }
}

fn only(list: Vec<Value>) -> Result<Value, RecipientsFault> {
    let [value] = <[Value; 1]>::try_from(list).map_err(|_| RecipientsFault::NotOneChannel)?;
    Ok(value)
}

fn integer(value: &Value) -> Option<i64> {
    value.as_number()?.as_i64()
}

fn ids(list: &[Value], otherwise: RecipientsFault) -> Result<Vec<UserId>, RecipientsFault> {
    let ids: Option<BTreeSet<_>> = list.iter().map(|value| integer(value).map(UserId)).collect();
    ids.map(Vec::from_iter).ok_or(otherwise)
}

fn emails(list: &[Value]) -> Result<Vec<String>, RecipientsFault> {
    let texts: Option<Vec<_>> = list.iter().map(Value::as_str).collect();
    let texts = texts.ok_or(RecipientsFault::Mixed)?;
    if texts.iter().any(|text| text.contains('\0')) {
        return Err(RecipientsFault::NotPeople);
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
