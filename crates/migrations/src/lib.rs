//! One-time startup migrations: states, run-once identity, init bundle, packages.
