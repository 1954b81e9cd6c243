//! Which client secrets a generator made.
//!
//! A secret counts as generated when it has one of these formats and does not look made up:
//!
//! | Format | Alphabet | Length from | Random bits |
//! |---|---|---|---|
//! | UUIDs of version 4 (RFC 9562), one or several, joined directly or by one of `-_.:` | 16 | 36 | 122 |
//! | hexadecimal, letters of one case | 16 | 32 | 128 |
//! | base32 (RFC 4648), in capitals | 32 | 26 | 130 |
//! | printable ASCII with letters of both cases, as base64 and password generators write it | 62 | 20 | 119 |
//!
//! It looks made up when one of these holds for its first [`JUDGED_CHARS`] characters:
//! - it has less than three quarters of the distinct characters that random text of this length and alphabet has on
//!   average;
//! - five characters occur twice, or five in a row are the same or follow each other, as in `12345`;
//! - of base32: fewer than two digits, or vowels are more than three tenths of the letters, as in words;
//! - of the last format: fewer than a third of the neighbours are of different classes (capital, small, digit, sign),
//!   more than two thirds stand in runs of four and more letters of one case, or capitals begin words: each is followed
//!   by a small letter, or, in less than [`LONG_CHARS`] characters, no two stand side by side or they are fewer than a
//!   quarter.
//!
//! **Cost** of a wrong answer: a random secret that is taken for a made-up one (of random UUIDs, hexadecimal and 43
//! characters of base64url under 1 %, of 20 alphanumerics 8 %, of base32 16 %) is verified by Argon2id once for each
//! version of its Client. A made-up secret that is taken for a random one is under a fast hash, so the rules lean to
//! the other side.

use std::collections::HashSet;

/// How many leading characters are judged: what follows can only make a secret harder to guess.
const JUDGED_CHARS: usize = 64;
/// Characters of a UUID.
const UUID_CHARS: usize = 36;
/// Fewest characters of the other formats.
const HEXADECIMAL_MIN: usize = 32;
const BASE32_MIN: usize = 26;
const MIXED_MIN: usize = 20;
/// Characters of 256 bits in base64url.
const LONG_CHARS: usize = 43;
/// Sequences and repetitions shorter than this occur by chance in random text.
const PATTERN_CHARS: usize = 5;

/// Returns whether a generator made this secret, by the rules above.
pub(super) fn is_generated(secret: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(secret) else { return false };
    if let Some(digits) = digits_of_uuids(text) {
        return !is_patterned(digits.as_bytes(), 16.0);
    }
    let judged = secret.get(..JUDGED_CHARS).unwrap_or(secret);
    if is_hexadecimal(secret) {
        return secret.len() >= HEXADECIMAL_MIN && !is_patterned(judged, 16.0);
    }
    if secret.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7')) {
        return secret.len() >= BASE32_MIN && !is_patterned(judged, 32.0) && !has_words_in_capitals(judged);
    }
    secret.len() >= MIXED_MIN
        && secret.iter().all(u8::is_ascii_graphic)
        && !is_patterned(judged, 62.0)
        && is_mixed_at_random(judged)
}

/// Returns the hexadecimal digits of UUIDs of version 4.
fn digits_of_uuids(text: &str) -> Option<String> {
    let (mut digits, mut rest) = (String::new(), text);
    loop {
        let (uuid, after) = rest.split_at_checked(UUID_CHARS)?;
        if !uuid.bytes().enumerate().all(is_of_uuid) {
            return None;
        }
        digits.extend(uuid.chars().filter(|digit| *digit != '-').map(|digit| digit.to_ascii_lowercase()));
        if after.is_empty() {
            return Some(digits);
        }
        rest = after.strip_prefix(['-', '_', '.', ':']).unwrap_or(after);
    }
}

/// Returns whether a UUID of version 4 may have this character at this place.
fn is_of_uuid((place, byte): (usize, u8)) -> bool {
    match place {
        8 | 13 | 18 | 23 => byte == b'-',
        14 => byte == b'4',
        19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
        _ => byte.is_ascii_hexdigit(),
    }
}

fn is_hexadecimal(text: &[u8]) -> bool {
    let has = |of: fn(&u8) -> bool| text.iter().any(of);
    text.iter().all(u8::is_ascii_hexdigit) && has(u8::is_ascii_lowercase) != has(u8::is_ascii_uppercase)
}

/// Returns whether characters are too few, or follow from those before them.
fn is_patterned(text: &[u8], alphabet: f64) -> bool {
    let distinct: f64 = text.iter().collect::<HashSet<_>>().into_iter().map(|_| 1.0).sum();
    let missing: f64 = text.iter().map(|_| 1.0 - 1.0 / alphabet).product();
    if distinct < 0.75 * alphabet * (1.0 - missing) {
        return true;
    }
    let mut seen = HashSet::new();
    text.windows(PATTERN_CHARS).any(|window| is_sequence(window) || !seen.insert(window.to_ascii_lowercase()))
}

/// Returns whether characters go on by the same step of 0, +1 or −1.
fn is_sequence(text: &[u8]) -> bool {
    let is_step =
        |step: i16| text.windows(2).all(|pair| matches!(pair, [a, b] if i16::from(*b) - i16::from(*a) == step));
    [0, 1, -1].into_iter().any(is_step)
}

fn has_words_in_capitals(text: &[u8]) -> bool {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let vowels = text.iter().filter(|byte| b"AEIOU".contains(byte)).count();
    digits < 2 || vowels * 10 > (text.len() - digits) * 3
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Small,
    Capital,
    Digit,
    Sign,
}

impl Class {
    const fn of(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' => Self::Small,
            b'A'..=b'Z' => Self::Capital,
            b'0'..=b'9' => Self::Digit,
            _ => Self::Sign,
        }
    }
}

fn is_mixed_at_random(text: &[u8]) -> bool {
    let classes: Vec<_> = text.iter().map(|byte| Class::of(*byte)).collect();
    let runs: Vec<_> = classes.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len()))).collect();
    let in_words: usize = runs
        .iter()
        .filter(|(class, len)| matches!(class, Class::Small | Class::Capital) && *len >= 4)
        .map(|run| run.1)
        .sum();
    let capitals: Vec<_> = runs.iter().filter(|(class, _)| *class == Class::Capital).map(|run| run.1).collect();
    let begins_word = |pair: &[Class]| !matches!(pair, [Class::Capital, next] if *next != Class::Small);
    let are_rare = capitals.iter().sum::<usize>() * 4 < text.len() || capitals.iter().all(|len| *len == 1);
    let begin_words = classes.windows(2).all(begins_word) || (text.len() < LONG_CHARS && are_rare);
    classes.contains(&Class::Small)
        && !begin_words
        && runs.len().saturating_sub(1) * 3 >= text.len().saturating_sub(1)
        && in_words * 3 <= text.len() * 2
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngSeed};

    use super::super::tests::env;
    use super::*;
    use crate::memory_store::SeededRandom;

    /// Makes a secret of random bytes.
    type Make<'m> = &'m dyn Fn(&[u8]) -> String;

    const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

    fn uuid(bytes: &[u8]) -> String {
        let digits = hex::encode(&bytes[..16]);
        let variant = char::from(b"89ab"[usize::from(bytes[8] & 3)]);
        let (a, b, c) = (&digits[..8], &digits[8..12], &digits[13..16]);
        format!("{a}-{b}-4{c}-{variant}{}-{}", &digits[17..20], &digits[20..])
    }

    /// Characters of an alphabet, each as likely as any other.
    fn drawn<const N: usize>(bytes: &[u8], alphabet: &[u8; N], length: usize) -> String {
        let fair = bytes.iter().filter(|byte| usize::from(**byte) < 256 / N * N);
        let text: String = fair.take(length).map(|byte| char::from(alphabet[usize::from(*byte) % N])).collect();
        assert_eq!(text.len(), length);
        text
    }

    /// Returns how many of a thousand random secrets of a format are recognized.
    fn recognized(make: impl Fn(&[u8]) -> String) -> usize {
        let random = SeededRandom::new(10);
        let env = env(&random);
        (0..1000).filter(|_| is_generated(make(&env.random_bytes::<64>()).as_bytes())).count()
    }

    #[test]
    fn what_generators_make_is_recognized() {
        let two = |bytes: &[u8], between: &str| format!("{}{between}{}", uuid(bytes), uuid(&bytes[16..]));
        let formats: [(&str, usize, Make<'_>); 13] = [
            ("UUID", 990, &uuid),
            ("UUID in capitals", 990, &|bytes| uuid(bytes).to_uppercase()),
            ("two UUIDs", 980, &|bytes| two(bytes, "")),
            ("two UUIDs with a hyphen", 980, &|bytes| two(bytes, "-")),
            ("UUID without hyphens", 985, &|bytes| uuid(bytes).replace('-', "")),
            ("128 bits of hexadecimal", 985, &|bytes| hex::encode(&bytes[..16])),
            ("256 bits of hexadecimal in capitals", 985, &|bytes| hex::encode(&bytes[..32]).to_uppercase()),
            ("26 of base32", 800, &|bytes| drawn(bytes, BASE32, 26)),
            ("52 of base32", 800, &|bytes| drawn(bytes, BASE32, 52)),
            ("20 alphanumerics", 880, &|bytes| drawn(bytes, ALPHANUMERIC, 20)),
            ("128 bits of base64", 880, &|bytes| STANDARD.encode(&bytes[..16])),
            ("192 bits of base64url", 950, &|bytes| URL_SAFE_NO_PAD.encode(&bytes[..24])),
            ("256 bits of base64url", 980, &|bytes| URL_SAFE_NO_PAD.encode(&bytes[..32])),
        ];
        for (format, at_least, make) in formats {
            let recognized = recognized(make);
            println!("{format}: {recognized} of 1000");
            assert!(recognized >= at_least, "{format}: {recognized} of 1000");
        }
    }

    #[test]
    fn what_is_shorter_than_its_format_is_not_recognized() {
        let one_less: [(&str, Make<'_>); 4] = [
            ("hexadecimal", &|bytes| hex::encode(&bytes[..16])[1..].to_owned()),
            ("base32", &|bytes| drawn(bytes, BASE32, 25)),
            ("alphanumerics", &|bytes| drawn(bytes, ALPHANUMERIC, 19)),
            ("UUID of another version", &|bytes| format!("{}7{}", &uuid(bytes)[..14], &uuid(bytes)[15..])),
        ];
        for (format, make) in one_less {
            assert_eq!(recognized(make), 0, "{format}");
        }
    }

    #[test]
    fn secrets_people_make_up_are_not_recognized() {
        for secret in [
            "",
            "secret",
            "correcthorsebatterystaplecorrecthorsebatterystaple",
            "correct2horse3battery4staple5correct6horse7",
            "CORRECTHORSEBATTERYSTAPLECORRECT",
            "CORRECT2HORSE3BATTERY4STAPLE",
            "Correct-Horse-Battery-Staple-Elephant",
            "change-me-in-production-Please-2024",
            "Mounts-Blacky-Fixedw-Jumper-Quartz-Violet",
            "MyD0gAte3P1zzasT0dayAtN00n",
            "My-D0g-Ate-3-P1zzas-T0day!",
            "a112a21a1a2212aa1a122aa2112221a11a2a2a222a",
            "Winter2024Winter2024Summer2025!!",
            "P@ssw0rdP@ssw0rdP@ssw0rdP@ssw0rd",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "00000000000000000000000000000000000000000000000000",
            "00000000-0000-4000-8000-000000000000",
            "12345678-1234-4234-8234-123456789012",
            "f47ac10b-58cc-4372-a567-0e02b2c3d479f47ac10b-58cc-4372-a567-0e02b2c3d479",
            "deadbeefdeadbeefdeadbeefdeadbeef",
            "0123456789abcdef0123456789abcdef",
            "0123456789abcdef0123456789ABCDEF",
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            "qwertyuiopasdfghjklzxcvbnm1234567890QWERTYUIOP",
            "12345678901234567890123456789012345678901234567890",
            "9f86d081884c7d65",
            "My Dog Ate 3 Pizzas And 2 Burgers At Noon!",
        ] {
            assert!(!is_generated(secret.as_bytes()), "{secret}");
        }
        assert!(!is_generated(&[0xff; 64]));
    }

    proptest! {
        #![proptest_config(Config {
            rng_seed: RngSeed::Fixed(0x7365_6372),
            failure_persistence: None,
            ..Config::default()
        })]

        #[test]
        fn repeating_a_text_does_not_make_it_random(word in "[a-zA-Z0-9]{1,10}") {
            prop_assert!(!is_generated(word.repeat(12).as_bytes()));
        }

        #[test]
        fn words_with_capitals_and_numbers_are_not_random(
            words in prop::collection::vec("[A-Z][a-z]{3,8}[0-9]{0,2}", 3..8),
        ) {
            prop_assert!(!is_generated(words.concat().as_bytes()));
        }

        #[test]
        fn what_is_judged_random_has_room_for_119_bits(secret in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(!is_generated(&secret) || secret.len() >= MIXED_MIN);
        }
    }
}
