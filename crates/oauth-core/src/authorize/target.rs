//! Where answers go once the address is known to be the app's own.

/// The browser leaves for the app: 303, never 307, so that no form is posted on (RFC 9700, section 4.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The registered address with the answer in its query, or in its fragment for `response_type=token`.
    pub location: String,
}
