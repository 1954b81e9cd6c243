//! The pictures of the organization itself: its icon, and its logos.

use serde::{Deserialize, Serialize};

/// An image of the organization: its icon or a logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrganizationImage {
    /// A square one, where there is little room.
    Icon,
    /// A wide one, where it stands on something light.
    Logo,
    /// The same where it stands on something dark.
    NightLogo,
}

impl OrganizationImage {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Icon, Self::Logo, Self::NightLogo];

    /// Its name on the wire, and in the tables and files of an export.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Icon => "icon",
            Self::Logo => "logo",
            Self::NightLogo => "night_logo",
        }
    }
}

/// Addresses of the pictures an organization gave itself, relative to the realm's; `None` where it has the usual one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrganizationImages {
    /// Of [`OrganizationImage::Icon`].
    pub icon: Option<String>,
    /// Of [`OrganizationImage::Logo`].
    pub logo: Option<String>,
    /// Of [`OrganizationImage::NightLogo`].
    pub night_logo: Option<String>,
}

impl OrganizationImages {
    /// Returns where one is, if it is not the usual one.
    #[must_use]
    pub fn url(&self, image: OrganizationImage) -> Option<&str> {
        match image {
            OrganizationImage::Icon => self.icon.as_deref(),
            OrganizationImage::Logo => self.logo.as_deref(),
            OrganizationImage::NightLogo => self.night_logo.as_deref(),
        }
    }

    /// Returns where one comes from, in the letters of the wire: uploaded, generated, the server's.
    #[must_use]
    pub fn source(&self, image: OrganizationImage) -> &'static str {
        match (self.url(image), image) {
            (Some(_), _) => "U",
            (None, OrganizationImage::Icon) => "G",
            (None, OrganizationImage::Logo | OrganizationImage::NightLogo) => "D",
        }
    }

    /// These with another in place of one.
    #[must_use]
    pub fn with(self, image: OrganizationImage, url: Option<String>) -> Self {
        match image {
            OrganizationImage::Icon => Self { icon: url, ..self },
            OrganizationImage::Logo => Self { logo: url, ..self },
            OrganizationImage::NightLogo => Self { night_logo: url, ..self },
        }
    }
}
