//! Sending and reading messages.

mod sending;
