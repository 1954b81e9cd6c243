//! What a file is, judged by what is in it and never by what its sender says.

/// The media type of a file, with the content disposition in which browsers may show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaType {
    /// The media type.
    pub media_type: &'static str,
    /// Whether a browser may show it in place.
    pub showing: ContentDisposition,
}

/// The disposition of a file in a browser: inline or attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentDisposition {
    /// In place, where nothing in it runs.
    Inline,
    /// In place, by the browser's own reader, which a sandbox would keep from working.
    Reader,
    /// Only to be kept on the disk.
    Download,
}

/// The number of bytes at the beginning of a file that [`MediaType::detect`] inspects.
pub const SNIFFED_BYTES: usize = 1024;

/// What a file begins with at a place, and what it is then. None of these can hold a script that a browser runs, as
/// long as it is told not to guess.
const KNOWN: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xFF\xD8\xFF", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP", "image/webp"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypM4A ", "audio/mp4"),
    (4, b"ftypqt  ", "video/quicktime"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1A\x45\xDF\xA3", "video/webm"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xFF\xFB", "audio/mpeg"),
    (0, b"\xFF\xF3", "audio/mpeg"),
    (0, b"\xFF\xF2", "audio/mpeg"),
    (0, b"\xFF\xF1", "audio/aac"),
    (0, b"\xFF\xF9", "audio/aac"),
    (0, b"fLaC", "audio/flac"),
    (8, b"WAVEfmt ", "audio/wav"),
];
const PDF: &[u8] = b"%PDF-";
/// Endings of texts that people read in place. What is text of another kind, a web page for one, they mean to keep.
const READABLE: [&str; 4] = [".txt", ".md", ".log", ".csv"];

impl MediaType {
    /// The media type of a file that is not recognized: `application/octet-stream`, which browsers download.
    pub const UNKNOWN: Self = Self { media_type: "application/octet-stream", showing: ContentDisposition::Download };
    const PLAIN: &'static str = "text/plain; charset=utf-8";

    /// Detects the media type of a file by its first bytes and its name.
    ///
    /// Not specified. A file is shown in place only when its own bytes say that it is a picture, a sound or the like,
    /// and text only as plain text: so a page or a script that a user uploads does nothing but lie there.
    #[must_use]
    pub fn detect(start: &[u8], name: &str) -> Self {
        let begins = |at: usize, with: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(with));
        if let Some((.., media_type)) = KNOWN.iter().find(|(at, with, _)| begins(*at, with)) {
            return Self { media_type, showing: ContentDisposition::Inline };
        }
        if begins(0, PDF) {
            return Self { media_type: "application/pdf", showing: ContentDisposition::Reader };
        }
        if !is_text(start) {
            return Self::UNKNOWN;
        }
        let name = name.to_ascii_lowercase();
        let readable = READABLE.iter().any(|ending| name.ends_with(ending));
        let showing = if readable { ContentDisposition::Inline } else { ContentDisposition::Download };
        Self { media_type: Self::PLAIN, showing }
    }

    /// Returns the media type of a stored upload from its recorded type and name, with the disposition that
    /// [`MediaType::detect`] gave it.
    #[must_use]
    pub fn from_stored(media_type: &str, name: &str) -> Self {
        if let Some((.., known)) = KNOWN.iter().find(|(.., known)| *known == media_type) {
            return Self { media_type: known, showing: ContentDisposition::Inline };
        }
        match media_type {
            "application/pdf" => Self { media_type: "application/pdf", showing: ContentDisposition::Reader },
            Self::PLAIN => Self::detect(b"", name),
            _ => Self::UNKNOWN,
        }
    }
}

/// Returns whether the beginning could be that of a text: UTF-8 that may break off inside a character, and no control
/// character that texts do not have.
fn is_text(start: &[u8]) -> bool {
    let valid = match std::str::from_utf8(start) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            start.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok())
        }
        Err(_) => None,
    };
    let of_text = |character: char| !character.is_control() || matches!(character, '\t' | '\n' | '\r' | '\u{c}');
    valid.is_some_and(|text| text.chars().all(of_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(start: &[u8], name: &str) -> (&'static str, ContentDisposition) {
        let MediaType { media_type, showing } = MediaType::detect(start, name);
        assert_eq!(MediaType::from_stored(media_type, name), MediaType { media_type, showing });
        (media_type, showing)
    }

    #[test]
    fn pictures_and_sounds_are_known_by_their_bytes_whatever_they_are_called() {
        let inline = |media_type| (media_type, ContentDisposition::Inline);
        assert_eq!(known(b"\x89PNG\r\n\x1a\n....", "x.html"), inline("image/png"));
        assert_eq!(known(b"RIFF\0\0\0\0WEBPVP8 ", "x"), inline("image/webp"));
        assert_eq!(known(b"\0\0\0\x20ftypisom", "x"), inline("video/mp4"));
        assert_eq!(known(b"OggS", "x"), inline("audio/ogg"));
        assert_eq!(known(b"\xFF\xFB\x90\x64", "x.html"), inline("audio/mpeg"));
        assert_eq!(known(b"\xFF\xF1\x50\x80", "x"), inline("audio/aac"));
        assert_eq!(known(b"%PDF-1.7", "x"), ("application/pdf", ContentDisposition::Reader));
    }

    #[test]
    fn what_could_run_in_a_browser_is_kept_and_not_shown() {
        for (content, name) in [
            ("<!doctype html><script>alert(1)</script>", "page.html"),
            ("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "drawing.svg"),
            ("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>", "page.xhtml"),
            ("alert(1)", "script.js"),
            ("<svg/>", "picture.png"),
        ] {
            let expected = ("text/plain; charset=utf-8", ContentDisposition::Download);
            assert_eq!(known(content.as_bytes(), name), expected, "{name}");
        }
        assert_eq!(known(b"PK\x03\x04\0", "a.zip"), ("application/octet-stream", ContentDisposition::Download));
        assert_eq!(known(b"\xFE\xFF\0<\0s", "utf16.txt"), ("application/octet-stream", ContentDisposition::Download));
    }

    #[test]
    fn a_text_is_read_in_place_as_plain_text() {
        assert_eq!(known(b"hello", "notes.TXT"), ("text/plain; charset=utf-8", ContentDisposition::Inline));
        assert_eq!(
            known(b"<script>alert(1)</script>", "notes.md"),
            ("text/plain; charset=utf-8", ContentDisposition::Inline)
        );
        let cut = &"é".repeat(SNIFFED_BYTES).into_bytes()[..SNIFFED_BYTES - 1];
        assert_eq!(known(cut, "a.log").1, ContentDisposition::Inline);
        assert_eq!(MediaType::from_stored("text/html", "a.html"), MediaType::UNKNOWN);
    }
}
