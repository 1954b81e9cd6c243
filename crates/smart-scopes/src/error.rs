//! Why a scope string is refused.

use crate::limits;

/// The reason why a scope or a list of scopes cannot be read.
///
/// The text of each variant may be sent as an OAuth `error_description`: it is printable ASCII without
/// `"` and `\`, because a part of the scope is quoted only after the scope's characters were checked.
///
/// # Source
/// RFC 6749 sections 3.3 and 5.2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeParseError {
    /// The scope has no characters.
    #[error("a scope is empty")]
    Empty,
    /// The scope is longer than [`limits::MAX_SCOPE_BYTES`].
    #[error("a scope has {bytes} bytes, at most {} are read", limits::MAX_SCOPE_BYTES)]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The list is longer than [`limits::MAX_LIST_BYTES`].
    #[error("the list of scopes has {bytes} bytes, at most {} are read", limits::MAX_LIST_BYTES)]
    ListTooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The list has more different scopes than [`limits::MAX_SCOPES`].
    #[error("the list has more than {} scopes", limits::MAX_SCOPES)]
    TooManyScopes,
    /// A character that no scope may contain.
    #[error(
        "a scope has a character at byte {position} that is not printable ASCII, or is a space, quote or backslash"
    )]
    IllegalCharacter {
        /// Its offset in the scope, in bytes, from 0.
        position: usize,
    },
    /// A clinical scope without `.` after the resource type.
    #[error("scope '{scope}' lacks permissions: expected context/Type.permissions")]
    MissingPermissions {
        /// The scope as sent.
        scope: String,
    },
    /// Neither `*` nor a well-formed resource type name.
    #[error("'{name}' is no resource type: expected * or a name such as Observation")]
    BadResourceType {
        /// The name as sent.
        name: String,
    },
    /// Nothing between the `.` and the end, or the query.
    #[error("a scope has no permissions after the dot: expected read, write, * or letters of cruds")]
    EmptyPermissions,
    /// A letter that is none of `c`, `r`, `u`, `d`, `s`, in a word that is no v1 permission.
    #[error("'{permissions}' are no permissions: expected read, write, * or letters of cruds")]
    UnknownPermission {
        /// The permissions as sent.
        permissions: String,
    },
    /// v2 letters in another order than `cruds`.
    #[error("permissions '{permissions}' are out of order: the letters stand in the order cruds")]
    PermissionsOutOfOrder {
        /// The permissions as sent.
        permissions: String,
    },
    /// A v2 letter given twice.
    #[error("permissions '{permissions}' repeat a letter")]
    RepeatedPermission {
        /// The permissions as sent.
        permissions: String,
    },
    /// A query on a scope that grants create, update or delete.
    #[error("a query is not allowed on permissions '{permissions}': only on r, s and rs")]
    QueryOnWrite {
        /// The permissions as sent.
        permissions: String,
    },
    /// A query on a v1 scope.
    #[error("a query is not allowed on the v1 permission '{permissions}': use r, s or rs")]
    QueryOnV1 {
        /// The permissions as sent.
        permissions: String,
    },
    /// A query on the resource type `*`.
    #[error("a query is not allowed on the resource type *")]
    QueryOnAnyType,
    /// A `?` with nothing behind it.
    #[error("a scope has a question mark and no query after it")]
    EmptyQuery,
    /// A part of the query without `=`, or without a name before it.
    #[error("query part '{parameter}' is not of the form name=value")]
    ParameterWithoutValue {
        /// The part as sent.
        parameter: String,
    },
    /// A parameter whose value says nothing, which a search would ignore.
    #[error("query part '{parameter}' has an empty value")]
    EmptyParameterValue {
        /// The part as sent.
        parameter: String,
    },
    /// A parameter name that FHIR search cannot have.
    #[error("query part '{parameter}' has a malformed parameter name")]
    BadParameterName {
        /// The part as sent.
        parameter: String,
    },
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8 text or are control characters.
    #[error("query part '{parameter}' is not well percent-encoded text")]
    BadPercentEncoding {
        /// The part as sent.
        parameter: String,
    },
    /// One of the parameters that a scope must not use.
    #[error(
        "query part '{parameter}' uses a parameter that scopes must not use: _include, _revinclude, _has, _assoc, _with"
    )]
    ForbiddenParameter {
        /// The part as sent.
        parameter: String,
    },
    /// More parameters than [`limits::MAX_QUERY_PARAMETERS`].
    #[error("a query has more than {} parameters", limits::MAX_QUERY_PARAMETERS)]
    TooManyParameters,
    /// `launch/` with something else than a lower-case type and an optional role.
    #[error("'{scope}' is no launch context: expected launch/type or launch/type?role=name")]
    BadLaunchContext {
        /// The scope as sent.
        scope: String,
    },
}
