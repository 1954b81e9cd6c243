//! What becomes of a request that waits for a database which answers nothing.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use fhir_store::StoreError;

use crate::error::ApiError;
use crate::state::App;

/// Answers, or refuses with 503 as soon as the database has not answered for some seconds. A write that was sent may
/// still happen, as it may when a connection is lost.
pub(crate) async fn refuse(State(app): State<App>, request: Request, next: Next) -> Response {
    tokio::select! {
        biased;
        response = next.run(request) => response,
        () = app.health.wait_until_stalled() => {
            ApiError::from(StoreError::Unavailable("the database does not answer".into())).into_response()
        }
    }
}
