//! E-mail addresses that the original server accepts.
//!
//! An address that it refuses stops the whole import there. This server accepts more addresses of people, and a bot's
//! address ends in the host of the server, which may be an IP address or a name without a dot.
//!
//! # Source
//! Not specified; the addresses that Django 5.0 validates, with which the original server checks those of an import.

use std::borrow::Cow;

use crate::model::user::User;

/// Characters beside letters and digits in the name before the host.
const NAME_SPECIAL: &str = "-!#$%&'*+/=?^_`{}|~";
const LABEL_MAX_CHARS: usize = 63;

/// Returns the address of the user where the original server accepts it, and otherwise one made of the user's number.
pub(super) fn original_address(user: &User) -> Cow<'_, str> {
    if is_accepted(&user.email) { Cow::Borrowed(&user.email) } else { Cow::Owned(user.hidden_email()) }
}

fn is_accepted(address: &str) -> bool {
    let Some((name, host)) = address.rsplit_once('@') else { return false };
    let named = |character: char| character.is_ascii_alphanumeric() || NAME_SPECIAL.contains(character);
    name.split('.').all(|atom| !atom.is_empty() && atom.chars().all(named)) && (host == "localhost" || is_host(host))
}

/// Letters beyond ASCII are encoded before the host is checked, so they do not matter.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        let is_inside = label.chars().all(|character| character.is_alphanumeric() || character == '-');
        let has_ends = !label.starts_with('-') && !label.ends_with('-');
        is_inside && has_ends && (1..=LABEL_MAX_CHARS).contains(&label.chars().count())
    };
    let Some((_, last)) = host.rsplit_once('.') else { return false };
    host.split('.').all(is_label) && last.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_accepted_as_the_original_server_accepts_them() {
        let accepted = ["ada@example.org", "a.b+c@mail.example.org", "a@localhost", "a@münchen.de", "a@10.0.0.12"];
        let refused = [
            "jörg@example.org",
            "a..b@example.org",
            ".a@example.org",
            "a@127.0.0.1",
            "a@chat",
            "a@x.y",
            "a@-b.org",
            "a",
        ];
        assert_eq!(accepted.into_iter().filter(|address| !is_accepted(address)).collect::<Vec<_>>(), [""; 0]);
        assert_eq!(refused.into_iter().filter(|address| is_accepted(address)).collect::<Vec<_>>(), [""; 0]);
    }
}
