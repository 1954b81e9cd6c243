//! What a stranger can make the wire hold or walk through.

/// Parameters of one request, query and body together, repeated names counted each time.
pub const PARAMETERS_MAX: usize = 1000;

/// Largest body without files, in bytes, and largest sum of the text parts of a multipart body. The longest
/// message takes 120,000 bytes in a form; lists of ids take the rest.
pub const FORM_MAX_BYTES: usize = 1024 * 1024;

/// Files of one multipart body. No endpoint takes more than one; the second one gets its own refusal there.
pub const FILES_MAX: usize = 4;

/// Deepest nesting of arrays and objects in a JSON-encoded value. The deepest known one has five levels.
pub const JSON_MAX_DEPTH: usize = 32;

/// Longest part of a refused value that the refusal repeats, in characters.
pub const BAD_VALUE_MAX_CHARS: usize = 200;

/// Largest form, in bytes, in which a `POST` is searched for the method it stands for. It is read before the caller
/// is known, which is why it is smaller than [`FORM_MAX_BYTES`].
pub const OVERRIDE_MAX_BYTES: usize = 64 * 1024;

/// Longest credential of an `Authorization` header that is decoded, in bytes.
pub const CREDENTIAL_MAX_BYTES: usize = 1024;

/// Longest name of a client that is kept, in characters.
pub const CLIENT_NAME_MAX_CHARS: usize = 30;

/// Longest request id taken from a caller, in bytes.
pub const REQUEST_ID_MAX_BYTES: usize = 128;
