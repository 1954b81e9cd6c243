//! Dates and times as the range of microseconds they may mean.

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};

/// The first day of unix time.
const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// Returns the first and the last microsecond of what `text` names: a year, a month, a day, a minute, a second or a
/// fraction of one; an offset behind a time, or none.
///
/// Not specified for what has no offset; it is taken in UTC, because a search has to mean the same wherever
/// the server runs. A `+` that a query string made a blank is read as it was meant.
///
/// # Source
/// FHIR R4, Search, date; Data Types, date, dateTime and instant.
pub(crate) fn period(text: &str) -> Option<(i64, i64)> {
    let (day, time) = text.split_once('T').map_or((text, None), |(day, time)| (day, Some(time)));
    let Some(time) = time else { return days(day) };
    let day = (day.len() == 10).then(|| days(day)).flatten()?;
    let (clock, offset_us) = split_offset(time)?;
    let (from, length) = clock_us(clock)?;
    let from_us = day.0 + from - offset_us;
    Some((from_us, from_us + length - 1))
}

/// A number of exactly `length` digits.
fn number(text: &str, length: usize) -> Option<i16> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn small(text: &str) -> Option<i8> {
    number(text, 2).and_then(|number| i8::try_from(number).ok())
}

/// `YYYY`, `YYYY-MM` or `YYYY-MM-DD`.
fn days(text: &str) -> Option<(i64, i64)> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4).filter(|year| *year > 0)?;
    let month = parts.next().map(|month| small(month).ok_or(())).transpose().ok()?;
    let day = parts.next().map(|day| small(day).ok_or(())).transpose().ok()?;
    if parts.next().is_some() {
        return None;
    }
    let first = Date::new(year, month.unwrap_or(1), day.unwrap_or(1)).ok()?;
    let last = match (month, day) {
        (None, _) => Date::new(year, 12, 31).ok()?,
        (Some(_), None) => first.last_of_month(),
        (Some(_), Some(_)) => first,
    };
    Some((start_us(first)?, start_us(last)? + DAY_US - 1))
}

const DAY_US: i64 = 24 * 60 * 60 * 1_000_000;

fn start_us(day: Date) -> Option<i64> {
    let since = DateTime::from_parts(day, Time::midnight()).duration_since(EPOCH.to_datetime(Time::midnight()));
    i64::try_from(since.as_micros()).ok()
}

/// Returns the time and its offset from UTC in microseconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let Some(at) = time.find(['+', '-', ' ']) else { return Some((time, 0)) };
    let (clock, offset) = time.split_at(at);
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let (hours, minutes) = (small(hours).filter(|hours| *hours <= 14)?, small(minutes).filter(|part| *part < 60)?);
    let us = (i64::from(hours) * 60 + i64::from(minutes)) * 60_000_000;
    Some((clock, if offset.starts_with('-') { -us } else { us }))
}

/// `hh:mm`, `hh:mm:ss` or with a fraction: microseconds since midnight, and how many are meant.
fn clock_us(clock: &str) -> Option<(i64, i64)> {
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let mut parts = clock.split(':');
    let hour = small(parts.next()?).filter(|hour| *hour < 24)?;
    let minute = small(parts.next()?).filter(|minute| *minute < 60)?;
    // A leap second is part of the second before it, as in unix time.
    let second = parts.next().map(|second| small(second).filter(|second| *second <= 60).ok_or(())).transpose().ok()?;
    if parts.next().is_some() {
        return None;
    }
    let minutes = i64::from(hour) * 60 + i64::from(minute);
    let seconds = minutes * 60 + i64::from(second.unwrap_or(0).min(59));
    let (part_us, length) = match (second, fraction) {
        (None, None) => (0, 60_000_000),
        (Some(_), None) => (0, 1_000_000),
        (Some(_), Some(fraction)) => fraction_us(fraction)?,
        (None, Some(_)) => return None,
    };
    Some((seconds * 1_000_000 + part_us, length))
}

/// Digits of a second: microseconds, and how many are meant; what is behind six digits is left out.
fn fraction_us(fraction: &str) -> Option<(i64, i64)> {
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let kept = fraction.get(..6).unwrap_or(fraction);
    let unit = 10_i64.pow(u32::try_from(6 - kept.len()).ok()?);
    Some((kept.parse::<i64>().ok()? * unit, unit))
}

/// Ten of a hundred parts of the time between `now_us` and the range: what `ap` widens it by.
pub(super) fn margin_us(now_us: i64, (from_us, to_us): (i64, i64)) -> i64 {
    let middle = from_us / 2 + to_us / 2;
    let gap = Duration::from_micros(now_us.abs_diff(middle)) / 10;
    i64::try_from(gap.as_micros()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the range as the two timestamps it ends with.
    fn range(text: &str) -> (String, String) {
        let (from, to) = period(text).unwrap_or_else(|| panic!("{text}"));
        let show = |us| jiff::Timestamp::from_microsecond(us).unwrap().to_string();
        (show(from), show(to))
    }

    #[test]
    fn a_date_is_as_long_as_what_it_names() {
        for (text, from, to) in [
            ("2013", "2013-01-01T00:00:00Z", "2013-12-31T23:59:59.999999Z"),
            ("2012-02", "2012-02-01T00:00:00Z", "2012-02-29T23:59:59.999999Z"),
            ("2013-01-14", "2013-01-14T00:00:00Z", "2013-01-14T23:59:59.999999Z"),
            ("2013-01-14T10:00", "2013-01-14T10:00:00Z", "2013-01-14T10:00:59.999999Z"),
            ("2013-01-14T10:00:05Z", "2013-01-14T10:00:05Z", "2013-01-14T10:00:05.999999Z"),
            ("2013-01-14T10:00:05.12Z", "2013-01-14T10:00:05.12Z", "2013-01-14T10:00:05.129999Z"),
            ("2013-01-14T10:00:05.123456789Z", "2013-01-14T10:00:05.123456Z", "2013-01-14T10:00:05.123456Z"),
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59Z", "2016-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(range(text), (from.to_owned(), to.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_offset_is_taken_off_also_when_its_plus_became_a_blank() {
        let expected = range("2013-01-14T10:00:00Z");
        for text in ["2013-01-14T12:00:00+02:00", "2013-01-14T12:00:00 02:00", "2013-01-14T05:30:00-04:30"] {
            assert_eq!(range(text), expected, "{text}");
        }
    }

    #[test]
    fn the_last_day_of_all_has_an_end() {
        assert!(period("9999-12-31").is_some_and(|(from, to)| to - from == DAY_US - 1));
        assert!(period("0001").is_some_and(|(from, _)| from < 0));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "x",
            "13",
            "0000",
            "2013-",
            "2013-1",
            "2013-13",
            "2013-00",
            "2013-02-29",
            "2013-01-14-1",
            "20130114",
            "2013-01-14T",
            "2013-01T10:00Z",
            "2013-01-14T24:00Z",
            "2013-01-14T10:60Z",
            "2013-01-14T10:00:61Z",
            "2013-01-14T10Z",
            "2013-01-14T10:00.5Z",
            "2013-01-14T10:00:00.Z",
            "2013-01-14T10:00:00+2:00",
            "2013-01-14T10:00:00+15:00",
            "2013-01-14T10:00:00+02",
            "2013-01-14T10:00:00ZZ",
            "+2013",
            "２０１３",
        ] {
            assert_eq!(period(text), None, "{text}");
        }
    }

    #[test]
    fn approximately_is_a_tenth_of_the_time_between() {
        assert_eq!(margin_us(100, (0, 0)), 10);
        assert_eq!(margin_us(0, (90, 110)), 10);
        assert!(margin_us(i64::MAX, (i64::MIN, i64::MIN)) > 0);
    }
}
