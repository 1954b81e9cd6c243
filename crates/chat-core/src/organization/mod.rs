//! What administrators choose for the organization, its exports, and its founding.

pub mod code_playgrounds;
pub mod custom_emoji;
pub mod data_exports;
pub mod email_domains;
pub mod founding;
pub mod images;
pub mod linkifiers;
pub mod permission_settings;
pub mod policy_numbers;
pub mod settings;
pub mod system_bots;
