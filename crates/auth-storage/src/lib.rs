//! All SQL of the authorization database, one text for SQLite and Postgres.
