//! Sending and reading messages.

mod hostile;
mod reading;
mod searching;
mod sending;
