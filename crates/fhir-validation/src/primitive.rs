//! The forms of primitive values.
//!
//! Written by hand and not as the regular expressions of the definitions, because most of a resource is
//! primitive values and a date has to be one of the calendar as well.
//!
//! # Source
//! FHIR R4, Data Types, Primitive Types; Strings SHALL NOT exceed 1 MB.

use serde_json::Value;

use fhir_resource::type_definitions::PrimitiveType;

/// Longest string, in bytes.
const MAX_STRING_BYTES: usize = 1024 * 1024;
/// Longest id, in bytes.
const MAX_ID_BYTES: usize = 64;

/// Whether a JSON value is of a primitive type.
///
/// # Errors
/// What was expected, to be read after "expected".
pub(crate) fn check(primitive_type: PrimitiveType, value: &Value) -> Result<(), &'static str> {
    let (fits, expected) = match (primitive_type, value) {
        (PrimitiveType::Boolean, _) => (value.is_boolean(), "true or false"),
        (PrimitiveType::Decimal, _) => (value.is_number(), "a number"),
        (PrimitiveType::Integer, _) => (is_between(value, i64::from(i32::MIN)), "a whole number of 32 bits"),
        (PrimitiveType::UnsignedInt, _) => (is_between(value, 0), "a whole number from 0 to 2147483647"),
        (PrimitiveType::PositiveInt, _) => (is_between(value, 1), "a whole number from 1 to 2147483647"),
        (_, Value::String(text)) => textual(primitive_type, text),
        _ => (false, textual(primitive_type, "").1),
    };
    if fits { Ok(()) } else { Err(expected) }
}

fn is_between(value: &Value, least: i64) -> bool {
    value.as_i64().is_some_and(|number| (least..=i64::from(i32::MAX)).contains(&number))
}

fn textual(primitive_type: PrimitiveType, text: &str) -> (bool, &'static str) {
    match primitive_type {
        PrimitiveType::Date => (is_date(text), "a date: YYYY, YYYY-MM or YYYY-MM-DD"),
        PrimitiveType::DateTime => {
            (is_date(text) || is_moment(text), "a dateTime: YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+zz:zz")
        }
        PrimitiveType::Instant => (is_moment(text), "an instant: YYYY-MM-DDThh:mm:ss.sss+zz:zz"),
        PrimitiveType::Time => (is_time(text), "a time: hh:mm:ss"),
        PrimitiveType::Code => (is_code(text), "a code: words with single spaces between them"),
        PrimitiveType::Id => (is_id(text), "an id: 1 to 64 letters, digits, - and ."),
        PrimitiveType::Uri | PrimitiveType::Url | PrimitiveType::Canonical => (is_uri(text), "a uri without spaces"),
        PrimitiveType::Oid => (is_oid(text), "an oid: urn:oid: and numbers with dots between them"),
        PrimitiveType::Uuid => (is_uuid(text), "a uuid: urn:uuid: and a UUID in small letters"),
        PrimitiveType::Base64Binary => (is_base64(text), "base64"),
        PrimitiveType::String | PrimitiveType::Markdown => {
            let says = text.len() <= MAX_STRING_BYTES && !text.chars().all(char::is_whitespace);
            (says && is_printable(text), "a text that is not empty, has at most 1 MB and no control characters")
        }
        PrimitiveType::Xhtml => {
            (crate::narrative::is_narrative(text), "a div of XHTML with some text or a picture, no scripts")
        }
        PrimitiveType::Boolean
        | PrimitiveType::Decimal
        | PrimitiveType::Integer
        | PrimitiveType::UnsignedInt
        | PrimitiveType::PositiveInt => (false, "no string"),
    }
}

/// Returns whether there is no character below a space but tabs and ends of lines.
fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// Returns whether a character separates words. Whitespace is what XML Schema, in which R4 defines its types, means by
/// `\s`: a no-break space is a character like any other.
fn is_no_word(character: char) -> bool {
    character.is_ascii_whitespace() || character.is_control()
}

fn is_code(text: &str) -> bool {
    !text.is_empty() && !text.split(' ').any(|word| word.is_empty() || word.contains(is_no_word))
}

fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    (1..=MAX_ID_BYTES).contains(&text.len()) && text.bytes().all(fits)
}

fn is_uri(text: &str) -> bool {
    !text.is_empty() && !text.contains(is_no_word)
}

fn is_oid(text: &str) -> bool {
    let Some(numbers) = text.strip_prefix("urn:oid:") else { return false };
    let is_number = |number: &str| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && (number == "0" || !number.starts_with('0'))
    };
    numbers.contains('.') && matches!(numbers.as_bytes(), [b'0'..=b'2', b'.', ..]) && numbers.split('.').all(is_number)
}

fn is_uuid(text: &str) -> bool {
    let Some(uuid) = text.strip_prefix("urn:uuid:") else { return false };
    uuid.len() == 36
        && uuid.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn is_base64(text: &str) -> bool {
    let (mut digits, mut padding) = (0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' if padding == 0 => digits += 1,
            b'=' => padding += 1,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => return false,
        }
    }
    digits > 0 && padding <= 2 && (digits + padding) % 4 == 0
}

/// A year, a month of one or a day of the calendar.
fn is_date(text: &str) -> bool {
    let (Some(year), rest) = (digits(text, 4), text.get(4..).unwrap_or_default()) else { return false };
    let Some(month) = rest.strip_prefix('-') else { return rest.is_empty() && year > 0 };
    let (Some(number), rest) = (digits(month, 2), month.get(2..).unwrap_or_default()) else { return false };
    let day = match rest.strip_prefix('-') {
        None if rest.is_empty() => Some(1),
        Some(day) if day.len() == 2 => digits(day, 2),
        _ => None,
    };
    let date = |day| jiff::civil::Date::new(year, i8::try_from(number).ok()?, i8::try_from(day).ok()?).ok();
    year > 0 && day.and_then(date).is_some()
}

/// A day, a time and a zone.
fn is_moment(text: &str) -> bool {
    let Some((date, rest)) = text.split_once('T') else { return false };
    let (time, zone) = match rest.strip_suffix('Z') {
        Some(time) => (time, None),
        None => match rest.rfind(['+', '-']).and_then(|at| rest.split_at_checked(at)) {
            Some((time, zone)) => (time, zone.get(1..)),
            None => return false,
        },
    };
    date.len() == 10 && is_date(date) && is_time(time) && zone.is_none_or(is_zone)
}

/// `hh:mm:ss` and fractions of a second, which may be the sixtieth.
fn is_time(text: &str) -> bool {
    let (time, fraction) = match text.split_once('.') {
        Some((time, fraction)) => (time, Some(fraction)),
        None => (text, None),
    };
    let fits = |part: Option<&str>, most: i16| part.is_some_and(|part| part.len() == 2 && is_at_most(part, most));
    let mut parts = time.split(':');
    fits(parts.next(), 23)
        && fits(parts.next(), 59)
        && fits(parts.next(), 60)
        && parts.next().is_none()
        && fraction.is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_zone(text: &str) -> bool {
    match text.split_once(':') {
        Some(("14", minutes)) => minutes == "00",
        Some((hours, minutes)) => {
            hours.len() == 2 && minutes.len() == 2 && is_at_most(hours, 13) && is_at_most(minutes, 59)
        }
        None => false,
    }
}

fn is_at_most(text: &str, most: i16) -> bool {
    digits(text, 2).is_some_and(|number| number <= most)
}

/// Returns the number that the first `count` characters are.
fn digits(text: &str, count: usize) -> Option<i16> {
    let digits = text.get(..count)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judge(primitive_type: &str, fits: &[Value], misfits: &[Value]) {
        let primitive_type = PrimitiveType::from_name(primitive_type).unwrap();
        for value in fits {
            assert_eq!(check(primitive_type, value), Ok(()), "{value} is a {primitive_type:?}");
        }
        for value in misfits {
            assert!(check(primitive_type, value).is_err(), "{value} is no {primitive_type:?}");
        }
    }

    #[test]
    fn numbers_are_json_numbers_within_their_bounds() {
        judge("boolean", &[json!(true)], &[json!("true"), json!(1), json!(null)]);
        judge("decimal", &[json!(1), json!(-1.50), json!(1e3)], &[json!("1.0"), json!(true)]);
        let above = json!(2_147_483_648_i64);
        judge("integer", &[json!(-2_147_483_648_i64), json!(0)], &[above.clone(), json!(1.5), json!(1.0), json!("1")]);
        judge("unsignedInt", &[json!(0), json!(2_147_483_647)], &[json!(-1), above.clone()]);
        judge("positiveInt", &[json!(1)], &[json!(0), above]);
    }

    #[test]
    fn dates_are_of_the_calendar_and_moments_have_a_zone() {
        let dates = [json!("2024"), json!("2024-02"), json!("2024-02-29"), json!("0001-01-01")];
        let other =
            ["", "24", "02024", "2024-", "2024-13", "2024-1-1", "2023-02-29", "2024-02-30", "2024-02-29T", "0000"];
        let other: Vec<Value> =
            other.into_iter().chain(["12/01/2024", "2024-02-29x", "二〇二四"]).map(Value::from).collect();
        judge("date", &dates, &other);
        judge("date", &[], &[json!("2024-02-29T10:00:00Z"), json!(2024)]);
        let moments = ["2024-02-29T23:59:60Z", "2024-02-29T00:00:00.123456789-05:30", "2024-02-29T10:00:00+14:00"];
        let moments = moments.map(Value::from);
        judge("dateTime", &dates, &other);
        judge("dateTime", &moments, &[]);
        judge("instant", &moments, &dates);
        let unfit = [
            "2024-02-29T10:00:00",
            "2024-02-29T10:00Z",
            "2024-02-29T24:00:00Z",
            "2024-02-29T10:60:00Z",
            "2024-02T10:00:00Z",
            "2024-02-29T10:00:00+14:30",
            "2024-02-29T10:00:00+5:00",
            "2024-02-29T10:00:00.Z",
            "2024-02-29 10:00:00Z",
            "2024-02-30T10:00:00Z",
            "T10:00:00Z",
            "2024-02-29T10:00:00é",
        ];
        judge("dateTime", &[], &unfit.map(Value::from));
        judge(
            "time",
            &[json!("10:00:00"), json!("23:59:59.5")],
            &[json!("10:00"), json!("24:00:00"), json!("1:00:00")],
        );
    }

    #[test]
    fn a_no_break_space_is_no_whitespace_of_a_code() {
        judge("code", &[json!("CHEST\u{a0}"), json!("a\u{2009}b")], &[json!("a\nb"), json!("a\u{85}")]);
    }

    #[test]
    fn names_and_addresses_have_their_characters() {
        judge("id", &[json!("A-1.b")], &[json!(""), json!("a_b"), json!("a".repeat(65)), json!("é")]);
        judge(
            "code",
            &[json!("a"), json!("a b"), json!("<=")],
            &[json!(""), json!(" a"), json!("a  b"), json!("a\tb")],
        );
        judge("uri", &[json!("urn:x"), json!("a")], &[json!(""), json!("a b"), json!("a\n"), json!("a\u{7}")]);
        judge(
            "oid",
            &[json!("urn:oid:1.2.3")],
            &[json!("1.2.3"), json!("urn:oid:3.1"), json!("urn:oid:1.02"), json!("urn:oid:1.")],
        );
        let uuid = "urn:uuid:c757873d-ec9a-4326-a141-556f43239520";
        judge("uuid", &[json!(uuid)], &[json!(uuid.to_uppercase()), json!(&uuid[9..]), json!("urn:uuid:")]);
        judge(
            "base64Binary",
            &[json!("YQ=="), json!("YWJj\nYWJj")],
            &[json!(""), json!("YQ="), json!("Y=Q="), json!("a-b_")],
        );
        judge(
            "string",
            &[json!(" a "), json!("é"), json!("a\tb\r\nc")],
            &[json!(""), json!(" \n"), json!(1), json!("a\u{7}b"), json!("a".repeat(MAX_STRING_BYTES + 1))],
        );
    }
}
