//! Domains of mail that give an address to whoever asks, for a while.
//!
//! The list beside this file is the one existing servers ask, so both refuse the same. It is a copy of a moment: who
//! gives such addresses changes every week, and what began later is not known. Of the crates with such a list the one
//! that is kept needs two whose licence `deny.toml` does not accept; the list of another also has domains where people
//! really get their mail, as forwarders do.

use std::collections::HashSet;
use std::sync::LazyLock;

static LIST: &str = include_str!("disposable.txt");

static DOMAINS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| listed().collect());

fn listed() -> impl Iterator<Item = &'static str> {
    LIST.lines().filter(|line| !line.starts_with('#'))
}

/// Returns whether the domain, in small letters, is on the list. What is below one that is there is another.
pub(super) fn has(domain: &str) -> bool {
    DOMAINS.contains(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_domains_in_small_letters_and_each_once() {
        let lines: Vec<&str> = listed().collect();
        assert!(lines.len() > 5_000, "{}", lines.len());
        assert!(lines.is_sorted_by(|one, next| one < next));
        for line in lines {
            assert_eq!(crate::organization::email_domains::parse_domain(line).as_deref(), Ok(line));
        }
    }

    #[test]
    fn what_is_given_to_anybody_is_told_from_where_people_get_their_mail() {
        assert!(["mailinator.com", "yopmail.com", "guerrillamail.com"].into_iter().all(has));
        let usual = ["example.com", "example.org", "gmail.com", "duck.com", "", "no.mailinator.com", "# Source"];
        assert!(!usual.into_iter().any(has));
    }
}
