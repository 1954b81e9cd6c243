//! The feature level of the API that the server reports, and the forms of answers that follow from it.
//!
//! Most levels add something, which every client is answered. Where a level replaces a form, and no capability of the
//! client selects one of the two, the reported level does: clients read the form of the level that they are told.

/// The level that `/server_settings` and `/register` report.
pub const FEATURE_LEVEL: FeatureLevel = FeatureLevel(277);

/// A feature level of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeatureLevel(pub u32);

impl FeatureLevel {
    /// Returns whether answers to requests to subscribe name users by their ids: since level 289. Before, they name them
    /// by their addresses.
    #[must_use]
    pub fn names_subscribers_by_id(self) -> bool {
        self >= Self(289)
    }

    /// Returns whether default channels are ids: since level 330. Before, they are channel objects.
    #[must_use]
    pub fn lists_default_channels_by_id(self) -> bool {
        self >= Self(330)
    }
}
