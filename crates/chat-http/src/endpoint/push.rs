//! `/users/me/apns_device_token`, `/users/me/android_gcm_reg_id` and `/mobile_push/test_notification`: devices that are
//! notified.

use chat_core::permission::access;
use chat_core::push::{self, NotificationOrigin, PushDevice, PushDeviceKind, PushError};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{ParamFault, Params, Reader, Text};
use crate::routes::{Routes, nothing, post};

pub(crate) fn routes() -> Routes {
    let apple = post(endpoint(add_apple).says("Have an Apple device notified.", nothing))
        .delete(endpoint(remove_apple).says("Have an Apple device no longer notified.", nothing));
    let google = post(endpoint(add_google).says("Have an Android device notified.", nothing))
        .delete(endpoint(remove_google).says("Have an Android device no longer notified.", nothing));
    let test = endpoint(test).says("Send a test to the caller's devices.", nothing);
    Routes::of("notifications")
        .api("/users/me/apns_device_token", apple)
        .api("/users/me/android_gcm_reg_id", google)
        .api("/mobile_push/test_notification", post(test))
}

/// A device to be notified.
struct Adding {
    token: String,
    app_id: Option<String>,
}

impl Params for Adding {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { token: given.required::<Text>("token")?, app_id: given.optional::<Text>("appid")? })
    }
}

/// A device no longer to be notified.
struct Removing {
    token: String,
}

impl Params for Removing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { token: given.required::<Text>("token")? })
    }
}

async fn add_apple(call: Call<Caller>, wish: Adding) -> Result<Answer, Fault> {
    add(&call, PushDeviceKind::Apple, wish).await
}

async fn add_google(call: Call<Caller>, wish: Adding) -> Result<Answer, Fault> {
    add(&call, PushDeviceKind::Google, wish).await
}

async fn remove_apple(call: Call<Caller>, wish: Removing) -> Result<Answer, Fault> {
    remove(&call, PushDeviceKind::Apple, &wish.token).await
}

async fn remove_google(call: Call<Caller>, wish: Removing) -> Result<Answer, Fault> {
    remove(&call, PushDeviceKind::Google, &wish.token).await
}

/// Keeps a device, once the bouncer knows it too.
async fn add(call: &Call<Caller>, kind: PushDeviceKind, wish: Adding) -> Result<Answer, Fault> {
    access::require_human(&call.who.user)?;
    let device = PushDevice { user_id: call.who.id(), kind, token: wish.token, app_id: wish.app_id };
    push::check(&device)?;
    if let Some(bouncer) = &call.app.push.bouncer {
        bouncer.register(&device).await?;
    }
    call.app.push.devices.register_device(&device, call.app.now_s()).await?;
    Ok(Answer::empty())
}

/// Forgets a device. That the bouncer does not answer keeps nobody from logging out.
async fn remove(call: &Call<Caller>, kind: PushDeviceKind, token: &str) -> Result<Answer, Fault> {
    access::require_human(&call.who.user)?;
    if !call.app.push.devices.forget_device(call.who.id(), kind, token).await? {
        return Err(PushError::NoSuchToken.into());
    }
    if let Some(bouncer) = &call.app.push.bouncer
        && let Err(error) = bouncer.forget(call.who.id(), kind, token).await
    {
        tracing::warn!(%error, "the push bouncer was not told that a device is gone");
    }
    Ok(Answer::empty())
}

/// Which device is tested; all of the caller's when none is named.
struct Tested {
    token: Option<String>,
}

impl Params for Tested {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { token: given.optional::<Text>("token")? })
    }
}

/// Sends a test to devices of the caller.
///
/// # Source
/// Specification, `POST /mobile_push/test_notification`. Not specified: without a bouncer nothing is sent and the answer
/// is a success, as existing servers have it; a device that the bouncer does not know keeps no other from its test, and
/// is told of afterwards.
async fn test(call: Call<Caller>, wish: Tested) -> Result<Answer, Fault> {
    let (app, who) = (&call.app, &call.who);
    access::require_human(&who.user)?;
    let mut devices = app.push.devices.devices(&[who.id()]).await?;
    if let Some(token) = &wish.token {
        devices.retain(|device| device.token == *token);
        if devices.is_empty() {
            return Err(PushError::NotRecognized.into());
        }
    }
    let Some(bouncer) = &app.push.bouncer else { return Ok(Answer::empty()) };
    let origin = NotificationOrigin { base_url: &app.settings.base_url, brand: &app.settings.brand };
    let payload = push::test(&who.realm, &origin, who.id(), app.now_s());
    let mut are_known = true;
    for device in &devices {
        match bouncer.test(device, &payload).await {
            Err(PushError::NotRecognizedThere) => are_known = false,
            tested => tested?,
        }
    }
    if are_known { Ok(Answer::empty()) } else { Err(PushError::NotRecognizedThere.into()) }
}
