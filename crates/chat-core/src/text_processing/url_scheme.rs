//! The schemes of addresses that a link may have.

/// Those that a host follows.
pub(crate) const WITH_HOST: [&str; 3] = ["http", "https", "ftp"];
/// Those that anything else follows.
pub(crate) const WITHOUT_HOST: [&str; 3] = ["mailto", "tel", "sms"];

/// Returns whether a link may have that scheme, in any case.
pub(crate) fn is_allowed_scheme(scheme: &str) -> bool {
    WITH_HOST.iter().chain(&WITHOUT_HOST).any(|known| scheme.eq_ignore_ascii_case(known))
}
