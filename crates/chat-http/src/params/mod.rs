//! Parameters of a request, from the bytes to the types an endpoint declares.
//!
//! An endpoint's parameters are a struct that implements [`Params`]: one line for each of them, which says its name,
//! its [`ParamKind`] and what happens when it is absent. The [`ParamReader`] remembers what was asked for, so what the
//! endpoint does not support falls out by difference, and nobody has to list it.
//!
//! ```
//! use chat_http::params::{Json, ParamError, Params, ParamReader, TrimmedText, WordParam, WordEnum};
//!
//! #[derive(Debug, Clone, Copy, PartialEq)]
//! enum Op { Start, Stop }
//!
//! impl WordEnum for Op {
//!     const WORDS: &'static [(&'static str, Self)] = &[("start", Self::Start), ("stop", Self::Stop)];
//! }
//!
//! struct Typing { op: Op, to: Option<Vec<i64>>, topic: Option<String> }
//!
//! impl Params for Typing {
//!     fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
//!         Ok(Self {
//!             op: reader.required::<WordParam<Op>>("op")?,
//!             to: reader.optional::<Json<Option<Vec<i64>>>>("to")?.flatten(),
//!             topic: reader.optional_either::<TrimmedText>(["topic", "subject"])?,
//!         })
//!     }
//! }
//! ```

mod reader;

mod declaration;
mod json;
mod kind;
mod narrow;
mod object;
mod recipients;

mod error;
mod raw;

pub use declaration::{Absence, ParamDeclaration, ParamFormat, declared_params};
pub use error::{Expected, ParamError};
pub use json::{
    BoundedInteger, BoundedString, FromJson, Json, JsonPath, JsonWord, ListedNumber, NonNegative, NumberEnum,
};
pub use kind::{
    ListedWordParam, MaxChars, NotBlank, ParamKind, RawParam, TextParam, TextParamWithNul, TrimmedText, WordEnum,
    WordParam, max_chars, not_blank, word,
};
pub use narrow::{Narrow, NarrowTerm};
pub use object::JsonObject;
pub(crate) use raw::peek;
pub use raw::{Encoding, RawRequest, RawRequestError, UploadedFile};
pub(crate) use reader::client;
pub use reader::{ParamReader, Params};
pub use recipients::{ChannelNameOrId, DirectRecipients, RawRecipients, RecipientsError, RecipientsParam};
