//! The names and values of a request, before anybody asks for one.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyDataStream, Full};
use mime::Mime;
use multer::Multipart;
use percent_encoding::percent_decode;

use crate::limits::{FILELESS_BODY_MAX_BYTES, MULTIPART_FILES_MAX, REQUEST_PARAMETERS_MAX};

/// The encoding of a request body, from its `Content-Type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEncoding {
    /// `application/x-www-form-urlencoded`.
    Urlencoded,
    /// `multipart/form-data`, with its boundary.
    Multipart(String),
    /// Anything else, or nothing said. Such a body is not read: its endpoint finds the query alone, as in the
    /// existing server.
    None,
}

impl BodyEncoding {
    /// Returns the encoding of a request with these headers.
    ///
    /// # Errors
    /// When it is multipart without a boundary.
    pub fn from_headers(headers: &HeaderMap) -> Result<Self, RawRequestParamsError> {
        let sent = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let Some(media_type) = sent.and_then(|text| text.parse::<Mime>().ok()) else {
            return Ok(Self::None);
        };
        if media_type.essence_str() == mime::APPLICATION_WWW_FORM_URLENCODED.as_ref() {
            return Ok(Self::Urlencoded);
        }
        if media_type.essence_str() != mime::MULTIPART_FORM_DATA.as_ref() {
            return Ok(Self::None);
        }
        let boundary = media_type.get_param(mime::BOUNDARY).ok_or(RawRequestParamsError::Malformed)?;
        Ok(Self::Multipart(boundary.as_str().to_owned()))
    }
}

/// A file of a multipart body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedFile {
    /// The field it was sent in; some clients put the file's name here.
    pub field_name: String,
    /// The name its sender gave it: any text, never a path to be trusted.
    pub file_name: String,
    /// The media type its sender claims.
    pub media_type: Option<String>,
    /// What is in it.
    pub content: Bytes,
}

/// The reason why the query or body of a request cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RawRequestParamsError {
    /// The multipart body does not follow its own boundary.
    #[error("Malformed form data")]
    Malformed,
    /// More names than [`REQUEST_PARAMETERS_MAX`], or more files than [`MULTIPART_FILES_MAX`].
    #[error("Too many parameters (maximum {REQUEST_PARAMETERS_MAX}).")]
    TooMany,
    /// The text of a multipart body is longer than [`FILELESS_BODY_MAX_BYTES`].
    #[error("The form is larger than {FILELESS_BODY_MAX_BYTES} bytes")]
    TooLarge,
}

/// The undecoded parameters of a request's query and body as one set, and the files beside them.
///
/// The body wins over the query; of one name sent twice in the same place, the last value counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawRequestParams {
    fields: BTreeMap<String, Field>,
    files: Vec<UploadedFile>,
    pairs: usize,
}

/// A value as sent, made text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// The value, with replacement characters where it is no UTF-8.
    pub(crate) text: String,
    /// Whether nothing had to be replaced. A value that is no text is refused when it is asked for, and not before:
    /// what the endpoint ignores may be anything.
    pub(crate) is_utf8: bool,
}

impl RawRequestParams {
    /// Parses the parameters of a query (without its `?`) and a body.
    ///
    /// # Errors
    /// When there are too many of anything, or the body is malformed. Every urlencoded text is well formed.
    pub async fn parse(query: &str, encoding: &BodyEncoding, body: Bytes) -> Result<Self, RawRequestParamsError> {
        let mut request = Self::default();
        request.add_urlencoded(query.as_bytes())?;
        match encoding {
            BodyEncoding::Urlencoded => request.add_urlencoded(&body)?,
            // Some clients send the media type and no byte of a body when they have no parameters.
            BodyEncoding::Multipart(_) if body.is_empty() => {}
            BodyEncoding::Multipart(boundary) => Box::pin(request.add_multipart(boundary, body)).await?,
            BodyEncoding::None => {}
        }
        Ok(request)
    }

    /// A request with these parameters.
    pub(super) fn of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let fields = pairs.map(|(name, value)| (name.to_owned(), Field::of(value.as_bytes().to_vec())));
        Self { fields: fields.collect(), ..Self::default() }
    }

    /// Returns the files, in the order sent.
    #[must_use]
    pub fn files(&self) -> &[UploadedFile] {
        &self.files
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }

    /// Every name, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// Takes a name away, for what the wire itself consumed.
    pub(crate) fn forget(&mut self, name: &str) {
        self.fields.remove(name);
    }

    /// Returns whether it has files.
    pub(crate) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    pub(crate) fn into_files(self) -> Vec<UploadedFile> {
        self.files
    }

    /// # Source
    /// URL Standard, section 5.1, `application/x-www-form-urlencoded` parsing, up to the decoding of the bytes.
    fn add_urlencoded(&mut self, text: &[u8]) -> Result<(), RawRequestParamsError> {
        for pair in text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = halves.next().map(unescape).unwrap_or_default();
            let value = halves.next().map(unescape).unwrap_or_default();
            self.add(&name, value)?;
        }
        Ok(())
    }

    async fn add_multipart(&mut self, boundary: &str, body: Bytes) -> Result<(), RawRequestParamsError> {
        let chunks = BodyDataStream::new(Full::<Bytes>::new(body));
        let mut parts = Multipart::new(chunks, boundary);
        let mut text_bytes: usize = 0;
        while let Some(part) = parts.next_field().await.map_err(malformed)? {
            let Some(field_name) = part.name().map(str::to_owned) else {
                return Err(RawRequestParamsError::Malformed);
            };
            let file_name = part.file_name().map(str::to_owned);
            let media_type = part.content_type().map(ToString::to_string);
            let content = part.bytes().await.map_err(malformed)?;
            if let Some(file_name) = file_name {
                self.add_file(UploadedFile { field_name, file_name, media_type, content })?;
                continue;
            }
            text_bytes = text_bytes.saturating_add(content.len());
            if text_bytes > FILELESS_BODY_MAX_BYTES {
                return Err(RawRequestParamsError::TooLarge);
            }
            self.add(field_name.as_bytes(), content.to_vec())?;
        }
        Ok(())
    }

    fn add(&mut self, name: &[u8], value: Vec<u8>) -> Result<(), RawRequestParamsError> {
        self.pairs = self.pairs.saturating_add(1);
        if self.pairs > REQUEST_PARAMETERS_MAX {
            return Err(RawRequestParamsError::TooMany);
        }
        let name = String::from_utf8_lossy(name).into_owned();
        self.fields.insert(name, Field::of(value));
        Ok(())
    }

    fn add_file(&mut self, file: UploadedFile) -> Result<(), RawRequestParamsError> {
        if self.files.len() >= MULTIPART_FILES_MAX {
            return Err(RawRequestParamsError::TooMany);
        }
        self.files.push(file);
        Ok(())
    }
}

impl Field {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, is_utf8: true },
            Err(error) => Self { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), is_utf8: false },
        }
    }
}

/// Returns the value of a parameter of a form, when it is there and text: for the wire's own questions.
pub(crate) fn peek(form: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    for pair in form.split(|byte| *byte == b'&') {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        if halves.next().map(unescape).is_some_and(|sent| sent == name.as_bytes()) {
            found = halves.next().map(unescape);
        }
    }
    String::from_utf8(found?).ok()
}

fn unescape(text: &[u8]) -> Vec<u8> {
    if !text.iter().any(|byte| matches!(byte, b'+' | b'%')) {
        return text.to_vec();
    }
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).collect()
}

/// The cause is the caller's and named nowhere else: its text would only describe our parser.
fn malformed(_: multer::Error) -> RawRequestParamsError {
    RawRequestParamsError::Malformed
}
