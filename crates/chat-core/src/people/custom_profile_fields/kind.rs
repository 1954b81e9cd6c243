//! Kinds of answers.

use serde::{Deserialize, Serialize};

/// The type of a custom profile field.
///
/// # Source
/// Specification, "Custom profile field", for the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "i64", try_from = "i64")]
pub enum ProfileFieldType {
    /// 1: a line.
    ShortText,
    /// 2: a paragraph.
    LongText,
    /// 3: one of a list of options.
    Choice,
    /// 4: a day.
    Date,
    /// 5: an address on the web.
    Link,
    /// 6: users of the realm.
    People,
    /// 7: a name on another site.
    ExternalAccount,
    /// 8: how a user wants to be spoken of.
    Pronouns,
}

/// A number that is not a profile field type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a kind of profile field")]
pub struct UnknownProfileFieldType(pub i64);

impl ProfileFieldType {
    /// All profile field types, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::ShortText,
        Self::LongText,
        Self::Choice,
        Self::Date,
        Self::Link,
        Self::People,
        Self::ExternalAccount,
        Self::Pronouns,
    ];

    /// Returns whether values of the type are rendered as Markdown.
    #[must_use]
    pub fn has_rendered_value(self) -> bool {
        matches!(self, Self::ShortText | Self::LongText)
    }

    /// Returns whether values of the type can be displayed in the profile summary.
    ///
    /// # Source
    /// Specification, `POST /realm/profile_fields`: not long text, not the person picker.
    #[must_use]
    pub fn can_display_in_summary(self) -> bool {
        !matches!(self, Self::LongText | Self::People)
    }
}

impl From<ProfileFieldType> for i64 {
    fn from(kind: ProfileFieldType) -> Self {
        match kind {
            ProfileFieldType::ShortText => 1,
            ProfileFieldType::LongText => 2,
            ProfileFieldType::Choice => 3,
            ProfileFieldType::Date => 4,
            ProfileFieldType::Link => 5,
            ProfileFieldType::People => 6,
            ProfileFieldType::ExternalAccount => 7,
            ProfileFieldType::Pronouns => 8,
        }
    }
}

impl TryFrom<i64> for ProfileFieldType {
    type Error = UnknownProfileFieldType;

    fn try_from(number: i64) -> Result<Self, UnknownProfileFieldType> {
        Self::ALL.into_iter().find(|kind| i64::from(*kind) == number).ok_or(UnknownProfileFieldType(number))
    }
}
