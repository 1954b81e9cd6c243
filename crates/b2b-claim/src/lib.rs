//! The UDAP hl7-b2b claim of an access token, built from a Client's extension and its Organization.
