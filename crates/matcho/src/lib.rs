//! The matcho pattern language: a JSON pattern that a JSON value meets or does not meet.
//!
//! **Owns** the language: compiling a pattern ([`CompiledPattern::compile`]) with every error in it named
//! ([`PatternCompileError`]), matching ([`CompiledPattern::matches`]), and the conditions that a value does not meet
//! ([`CompiledPattern::unmet_conditions`]).
//!
//! **Refuses** to know what is matched: an access policy of `oauth-core` gives it a request, and nothing here depends
//! on what a request has in it. No I/O.
//!
//! **Key decision:** a pattern is compiled once; matching is then total: it never fails, allocates almost nothing and
//! takes time linear in pattern and value. A value of another type than the pattern requires does not match; that is
//! never an error. **Road not taken:** regular expressions with look-around and back-references, which have no bound of
//! time.
//!
//! **Choices where the language leaves something open**
//! - A path (`.user.id`) that leads nowhere or to null matches nothing, also when the value is
//!   missing too. Not specified; we refuse it, because a policy that compares the id of a record
//!   with the id of an absent user must not pass for records without an id.
//! - Under `$not` such a path therefore passes: `$not` is the complement, without exceptions.
//! - `null` matches a null that is there; `nil?` matches a missing value as well.
//! - A pattern array judges the elements one by one; one that the value lacks is missing, so a
//!   shorter array fails unless the patterns beyond its end accept a missing value.
//! - An object with several `$` operators, or with operators and plain keys, requires all of them.
//! - Numbers are equal by value: `1` is `1.0`.
//! - `$reference` takes relative references only, with or without a version. An absolute one may
//!   name a record of another server, so it matches nothing.
//!
//! ```
//! use matcho::CompiledPattern;
//! use serde_json::json;
//!
//! let clerks = json!({"user": {"roles": {"$contains": "clerk"}}});
//! let pattern = CompiledPattern::compile(&clerks).map_err(|mut errors| errors.remove(0))?;
//! let request = json!({"user": {"roles": ["nurse"]}});
//!
//! let mismatches = pattern.unmet_conditions(Some(&request), &request);
//! assert_eq!(mismatches[0].path, [json!("user"), json!("roles")]);
//! assert_eq!(mismatches[0].expected, json!({"$contains": "clerk"}));
//! assert_eq!(mismatches[0].but, json!(["nurse"]));
//! # Ok::<(), matcho::PatternCompileError>(())
//! ```

mod compile;
mod explain;
mod pattern;
#[cfg(test)]
mod tests;

pub use compile::{PatternCompileError, PatternCompileErrorKind};
pub use explain::UnmetCondition;
pub use pattern::{CompiledPattern, value_at_path};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
