//! `/users/me/apns_device_token`, `/users/me/android_gcm_reg_id` and `/mobile_push`: devices that are notified.

use chat_core::permission::access;
use chat_core::push_notifications::{self, NotificationOrigin, PushDevice, PushDeviceKind, PushError};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::params::{EndpointParams, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, no_members, post};

pub(crate) fn routes() -> Routes {
    let apple = post(endpoint(add_apple).documented("Have an Apple device notified.", no_members))
        .delete(endpoint(remove_apple).documented("Have an Apple device no longer notified.", no_members));
    let google = post(endpoint(add_google).documented("Have an Android device notified.", no_members))
        .delete(endpoint(remove_google).documented("Have an Android device no longer notified.", no_members));
    let register = endpoint(refuse_encrypted)
        .documented("Refuse a device that wants encrypted notifications: no service takes them.", no_members);
    let test_encrypted = endpoint(refuse_encrypted)
        .documented("Refuse a test of encrypted notifications: no service takes them.", no_members);
    let test = endpoint(test).documented("Send a test to the caller's devices.", no_members);
    Routes::of("notifications")
        .api("/users/me/apns_device_token", apple)
        .api("/users/me/android_gcm_reg_id", google)
        .api("/mobile_push/test_notification", post(test))
        .api("/mobile_push/register", post(register))
        .api("/mobile_push/e2ee/test_notification", post(test_encrypted))
}

/// Refuses a device that wants encrypted notifications of feature levels 406 to 467.
///
/// # Source
/// Not specified; the refusal is that of existing servers without a push service. No released client registers a device
/// of this form.
async fn refuse_encrypted(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    access::require_human(&call.caller.user)?;
    Err(PushError::NotConfigured.into())
}

/// The parameters that register a device.
struct AddDeviceParams {
    token: String,
    app_id: Option<String>,
}

impl EndpointParams for AddDeviceParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { token: reader.required::<TextParam>("token")?, app_id: reader.optional::<TextParam>("appid")? })
    }
}

/// The parameters that remove a device.
struct RemoveDeviceParams {
    token: String,
}

impl EndpointParams for RemoveDeviceParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { token: reader.required::<TextParam>("token")? })
    }
}

async fn add_apple(
    call: ApiCall<AuthenticatedCaller>,
    params: AddDeviceParams,
) -> Result<ApiResponsePayload, ApiError> {
    add(&call, PushDeviceKind::Apple, params).await
}

async fn add_google(
    call: ApiCall<AuthenticatedCaller>,
    params: AddDeviceParams,
) -> Result<ApiResponsePayload, ApiError> {
    add(&call, PushDeviceKind::Google, params).await
}

async fn remove_apple(
    call: ApiCall<AuthenticatedCaller>,
    params: RemoveDeviceParams,
) -> Result<ApiResponsePayload, ApiError> {
    remove(&call, PushDeviceKind::Apple, &params.token).await
}

async fn remove_google(
    call: ApiCall<AuthenticatedCaller>,
    params: RemoveDeviceParams,
) -> Result<ApiResponsePayload, ApiError> {
    remove(&call, PushDeviceKind::Google, &params.token).await
}

/// Keeps a device, once the bouncer knows it too.
async fn add(
    call: &ApiCall<AuthenticatedCaller>,
    kind: PushDeviceKind,
    params: AddDeviceParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human(&call.caller.user)?;
    let device = PushDevice { user_id: call.caller.user_id(), kind, token: params.token, app_id: params.app_id };
    push_notifications::check_push_device(&device)?;
    if let Some(bouncer) = &call.app.push.bouncer {
        bouncer.register_device(&device).await?;
    }
    call.app.push.devices.store_device(&device, call.app.now_s()).await?;
    Ok(ApiResponsePayload::empty())
}

/// Forgets a device. That the bouncer does not answer keeps nobody from logging out.
async fn remove(
    call: &ApiCall<AuthenticatedCaller>,
    kind: PushDeviceKind,
    token: &str,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human(&call.caller.user)?;
    if !call.app.push.devices.remove_device(call.caller.user_id(), kind, token).await? {
        return Err(PushError::NoSuchToken.into());
    }
    if let Some(bouncer) = &call.app.push.bouncer
        && let Err(error) = bouncer.unregister_device(call.caller.user_id(), kind, token).await
    {
        tracing::warn!(%error, "the push bouncer was not told that a device is gone");
    }
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `POST /mobile_push/test_notification`: one device, or all of the caller's when none is named.
struct TestNotificationParams {
    token: Option<String>,
}

impl EndpointParams for TestNotificationParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { token: reader.optional::<TextParam>("token")? })
    }
}

/// Sends a test to devices of the caller.
///
/// # Source
/// Specification, `POST /mobile_push/test_notification`. Not specified: without a bouncer nothing is sent and the
/// answer is a success, as existing servers have it; a device that the bouncer does not know keeps no other from its
/// test, and is notified of afterwards.
async fn test(
    call: ApiCall<AuthenticatedCaller>,
    params: TestNotificationParams,
) -> Result<ApiResponsePayload, ApiError> {
    let (app, caller) = (&call.app, &call.caller);
    access::require_human(&caller.user)?;
    let mut devices = app.push.devices.devices_of_users(&[caller.user_id()]).await?;
    if let Some(token) = &params.token {
        devices.retain(|device| device.token == *token);
        if devices.is_empty() {
            return Err(PushError::NotRecognized.into());
        }
    }
    let Some(bouncer) = &app.push.bouncer else { return Ok(ApiResponsePayload::empty()) };
    let origin = NotificationOrigin { base_url: &app.settings.base_url, brand: &app.settings.brand };
    let payload = push_notifications::test_payload(&caller.realm, &origin, caller.user_id(), app.now_s());
    let mut are_known = true;
    for device in &devices {
        match bouncer.send_test_notification(device, &payload).await {
            Err(PushError::NotRecognizedThere) => are_known = false,
            tested => tested?,
        }
    }
    if are_known { Ok(ApiResponsePayload::empty()) } else { Err(PushError::NotRecognizedThere.into()) }
}
