//! Names to sign in with: no two Users may be told apart by a password alone.
//!
//! A transaction that gives a User another name or address takes a dedicated lock after all its other locks, and reads
//! what is stored then, so of two that take one name at the same moment the second sees the first. Users that were
//! written past the server keep what they have: the look-up refuses to sign in either of two that share a name.

use fhir_store::transaction_plan::WriteDecision;
use serde_json::Value;
use sql_engines::{PerEngine, run};

use crate::dialect::Sql;
use crate::engine::Tx;

/// The type that people sign in as.
const USER: &str = "User";
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('user logins', 0))";
/// Whether another User is found by one of the names as sign-in looks them up. An address that two share keeps neither
/// out, as long as each has a name besides: families share addresses.
static TAKEN: Sql = Sql::new(
    "SELECT u.id FROM \"user\" u WHERE {login:userName} = $2 AND $2 <> '' AND u.id <> $1
UNION ALL
SELECT u.id FROM \"user\" u WHERE {login:userName} = $3 AND $3 <> '' AND u.id <> $1
UNION ALL
SELECT u.id FROM \"user\" u WHERE {login:email} = $2 AND $2 <> '' AND u.id <> $1
UNION ALL
SELECT u.id FROM \"user\" u WHERE {login:email} = $3 AND $3 <> '' AND u.id <> $1
    AND ($2 = '' OR coalesce({login:userName}, '') = '')
LIMIT 1",
);

/// What a User signs in by, in the form that is compared. An empty text is no name, and equals none.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Logins {
    name: String,
    address: String,
}

impl Logins {
    fn of(user: &Value) -> Self {
        let text = |key| user.get(key).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        Self { name: text("userName"), address: text("email") }
    }

    /// Returns whether the User can sign in by neither.
    fn is_empty(&self) -> bool {
        self.name.is_empty() && self.address.is_empty()
    }
}

/// The Users of a transaction that get names they did not have.
#[derive(Debug, Default)]
pub(super) struct NewLogins(Vec<(usize, String, Logins)>);

impl NewLogins {
    /// Takes note of what the write at `index` does.
    pub(super) fn note(&mut self, index: usize, decision: &WriteDecision) {
        let (key, before, after) = match decision {
            WriteDecision::Insert { key, resource } => (key, None, resource),
            WriteDecision::Replace { previous, resource } => {
                (&previous.key, Some(Logins::of(&previous.resource)), resource)
            }
            WriteDecision::Delete(_) | WriteDecision::Nothing(_) => return,
        };
        let after = if key.resource_type.as_str() == USER { Logins::of(after) } else { return };
        if before.as_ref() == Some(&after) || after.is_empty() {
            return;
        }
        self.0.retain(|(_, id, _)| *id != key.id.as_str());
        self.0.push((index, key.id.as_str().to_owned(), after));
    }

    /// Returns the index of the first write whose User has a name of another User, once everything is written.
    pub(super) async fn taken(&self, tx: &mut Tx) -> Result<Option<usize>, sqlx::Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        if let PerEngine::Postgres(connection) = tx.on() {
            sqlx::query(LOCK).execute(connection).await?;
        }
        let sql = TAKEN.text_for_dialect(tx.dialect());
        for (index, id, logins) in &self.0 {
            let found: Option<String> = run!(tx.on(), fetch_optional: sqlx::query_scalar(sql.clone())
                .bind(id)
                .bind(&logins.name)
                .bind(&logins.address))?;
            if found.is_some() {
                return Ok(Some(*index));
            }
        }
        Ok(None)
    }
}
