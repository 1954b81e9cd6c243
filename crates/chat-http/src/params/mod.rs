//! Parameters of a request, from the bytes to the types an endpoint declares.
//!
//! An endpoint's parameters are a struct that implements [`Params`]: one line for each of them, which says its
//! name, its [`Kind`] and what happens when it is absent. The [`Reader`] remembers what was asked for, so what the
//! endpoint does not support falls out by difference, and nobody has to list it.
//!
//! ```
//! use chat_http::params::{Json, ParamFault, Params, Reader, Stripped, Word, Words};
//!
//! #[derive(Debug, Clone, Copy, PartialEq)]
//! enum Op { Start, Stop }
//!
//! impl Words for Op {
//!     const WORDS: &'static [(&'static str, Self)] = &[("start", Self::Start), ("stop", Self::Stop)];
//! }
//!
//! struct Typing { op: Op, to: Option<Vec<i64>>, topic: Option<String> }
//!
//! impl Params for Typing {
//!     fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
//!         Ok(Self {
//!             op: given.required::<Word<Op>>("op")?,
//!             to: given.optional::<Json<Option<Vec<i64>>>>("to")?.flatten(),
//!             topic: given.optional_either::<Stripped>(["topic", "subject"])?,
//!         })
//!     }
//! }
//! ```

mod reader;

mod declare;
mod json;
mod kind;
mod narrow;
mod object;
mod recipients;

mod fault;
mod raw;

pub use declare::{Absence, Declared, Form, declared};
pub use fault::{Expected, ParamFault};
pub use json::{FromJson, Json, Listed, Natural, Numbers, Path, Quoted, Short, Whole};
pub use kind::{
    Given, Kind, ListedWord, MaxChars, NotBlank, Stripped, Text, Verbatim, Word, Words, max_chars, not_blank, word,
};
pub use narrow::{Narrow, NarrowTerm};
pub use object::Object;
pub(crate) use raw::peek;
pub use raw::{Encoding, File, RawFault, RawRequest};
pub(crate) use reader::client;
pub use reader::{Params, Reader};
pub use recipients::{ChannelName, DirectTo, Recipients, RecipientsFault, To};
