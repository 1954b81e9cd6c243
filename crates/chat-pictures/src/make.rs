//! Small pictures.

use std::io::{BufRead, Cursor, Seek};

use image::codecs::gif::{GifEncoder, Repeat};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{self, FilterType};
use image::{DynamicImage, Frame, Rgba, RgbaImage};

use crate::decode::{animation, still, turns};
use crate::{Encoded, Format, PictureError};

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

/// A custom emoji.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emoji {
    /// The emoji: a PNG, or a GIF when it moves.
    pub picture: Encoded,
    /// Its first frame, when it moves.
    pub still: Option<Encoded>,
}

/// A picture of a user in its two sizes, both PNG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Avatar {
    /// 100 pixels square.
    pub small: Encoded,
    /// 500 pixels square.
    pub medium: Encoded,
}

/// A kind of thumbnail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thumbnail {
    /// Its name, the last part of the address.
    pub name: &'static str,
    /// Pixels of its width at most.
    pub max_width: u32,
    /// Pixels of its height at most.
    pub max_height: u32,
    /// Its format.
    pub format: Format,
}

/// The thumbnails there are of each picture, the usual one first.
///
/// Not specified. JPEG, because the only free encoder of WebP that needs no C keeps every pixel, and makes files of
/// photographs ten times as large; WebP for pictures with holes, of which most are drawings, which it keeps small.
pub const THUMBNAILS: [Thumbnail; 2] = [
    Thumbnail { name: "840x560.jpg", max_width: 840, max_height: 560, format: Format::Jpeg },
    Thumbnail { name: "840x560.webp", max_width: 840, max_height: 560, format: Format::WebP },
];

/// Returns the emoji that a picture becomes: the middle of it, square.
///
/// # Errors
/// When it is no picture, or too large a one.
pub fn emoji(file: &[u8]) -> Result<Emoji, PictureError> {
    let Some(frames) = animation(Cursor::new(file))? else {
        let picture = encoded(&square_of(file, EMOJI_SIDE)?, Format::Png)?;
        return Ok(Emoji { picture, still: None });
    };
    let first = frames.first().map(|frame| DynamicImage::ImageRgba8(frame.buffer().clone()));
    let still = first.map(|first| encoded(&first, Format::Png)).transpose()?;
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut bytes, GIF_SPEED);
    encoder.set_repeat(Repeat::Infinite)?;
    encoder.encode_frames(frames)?;
    drop(encoder);
    Ok(Emoji { picture: Encoded { bytes, format: Format::Gif }, still })
}

/// A frame of an emoji that moves, as small as it will be: so two large ones are never held at once.
pub(crate) fn emoji_frame(frame: Frame) -> Frame {
    let delay = frame.delay();
    let small = square(&DynamicImage::ImageRgba8(frame.into_buffer()), EMOJI_SIDE);
    Frame::from_parts(small.into_rgba8(), 0, 0, delay)
}

/// Returns the avatar that a picture becomes: the middle of it, square; of an animation the first frame.
///
/// # Errors
/// When it is no picture, or too large a one.
pub fn avatar(file: &[u8]) -> Result<Avatar, PictureError> {
    let medium = square_of(file, AVATAR_MEDIUM_SIDE)?;
    Ok(Avatar { small: encoded(&square(&medium, AVATAR_SIDE), Format::Png)?, medium: encoded(&medium, Format::Png)? })
}

/// Returns the icon of an organization that a picture becomes: the middle of it, square, as PNG; of an animation the
/// first frame.
///
/// # Errors
/// When it is no picture, or too large a one.
pub fn icon(file: &[u8]) -> Result<Encoded, PictureError> {
    encoded(&square_of(file, ICON_SIDE)?, Format::Png)
}

/// Returns the logo of an organization that a picture becomes: all of it, with its own proportions, as PNG, 800 by 100
/// pixels at most and not larger than it came; of an animation the first frame.
///
/// # Errors
/// When it is no picture, or too large a one.
pub fn logo(file: &[u8]) -> Result<Encoded, PictureError> {
    encoded(&fitted(Cursor::new(file), LOGO_SIDES)?, Format::Png)
}

/// Returns the picture in a smaller size, or in its own when that is smaller still; of an animation the first frame.
///
/// # Errors
/// When it is no picture, or too large a one.
pub fn thumbnail(file: impl BufRead + Seek, wish: Thumbnail) -> Result<Encoded, PictureError> {
    encoded(&fitted(file, (wish.max_width, wish.max_height))?, wish.format)
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

fn encoded(picture: &DynamicImage, format: Format) -> Result<Encoded, PictureError> {
    let mut bytes = Cursor::new(Vec::new());
    match format {
        Format::Jpeg => {
            let mut paper = RgbaImage::from_pixel(picture.width(), picture.height(), PAPER);
            imageops::overlay(&mut paper, &picture.to_rgba8(), 0, 0);
            let opaque = DynamicImage::ImageRgba8(paper).into_rgb8();
            opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
        }
        Format::Png | Format::Gif | Format::WebP => {
            DynamicImage::ImageRgba8(picture.to_rgba8()).write_to(&mut bytes, format.library())?;
        }
    }
    Ok(Encoded { bytes: bytes.into_inner(), format })
}

#[cfg(test)]
mod tests;
