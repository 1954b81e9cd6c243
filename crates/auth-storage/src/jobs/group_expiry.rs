//! Groups of providers whose time is over.
//!
//! A Group that a provider's match made is for a month. Who exports it later is refused by its period; here it is
//! written down as well that it is no longer active, and after three more months it goes.
//!
//! # Source
//! `docs/decisions.md`, "Member match".

use fhir_resource::ResourceType;
use fhir_store::{PatchDocument, ResourceStore as _, ResourceWrite, StoreError, WriteOperation};
use jiff::Timestamp;
use payer_exchange::member_match::match_group;
use serde_json::{Value, json};

use sql_engines::run;

use crate::db::AuthDatabase;
use crate::document::Document;
use crate::fault::fhir;
use crate::resources::Table;

/// For how long a Group that is not active is kept, in microseconds: ninety days.
const KEPT_US: i64 = 90 * 24 * 3600 * 1_000_000;
/// Groups that are looked at in one statement: each may be megabytes.
const AT_ONCE: i64 = 10;
/// Behind `$1`, what ended before the day `$2`. The id of a Group that a match made is that of its job and a word.
const OVER: &str = "SELECT t.id, {us:t.ts}, t.resource FROM {table} t
WHERE t.id > $1 AND (t.id LIKE '%-matched' OR t.id LIKE '%-nomatch' OR t.id LIKE '%-consent')
    AND {group_end:t.resource} < $2
ORDER BY t.id LIMIT $3";

/// Ends what is over at this moment, unix microseconds; returns how many Groups were written or deleted.
pub(super) async fn end(db: &AuthDatabase, now_us: i64) -> Result<u64, StoreError> {
    let kind: ResourceType = "Group".parse().map_err(|error| fhir(sqlx::Error::Decode(Box::new(error))))?;
    let Some(table) = Table::find(db, &kind).await.map_err(fhir)? else {
        return Ok(0);
    };
    let (mut after, mut ended) = (String::new(), 0);
    let today = Timestamp::from_microsecond(now_us).unwrap_or_default().strftime("%Y-%m-%d").to_string();
    loop {
        let sql = table.sql(db.dialect(), OVER);
        let groups: Vec<(String, i64, Document)> =
            run!(db.reader(), fetch_all: sqlx::query_as(sql).bind(&after).bind(&today).bind(AT_ONCE)).map_err(fhir)?;
        let Some((last, ..)) = groups.last() else {
            return Ok(ended);
        };
        after.clone_from(last);
        for (id, written_us, document) in groups {
            let operation = document.read("Group", &id).and_then(|group| due(&group, written_us, now_us));
            let (Some(operation), Ok(key)) = (operation, format!("Group/{id}").parse()) else { continue };
            // Whoever changed it in this moment has the last word: what is refused is looked at again next time.
            if db.transact_writes(vec![ResourceWrite::unconditional(key, operation)], now_us).await?.is_ok() {
                ended += 1;
            }
        }
    }
}

/// Returns what is to be done with a Group.
fn due(group: &Value, written_us: i64, now_us: i64) -> Option<WriteOperation> {
    let is_active = group.get("active") == Some(&Value::Bool(true));
    match (match_group::is_group_expired(group, now_us), is_active) {
        (false, _) => None,
        (true, true) => Some(WriteOperation::Patch(PatchDocument::Merge(json!({"active": false})))),
        (true, false) => (written_us < now_us.saturating_sub(KEPT_US)).then_some(WriteOperation::Delete),
    }
}
