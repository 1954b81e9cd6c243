use image::codecs::png::PngEncoder;
use image::{Delay, ExtendedColorType, ImageEncoder as _};

use super::*;
use crate::{MAX_ANIMATION_FRAMES, PictureMetadata, estimate_decoding_bytes, read_picture_metadata};

fn drawn(width: u32, height: u32) -> DynamicImage {
    let pixel = |x: u32, _| if x < width / 2 { Rgba([255, 0, 0, 255]) } else { Rgba([0, 0, 255, 128]) };
    DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, pixel))
}

fn file(picture: &DynamicImage, format: PictureFormat) -> Vec<u8> {
    encoded(picture, format).unwrap().bytes
}

fn moving(frames: usize, (width, height): (u32, u32)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut bytes, 30);
    let delay = Delay::from_numer_denom_ms(100, 1);
    let frame = |shade: usize| {
        let shade = u8::try_from(shade % 200).unwrap();
        Frame::from_parts(RgbaImage::from_pixel(width, height, Rgba([shade, 0, 0, 255])), 0, 0, delay)
    };
    encoder.encode_frames((0..frames).map(frame)).unwrap();
    drop(encoder);
    bytes
}

fn known(bytes: &[u8]) -> PictureMetadata {
    read_picture_metadata(Cursor::new(bytes)).unwrap()
}

fn size(bytes: &[u8]) -> (u32, u32) {
    let PictureMetadata { width, height, .. } = known(bytes);
    (width, height)
}

/// Returns the head of a PNG that says it has these sides, and no pixels behind it.
fn promised(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(&[0; 4], 1, 1, ExtendedColorType::Rgba8).unwrap();
    bytes.splice(16..24, [width.to_be_bytes(), height.to_be_bytes()].concat());
    let checked: u32 = crc(&bytes[12..29]);
    bytes.splice(29..33, checked.to_be_bytes());
    bytes
}

/// Returns the check sum of a chunk of PNG.
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 })
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn an_emoji_is_square_and_made_anew_whatever_came() {
    for format in PictureFormat::ALL {
        let sent = file(&drawn(200, 90), format);
        let EncodedEmoji { picture, still } = make_emoji(&sent).unwrap();
        assert_eq!((picture.format, size(&picture.bytes), still), (PictureFormat::Png, (64, 64), None), "{format:?}");
        assert_ne!(picture.bytes, sent);
    }
}

#[test]
fn what_is_hidden_behind_a_picture_does_not_come_along() {
    let mut sent = file(&drawn(64, 64), PictureFormat::Png);
    sent.extend_from_slice(b"<script>alert(1)</script>");
    let made = make_emoji(&sent).unwrap().picture.bytes;
    assert!(!made.windows(7).any(|window| window == b"<script"));
}

#[test]
fn an_emoji_that_moves_still_moves_and_has_a_still() {
    let EncodedEmoji { picture, still } = make_emoji(&moving(3, (120, 80))).unwrap();
    assert_eq!(picture.format, PictureFormat::Gif);
    let told = known(&picture.bytes);
    assert_eq!((told.width, told.height, told.is_animated), (64, 64, true));
    let still = still.unwrap();
    assert_eq!(
        (still.format, size(&still.bytes), known(&still.bytes).is_animated),
        (PictureFormat::Png, (64, 64), false)
    );
}

#[test]
fn an_animation_of_one_frame_is_a_picture() {
    let EncodedEmoji { picture, still } = make_emoji(&moving(1, (20, 20))).unwrap();
    assert_eq!((picture.format, still), (PictureFormat::Png, None));
}

#[test]
fn an_avatar_has_two_sizes() {
    let EncodedAvatar { small, medium } = make_avatar(&file(&drawn(300, 700), PictureFormat::Jpeg)).unwrap();
    assert_eq!((size(&small.bytes), size(&medium.bytes)), ((100, 100), (500, 500)));
}

#[test]
fn an_icon_is_square_and_a_logo_keeps_its_proportions_within_its_bounds() {
    for format in PictureFormat::ALL {
        let icon = make_organization_icon(&file(&drawn(300, 700), format)).unwrap();
        assert_eq!((icon.format, size(&icon.bytes)), (PictureFormat::Png, (100, 100)));
        let of = |width, height| {
            let made = make_organization_logo(&file(&drawn(width, height), format)).unwrap();
            assert_eq!(made.format, PictureFormat::Png);
            size(&made.bytes)
        };
        assert_eq!((of(1600, 100), of(400, 200), of(30, 20)), ((800, 50), (200, 100), (30, 20)));
    }
    assert!(matches!(make_organization_logo(&promised(20_001, 1)), Err(PictureError::TooLarge)));
    assert!(matches!(make_organization_icon(b"<svg/>"), Err(PictureError::UnknownFormat)));
}

#[test]
fn a_thumbnail_keeps_proportions_and_is_never_larger_than_the_picture() {
    for spec in THUMBNAIL_SPECS {
        let of = |width, height| {
            let made = make_thumbnail(Cursor::new(file(&drawn(width, height), PictureFormat::Png)), spec).unwrap();
            assert_eq!(known(&made.bytes).format, spec.format);
            size(&made.bytes)
        };
        assert_eq!((of(1680, 560), of(100, 50), of(50, 1120)), ((840, 280), (100, 50), (25, 560)), "{}", spec.name);
    }
}

#[test]
fn what_is_no_picture_is_told_apart_from_a_broken_one() {
    let refused = |bytes: &[u8]| make_emoji(bytes).unwrap_err().to_string();
    for text in ["", "hello", "<svg xmlns='http://www.w3.org/2000/svg'/>", "<!doctype html>"] {
        assert_eq!(refused(text.as_bytes()), "Invalid image format", "{text}");
    }
    let whole = file(&drawn(64, 64), PictureFormat::Png);
    assert_eq!(refused(&whole[..60]), "Could not decode image; did you upload an image file?");
    let whole = moving(2, (64, 64));
    assert_eq!(refused(&whole[..20]), "Could not decode image; did you upload an image file?");
}

#[test]
fn a_bomb_is_refused_by_its_head() {
    for (width, height) in [(20_001, 1), (1, 20_001), (8_000, 8_000), (u32::MAX >> 1, u32::MAX >> 1)] {
        let refused = make_emoji(&promised(width, height)).unwrap_err();
        assert!(matches!(refused, PictureError::TooLarge), "{width}x{height}: {refused:?}");
        assert!(read_picture_metadata(Cursor::new(promised(width, height))).is_err());
    }
}

#[test]
fn an_animation_without_end_is_refused() {
    let refused = make_emoji(&moving(MAX_ANIMATION_FRAMES + 1, (2, 2))).unwrap_err();
    assert!(matches!(refused, PictureError::TooLarge), "{refused:?}");
}

#[test]
fn what_decoding_takes_is_known_from_the_head_and_is_what_the_format_needs() {
    let of = |format| estimate_decoding_bytes(Cursor::new(file(&drawn(100, 50), format))).unwrap();
    assert_eq!(PictureFormat::ALL.map(of), [5_000 * 4, 5_000 * 9, 5_000 * 12, 5_000 * 12]);
    // 40 million pixels are decoded when they are 4 bytes deep, and not as the frames of an animation.
    assert_eq!(estimate_decoding_bytes(Cursor::new(promised(8_000, 5_000))).unwrap(), 160_000_000);
    assert!(matches!(estimate_decoding_bytes(Cursor::new(promised(8_000, 5_001))), Err(PictureError::TooLarge)));
    let mut large = moving(2, (4, 4));
    large.splice(6..10, [8_000_u16.to_le_bytes(), 5_000_u16.to_le_bytes()].concat());
    for refused in [
        estimate_decoding_bytes(Cursor::new(&large)).map(drop),
        make_emoji(&large).map(drop),
        read_picture_metadata(Cursor::new(&large)).map(drop),
    ] {
        assert!(matches!(refused, Err(PictureError::TooLarge)), "{refused:?}");
    }
    assert!(matches!(estimate_decoding_bytes(Cursor::new(b"<svg/>")), Err(PictureError::UnknownFormat)));
}

#[test]
fn a_picture_that_has_to_be_turned_is_turned_whatever_its_size() {
    // Red on the left becomes red at the top.
    let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    exif.splice(0..0, [0xFF, 0xE1, length[0], length[1]]);
    for (width, height) in [(400, 200), (4_000, 2_000)] {
        let mut sent = file(&drawn(width, height), PictureFormat::Jpeg);
        sent.splice(2..2, exif.clone());
        let made = make_thumbnail(Cursor::new(&sent), THUMBNAIL_SPECS[0]).unwrap().bytes;
        assert_eq!(size(&sent), (height, width));
        assert_eq!(size(&made), if width == 400 { (200, 400) } else { (280, 560) });
        let shown = image::load_from_memory(&made).unwrap().into_rgb8();
        assert!(shown.get_pixel(10, 10)[0] > 200 && shown.get_pixel(10, shown.height() - 10)[0] < 200);
        let square = image::load_from_memory(&make_avatar(&sent).unwrap().medium.bytes).unwrap().into_rgb8();
        assert!(square.get_pixel(250, 10)[0] > 200 && square.get_pixel(250, 490)[0] < 200);
    }
}
