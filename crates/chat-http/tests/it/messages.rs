//! Sending and reading messages.

mod copies;
mod hostile;
mod reading;
mod searching;
mod sending;
