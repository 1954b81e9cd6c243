//! Who notifies telephones.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args};
use secrecy::{ExposeSecret as _, SecretString};
use server_kit::config::{non_empty_secret, non_empty_text, path_if_set, require_both_or_neither};

use super::value;

/// Who notifies telephones.
#[derive(Debug, Args)]
#[command(next_help_heading = "Mobile push")]
pub(crate) struct PushConfig {
    /// Address of the push bouncer, which notifies telephones; no trailing slash [default: none, nobody is
    /// notified]
    #[arg(id = "push-url", long = "push-url", env = "CHAT_PUSH_URL", value_name = "URL")]
    #[arg(value_parser = value::base_url)]
    url: Option<String>,
    /// What this server is called there: the UUID it was registered under
    #[arg(id = "push-id", long = "push-id", env = "CHAT_PUSH_ID", value_name = "NAME")]
    id: Option<String>,
    /// What it shows there
    #[arg(id = "push-key", long = "push-key", env = "CHAT_PUSH_KEY", value_name = "SECRET")]
    #[arg(value_parser = value::parse_secret)]
    key: Option<SecretString>,
    /// JSON key file of a Google service account that may send through FCM: devices of Google are notified without
    /// a bouncer [default: none, they are not]
    #[arg(id = "fcm-service-account", long = "fcm-service-account", env = "CHAT_FCM_SERVICE_ACCOUNT")]
    #[arg(value_name = "FILE", value_parser = value::parse_path)]
    google_account: Option<PathBuf>,
    /// Key file of Apple's (.p8) for APNs: devices of Apple are notified without a bouncer [default: none, they are
    /// not]
    #[arg(id = "apns-key", long = "apns-key", env = "CHAT_APNS_KEY", value_name = "FILE", value_parser = value::parse_path)]
    apple_key: Option<PathBuf>,
    /// What Apple calls that key
    #[arg(id = "apns-key-id", long = "apns-key-id", env = "CHAT_APNS_KEY_ID", value_name = "ID")]
    #[arg(value_parser = value::apple_id)]
    apple_key_id: Option<String>,
    /// What Apple calls the team whose key it is
    #[arg(id = "apns-team-id", long = "apns-team-id", env = "CHAT_APNS_TEAM_ID", value_name = "ID")]
    #[arg(value_parser = value::apple_id)]
    apple_team_id: Option<String>,
    /// Bundle id of the app, for devices that registered without one
    #[arg(id = "apns-topic", long = "apns-topic", env = "CHAT_APNS_TOPIC", value_name = "ID")]
    #[arg(value_parser = value::apple_id)]
    apple_topic: Option<String>,
    /// Notify devices of Apple's sandbox, for apps built for development
    #[arg(id = "apns-sandbox", long = "apns-sandbox", env = "CHAT_APNS_SANDBOX", value_name = "BOOL")]
    #[arg(default_value = "false", value_parser = value::parse_boolean, action = ArgAction::Set)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    is_sandbox: bool,
}

/// Whom Apple knows the operator as.
#[derive(Debug)]
pub(crate) struct AppleConfig<'a> {
    /// The file of the key.
    pub(crate) key: &'a Path,
    pub(crate) key_id: &'a str,
    pub(crate) team_id: &'a str,
    /// The app, where a device does not say it.
    pub(crate) topic: &'a str,
    pub(crate) is_sandbox: bool,
}

impl PushConfig {
    /// Returns the bouncer's address, and name and key there.
    pub(crate) fn bouncer(&self) -> Option<(&str, &str, &str)> {
        let key = non_empty_secret(self.key.as_ref())?.expose_secret();
        Some((non_empty_text(self.url.as_ref())?, non_empty_text(self.id.as_ref())?, key))
    }

    /// Returns whom Apple knows the operator as, when its devices are notified without a bouncer.
    pub(crate) fn apple(&self) -> Option<AppleConfig<'_>> {
        Some(AppleConfig {
            key: path_if_set(self.apple_key.as_ref())?,
            key_id: non_empty_text(self.apple_key_id.as_ref())?,
            team_id: non_empty_text(self.apple_team_id.as_ref())?,
            topic: non_empty_text(self.apple_topic.as_ref())?,
            is_sandbox: self.is_sandbox,
        })
    }

    /// Returns the key file for FCM, when devices of Google are notified without a bouncer.
    pub(crate) fn google(&self) -> Option<&Path> {
        path_if_set(self.google_account.as_ref())
    }

    /// What belongs together comes together, and a bouncer alone.
    pub(super) fn check(&self) -> Result<(), String> {
        let url = ("--push-url", non_empty_text(self.url.as_ref()).is_some());
        let id = ("--push-id", non_empty_text(self.id.as_ref()).is_some());
        let key = ("--push-key", non_empty_secret(self.key.as_ref()).is_some());
        require_both_or_neither(url, id)?;
        require_both_or_neither(url, key)?;
        let apple = ("--apns-key", path_if_set(self.apple_key.as_ref()).is_some());
        for (name, value) in [
            ("--apns-key-id", &self.apple_key_id),
            ("--apns-team-id", &self.apple_team_id),
            ("--apns-topic", &self.apple_topic),
        ] {
            require_both_or_neither(apple, (name, non_empty_text(value.as_ref()).is_some()))?;
        }
        let direct = [apple, ("--fcm-service-account", self.google().is_some())];
        match direct.into_iter().find(|(_, is_set)| *is_set && url.1) {
            Some((name, _)) => {
                Err(format!("{name} is set, and has no use with --push-url, which notifies all devices"))
            }
            None => Ok(()),
        }
    }
}
