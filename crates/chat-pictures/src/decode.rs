//! From files to pixels, within limits.

use std::io::{BufRead, Cursor, Read as _, Seek, SeekFrom};

use image::codecs::gif::GifDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{AnimationDecoder as _, DynamicImage, Frame, Frames, ImageDecoder, ImageReader, Limits};

use crate::{PictureError, PictureFormat};

/// Most pixels of one picture that is decoded. Telephones take pictures of 12 to 24 million.
pub const MAX_PIXELS: u64 = 40_000_000;
/// Most memory that decoding one picture may take, in bytes; see [`estimate_decoding_bytes`].
pub const MAX_DECODING_BYTES: u64 = 384 << 20;
/// Longest side of a picture, in pixels.
pub const MAX_SIDE_PIXELS: u32 = 20_000;
/// Most frames of an animation.
pub const MAX_ANIMATION_FRAMES: usize = 600;
/// Most pixels of all frames of an animation together.
pub const MAX_ANIMATION_PIXELS: u64 = 200_000_000;

/// Bytes of memory that a pixel of a JPEG takes: its three colours, and for a progressive one the coefficients of each.
const JPEG_PIXEL_BYTES: u64 = 9;
/// Bytes of memory that a pixel takes of a format with frames: the canvas, the frame, and what the decoder keeps.
const FRAME_PIXEL_BYTES: u64 = 12;
/// Bytes of a JPEG that hold its head, with its colour profile and all that cameras write before the pixels.
const HEAD_MAX_BYTES: u64 = 4 << 20;

/// Bytes that tell a format.
const START: usize = 32;

/// The metadata of a picture that are known without decoding all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureMetadata {
    /// The format of the file.
    pub format: PictureFormat,
    /// The width in pixels, as shown after the orientation in the file is applied.
    pub width: u32,
    /// The height in pixels, as shown after the orientation in the file is applied.
    pub height: u32,
    /// True when the picture has more than one frame.
    pub is_animated: bool,
}

/// Estimates the bytes of memory that decoding a picture takes at most, by its format, its pixels and their depth.
/// Reads the head of the file alone. Callers use it to bound what several decoders take together.
///
/// # Errors
/// [`PictureError::UnknownFormat`] for a file that is not a picture, [`PictureError::TooLarge`] for one that is never
/// decoded, [`PictureError::Broken`] for a broken head.
pub fn estimate_decoding_bytes(mut file: impl BufRead + Seek) -> Result<u64, PictureError> {
    let format = format(&mut file)?;
    let bytes = match format {
        PictureFormat::Jpeg => {
            let mut start = Vec::new();
            file.by_ref().take(HEAD_MAX_BYTES).read_to_end(&mut start).map_err(PictureError::Failed)?;
            affordable(decoder(Cursor::new(start), format)?.dimensions(), JPEG_PIXEL_BYTES)
        }
        PictureFormat::Png => {
            let decoder = PngDecoder::with_limits(&mut file, limits())?;
            let depth = u64::from(decoder.color_type().bytes_per_pixel());
            affordable(decoder.dimensions(), if decoder.is_apng()? { FRAME_PIXEL_BYTES } else { depth })
        }
        PictureFormat::Gif => affordable(GifDecoder::new(&mut file)?.dimensions(), FRAME_PIXEL_BYTES),
        PictureFormat::WebP => affordable(WebPDecoder::new(&mut file)?.dimensions(), FRAME_PIXEL_BYTES),
    }?;
    rewind(&mut file)?;
    Ok(bytes)
}

/// Reads the metadata of a picture from the head of its file; of an animation also from the first two frames.
///
/// # Errors
/// [`PictureError::UnknownFormat`] for a file that is not a picture, [`PictureError::TooLarge`] for one that is never
/// decoded, [`PictureError::Broken`] for a broken head.
pub fn read_picture_metadata(mut file: impl BufRead + Seek) -> Result<PictureMetadata, PictureError> {
    let format = format(&mut file)?;
    let is_animated = moves(&mut file, format)?;
    rewind(&mut file)?;
    let (width, height) = {
        let mut decoder = decoder(&mut file, format)?;
        let (width, height) = decoder.dimensions();
        if turns(decoder.orientation()?) { (height, width) } else { (width, height) }
    };
    Ok(PictureMetadata { format, width, height, is_animated })
}

fn moves(file: impl BufRead + Seek, format: PictureFormat) -> Result<bool, PictureError> {
    let Some(mut frames) = frames(file, format)? else { return Ok(false) };
    // One after the other: two at once would take twice the memory.
    let has_first = frames.next().transpose()?.is_some();
    Ok(has_first && frames.next().transpose()?.is_some())
}

/// Returns the picture, or the first frame of an animation, as it is stored, and how it has to be turned. It is turned
/// once it is small: turning makes a copy.
pub(crate) fn still(mut file: impl BufRead + Seek) -> Result<(DynamicImage, Orientation), PictureError> {
    let format = format(&mut file)?;
    let mut decoder = decoder(file, format)?;
    let orientation = decoder.orientation()?;
    Ok((DynamicImage::from_decoder(decoder)?, orientation))
}

/// Returns the frames of an animation, each shrunk by `shrink` before the next is decoded, so that two large ones are
/// never in memory; `None` of a picture that is not animated.
pub(crate) fn animation(
    mut file: impl BufRead + Seek,
    shrink: impl Fn(Frame) -> Frame,
) -> Result<Option<Vec<Frame>>, PictureError> {
    let format = format(&mut file)?;
    let Some(frames) = frames(file, format)? else { return Ok(None) };
    let mut pixels: u64 = 0;
    let mut all = Vec::new();
    for frame in frames {
        let frame = frame?;
        pixels = pixels.saturating_add(area(frame.buffer().dimensions()));
        if all.len() >= MAX_ANIMATION_FRAMES || pixels > MAX_ANIMATION_PIXELS {
            return Err(PictureError::TooLarge);
        }
        all.push(shrink(frame));
    }
    Ok((all.len() > 1).then_some(all))
}

fn format(file: &mut (impl BufRead + Seek)) -> Result<PictureFormat, PictureError> {
    let mut start = [0; START];
    let mut filled = 0;
    while let Some(rest) = start.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest).map_err(PictureError::Failed)? {
            0 => break,
            more => filled += more,
        }
    }
    rewind(file)?;
    PictureFormat::detect(start.get(..filled).unwrap_or_default()).ok_or(PictureError::UnknownFormat)
}

fn rewind(file: &mut impl Seek) -> Result<(), PictureError> {
    file.seek(SeekFrom::Start(0)).map(drop).map_err(PictureError::Failed)
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE_PIXELS);
    limits.max_image_height = Some(MAX_SIDE_PIXELS);
    limits.max_alloc = Some(MAX_PIXELS * 8);
    limits
}

fn area((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Returns the bytes of decoding so many pixels.
fn affordable(dimensions: (u32, u32), pixel_bytes: u64) -> Result<u64, PictureError> {
    within(dimensions)?;
    let bytes = area(dimensions).saturating_mul(pixel_bytes);
    if bytes <= MAX_DECODING_BYTES { Ok(bytes) } else { Err(PictureError::TooLarge) }
}

fn within((width, height): (u32, u32)) -> Result<(), PictureError> {
    let fits = area((width, height)) <= MAX_PIXELS && width <= MAX_SIDE_PIXELS && height <= MAX_SIDE_PIXELS;
    if fits { Ok(()) } else { Err(PictureError::TooLarge) }
}

fn decoder<'a>(file: impl BufRead + Seek + 'a, format: PictureFormat) -> Result<impl ImageDecoder + 'a, PictureError> {
    let mut reader = ImageReader::with_format(file, format.library());
    reader.limits(limits());
    let decoder = reader.into_decoder()?;
    let pixel_bytes = match format {
        PictureFormat::Jpeg => JPEG_PIXEL_BYTES,
        PictureFormat::Png => u64::from(decoder.color_type().bytes_per_pixel()),
        PictureFormat::Gif | PictureFormat::WebP => FRAME_PIXEL_BYTES,
    };
    affordable(decoder.dimensions(), pixel_bytes)?;
    Ok(decoder)
}

/// Returns the frames of a format that can move, not yet decoded.
fn frames<'a>(file: impl BufRead + Seek + 'a, format: PictureFormat) -> Result<Option<Frames<'a>>, PictureError> {
    match format {
        PictureFormat::Gif => {
            let mut decoder = GifDecoder::new(file)?;
            affordable(decoder.dimensions(), FRAME_PIXEL_BYTES)?;
            decoder.set_limits(limits())?;
            Ok(Some(decoder.into_frames()))
        }
        PictureFormat::WebP => {
            let mut decoder = WebPDecoder::new(file)?;
            affordable(decoder.dimensions(), FRAME_PIXEL_BYTES)?;
            decoder.set_limits(limits())?;
            Ok(if decoder.has_animation() { Some(decoder.into_frames()) } else { None })
        }
        PictureFormat::Png => {
            let decoder = PngDecoder::with_limits(file, limits())?;
            affordable(decoder.dimensions(), FRAME_PIXEL_BYTES)?;
            Ok(if decoder.is_apng()? { Some(decoder.apng()?.into_frames()) } else { None })
        }
        PictureFormat::Jpeg => Ok(None),
    }
}

pub(crate) fn turns(orientation: Orientation) -> bool {
    matches!(
        orientation,
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH
    )
}
