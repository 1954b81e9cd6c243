//! The types whose values are JSON scalars.

/// A primitive data type of R4; `xhtml` is counted among them.
///
/// # Source
/// FHIR R4, Data Types, Primitive Types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimitiveType {
    /// Bytes in base64.
    Base64Binary,
    /// `true` or `false`.
    Boolean,
    /// A `uri` that names a resource by its url, perhaps with a version.
    Canonical,
    /// A code: one or more words, from a set of codes.
    Code,
    /// A year, a month or a day.
    Date,
    /// A year, a month, a day, or a time with its zone.
    DateTime,
    /// A decimal number, of which the digits as written matter.
    Decimal,
    /// A logical id of a resource: 1 to 64 letters, digits, `-` or `.`.
    Id,
    /// A time with its zone, to the second at least.
    Instant,
    /// A signed whole number of 32 bits.
    Integer,
    /// Text in Markdown.
    Markdown,
    /// An OID as a URN.
    Oid,
    /// A whole number from 1.
    PositiveInt,
    /// Text, without the restrictions of the other types.
    String,
    /// A time of a day.
    Time,
    /// A whole number from 0.
    UnsignedInt,
    /// A URI: an address or a name.
    Uri,
    /// A URL: an address.
    Url,
    /// A UUID as a URN.
    Uuid,
    /// The XHTML of a narrative.
    Xhtml,
}

impl PrimitiveType {
    /// Returns the primitive type of that name; `None` for any other type.
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
