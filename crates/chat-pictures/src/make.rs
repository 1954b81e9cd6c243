//! Small pictures.

use std::io::{BufRead, Cursor, Seek};

use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{self, FilterType};
use image::{DynamicImage, Frame, Rgba, RgbaImage};

use crate::decode::{animation, still, turns};
use crate::{EncodedPicture, PictureError, PictureFormat};

/// Pixels of each side of an emoji.
const EMOJI_SIDE: u32 = 64;
/// Pixels of each side of an avatar.
const AVATAR_SIDE: u32 = 100;
/// Pixels of each side of an avatar in its larger size.
const AVATAR_MEDIUM_SIDE: u32 = 500;
/// Pixels of each side of an organization's icon.
const ICON_SIDE: u32 = 100;
/// Pixels of a logo's width and height at most: eight times as wide as high.
const LOGO_SIDES: (u32, u32) = (800, 100);
/// How hard the encoder of GIF looks for colours: from 1, the best, to 30.
const GIF_SPEED: i32 = 10;
/// Of 100: what people take for the picture itself at this size.
const JPEG_QUALITY: u8 = 80;
/// What shows through a picture that has holes where its format has none.
const PAPER: Rgba<u8> = Rgba([255, 255, 255, 255]);

/// The encoded picture of a custom emoji, with a still frame where it is animated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedEmoji {
    /// The emoji: a PNG of 64 by 64 pixels, or a GIF when it is animated.
    pub picture: EncodedPicture,
    /// The first frame as a PNG, when the emoji is animated.
    pub still: Option<EncodedPicture>,
}

/// The encoded avatar of a user in two sizes, both PNG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedAvatar {
    /// 100 pixels square.
    pub small: EncodedPicture,
    /// 500 pixels square.
    pub medium: EncodedPicture,
}

/// The specification of a thumbnail: name, maximum width and height, format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThumbnailSpec {
    /// The name, the last part of the address.
    pub name: &'static str,
    /// The greatest width in pixels.
    pub max_width: u32,
    /// The greatest height in pixels.
    pub max_height: u32,
    /// The format of the file.
    pub format: PictureFormat,
}

/// The specifications of the thumbnails that are made of each picture, the default first.
///
/// Not specified. JPEG, because the only free encoder of WebP that needs no C keeps every pixel, and makes files of
/// photographs ten times as large; WebP for pictures with holes, of which most are drawings, which it keeps small.
pub const THUMBNAIL_SPECS: [ThumbnailSpec; 2] = [
    ThumbnailSpec { name: "840x560.jpg", max_width: 840, max_height: 560, format: PictureFormat::Jpeg },
    ThumbnailSpec { name: "840x560.webp", max_width: 840, max_height: 560, format: PictureFormat::WebP },
];

/// Makes a custom emoji of the square center of a picture, 64 by 64 pixels: a PNG, or of an animation a GIF with every
/// frame.
///
/// # Errors
/// See [`PictureError`].
pub fn make_emoji(file: &[u8]) -> Result<EncodedEmoji, PictureError> {
    let Some(frames) = animation(Cursor::new(file), emoji_frame)? else {
        let picture = encoded(&square_of(file, EMOJI_SIDE)?, PictureFormat::Png)?;
        return Ok(EncodedEmoji { picture, still: None });
    };
    let first = frames.first().map(|frame| DynamicImage::ImageRgba8(frame.buffer().clone()));
    let still = first.map(|first| encoded(&first, PictureFormat::Png)).transpose()?;
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut bytes, GIF_SPEED);
    encoder.set_repeat(Repeat::Infinite)?;
    encoder.encode_frames(frames)?;
    drop(encoder);
    Ok(EncodedEmoji { picture: EncodedPicture { bytes, format: PictureFormat::Gif }, still })
}

/// Returns a frame of an animated emoji in its final size.
fn emoji_frame(frame: Frame) -> Frame {
    let delay = frame.delay();
    let small = square(&DynamicImage::ImageRgba8(frame.into_buffer()), EMOJI_SIDE);
    Frame::from_parts(small.into_rgba8(), 0, 0, delay)
}

/// Makes an avatar of the square center of a picture; of an animation, of its first frame.
///
/// # Errors
/// See [`PictureError`].
pub fn make_avatar(file: &[u8]) -> Result<EncodedAvatar, PictureError> {
    let medium = square_of(file, AVATAR_MEDIUM_SIDE)?;
    Ok(EncodedAvatar {
        small: encoded(&square(&medium, AVATAR_SIDE), PictureFormat::Png)?,
        medium: encoded(&medium, PictureFormat::Png)?,
    })
}

/// Makes an organization's icon of the square center of a picture, a PNG of 100 by 100 pixels; of an animation, of its
/// first frame.
///
/// # Errors
/// See [`PictureError`].
pub fn make_organization_icon(file: &[u8]) -> Result<EncodedPicture, PictureError> {
    encoded(&square_of(file, ICON_SIDE)?, PictureFormat::Png)
}

/// Makes an organization's logo of a whole picture, with its proportions, as a PNG of at most 800 by 100 pixels and not
/// larger than the picture; of an animation, of its first frame.
///
/// # Errors
/// See [`PictureError`].
pub fn make_organization_logo(file: &[u8]) -> Result<EncodedPicture, PictureError> {
    encoded(&fitted(Cursor::new(file), LOGO_SIDES)?, PictureFormat::Png)
}

/// Makes a thumbnail of a picture: scaled down to `spec`, or in its own size when that is smaller; of an animation, of
/// its first frame.
///
/// # Errors
/// See [`PictureError`].
pub fn make_thumbnail(file: impl BufRead + Seek, spec: ThumbnailSpec) -> Result<EncodedPicture, PictureError> {
    encoded(&fitted(file, (spec.max_width, spec.max_height))?, spec.format)
}

/// Returns the picture the right way up, within those sides and not larger than it came.
fn fitted(file: impl BufRead + Seek, (max_width, max_height): (u32, u32)) -> Result<DynamicImage, PictureError> {
    let (picture, orientation) = still(file)?;
    let (max_width, max_height) = if turns(orientation) { (max_height, max_width) } else { (max_width, max_height) };
    let mut small = shrunk(&picture, (max_width.min(picture.width()), max_height.min(picture.height())));
    drop(picture);
    small.apply_orientation(orientation);
    Ok(small)
}

/// Returns the middle of the picture, square and the right way up.
fn square_of(file: &[u8], side: u32) -> Result<DynamicImage, PictureError> {
    let (picture, orientation) = still(Cursor::new(file))?;
    let mut small = square(&picture, side);
    drop(picture);
    small.apply_orientation(orientation);
    Ok(small)
}

/// As large as fits, with its own proportions. In two steps, because the careful one looks at every pixel many times.
fn shrunk(picture: &DynamicImage, (width, height): (u32, u32)) -> DynamicImage {
    let rough = (width.saturating_mul(3), height.saturating_mul(3));
    if picture.width() > rough.0 && picture.height() > rough.1 {
        return picture.thumbnail(rough.0, rough.1).resize(width, height, FilterType::CatmullRom);
    }
    picture.resize(width, height, FilterType::CatmullRom)
}

/// Returns the middle of a picture, square.
fn square(picture: &DynamicImage, side: u32) -> DynamicImage {
    let shorter = picture.width().min(picture.height());
    let (left, top) = ((picture.width() - shorter) / 2, (picture.height() - shorter) / 2);
    if shorter > side.saturating_mul(3) {
        // A view: a copy of the middle may be as large as the picture.
        let middle = imageops::crop_imm(picture, left, top, shorter, shorter);
        let rough = imageops::thumbnail(&*middle, side * 3, side * 3);
        return DynamicImage::ImageRgba8(rough).resize_exact(side, side, FilterType::CatmullRom);
    }
    picture.crop_imm(left, top, shorter, shorter).resize_exact(side, side, FilterType::CatmullRom)
}

fn encoded(picture: &DynamicImage, format: PictureFormat) -> Result<EncodedPicture, PictureError> {
    let mut bytes = Cursor::new(Vec::new());
    match format {
        PictureFormat::Jpeg => {
            let mut paper = RgbaImage::from_pixel(picture.width(), picture.height(), PAPER);
            imageops::overlay(&mut paper, &picture.to_rgba8(), 0, 0);
            let opaque = DynamicImage::ImageRgba8(paper).into_rgb8();
            opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
        }
        PictureFormat::Png | PictureFormat::Gif | PictureFormat::WebP => {
            DynamicImage::ImageRgba8(picture.to_rgba8()).write_to(&mut bytes, format.library())?;
        }
    }
    Ok(EncodedPicture { bytes: bytes.into_inner(), format })
}

#[cfg(test)]
mod tests;
