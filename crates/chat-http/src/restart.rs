//! The event by which clients learn that the server was started again.

use chat_core::event_log::event::{EventAudience, NewEvent};
use serde_json::{Map, Value};

use crate::endpoint::server_settings;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::state::AppState;

/// Writes the event, for all queues that want its type.
pub(crate) async fn announce(app: &AppState) -> Result<(), ApiError> {
    if app.realm().realm().is_none() {
        return Ok(());
    }
    let mut event = Map::new();
    event.insert("type".to_owned(), "restart".into());
    event.extend(server_settings::version(&app.server.version, &app.settings.brand));
    event.insert("server_generation".to_owned(), app.server.generation.into());
    let event = Value::Object(event);
    app.commit(|_, commit| {
        commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event.clone()));
        Ok(())
    })
    .await
}

/// Returns the members of the event beside its number and type.
pub(crate) fn members() -> Vec<SchemaMember> {
    let generation = JsonSchema::integer().with_description("When the server was started, in unix seconds.");
    server_settings::version_schema()
        .into_iter()
        .chain([required_schema_member("server_generation", generation)])
        .collect()
}
