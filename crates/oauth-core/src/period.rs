//! Periods of FHIR resources, at a moment.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde_json::Value;

/// Returns whether a `Period` has begun and is not over at `now_us`, in microseconds since the UNIX epoch. Without one,
/// or without a side of it, there is no such limit; one that cannot be read is over, because it was meant to limit
/// something.
///
/// A date that names a year, a month or a day stands for all of it: what begins in 2026 has begun with that
/// year, and what ends in 2026 lasts until it is over. Not specified in which place such a date is meant; we
/// take UTC, because a server has no other.
///
/// # Source
/// FHIR R4, data types, `Period` and `dateTime`.
pub(crate) fn is_now(period: Option<&Value>, now_us: i64) -> bool {
    let side = |name| match period.and_then(|period| period.get(name)) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_str().and_then(Span::read).map(Some).ok_or(()),
    };
    let is_period = period.is_none_or(|period| period.is_object() || period.is_null());
    let (Ok(start), Ok(end), true) = (side("start"), side("end"), is_period) else { return false };
    start.is_none_or(|start| start.from_us <= now_us) && end.is_none_or(|end| now_us < end.until_us)
}

/// The moments a `dateTime` stands for, in microseconds since the UNIX epoch; the second is after the last.
#[derive(Clone, Copy)]
struct Span {
    from_us: i64,
    until_us: i64,
}

impl Span {
    fn read(text: &str) -> Option<Self> {
        let first_day = |text: String| text.parse::<Date>().ok();
        let (first, length) = match text.len() {
            4 => (first_day(format!("{text}-01-01"))?, 1.year()),
            7 => (first_day(format!("{text}-01"))?, 1.month()),
            10 => (first_day(text.to_owned())?, 1.day()),
            _ => return Self::instant(text),
        };
        let until_us = first.checked_add(length).map_or(Some(i64::MAX), start_of)?;
        Some(Self { from_us: start_of(first)?, until_us })
    }

    /// A time of day, which has its zone; to the second, or as exact as it is written.
    fn instant(text: &str) -> Option<Self> {
        let from_us = text.parse::<Timestamp>().ok()?.as_microsecond();
        let length_us = if text.contains('.') { 1 } else { 1_000_000 };
        Some(Self { from_us, until_us: from_us.saturating_add(length_us) })
    }
}

fn start_of(day: Date) -> Option<i64> {
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(moment: &str) -> i64 {
        moment.parse::<Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn a_period_lasts_from_the_first_moment_of_its_start_to_the_last_of_its_end() {
        for (start, begins) in [
            ("2026", "2026-01-01T00:00:00Z"),
            ("2026-02", "2026-02-01T00:00:00Z"),
            ("2026-02-03", "2026-02-03T00:00:00Z"),
            ("2026-02-03T04:05:06+02:00", "2026-02-03T02:05:06Z"),
        ] {
            let period = json!({"start": start});
            assert!(is_now(Some(&period), at(begins)) && !is_now(Some(&period), at(begins) - 1), "{start}");
        }
        for (end, over) in [
            ("2026", "2027-01-01T00:00:00Z"),
            ("2024-02", "2024-03-01T00:00:00Z"),
            ("2026-12-31", "2027-01-01T00:00:00Z"),
            ("2026-02-03T04:05:06Z", "2026-02-03T04:05:07Z"),
            ("2026-02-03T04:05:06.5Z", "2026-02-03T04:05:06.500001Z"),
        ] {
            let period = json!({"end": end});
            assert!(is_now(Some(&period), at(over) - 1) && !is_now(Some(&period), at(over)), "{end}");
        }
    }

    #[test]
    fn a_side_that_is_missing_is_no_limit() {
        for period in [None, Some(json!({})), Some(json!(null)), Some(json!({"end": "9999"}))] {
            assert!(is_now(period.as_ref(), at("2026-01-01T00:00:00Z")), "{period:?}");
        }
    }

    #[test]
    fn a_period_that_cannot_be_read_is_over() {
        for period in [
            json!("2026"),
            json!([]),
            json!({"start": "soon"}),
            json!({"start": 2026}),
            json!({"end": "2099-13"}),
            json!({"end": "2099-02-30"}),
            json!({"end": ""}),
            json!({"end": "2099-01-01T00:00:00"}),
        ] {
            assert!(!is_now(Some(&period), at("2026-01-01T00:00:00Z")), "{period}");
        }
    }
}
