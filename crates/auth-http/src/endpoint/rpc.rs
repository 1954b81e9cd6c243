//! `/rpc`: calls by name.
//!
//! The body is one call, `{"method", "params"}`, or a list of them; the answer to a call is
//! `{"result": …}` or `{"error": {"code", "message"}}`. A call of its own that is refused has the status
//! of its refusal; in a list every call has its own answer, and the status is 200.
//!
//! # Source
//! Specification, POST /rpc. The form of its errors is not specified; we use the platform's envelope for
//! every refusal, so that a caller reads one form. Who may call is not specified either: the
//! administrator, and whom a policy allows the operation `RpcGetLaunchUri`; a token with SMART scopes
//! does not, because no scope speaks of it.

use axum::extract::State;
use axum::response::Response;
use fhir_service::access;
use oauth_core::launch::EhrLaunchRequester;
use serde_json::{Value, json};

use crate::error::{ApiError, CALLS_MAX, GET_LAUNCH_URI, RpcError};
use crate::resource_request::ResourceRequest;
use crate::response::private_json;
use crate::state::App;

/// What policies call it.
const OPERATION: &str = "RpcGetLaunchUri";

/// Does one call, or each of a list.
pub(crate) async fn post(State(app): State<App>, mut call: ResourceRequest) -> Result<Response, ApiError> {
    match call.take_resource()? {
        Value::Array(calls) if calls.len() > CALLS_MAX => Err(RpcError::NotACall.into()),
        Value::Array(calls) => {
            let mut answers = Vec::with_capacity(calls.len());
            for one in &calls {
                answers.push(run(&app, &call, one).await.unwrap_or_else(ApiError::into_rpc));
            }
            private_json(&answers)
        }
        one => private_json(&run(&app, &call, &one).await?),
    }
}

async fn run(app: &App, call: &ResourceRequest, asked: &Value) -> Result<Value, ApiError> {
    let method = asked.get("method").and_then(Value::as_str).ok_or(RpcError::NotACall)?;
    access::authorize_rpc(&app.fhir, &call.context, OPERATION, asked).await?;
    let brand = method.strip_suffix(GET_LAUNCH_URI).and_then(|brand| brand.strip_suffix('.'));
    let own = &app.fhir.settings().platform_name;
    if !brand.is_some_and(|brand| brand == "platform" || brand == own) {
        return Err(RpcError::UnknownMethod(own.clone()).into());
    }
    let params = asked.get("params").unwrap_or(&Value::Null);
    let address = call.context.address.map(|address| address.to_canonical().to_string());
    let ehr = EhrLaunchRequester {
        id: call.context.caller.audit_id(app.oauth.authenticator.bootstrap_admin_id()),
        address: address.as_deref(),
    };
    let result = app.oauth.launches.get_launch_uri(&app.env(), ehr, params).await.map_err(RpcError::from)?;
    Ok(json!({"result": result}))
}
