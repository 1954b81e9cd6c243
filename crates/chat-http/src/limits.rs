//! What a stranger can make the wire hold or walk through.

/// Most parameters of one request, query and body together, repeated names counted each time.
pub const REQUEST_PARAMETERS_MAX: usize = 1000;

/// Largest body without files, in bytes, and largest sum of the text parts of a multipart body. The longest
/// message takes 120,000 bytes in a form; lists of ids take the rest.
pub const FILELESS_BODY_MAX_BYTES: usize = 1024 * 1024;

/// Most files of one multipart body. No endpoint takes more than one; the second one gets its own refusal there.
pub const MULTIPART_FILES_MAX: usize = 4;

/// Deepest nesting of arrays and objects in a JSON-encoded value. The deepest known one has five levels.
pub const JSON_MAX_DEPTH: usize = 32;

/// Longest part of an invalid value that an error message echoes, in characters.
pub const ECHOED_VALUE_MAX_CHARS: usize = 200;

/// Largest form, in bytes, in which a `POST` is searched for a method override. It is read before the caller is known,
/// which is why it is smaller than [`FILELESS_BODY_MAX_BYTES`].
pub const METHOD_OVERRIDE_FORM_MAX_BYTES: usize = 64 * 1024;

/// Longest credential of an `Authorization` header that is decoded, in bytes.
pub const AUTHORIZATION_CREDENTIAL_MAX_BYTES: usize = 1024;

/// Longest name of a client that is kept, in characters.
pub const CLIENT_NAME_MAX_CHARS: usize = 30;

/// Longest request id taken from a caller, in bytes.
pub const REQUEST_ID_MAX_BYTES: usize = 128;
