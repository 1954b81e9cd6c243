//! The types whose values are JSON scalars.

/// A primitive type of R4, and `xhtml`.
///
/// # Source
/// FHIR R4, Data Types, Primitive Types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveType {
    /// Bytes.
    Base64Binary,
    /// `true` or `false`.
    Boolean,
    /// A `uri` that names a resource by its url, perhaps with a version.
    Canonical,
    /// A word or a few, from a set.
    Code,
    /// A year, a month or a day.
    Date,
    /// A year, a month, a day or a moment.
    DateTime,
    /// A number with its digits.
    Decimal,
    /// What names a resource.
    Id,
    /// A moment, to the second at least.
    Instant,
    /// A whole number of 32 bits.
    Integer,
    /// Text with markup.
    Markdown,
    /// An OID as a URN.
    Oid,
    /// A whole number from 1.
    PositiveInt,
    /// Text.
    String,
    /// A time of a day.
    Time,
    /// A whole number from 0.
    UnsignedInt,
    /// An address or a name.
    Uri,
    /// An address.
    Url,
    /// A UUID as a URN.
    Uuid,
    /// The text of a narrative.
    Xhtml,
}

impl PrimitiveType {
    /// Returns the primitive of that name, if it is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "base64Binary" => Self::Base64Binary,
            "boolean" => Self::Boolean,
            "canonical" => Self::Canonical,
            "code" => Self::Code,
            "date" => Self::Date,
            "dateTime" => Self::DateTime,
            "decimal" => Self::Decimal,
            "id" => Self::Id,
            "instant" => Self::Instant,
            "integer" => Self::Integer,
            "markdown" => Self::Markdown,
            "oid" => Self::Oid,
            "positiveInt" => Self::PositiveInt,
            "string" => Self::String,
            "time" => Self::Time,
            "unsignedInt" => Self::UnsignedInt,
            "uri" => Self::Uri,
            "url" => Self::Url,
            "uuid" => Self::Uuid,
            "xhtml" => Self::Xhtml,
            _ => return None,
        })
    }
}
