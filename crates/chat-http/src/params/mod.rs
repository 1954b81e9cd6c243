//! Parameters of a request, from the bytes to the types an endpoint declares.
//!
//! An endpoint's parameters are a struct that implements [`EndpointParams`]: one line for each of them, which says its
//! name, its [`ParamDecoder`] and what happens when it is absent. The [`ParamReader`] remembers what was asked for, so
//! what the endpoint does not support falls out by difference, without a list of it.
//!
//! ```
//! use chat_http::params::{
//!     EndpointParams, EnumWordParam, JsonParam, ParamError, ParamReader, TrimmedTextParam, WordEnum,
//! };
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
//! impl EndpointParams for Typing {
//!     fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
//!         Ok(Self {
//!             op: reader.required::<EnumWordParam<Op>>("op")?,
//!             to: reader.optional::<JsonParam<Option<Vec<i64>>>>("to")?.flatten(),
//!             topic: reader.optional_with_alias::<TrimmedTextParam>(["topic", "subject"])?,
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

pub use declaration::{AbsentParamBehavior, ParamDeclaration, ParamWireFormat, declared_params};
pub use error::{ExpectedJsonType, ParamError};
pub use json::{
    BoundedInteger, BoundedString, EnumNumberJson, EnumWordJson, FromJson, JsonParam, NonNegativeInteger, NumberEnum,
    ParamValuePath,
};
pub use kind::{
    EnumWordParam, EnumWordParamListingChoices, MaxCharsParam, NonBlankParam, ParamDecoder, RawParam,
    RawTextParamAllowingNul, TextParam, TrimmedTextParam, WordEnum, check_max_chars, check_not_blank, parse_enum_word,
};
pub use narrow::{RawNarrow, RawNarrowTerm};
pub use object::JsonObjectReader;
pub(crate) use raw::peek;
pub use raw::{BodyEncoding, RawRequestParams, RawRequestParamsError, UploadedFile};
pub(crate) use reader::client;
pub use reader::{EndpointParams, ParamReader};
pub use recipients::{ChannelNameOrId, DirectMessageRecipients, RawRecipients, RecipientsError, RecipientsParam};
