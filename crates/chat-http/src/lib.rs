//! The chat server's wire: routes under /api/v1, envelope, parameter decoding.
