//! Reading the addresses of those who are to be invited.

use std::collections::BTreeSet;

use crate::model::user::fold_case;

/// Returns the e-mail addresses in a text, separated by commas or line ends, each once regardless of case, in the order
/// of the text. `Name <address>` gives the address; addresses are not validated here.
///
/// # Source
/// Specification, `POST /invites`, `invitee_emails`. Not specified: the form with a name, which people copy out of
/// their mail.
#[must_use]
pub fn parse_invitee_emails(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let parts = text.split([',', '\n', '\r']).map(bare).filter(|address| !address.is_empty());
    parts.filter(|address| seen.insert(fold_case(address))).map(str::to_owned).collect()
}

fn bare(part: &str) -> &str {
    let part = part.trim();
    let inside = part.strip_suffix('>').and_then(|part| part.rsplit_once('<'));
    inside.map_or(part, |(_, address)| address.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_separated_by_commas_and_line_ends_and_named_once() {
        let text = "a@x.org, B@x.org\r\nCarl C. <c@x.org>\n,, b@X.org\n < d@x.org >,nonsense<";
        assert_eq!(parse_invitee_emails(text), ["a@x.org", "B@x.org", "c@x.org", "d@x.org", "nonsense<"]);
        assert!(parse_invitee_emails(" ,\n, ").is_empty());
    }
}
