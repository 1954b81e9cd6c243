//! Team-chat server with the REST API existing clients speak.

fn main() {}
