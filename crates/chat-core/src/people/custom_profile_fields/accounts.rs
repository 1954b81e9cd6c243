//! Accounts on other sites that a field can ask for without saying how they are linked.

use serde_json::{Map, Value, json};

/// A type of external account, such as a code-hosting site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExternalAccountType {
    /// The word it is asked for with: `subtype` of a field's data.
    pub subtype: &'static str,
    /// What the site is called.
    pub text: &'static str,
    /// The name of a field that asks for it.
    pub name: &'static str,
    /// The hint of a field that asks for it.
    pub hint: &'static str,
    /// Where an account is: the answer stands for `%(username)s`.
    pub url_pattern: &'static str,
}

/// The supported types of external accounts.
pub const EXTERNAL_ACCOUNT_TYPES: [ExternalAccountType; 2] = [
    ExternalAccountType {
        subtype: "twitter",
        text: "Twitter",
        name: "Twitter username",
        hint: "",
        url_pattern: "https://twitter.com/%(username)s",
    },
    ExternalAccountType {
        subtype: "github",
        text: "GitHub",
        name: "GitHub username",
        hint: "",
        url_pattern: "https://github.com/%(username)s",
    },
];

impl ExternalAccountType {
    /// Returns the external account type of that subtype.
    #[must_use]
    pub fn by_subtype(subtype: &str) -> Option<&'static Self> {
        EXTERNAL_ACCOUNT_TYPES.iter().find(|account| account.subtype == subtype)
    }

    /// Returns all external account types as clients see them, by subtype.
    #[must_use]
    pub fn all_as_wire_object() -> Map<String, Value> {
        let shown = |account: &Self| {
            let Self { text, name, hint, url_pattern, .. } = account;
            let object = json!({"name": name, "text": text, "hint": hint, "url_pattern": url_pattern});
            (account.subtype.to_owned(), object)
        };
        EXTERNAL_ACCOUNT_TYPES.iter().map(shown).collect()
    }
}
