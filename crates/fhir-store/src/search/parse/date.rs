//! Dates and times as the range of microseconds they may mean.

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};

/// The first day of unix time.
const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// The first and the last microsecond of what `text` names: a year, a month, a day, a minute, a second or
/// a fraction of one; an offset behind a time, or none.
///
/// Not specified for what has no offset; it is taken in UTC, because a search has to mean the same wherever
/// the server runs. A `+` that a query string made a blank is read as it was meant.
///
/// # Source
/// FHIR R4, Search, date; Data Types, date, dateTime and instant.
pub(in crate::search) fn period(text: &str) -> Option<(i64, i64)> {
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

/// The time and its offset from UTC in microseconds.
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
