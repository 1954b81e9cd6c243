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
    /// All images of an organization.
    pub const ALL: [Self; 3] = [Self::Icon, Self::Logo, Self::NightLogo];

    /// Returns the name of the image on the wire, and in the tables and files of an export.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Icon => "icon",
            Self::Logo => "logo",
            Self::NightLogo => "night_logo",
        }
    }
}

/// The URLs of the images that an organization uploaded, relative to the realm's URL; `None` for a default image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OrganizationImageUrls {
    /// Of [`OrganizationImage::Icon`].
    pub icon: Option<String>,
    /// Of [`OrganizationImage::Logo`].
    pub logo: Option<String>,
    /// Of [`OrganizationImage::NightLogo`].
    pub night_logo: Option<String>,
}

impl OrganizationImageUrls {
    /// Returns the URL of an uploaded image; `None` for a default image.
    #[must_use]
    pub fn uploaded_url(&self, image: OrganizationImage) -> Option<&str> {
        match image {
            OrganizationImage::Icon => self.icon.as_deref(),
            OrganizationImage::Logo => self.logo.as_deref(),
            OrganizationImage::NightLogo => self.night_logo.as_deref(),
        }
    }

    /// Returns the source of an image as the wire's letter: uploaded, generated or default.
    #[must_use]
    pub fn wire_source(&self, image: OrganizationImage) -> &'static str {
        match (self.uploaded_url(image), image) {
            (Some(_), _) => "U",
            (None, OrganizationImage::Icon) => "G",
            (None, OrganizationImage::Logo | OrganizationImage::NightLogo) => "D",
        }
    }

    /// Returns the URLs with that of one image replaced.
    #[must_use]
    pub fn with_image_url(self, image: OrganizationImage, url: Option<String>) -> Self {
        match image {
            OrganizationImage::Icon => Self { icon: url, ..self },
            OrganizationImage::Logo => Self { logo: url, ..self },
            OrganizationImage::NightLogo => Self { night_logo: url, ..self },
        }
    }
}
