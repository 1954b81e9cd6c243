//! Every bound of an authorization request.

/// Longest `state`, in bytes. Not specified; libraries send 20 to 200.
pub const STATE_MAX_BYTES: usize = 4096;
/// Longest `nonce`, in bytes: it goes into the id token as it is.
pub const NONCE_MAX_BYTES: usize = 1024;
/// Longest `login_hint`, in bytes: it goes into a field of the page.
pub const LOGIN_HINT_MAX_BYTES: usize = 320;
/// Longest `launch`, in bytes.
pub const LAUNCH_MAX_BYTES: usize = 8 * 1024;
/// For how long a person may take between the request and the decision, in seconds.
pub const PENDING_AUTHORIZATION_LIFETIME_S: i64 = 900;
/// Longest sealed transaction that is opened, in bytes: a request with every parameter at its limit.
pub const SEALED_AUTHORIZATION_MAX_BYTES: usize = 96 * 1024;
/// Lifetime of a code, in seconds (SMART App Launch 2.2.0: about a minute).
pub const CODE_LIFETIME_S: i64 = 60;
/// Most patients on one page of search results. Not specified; 20, which a person can look through.
pub const PATIENTS_PER_PAGE_MAX: usize = 20;
/// Longest text a patient is searched by, in bytes.
pub const PATIENT_SEARCH_MAX_BYTES: usize = 200;
