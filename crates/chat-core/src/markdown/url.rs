//! Where a link may lead.

use std::fmt::Write as _;

use crate::id::{ChannelId, MessageId};
use crate::text_processing::url_scheme::{WITH_HOST, WITHOUT_HOST};

/// A URL that is safe in `href` or `src`: of an allowed scheme, or relative to the realm.
///
/// It holds no white space and no control character, and its scheme is one of `http`, `https`, `ftp`,
/// `mailto`, `tel`, `sms`; there is no other way to make one than [`SafeUrl::parse`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeUrl(String);

impl SafeUrl {
    /// Parses the target of a link as a user typed it; `None` when it must not become a link.
    ///
    /// Without a scheme it is a path of this realm (`/…`), a fragment (`#…`), an e-mail address or,
    /// failing these, a host. Spaces become `%20`, backslashes `%5C`.
    #[must_use]
    pub fn parse(written: &str) -> Option<Self> {
        let written = written.trim();
        if written.is_empty() || written.chars().any(is_refused) {
            return None;
        }
        if let Some((scheme, rest)) = scheme(written) {
            return allowed(scheme, rest).then(|| Self::encoded("", written));
        }
        if let Some(host) = written.strip_prefix("//") {
            return (!host.is_empty()).then(|| Self::encoded("http:", written));
        }
        if written.starts_with(['/', '#']) {
            return Some(Self::encoded("", written));
        }
        if is_email(written) {
            return Some(Self::encoded("mailto:", written));
        }
        // What stands before a colon is no scheme we know: `javascript:`, but also `host:80`.
        let host = written.split(['/', '?', '#']).next().unwrap_or_default();
        (!host.contains(':')).then(|| Self::encoded("http://", written))
    }

    /// Returns the URL, made relative when it leads to an upload or conversation of the realm at `realm_url`.
    #[must_use]
    pub fn relative_to_realm(self, realm_url: &str) -> Self {
        let inside = self
            .0
            .strip_prefix(realm_url)
            .and_then(|rest| rest.strip_prefix('/'))
            .filter(|rest| rest.starts_with('#') || rest.starts_with("user_uploads/"));
        match inside {
            Some(rest) => Self(rest.to_owned()),
            None => self,
        }
    }

    /// Returns the URL as text, not HTML-escaped.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of an upload of this realm, without the folder of all uploads.
    #[must_use]
    pub fn upload_path(&self) -> Option<&str> {
        let path = self.0.strip_prefix('/').unwrap_or(&self.0);
        path.strip_prefix("user_uploads/").filter(|rest| !rest.is_empty() && !rest.starts_with("thumbnail/"))
    }

    /// Returns whether the file name has the extension of an image that browsers show.
    #[must_use]
    pub fn has_image_extension(&self) -> bool {
        self.ends_in(&["bmp", "gif", "jpe", "jpeg", "jpg", "png", "webp", "avif"])
    }

    /// Returns whether the file name has the extension of a video that every browser plays.
    #[must_use]
    pub fn has_video_extension(&self) -> bool {
        self.ends_in(&["mp4", "webm"])
    }

    fn ends_in(&self, known: &[&str]) -> bool {
        let path = self.0.split(['?', '#']).next().unwrap_or_default();
        let Some((folder, file)) = path.rsplit_once('/') else {
            return false;
        };
        let Some((_, extension)) = file.rsplit_once('.') else {
            return false;
        };
        !folder.is_empty() && known.iter().any(|known| extension.eq_ignore_ascii_case(known))
    }

    fn encoded(prefix: &str, written: &str) -> Self {
        let mut address = String::with_capacity(prefix.len() + written.len());
        address.push_str(prefix);
        for character in written.chars() {
            match character {
                ' ' => address.push_str("%20"),
                '\\' => address.push_str("%5C"),
                other => address.push(other),
            }
        }
        Self(address)
    }
}

/// Returns the address of a channel, of one of its topics, or of a message in a topic, in the web client.
///
/// # Source
/// `docs/decisions.md`, "Links and formulas in messages".
#[must_use]
pub(crate) fn narrow(
    (channel_id, name): (ChannelId, &str),
    topic: Option<&str>,
    message: Option<MessageId>,
) -> SafeUrl {
    let mut address = format!("/#narrow/stream/{channel_id}-");
    encode_operand(&mut address, &name.replace(' ', "-"));
    if let Some(topic) = topic {
        address.push_str("/topic/");
        encode_operand(&mut address, topic);
    }
    if let Some(id) = message {
        // Writing to a string cannot fail.
        let _ = write!(address, "/near/{id}");
    }
    SafeUrl(address)
}

fn encode_operand(address: &mut String, operand: &str) {
    for byte in operand.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            address.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(address, ".{byte:02X}");
        }
    }
}

/// Returns whether this is an e-mail address in the plain form people type.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, host)) = text.split_once('@') else {
        return false;
    };
    let plain = |part: &str| part.chars().all(|character| character.is_alphanumeric() || "._-+".contains(character));
    !local.is_empty()
        && plain(local)
        && plain(host)
        && host.rsplit_once('.').is_some_and(|(domain, last)| !domain.is_empty() && !last.is_empty())
}

fn is_refused(character: char) -> bool {
    character.is_control() || (character.is_whitespace() && character != ' ')
}

fn scheme(written: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = written.split_once(':')?;
    let well_formed = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    well_formed.then_some((scheme, rest))
}

fn allowed(scheme: &str, rest: &str) -> bool {
    let is = |known: &str| scheme.eq_ignore_ascii_case(known);
    if WITH_HOST.iter().any(|known| is(known)) {
        return rest.strip_prefix("//").is_some_and(|host| !host.is_empty() && !host.starts_with(['/', '?', '#']));
    }
    WITHOUT_HOST.iter().any(|known| is(known)) && !rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(written: &str) -> Option<String> {
        SafeUrl::parse(written).map(|url| url.0)
    }

    #[test]
    fn known_schemes_are_kept_as_typed() {
        for written in ["http://a.b", "HTTPS://a.b/c?d#e", "ftp://a.b", "mailto:a@b.c", "tel:+41", "/a", "#a"] {
            assert_eq!(parsed(written).as_deref(), Some(written));
        }
    }

    #[test]
    fn other_schemes_are_refused() {
        for written in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            "javascript://a.b",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "itms://a.b",
            "java\tscript:x",
            "java\nscript:x",
            "\u{1}javascript:x",
            "http:a.b",
            "http:///a",
            "foo://",
            "host:80",
            "",
            "http://a.b/\u{0}",
            "é:x",
        ] {
            assert_eq!(parsed(written), None, "{written:?}");
        }
    }

    #[test]
    fn what_has_no_scheme_is_a_host_or_an_address() {
        assert_eq!(parsed("foo").as_deref(), Some("http://foo"));
        assert_eq!(parsed("a@b.com").as_deref(), Some("mailto:a@b.com"));
        assert_eq!(parsed("//evil.com").as_deref(), Some("http://evil.com"));
        assert_eq!(parsed("/\\evil.com").as_deref(), Some("/%5Cevil.com"));
        assert_eq!(parsed("http://a.b/c d").as_deref(), Some("http://a.b/c%20d"));
    }

    #[test]
    fn only_conversations_and_uploads_of_the_realm_become_relative() {
        let relative = |written: &str| SafeUrl::parse(written).map(|url| url.relative_to_realm("http://chat.test").0);
        assert_eq!(relative("http://chat.test/#narrow/stream/1-a").as_deref(), Some("#narrow/stream/1-a"));
        assert_eq!(relative("http://chat.test/user_uploads/1/a.png").as_deref(), Some("user_uploads/1/a.png"));
        assert_eq!(relative("http://chat.test/https://a.b").as_deref(), Some("http://chat.test/https://a.b"));
        assert_eq!(relative("http://chat.test.evil/#x").as_deref(), Some("http://chat.test.evil/#x"));
    }

    #[test]
    fn channel_and_topic_names_are_encoded_with_dots() {
        let address = |message| narrow((ChannelId(7), "web & co."), Some("a b/é"), message);
        assert_eq!(address(None).as_str(), "/#narrow/stream/7-web-.26-co.2E/topic/a.20b.2F.C3.A9");
        let near = "/#narrow/stream/7-web-.26-co.2E/topic/a.20b.2F.C3.A9/near/12";
        assert_eq!(address(Some(MessageId(12))).as_str(), near);
    }
}
