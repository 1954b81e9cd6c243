//! Reaching Postgres when the server starts.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::{Instant, sleep, timeout_at};

use crate::fault::DatabaseOpenError;

/// How long Postgres may take to answer: both may start at the same moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before the next attempt.
const PAUSE: Duration = Duration::from_millis(200);
/// Postgres is starting up.
const CANNOT_CONNECT_NOW: &str = "57P03";

/// Parses a Postgres URL, waits until the server accepts connections, and returns the connect options.
///
/// # Errors
/// [`DatabaseOpenError::UnknownEngine`] for a URL that is not of Postgres, [`DatabaseOpenError::Connect`] for one that
/// cannot be parsed, [`DatabaseOpenError::Unreachable`] after ten seconds, or at once when Postgres refuses the user,
/// the password or the database.
pub async fn await_postgres_connect_options(url: &str) -> Result<PgConnectOptions, DatabaseOpenError> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if !matches!(scheme, "postgres" | "postgresql") {
        return Err(DatabaseOpenError::UnknownEngine { scheme: scheme.to_owned() });
    }
    let options = PgConnectOptions::from_str(url).map_err(DatabaseOpenError::Connect)?;
    reach(&options).await?;
    Ok(options)
}

/// Waits until Postgres accepts connections. A pool would report that it timed out, without host and reason.
async fn reach(options: &PgConnectOptions) -> Result<(), DatabaseOpenError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let error = match timeout_at(deadline, options.connect()).await {
            Ok(Ok(connection)) => return connection.close().await.map_err(DatabaseOpenError::Connect),
            Ok(Err(error)) => error,
            Err(_elapsed) => {
                return Err(unreachable(options, format!("no answer within {} seconds", PATIENCE.as_secs())));
            }
        };
        if !may_pass(&error) || Instant::now() + PAUSE >= deadline {
            return Err(unreachable(options, reason(&error)));
        }
        sleep(PAUSE).await;
    }
}

/// Returns whether the next attempt may succeed. A name that no resolver knows may be known as soon as its container
/// runs.
fn may_pass(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(error, sqlx::Error::Io(_)) || code.as_deref() == Some(CANNOT_CONNECT_NOW)
}

fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}

fn unreachable(options: &PgConnectOptions, reason: String) -> DatabaseOpenError {
    let socket = options.get_socket().map(|folder| folder.display().to_string());
    let host = socket.unwrap_or_else(|| options.get_host().to_owned());
    DatabaseOpenError::Unreachable { host, port: options.get_port(), reason }
}
