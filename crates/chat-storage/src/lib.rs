//! All SQL of the chat database, one text for SQLite and Postgres.
