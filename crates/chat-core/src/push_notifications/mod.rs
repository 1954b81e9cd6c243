//! Notifications on telephones: which devices people registered, who is notified of a message, what it says, and when
//! it is taken back.
//!
//! Notifications go to a bouncer, a service that speaks to the makers of telephones and whose address the deployment
//! names, or to the makers themselves, when it has their keys: to the rules both are the same. Without either, devices
//! are kept and nothing is sent.

mod payload;
mod receivers;
mod withdrawn;

pub use payload::{NotificationOrigin, apple_test_payload, message_payloads, removal_payloads, test_payload};
pub use receivers::{NotificationTrigger, select_notification_receivers};
pub use withdrawn::WithdrawnNotifications;

use async_trait::async_trait;
use serde_json::Value;

use crate::StoreError;
use crate::id::{EventId, MessageId, UserId};

/// Bytes of a device's token, at most.
const TOKEN_MAX_BYTES: usize = 4_096;
/// Bytes of the name of an app, at most.
const APP_ID_MAX_BYTES: usize = 255;
/// The maximum number of push devices of one user; the one registered longest ago makes room for a new one. Not
/// specified; people carry fewer.
pub const MAX_PUSH_DEVICES_PER_USER: i64 = 100;
/// The seconds for which sent push notifications are remembered, to withdraw them: 30 days. Not specified; what no user
/// read by then stays on the device, and the records stay bounded.
pub const SENT_NOTIFICATION_RETENTION_S: i64 = 30 * 24 * 3_600;
/// The maximum number of messages that one push notification withdraws, as it has 4 KiB at most. Not specified; as
/// existing servers have it.
pub const MAX_REMOVALS_PER_NOTIFICATION: usize = 200;

/// The kind of a push device: Apple (APNs) or Google (FCM).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PushDeviceKind {
    /// Notified through APNs.
    Apple,
    /// Notified through FCM.
    Google,
}

impl PushDeviceKind {
    /// Returns the number of the kind in the bouncer's API and in the database.
    #[must_use]
    pub fn wire_number(self) -> i64 {
        match self {
            Self::Apple => 1,
            Self::Google => 2,
        }
    }

    /// Returns the kind of that wire number.
    #[must_use]
    pub fn from_wire_number(number: i64) -> Option<Self> {
        [Self::Apple, Self::Google].into_iter().find(|kind| kind.wire_number() == number)
    }
}

/// A registered push device of a user.
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

/// The reason why a push device is not registered, unregistered or notified.
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

/// Checks that the token and other data of a push device are valid.
///
/// # Errors
/// When the token or the name of the app is none.
pub fn check_push_device(device: &PushDevice) -> Result<(), PushError> {
    if device.token.is_empty() || device.token.len() > TOKEN_MAX_BYTES {
        return Err(PushError::TokenLength);
    }
    if device.kind == PushDeviceKind::Apple && !is_hex_bytes(&device.token) && !is_base64(&device.token) {
        return Err(PushError::NotApples);
    }
    let named = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    let is_app = |app: &String| !app.is_empty() && app.len() <= APP_ID_MAX_BYTES && app.bytes().all(named);
    if device.app_id.as_ref().is_none_or(is_app) { Ok(()) } else { Err(PushError::AppId) }
}

/// Returns whether the text is an even number of hexadecimal digits.
#[must_use]
pub fn is_hex_bytes(token: &str) -> bool {
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
    /// Stores a push device, new or known, as the user's newest. Of more than [`MAX_PUSH_DEVICES_PER_USER`] the oldest
    /// is removed.
    async fn store_device(&self, device: &PushDevice, now_s: i64) -> Result<(), StoreError>;

    /// Removes a user's push device, and returns whether it existed. Says whether there was one.
    async fn remove_device(&self, user_id: UserId, kind: PushDeviceKind, token: &str) -> Result<bool, StoreError>;

    /// Returns the push devices of these users.
    async fn devices_of_users(&self, users: &[UserId]) -> Result<Vec<PushDevice>, StoreError>;

    /// Returns the users who have a push device, in ascending order.
    async fn users_with_devices(&self) -> Result<Vec<UserId>, StoreError>;

    /// Gives the node the lease to process messages for push until `until_s`, and returns the log position processed so
    /// far; `None` when another node has it.
    async fn acquire_push_lease(&self, node: &str, now_s: i64, until_s: i64) -> Result<Option<EventId>, StoreError>;

    /// Advances the log position processed for push, if the node still has the lease; returns whether it has.
    async fn advance_push_position(&self, node: &str, to: EventId) -> Result<bool, StoreError>;

    /// Records that the devices of these users are about to be notified of messages. Existing records stay as they are.
    /// What is noted already stays as it is.
    async fn record_sent_notifications(&self, sent: &[(UserId, MessageId)], now_s: i64) -> Result<(), StoreError>;

    /// Returns the sent notifications that may have to be withdrawn, in the order of users and messages: all of them,
    /// and perhaps more, which [`WithdrawnNotifications::is_withdrawn_for_user`] tells apart.
    async fn sent_notifications_to_withdraw(
        &self,
        withdrawn: &WithdrawnNotifications,
    ) -> Result<Vec<(UserId, MessageId)>, StoreError>;

    /// Removes the records of notifications sent to a user for these messages.
    async fn remove_sent_notifications(&self, user_id: UserId, messages: &[MessageId]) -> Result<(), StoreError>;

    /// Removes the records of notifications sent before `before_s`, and returns how many pairs of message and user.
    async fn remove_sent_notifications_before(&self, before_s: i64) -> Result<u64, StoreError>;
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
    /// Registers a push device with the service.
    async fn register_device(&self, device: &PushDevice) -> Result<(), PushError>;

    /// Unregisters a push device from the service.
    async fn unregister_device(&self, user_id: UserId, kind: PushDeviceKind, token: &str) -> Result<(), PushError>;

    /// Sends a test notification to a push device. [`PushError::NotRecognizedThere`] when the service does not know it.
    async fn send_test_notification(&self, device: &PushDevice, payload: &Value) -> Result<(), PushError>;

    /// Sends a push notification, and returns the tokens of devices that are no longer valid.
    async fn send_notification(&self, notice: &PushNotification) -> Result<Vec<(PushDeviceKind, String)>, PushError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: PushDeviceKind, token: &str, app_id: Option<&str>) -> Option<String> {
        let (token, app_id) = (token.to_owned(), app_id.map(str::to_owned));
        check_push_device(&PushDevice { user_id: UserId(4), kind, token, app_id }).err().map(|error| error.to_string())
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
            assert_eq!(PushDeviceKind::from_wire_number(kind.wire_number()), Some(kind));
        }
        assert_eq!(PushDeviceKind::from_wire_number(3), None);
    }
}
