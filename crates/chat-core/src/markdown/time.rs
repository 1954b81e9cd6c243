//! Reading the time in `<time:…>`.
//!
//! Clients write RFC 3339; people write what they like. Without a clock there is no "tomorrow": a time names its
//! year, month and day, or counts seconds since 1970. Not specified which zone a time without one means;
//! we take UTC, because the reader's client converts from there.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// Hours and minutes east of UTC, in minutes, of the abbreviations people use. `IST` is India's.
const ZONES: [(&str, i64); 24] = [
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("WET", 0),
    ("BST", 60),
    ("WEST", 60),
    ("CET", 60),
    ("CEST", 120),
    ("EET", 120),
    ("EEST", 180),
    ("MSK", 180),
    ("IST", 330),
    ("SGT", 480),
    ("JST", 540),
    ("KST", 540),
    ("AEST", 600),
    ("NZST", 720),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("PST", -480),
    ("PDT", -420),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const FILLERS: [&str; 14] = [
    "at",
    "on",
    "of",
    "the",
    "mon",
    "monday",
    "tue",
    "tuesday",
    "wednesday",
    "thursday",
    "fri",
    "friday",
    "saturday",
    "sunday",
];

/// Seconds since 1970 in UTC, or `None` when the text names no moment between the years -9999 and 9999.
pub(super) fn parse(written: &str) -> Option<i64> {
    let written = written.trim();
    if let Ok(seconds) = written.parse::<i64>() {
        return Timestamp::from_second(seconds).ok().map(Timestamp::as_second);
    }
    if let Ok(instant) = written.parse::<Timestamp>() {
        return Some(instant.as_second());
    }
    match written.parse::<DateTime>() {
        Ok(civil) => in_utc(civil),
        Err(_) => Loose::read(written)?.instant(),
    }
}

/// Returns the form every client reads.
pub(super) fn rfc3339(at_s: i64) -> Option<String> {
    Some(Timestamp::from_second(at_s).ok()?.to_string())
}

fn in_utc(civil: DateTime) -> Option<i64> {
    Some(TimeZone::UTC.to_timestamp(civil).ok()?.as_second())
}

/// The parts of a time in words, in any order.
#[derive(Default)]
struct Loose {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    hour: Option<i8>,
    minute: i8,
    second: i8,
    afternoon: Option<bool>,
    zone_min: i64,
}

impl Loose {
    fn read(written: &str) -> Option<Self> {
        let mut parts = Self::default();
        let words = written.split(|character: char| character == ',' || character.is_whitespace());
        for word in words.filter(|word| !word.is_empty()) {
            parts.take(&word.to_ascii_lowercase())?;
        }
        Some(parts)
    }

    fn take(&mut self, word: &str) -> Option<()> {
        let letters = word.trim_start_matches(|character: char| character.is_ascii_digit() || character == ':');
        let digits = word.strip_suffix(letters)?;
        match (digits, letters) {
            ("", _) => self.word(letters),
            (clock, "" | "am" | "pm") if clock.contains(':') => {
                self.clock(clock)?;
                self.half(letters)
            }
            (hour, "am" | "pm") => {
                self.hour = Some(hour.parse().ok()?);
                self.half(letters)
            }
            (day, "st" | "nd" | "rd" | "th") => set(&mut self.day, day.parse().ok()?),
            (year, "") if year.len() == 4 => set(&mut self.year, year.parse().ok()?),
            (day, "") if day.len() <= 2 && self.day.is_none() => set(&mut self.day, day.parse().ok()?),
            (hour, "") if hour.len() <= 2 => set(&mut self.hour, hour.parse().ok()?),
            _ => self.date(word),
        }
    }

    fn word(&mut self, word: &str) -> Option<()> {
        if FILLERS.contains(&word) {
            return Some(());
        }
        if matches!(word, "am" | "pm") {
            // The number before it was the hour, though it looked like a day.
            self.hour = self.hour.or_else(|| self.day.take());
            return self.half(word);
        }
        if let Some(&(_, minutes)) = ZONES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            self.zone_min = minutes;
            return Some(());
        }
        if word.starts_with(['+', '-']) {
            return self.offset(word);
        }
        let month = MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(word.trim_end_matches('.')))?;
        set(&mut self.month, i8::try_from(month + 1).ok()?)
    }

    fn half(&mut self, word: &str) -> Option<()> {
        match word {
            "" => Some(()),
            half => set(&mut self.afternoon, half == "pm"),
        }
    }

    fn clock(&mut self, clock: &str) -> Option<()> {
        let mut numbers = clock.split(':').map(|number| number.parse::<i8>().ok());
        set(&mut self.hour, numbers.next()??)?;
        self.minute = numbers.next()??;
        self.second = numbers.next().unwrap_or(Some(0))?;
        numbers.next().is_none().then_some(())
    }

    fn offset(&mut self, word: &str) -> Option<()> {
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        let number: i64 = digits.parse().ok()?;
        let minutes = match digits.len() {
            1 | 2 => number * 60,
            4 => number / 100 * 60 + number % 100,
            _ => return None,
        };
        self.zone_min = if word.starts_with('-') { -minutes } else { minutes };
        Some(())
    }

    fn date(&mut self, word: &str) -> Option<()> {
        let date: Date = word.replace('/', "-").parse().ok()?;
        set(&mut self.year, date.year())?;
        set(&mut self.month, date.month())?;
        set(&mut self.day, date.day())
    }

    fn instant(&self) -> Option<i64> {
        let date = Date::new(self.year?, self.month?, self.day?).ok()?;
        let hour = match (self.hour.unwrap_or(0), self.afternoon) {
            (12, Some(false)) => 0,
            (hour @ 1..=11, Some(true)) => hour + 12,
            (hour, None) | (hour @ 1..=12, Some(_)) => hour,
            (_, Some(_)) => return None,
        };
        let time = Time::new(hour, self.minute, self.second, 0).ok()?;
        in_utc(date.to_datetime(time))?.checked_sub(self.zone_min * 60)
    }
}

fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    part.is_none().then(|| *part = Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: &str) -> Option<String> {
        parse(written).and_then(rfc3339)
    }

    #[test]
    fn the_forms_people_write_are_read() {
        for (written, expected) in [
            ("2017-06-05T22:30:00Z", "2017-06-05T22:30:00Z"),
            ("2017-06-05T22:30:00+02:00", "2017-06-05T20:30:00Z"),
            ("2017-06-05 22:30", "2017-06-05T22:30:00Z"),
            ("2017-06-05", "2017-06-05T00:00:00Z"),
            ("1496701800", "2017-06-05T22:30:00Z"),
            ("Jun 5th 2017, 10:30PM", "2017-06-05T22:30:00Z"),
            ("31 Dec 2017", "2017-12-31T00:00:00Z"),
            ("31 Dec 2017 5:30 am IST", "2017-12-31T00:00:00Z"),
            ("Monday, June 5, 2017 at 12 am", "2017-06-05T00:00:00Z"),
            ("2017/06/05 12:00 pm +0530", "2017-06-05T06:30:00Z"),
        ] {
            assert_eq!(read(written).as_deref(), Some(expected), "{written}");
        }
    }

    #[test]
    fn what_names_no_moment_is_refused() {
        for written in [
            "",
            "hello",
            "**hello world**",
            "<alert(1)",
            "10:30",
            "Jun 2017",
            "31 Feb 2017",
            "5 Jun 2017 25:00",
            "5 5 5 Jun 2017",
            "5 Jun 2017 2017",
            "99999999999999999999",
            "9223372036854775807",
            "5 Jun 2017 13pm",
            "é Jun 2017",
            "+",
            "1:2:3:4",
        ] {
            assert_eq!(read(written), None, "{written:?}");
        }
    }
}
