//! The limits of this crate: sizes, lifetimes and counts.

/// Longest client assertion accepted, in bytes. A RS384 assertion with ample claims has under 2 KiB.
pub const ASSERTION_MAX_BYTES: usize = 8 * 1024;
/// Longest token presented for exchange, in bytes. Not specified; identity providers put group lists into theirs.
pub const SUBJECT_TOKEN_MAX_BYTES: usize = 16 * 1024;
/// Most keys of a `TokenIntrospector`: a token that names none is tried with each that fits.
pub const INTROSPECTOR_MAX_KEYS: usize = 10;
/// Longest `jti`, in bytes. Not specified; 256 holds every identifier scheme in use.
pub const JTI_MAX_BYTES: usize = 256;
/// Longest `client_id`, in bytes.
pub const CLIENT_ID_MAX_BYTES: usize = 64;
/// Longest `kid`, in bytes.
pub const KID_MAX_BYTES: usize = 256;
/// Longest presented access token, in bytes.
pub const ACCESS_TOKEN_MAX_BYTES: usize = 8 * 1024;
/// Longest form body of a machine endpoint, in bytes.
pub const FORM_MAX_BYTES: usize = 64 * 1024;
/// Longest client secret, in bytes: bounds what a caller can make the server hash.
pub const CLIENT_SECRET_MAX_BYTES: usize = 1024;
/// Largest key set fetched from a `jwks_uri`, in bytes.
pub const JWKS_MAX_BYTES: usize = 1024 * 1024;
/// Most keys read from one key set; more is a fault of the set.
pub const JWKS_MAX_KEYS: usize = 100;

/// An assertion may expire at most this many seconds from now (specification, Limits).
pub const ASSERTION_LIFETIME_MAX_S: i64 = 300;
/// Clock difference tolerated on an assertion, in seconds (`docs/decisions.md`, "Assertions").
pub const ASSERTION_CLOCK_LEEWAY_S: i64 = 60;

/// Lifetime of a backend client's access token where the Client sets none, in seconds (SMART Backend Services, section
/// 3: at most 300 s recommended).
pub const BACKEND_TOKEN_DEFAULT_LIFETIME_S: i64 = 300;
/// Lifetime of an access token of a Client that authenticates with a secret, in seconds.
pub const SECRET_CLIENT_TOKEN_LIFETIME_S: i64 = 3600;
/// Longest access token lifetime that a Client may register, in seconds: one day.
pub const REGISTERED_TOKEN_LIFETIME_MAX_S: i64 = 86_400;

/// Lifetime of an access token that a person authorized where the Client sets none, in seconds.
pub const USER_TOKEN_DEFAULT_LIFETIME_S: i64 = 3600;
/// Time after its first use in which a refresh token may be presented again and gives the same successor, in seconds:
/// long enough for a lost response and two tabs, too short to be of use to a thief.
pub const REFRESH_TOKEN_REUSE_GRACE_S: i64 = 30;
/// Time without use after which a refresh token expires where the Client sets no `refresh_token_expiration`, in
/// seconds: 90 days, the three months that certification asks for.
pub const REFRESH_TOKEN_DEFAULT_IDLE_S: i64 = 90 * 86_400;
/// Time after which every refresh token of an authorization expires where the Client sets no `refresh_token_lifetime`,
/// in seconds: a year. Then the person is asked again.
pub const REFRESH_TOKEN_DEFAULT_LIFETIME_S: i64 = 365 * 86_400;
