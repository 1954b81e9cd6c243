//! What administrators choose for the organization, its exports, and its founding.

pub mod custom_emoji;
pub mod data_exports;
pub mod domains;
pub mod founding;
pub mod images;
pub mod linkifiers;
pub mod permission_settings;
pub mod playgrounds;
pub mod settings;
