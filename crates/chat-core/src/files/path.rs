//! The address of an upload, and the names that strangers give files.

use std::fmt;

use crate::text_processing::printable_names::find_unprintable_in_name;

use serde::{Deserialize, Serialize};

/// Letters and digits of the random part.
const RANDOM_CHARS: usize = 32;
/// How many of them name the folder.
const FOLDER_CHARS: usize = 2;
/// Characters of a file's name in its address.
const NAME_MAX_CHARS: usize = 80;
/// Characters of a file's name as people see it.
const SHOWN_MAX_CHARS: usize = 255;
/// The name of a file whose sender gave it none that could stand in an address.
const NAMELESS: &str = "file";
/// What every path begins with: the number of the one organization.
const REALM: &str = "1";

/// The path of an upload below the uploads folder: `1/3f/9c…/report.pdf`.
///
/// Its middle is random, so that nobody finds a file by guessing; its end is what is left of the name its sender gave
/// it. It holds letters, digits, `.`, `_`, `-` and slashes, so it needs no encoding anywhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PathId(String);

impl PathId {
    /// Returns the path of a new upload from random characters and a file name; `None` unless `random` is 32 letters
    /// and digits.
    #[must_use]
    pub fn new(random: &str, file_name: &str) -> Option<Self> {
        let is_random = random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let (folder, rest) = random.split_at_checked(FOLDER_CHARS).filter(|_| is_random)?;
        Some(Self(format!("{REALM}/{folder}/{rest}/{}", plain_name(file_name))))
    }

    /// Parses the path of an upload as a request names it; `None` when the text is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (realm, folder, rest, name) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let of_random =
            |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let fits = parts.next().is_none()
            && realm == REALM
            && of_random(folder, FOLDER_CHARS)
            && of_random(rest, RANDOM_CHARS - FOLDER_CHARS)
            && plain_name(name) == name;
        fits.then(|| Self(text.to_owned()))
    }

    /// Returns the path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last part of the path: the file name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.0.as_str(), |(_, name)| name)
    }

    /// Returns the upload paths that follow `user_uploads/` in a text, each once, at most `limit`.
    #[must_use]
    pub fn find_links_in_text(text: &str, limit: usize) -> Vec<Self> {
        const FOLDER: &str = "user_uploads/";
        let of_path = |character: char| character.is_ascii_alphanumeric() || "._-/".contains(character);
        let candidates = text.split(FOLDER).skip(1).filter_map(|rest| {
            let length = rest.find(|character| !of_path(character)).unwrap_or(rest.len());
            // A sentence may end behind a link.
            rest.get(..length).and_then(|path| Self::parse(path.trim_end_matches('.')))
        });
        let mut found: Vec<Self> = Vec::new();
        for path in candidates {
            if found.len() < limit && !found.contains(&path) {
                found.push(path);
            }
        }
        found
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns what is left of a name in an address: ASCII letters, digits, `.`, `_` and `-`; what is not becomes one `-`.
///
/// Not specified. Existing servers keep letters of all scripts, and clients disagree about how to encode those; people
/// see the name they gave (see [`display_file_name`]) in any case.
fn plain_name(given: &str) -> String {
    let mut name = String::new();
    for character in given.chars() {
        match character {
            kept if kept.is_ascii_alphanumeric() || matches!(kept, '.' | '_') => name.push(kept),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    // From the end: it says what the file is.
    let start = name.len().saturating_sub(NAME_MAX_CHARS);
    let name = name.get(start..).unwrap_or_default().trim_matches(['.', '-']);
    match name.rsplit_once('.') {
        _ if name.is_empty() => NAMELESS.to_owned(),
        Some((stem, extension)) if stem.trim_matches(['.', '-']).is_empty() => format!("{NAMELESS}.{extension}"),
        _ if !given.is_empty() && !name.contains('.') && given.starts_with(|first: char| !first.is_ascii()) => {
            named_after_extension(given, name)
        }
        _ => name.to_owned(),
    }
}

/// `文件.pdf` has lost its stem, and is no file called `pdf`.
fn named_after_extension(given: &str, name: &str) -> String {
    if given.ends_with(&format!(".{name}")) { format!("{NAMELESS}.{name}") } else { name.to_owned() }
}

/// Returns a file name for display: without folders and unprintable characters, 255 characters at most.
#[must_use]
pub fn display_file_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last
        .chars()
        .filter(|character| find_unprintable_in_name(character.encode_utf8(&mut [0; 4])).is_none())
        .take(SHOWN_MAX_CHARS)
        .collect();
    let name = kept.trim();
    if name.is_empty() { NAMELESS.to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: &str = "0123456789abcdef0123456789ABCDEF";

    fn path(name: &str) -> String {
        PathId::new(RANDOM, name).unwrap().to_string()
    }

    #[test]
    fn a_path_is_random_and_ends_in_what_is_left_of_the_name() {
        for (given, kept) in [
            ("report.pdf", "report.pdf"),
            ("my report (2).PDF", "my-report-2-.PDF"),
            ("../../etc/passwd", "etc-passwd"),
            ("résumé.doc", "r-sum-.doc"),
            ("文件.pdf", "file.pdf"),
            ("文件", "file"),
            ("", "file"),
            ("...", "file"),
            (".htaccess", "htaccess"),
            ("a\0b\r\n.txt", "a-b-.txt"),
        ] {
            assert_eq!(path(given), format!("1/01/23456789abcdef0123456789ABCDEF/{kept}"), "{given}");
        }
        assert_eq!(PathId::new("short", "a"), None);
    }

    #[test]
    fn every_path_that_is_made_is_read_again() {
        let long = format!("{}.tar.gz", "x".repeat(300));
        for name in ["a.png", "", "文.文", &long, "a-", "-a", "..a..", "é", "a b", "%2e%2e%2f"] {
            let made = PathId::new(RANDOM, name).unwrap();
            assert_eq!(PathId::parse(made.as_str()), Some(made.clone()), "{name}");
        }
        assert!(path(&long).ends_with(".tar.gz"));
    }

    #[test]
    fn what_leads_elsewhere_is_no_path() {
        let rest = "23456789abcdef0123456789ABCDEF";
        for text in [
            String::new(),
            "1".to_owned(),
            format!("2/01/{rest}/a.png"),
            format!("1/01/{rest}/../a.png"),
            format!("1/01/{rest}/.."),
            format!("1/01/{rest}/"),
            format!("1/01/{rest}/a.png/b"),
            format!("/1/01/{rest}/a.png"),
            format!("1/01/{rest}/a b"),
            format!("1/01/{rest}/.hidden"),
            format!("1/0./{rest}/a"),
        ] {
            assert_eq!(PathId::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn paths_are_found_in_texts_each_once() {
        let (first, second) = (path("a.png"), path("b.txt"));
        let text = format!(
            "see [a](/user_uploads/{first}) and https://chat.example/user_uploads/{second}. Again: \
             /user_uploads/{first}?x=1 but not /user_uploads/thumbnail/{first} nor /user_uploads/1/2/3"
        );
        let found = PathId::find_links_in_text(&text, 10);
        assert_eq!(found.iter().map(PathId::as_str).collect::<Vec<_>>(), [first.as_str(), second.as_str()]);
        assert_eq!(PathId::find_links_in_text(&text, 1).len(), 1);
    }

    #[test]
    fn a_shown_name_has_no_folder_and_no_control_character() {
        assert_eq!(display_file_name("C:\\photos\\ré sumé.png"), "ré sumé.png");
        assert_eq!(display_file_name("../../etc/passwd"), "passwd");
        assert_eq!(display_file_name("a\r\nb"), "ab");
        assert_eq!(display_file_name(" "), "file");
        assert_eq!(display_file_name(&"x".repeat(300)).len(), 255);
    }
}
