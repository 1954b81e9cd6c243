//! Notifications on telephones: which devices people registered, who is notified of a message, what it says, and when
//! it is taken back.
//!
//! Notifications go to a bouncer, a service that speaks to the makers of telephones and whose address the deployment
//! names, or to the makers themselves, when it has their keys: to the rules both are the same. Without either, devices
//! are kept and nothing is sent.

mod payload;
mod receivers;
mod withdrawn;

pub use payload::{NotificationOrigin, message, removal, test, test_of_apple};
pub use receivers::{NotificationTrigger, receivers};
pub use withdrawn::WithdrawnNotifications;

use async_trait::async_trait;
use serde_json::Value;

use crate::StoreError;
use crate::id::{EventId, MessageId, UserId};

/// Bytes of a device's token, at most.
const TOKEN_MAX_BYTES: usize = 4_096;
/// Bytes of the name of an app, at most.
const APP_ID_MAX_BYTES: usize = 255;
/// Devices of one user; the one registered longest ago makes room for a further one. Not specified; nobody carries
/// more.
pub const DEVICES_MAX: i64 = 100;
/// Seconds for which it is known which messages devices were told of: 30 days. Not specified; what nobody read by then
/// stays on the device, and what is known stays bounded.
pub const SENT_KEPT_S: i64 = 30 * 24 * 3_600;
/// Messages that one notification takes back, at most: a notification is 4 KiB at most. Not specified; as existing
/// servers have it.
pub const REMOVED_AT_ONCE: usize = 200;

/// The push service that a device belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PushDeviceKind {
    /// Notified through APNs.
    Apple,
    /// Notified through FCM.
    Google,
}

impl PushDeviceKind {
    /// Returns the number bouncers and the database know it by.
    #[must_use]
    pub fn number(self) -> i64 {
        match self {
            Self::Apple => 1,
            Self::Google => 2,
        }
    }

    /// Returns the kind of that number.
    #[must_use]
    pub fn numbered(number: i64) -> Option<Self> {
        [Self::Apple, Self::Google].into_iter().find(|kind| kind.number() == number)
    }
}

/// A device of a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PushDevice {
    /// Whose it is.
    pub user_id: UserId,
    /// Its kind.
    pub kind: PushDeviceKind,
    /// Its name with its maker.
    pub token: String,
    /// The app on it.
    pub app_id: Option<String>,
}

/// The reason why a device is not registered, forgotten or notified.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The token is empty or without end.
    #[error("Empty or invalid length token")]
    TokenLength,
    /// The token is neither hexadecimal nor base64, as those of Apple are.
    #[error("Invalid APNS token")]
    NotApples,
    /// The name of the app is none.
    #[error("Invalid app ID")]
    AppId,
    /// The user has no such device.
    #[error("Token does not exist")]
    NoSuchToken,
    /// The user has no such device to be notified.
    #[error("Device not recognized")]
    NotRecognized,
    /// The bouncer has no such device.
    #[error("Device not recognized by the push bouncer")]
    NotRecognizedThere,
    /// No service takes encrypted notifications of the form that the client wants.
    #[error("Server is not configured to use push notification service.")]
    NotConfigured,
    /// The bouncer does not do its work.
    #[error("The push bouncer cannot be reached")]
    Bouncer(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Whether it can be a device.
///
/// # Errors
/// When the token or the name of the app is none.
pub fn check(device: &PushDevice) -> Result<(), PushError> {
    if device.token.is_empty() || device.token.len() > TOKEN_MAX_BYTES {
        return Err(PushError::TokenLength);
    }
    if device.kind == PushDeviceKind::Apple && !is_hex(&device.token) && !is_base64(&device.token) {
        return Err(PushError::NotApples);
    }
    let named = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    let is_app = |app: &String| !app.is_empty() && app.len() <= APP_ID_MAX_BYTES && app.bytes().all(named);
    if device.app_id.as_ref().is_none_or(is_app) { Ok(()) } else { Err(PushError::AppId) }
}

/// Returns whether the text is bytes in hexadecimal digits.
#[must_use]
pub fn is_hex(token: &str) -> bool {
    token.len().is_multiple_of(2) && token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether the text is bytes in base64, with its padding.
fn is_base64(token: &str) -> bool {
    let digits = token.strip_suffix("==").or_else(|| token.strip_suffix('=')).unwrap_or(token);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    token.len().is_multiple_of(4) && digits.bytes().all(is_digit)
}

/// The store of push devices and of the position up to which notifications were sent.
#[async_trait]
pub trait PushStore: Send + Sync {
    /// Keeps a device; one that is known is the newest from now on. Of more than [`DEVICES_MAX`] the oldest goes.
    async fn register_device(&self, device: &PushDevice, now_s: i64) -> Result<(), StoreError>;

    /// Forgets a user's device. Says whether there was one.
    async fn forget_device(&self, user_id: UserId, kind: PushDeviceKind, token: &str) -> Result<bool, StoreError>;

    /// Returns the devices of these users.
    async fn devices(&self, users: &[UserId]) -> Result<Vec<PushDevice>, StoreError>;

    /// Returns who has a device, in the order of their numbers.
    async fn device_owners(&self) -> Result<Vec<UserId>, StoreError>;

    /// Gives the turn to look through messages to that node until `until_s`, unless another has it; returns how far
    /// they have been looked through. `None` when another has it.
    async fn take_push_turn(&self, node: &str, now_s: i64, until_s: i64) -> Result<Option<EventId>, StoreError>;

    /// Notes how far messages have been looked through, if it is still that node's turn. Says whether it is.
    async fn move_push_turn(&self, node: &str, to: EventId) -> Result<bool, StoreError>;

    /// Notes that devices of these users are about to be told of messages. What is noted already stays as it is.
    async fn note_sent(&self, sent: &[(UserId, MessageId)], now_s: i64) -> Result<(), StoreError>;

    /// Of what is withdrawn, what devices may have been told: all that is, and perhaps more, which
    /// [`WithdrawnNotifications::has`] distinguishes. In the order of users and messages.
    async fn sent(&self, withdrawn: &WithdrawnNotifications) -> Result<Vec<(UserId, MessageId)>, StoreError>;

    /// Forgets that the devices of a user were told of these messages.
    async fn forget_sent(&self, user_id: UserId, messages: &[MessageId]) -> Result<(), StoreError>;

    /// Forgets what devices were told before `before_s`. Says of how many messages and users.
    async fn forget_sent_before(&self, before_s: i64) -> Result<u64, StoreError>;
}

/// The purpose of a push notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotificationPurpose {
    /// People are to see a message, at once.
    Show(MessageId),
    /// Devices are to show some messages no longer, when they get to it. Nobody sees it.
    Remove,
    /// People are to see that they see it.
    Test,
}

/// A push notification for the devices of one user.
#[derive(Debug, Clone, PartialEq)]
pub struct PushNotification {
    /// The user.
    pub user_id: UserId,
    /// Their devices.
    pub devices: Vec<PushDevice>,
    /// What it is for.
    pub purpose: NotificationPurpose,
    /// What Google's are sent.
    pub google: Value,
    /// What Apple's are sent.
    pub apple: Value,
}

/// The service that delivers push notifications.
#[async_trait]
pub trait PushService: Send + Sync {
    /// Makes a device known there.
    async fn register(&self, device: &PushDevice) -> Result<(), PushError>;

    /// Makes a device unknown there.
    async fn forget(&self, user_id: UserId, kind: PushDeviceKind, token: &str) -> Result<(), PushError>;

    /// Tests a device. [`PushError::NotRecognizedThere`] when it is not known there.
    async fn test(&self, device: &PushDevice, payload: &Value) -> Result<(), PushError>;

    /// Notifies devices. Returns the tokens of those that are gone for good.
    async fn notify(&self, notice: &PushNotification) -> Result<Vec<(PushDeviceKind, String)>, PushError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: PushDeviceKind, token: &str, app_id: Option<&str>) -> Option<String> {
        let (token, app_id) = (token.to_owned(), app_id.map(str::to_owned));
        check(&PushDevice { user_id: UserId(4), kind, token, app_id }).err().map(|error| error.to_string())
    }

    #[test]
    fn a_token_has_a_length_and_apples_are_hexadecimal_or_base64() {
        use PushDeviceKind::{Apple, Google};
        let long = "a".repeat(4_098);
        for kind in [Apple, Google] {
            assert_eq!(refused(kind, "", None).as_deref(), Some("Empty or invalid length token"));
            assert_eq!(refused(kind, &long, None).as_deref(), Some("Empty or invalid length token"));
            assert_eq!(refused(kind, "c0ffee", Some("org.example.App-1")), None);
            assert_eq!(refused(kind, "c0ffee", Some("a b")).as_deref(), Some("Invalid app ID"));
            assert_eq!(refused(kind, "c0ffee", Some("")).as_deref(), Some("Invalid app ID"));
        }
        assert_eq!(refused(Google, "not hex: fine", None), None);
        for token in ["wP/u", "ap+e", "YXBwbGU=", "YQ==", "abcd"] {
            assert_eq!(refused(Apple, token, None), None, "{token}");
        }
        for token in ["xyz", "c0f", "a===", "=", "ab=c", "a-_b", "no hex", "wP/ü"] {
            assert_eq!(refused(Apple, token, None).as_deref(), Some("Invalid APNS token"), "{token}");
        }
    }

    #[test]
    fn a_kind_is_its_number_and_no_other() {
        for kind in [PushDeviceKind::Apple, PushDeviceKind::Google] {
            assert_eq!(PushDeviceKind::numbered(kind.number()), Some(kind));
        }
        assert_eq!(PushDeviceKind::numbered(3), None);
    }
}
