//! From files to pixels, within limits.

use std::io::{BufRead, Seek, SeekFrom};

use image::codecs::gif::GifDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{AnimationDecoder as _, DynamicImage, Frame, Frames, ImageDecoder, ImageReader, Limits};

use crate::{Format, PictureError};

/// Pixels of one picture that are decoded at most: four bytes each, and two decoded at a time are what a small
/// machine has room for. Telephones take pictures of 12 to 24 million.
pub const MAX_PIXELS: u64 = 40_000_000;
/// Pixels of a side.
pub const MAX_SIDE: u32 = 20_000;
/// Frames of an animation.
pub const MAX_FRAMES: usize = 600;
/// Pixels of all frames of an animation together.
pub const MAX_ANIMATION_PIXELS: u64 = 200_000_000;

/// Bytes that tell a format.
const START: usize = 32;

/// What is known of a picture without decoding all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its format.
    pub format: Format,
    /// Its width as shown, in pixels.
    pub width: u32,
    /// Its height as shown, in pixels.
    pub height: u32,
    /// Whether it moves.
    pub is_animated: bool,
}

/// What is known of a picture. Reads its head, and of an animation the first two frames.
///
/// # Errors
/// When it is no picture, or a larger one than is ever decoded.
pub fn facts(mut file: impl BufRead + Seek) -> Result<Facts, PictureError> {
    let format = format(&mut file)?;
    let is_animated = moves(&mut file, format)?;
    rewind(&mut file)?;
    let (width, height) = {
        let mut decoder = decoder(&mut file, format)?;
        let (width, height) = decoder.dimensions();
        if turns(decoder.orientation()?) { (height, width) } else { (width, height) }
    };
    Ok(Facts { format, width, height, is_animated })
}

fn moves(file: impl BufRead + Seek, format: Format) -> Result<bool, PictureError> {
    let Some(frames) = frames(file, format)? else { return Ok(false) };
    Ok(frames.take(2).collect::<Result<Vec<_>, _>>()?.len() > 1)
}

/// The picture, or the first frame of an animation, the right way up.
pub(crate) fn still(mut file: impl BufRead + Seek) -> Result<DynamicImage, PictureError> {
    let format = format(&mut file)?;
    let mut decoder = decoder(file, format)?;
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

/// The frames of what moves; `None` of what does not.
pub(crate) fn animation(mut file: impl BufRead + Seek) -> Result<Option<Vec<Frame>>, PictureError> {
    let format = format(&mut file)?;
    let Some(frames) = frames(file, format)? else { return Ok(None) };
    let mut pixels: u64 = 0;
    let mut all = Vec::new();
    for frame in frames {
        let frame = frame?;
        pixels = pixels.saturating_add(area(frame.buffer().dimensions()));
        if all.len() >= MAX_FRAMES || pixels > MAX_ANIMATION_PIXELS {
            return Err(PictureError::TooLarge);
        }
        all.push(crate::make::emoji_frame(frame));
    }
    Ok((all.len() > 1).then_some(all))
}

fn format(file: &mut (impl BufRead + Seek)) -> Result<Format, PictureError> {
    let mut start = [0; START];
    let mut filled = 0;
    while let Some(rest) = start.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest).map_err(PictureError::Failed)? {
            0 => break,
            more => filled += more,
        }
    }
    rewind(file)?;
    Format::of(start.get(..filled).unwrap_or_default()).ok_or(PictureError::UnknownFormat)
}

fn rewind(file: &mut impl Seek) -> Result<(), PictureError> {
    file.seek(SeekFrom::Start(0)).map(drop).map_err(PictureError::Failed)
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(MAX_PIXELS * 8);
    limits
}

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

fn within((width, height): (u32, u32)) -> Result<(), PictureError> {
    let fits = area((width, height)) <= MAX_PIXELS && width <= MAX_SIDE && height <= MAX_SIDE;
    if fits { Ok(()) } else { Err(PictureError::TooLarge) }
}

fn decoder<'a>(file: impl BufRead + Seek + 'a, format: Format) -> Result<impl ImageDecoder + 'a, PictureError> {
    let mut reader = ImageReader::with_format(file, format.library());
    reader.limits(limits());
    let decoder = reader.into_decoder()?;
    within(decoder.dimensions())?;
    Ok(decoder)
}

/// The frames of a format that can move, not yet decoded.
fn frames<'a>(file: impl BufRead + Seek + 'a, format: Format) -> Result<Option<Frames<'a>>, PictureError> {
    match format {
        Format::Gif => {
            let mut decoder = GifDecoder::new(file)?;
            within(decoder.dimensions())?;
            decoder.set_limits(limits())?;
            Ok(Some(decoder.into_frames()))
        }
        Format::WebP => {
            let mut decoder = WebPDecoder::new(file)?;
            within(decoder.dimensions())?;
            decoder.set_limits(limits())?;
            Ok(if decoder.has_animation() { Some(decoder.into_frames()) } else { None })
        }
        Format::Png => {
            let decoder = PngDecoder::with_limits(file, limits())?;
            within(decoder.dimensions())?;
            Ok(if decoder.is_apng()? { Some(decoder.apng()?.into_frames()) } else { None })
        }
        Format::Jpeg => Ok(None),
    }
}

fn turns(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    )
}
