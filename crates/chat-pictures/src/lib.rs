//! Pictures that strangers send: decoded within limits, scaled down, and encoded again.
//!
//! It owns which formats are pictures, how much of one is decoded at most, and the sizes of emoji, avatars, icons,
//! logos and thumbnails. It refuses everything it cannot decode within [`MAX_PIXELS`], and knows nothing of where
//! pictures come from or go to: it is given something to read and answers with bytes. Its functions take milliseconds
//! to seconds of one core, so they run where blocking work does, few at a time.
//!
//! **The decision:** nothing of a small picture is the sender's: every pixel was decoded and encoded again, so what is
//! hidden in a file (scripts, places, a second format) stays behind. The original of an upload is stored as it came and
//! must not be trusted; the code that serves it says so to browsers.
//!
//! **The road not taken:** a C library, which is faster and knows more formats, and has been the way into many servers.
//!
//! # Example
//! ```
//! use chat_pictures::{PictureFormat, MAX_PIXELS, PictureError};
//!
//! assert!(matches!(chat_pictures::make_emoji(b"<svg/>"), Err(PictureError::UnknownFormat)));
//! assert_eq!(PictureFormat::detect(b"\x89PNG\r\n\x1a\n"), Some(PictureFormat::Png));
//! assert!(MAX_PIXELS >= 24_000_000);
//! ```

mod decode;
mod make;

use image::ImageFormat;

pub use decode::{
    MAX_ANIMATION_FRAMES, MAX_ANIMATION_PIXELS, MAX_DECODING_BYTES, MAX_PIXELS, MAX_SIDE_PIXELS, PictureMetadata,
    estimate_decoding_bytes, read_picture_metadata,
};
pub use make::{
    EncodedAvatar, EncodedEmoji, THUMBNAIL_SPECS, ThumbnailSpec, make_avatar, make_emoji, make_organization_icon,
    make_organization_logo, make_thumbnail,
};

/// A supported picture format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// Portable Network Graphics, also animated.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF, also animated.
    Gif,
    /// WebP, also animated.
    WebP,
}

impl PictureFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::WebP];

    /// Detects the format from the first bytes of a file, of which twelve are enough; `None` when it is not supported.
    #[must_use]
    pub fn detect(start: &[u8]) -> Option<Self> {
        let known = image::guess_format(start).ok()?;
        Self::ALL.into_iter().find(|format| format.library() == known)
    }

    /// Returns the media type of the format.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        self.library().to_mime_type()
    }

    /// Returns the file extension of the format, without the dot.
    #[must_use]
    pub fn file_extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::WebP => "webp",
        }
    }

    pub(crate) fn library(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::WebP => ImageFormat::WebP,
        }
    }
}

/// A picture that this crate encoded: its bytes and format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPicture {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// Its format.
    pub format: PictureFormat,
}

/// The reason why a file cannot be used as a picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file is of no [`PictureFormat`].
    #[error("Invalid image format")]
    UnknownFormat,
    /// The picture is larger than is decoded.
    #[error("Image size exceeds limit.")]
    TooLarge,
    /// The file is broken.
    #[error("Could not decode image; did you upload an image file?")]
    Broken(#[source] image::ImageError),
    /// Reading the file or writing the decoded picture failed.
    #[error("a picture could not be read or written")]
    Failed(#[source] std::io::Error),
}

impl From<image::ImageError> for PictureError {
    fn from(error: image::ImageError) -> Self {
        match error {
            image::ImageError::Limits(_) => Self::TooLarge,
            other => Self::Broken(other),
        }
    }
}

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
