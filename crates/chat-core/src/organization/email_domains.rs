//! Domains of mail that belong to a realm: where it expects the addresses of its people to be.
//!
//! The list restricts nobody by itself: whether it is asked is a choice of the realm.

mod disposable;

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::limits::{MAX_EMAIL_DOMAIN_CHARS, MAX_REALM_DOMAINS};
use crate::model::realm::Realm;
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, PermissionError};

/// The reason why a realm domain cannot be added, changed or removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RealmDomainError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// The text is no domain.
    #[error("Invalid domain: {0}")]
    Malformed(#[from] MalformedDomain),
    /// The realm has it.
    #[error("The domain {0} is already a part of your organization.")]
    Taken(String),
    /// The realm has it not.
    #[error("No entry found for domain {0}.")]
    Unknown(String),
    /// More than [`MAX_REALM_DOMAINS`].
    #[error("Cannot have more than {MAX_REALM_DOMAINS} domains.")]
    TooMany,
}

/// The reason why a text is not a domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedDomain {
    /// No character.
    #[error("Domain can't be empty.")]
    Empty,
    /// One word.
    #[error("Domain must have at least one dot (.)")]
    NoDot,
    /// More than [`MAX_EMAIL_DOMAIN_CHARS`].
    #[error("Domain is too long")]
    TooLong,
    /// A dot at an end.
    #[error("Domain cannot start or end with a dot (.)")]
    DotAtEnd,
    /// Two dots beside each other.
    #[error("Consecutive '.' are not allowed.")]
    Dots,
    /// A hyphen at an end of a part.
    #[error("Subdomains cannot start or end with a '-'.")]
    HyphenAtEnd,
    /// A character that no domain has.
    #[error("Domain can only have letters, numbers, '.' and '-'s.")]
    Character,
}

/// Parses a domain name: trims, lower-cases and validates it.
///
/// # Errors
/// See [`MalformedDomain`].
pub fn parse_domain(written: &str) -> Result<String, MalformedDomain> {
    let domain = written.trim().to_lowercase();
    if domain.is_empty() {
        return Err(MalformedDomain::Empty);
    }
    if !domain.contains('.') {
        return Err(MalformedDomain::NoDot);
    }
    if domain.chars().nth(MAX_EMAIL_DOMAIN_CHARS).is_some() {
        return Err(MalformedDomain::TooLong);
    }
    if domain.starts_with('.') || domain.ends_with('.') {
        return Err(MalformedDomain::DotAtEnd);
    }
    domain.split('.').try_for_each(check_part)?;
    Ok(domain)
}

fn check_part(part: &str) -> Result<(), MalformedDomain> {
    if part.is_empty() {
        return Err(MalformedDomain::Dots);
    }
    if part.starts_with('-') || part.ends_with('-') {
        return Err(MalformedDomain::HyphenAtEnd);
    }
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if part.bytes().all(is_known) { Ok(()) } else { Err(MalformedDomain::Character) }
}

/// The reason why the realm does not accept an e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailNotAllowedError {
    /// Its domain is none of the realm's.
    Domain,
    /// What is before a `+` is another person's address.
    PlusSign,
    /// Its domain gives addresses to whoever asks, for a while.
    Disposable,
}

/// Checks whether the realm accepts new users with that e-mail address: any, unless it restricts domains or refuses
/// disposable addresses.
///
/// # Errors
/// See [`EmailNotAllowedError`].
///
/// # Source
/// Not specified; as existing servers do, of which a plus sign counts only where domains are restricted: `a+b@x` is
/// delivered to `a@x`, who could make one account after another. Nor is a domain of the realm's own judged.
pub fn check_email_allowed(realm: &RealmSnapshot, address: &str) -> Result<(), EmailNotAllowedError> {
    let Some(Realm { rules, .. }) = realm.realm() else { return Ok(()) };
    let (person, domain) = address.rsplit_once('@').unwrap_or((address, ""));
    let domain = domain.to_lowercase();
    if !rules.emails_restricted_to_domains {
        let is_refused = rules.disallow_disposable_addresses && disposable::has(&domain);
        return if is_refused { Err(EmailNotAllowedError::Disposable) } else { Ok(()) };
    }
    let has_it = |(_, document): (i64, &Value)| {
        let (Some(ours), below) = (document.get("domain").and_then(Value::as_str), document.get("allow_subdomains"))
        else {
            return false;
        };
        let is_below = || domain.strip_suffix(ours).is_some_and(|rest| rest.ends_with('.'));
        domain == ours || (below.and_then(Value::as_bool) == Some(true) && is_below())
    };
    match realm.realm_items(RealmItemKind::Domain).any(has_it) {
        false => Err(EmailNotAllowedError::Domain),
        true if person.contains('+') => Err(EmailNotAllowedError::PlusSign),
        true => Ok(()),
    }
}

/// Returns the realm's domains as clients are shown them, in the order they were added.
#[must_use]
pub fn list_realm_domains(realm: &RealmSnapshot) -> Vec<Value> {
    realm.realm_items(RealmItemKind::Domain).map(|(_, document)| document.clone()).collect()
}

/// Adds a domain, and with `allow_subdomains` everything below it; notifies all users. Returns its number and how it is
/// written.
///
/// # Errors
/// See [`RealmDomainError`]; nothing is to be written then.
pub fn add_realm_domain(
    realm: &RealmSnapshot,
    caller: &User,
    (written, allow_subdomains): (&str, bool),
    commit: &mut RealmCommit,
) -> Result<(i64, String), RealmDomainError> {
    access::require_owner(caller)?;
    let domain = parse_domain(written)?;
    if number(realm, &domain).is_some() {
        return Err(RealmDomainError::Taken(domain));
    }
    if realm.realm_items(RealmItemKind::Domain).count() >= MAX_REALM_DOMAINS {
        return Err(RealmDomainError::TooMany);
    }
    let id = realm.new_realm_item_id(RealmItemKind::Domain);
    put((id, &domain, allow_subdomains), "add", commit);
    Ok((id, domain))
}

/// Changes whether subdomains of a realm domain are allowed, and notifies all users. A value that is set already
/// changes nothing.
///
/// # Errors
/// See [`RealmDomainError`]; nothing is to be written then.
pub fn update_realm_domain(
    realm: &RealmSnapshot,
    caller: &User,
    (written, allow_subdomains): (&str, bool),
    commit: &mut RealmCommit,
) -> Result<(), RealmDomainError> {
    access::require_owner(caller)?;
    let (id, domain) = known(realm, written)?;
    if realm.realm_item(RealmItemKind::Domain, id) != Some(&document(&domain, allow_subdomains)) {
        put((id, &domain, allow_subdomains), "change", commit);
    }
    Ok(())
}

/// Removes a realm domain and notifies all users.
///
/// # Errors
/// See [`RealmDomainError`]; nothing is to be written then.
pub fn remove_realm_domain(
    realm: &RealmSnapshot,
    caller: &User,
    written: &str,
    commit: &mut RealmCommit,
) -> Result<(), RealmDomainError> {
    access::require_owner(caller)?;
    let (id, domain) = known(realm, written)?;
    commit.changes.push(RealmChange::Item { kind: RealmItemKind::Domain, id, document: None });
    let event = json!({"type": "realm_domains", "op": "remove", "domain": domain});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    Ok(())
}

fn put((id, domain, allow_subdomains): (i64, &str, bool), op: &str, commit: &mut RealmCommit) {
    let document = document(domain, allow_subdomains);
    let event = json!({"type": "realm_domains", "op": op, "realm_domain": document});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    commit.changes.push(RealmChange::Item { kind: RealmItemKind::Domain, id, document: Some(document) });
}

fn document(domain: &str, allow_subdomains: bool) -> Value {
    json!({"domain": domain, "allow_subdomains": allow_subdomains})
}

fn known(realm: &RealmSnapshot, written: &str) -> Result<(i64, String), RealmDomainError> {
    let domain = written.trim().to_lowercase();
    match number(realm, &domain) {
        Some(id) => Ok((id, domain)),
        None => Err(RealmDomainError::Unknown(written.to_owned())),
    }
}

fn number(realm: &RealmSnapshot, domain: &str) -> Option<i64> {
    let named = |document: &Value| document.get("domain").and_then(Value::as_str) == Some(domain);
    realm.realm_items(RealmItemKind::Domain).find(|(_, document)| named(document)).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::{EventId, UserId};
    use crate::model::realm::RealmPermissionSettings;
    use crate::testing;

    #[test]
    fn a_domain_is_parts_of_letters_digits_and_hyphens_between_dots() {
        assert_eq!(parse_domain(" Mail.Example-1.ORG "), Ok("mail.example-1.org".to_owned()));
        for (written, refused) in [
            ("", MalformedDomain::Empty),
            ("localhost", MalformedDomain::NoDot),
            (&format!("{}.org", "x".repeat(252)), MalformedDomain::TooLong),
            (".org", MalformedDomain::DotAtEnd),
            ("example.", MalformedDomain::DotAtEnd),
            ("a..b", MalformedDomain::Dots),
            ("a.-b", MalformedDomain::HyphenAtEnd),
            ("a-.b", MalformedDomain::HyphenAtEnd),
            ("a_b.org", MalformedDomain::Character),
            ("münchen.de", MalformedDomain::Character),
        ] {
            assert_eq!(parse_domain(written), Err(refused), "{written}");
        }
    }

    #[test]
    fn a_realm_has_as_many_domains_as_it_can_mean() {
        let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        for place in 0..MAX_REALM_DOMAINS {
            let mut commit = RealmCommit::default();
            let owner = realm.user(UserId(1)).unwrap();
            add_realm_domain(&realm, owner, (&format!("d{place}.org"), false), &mut commit).unwrap();
            let at = EventId(realm.log_position().0 + 1);
            realm = realm.after_record(&LogRecord::new(at, 0, commit.changes, None));
        }
        let owner = realm.user(UserId(1)).unwrap();
        assert_eq!(
            add_realm_domain(&realm, owner, ("more.org", false), &mut RealmCommit::default()),
            Err(RealmDomainError::TooMany)
        );
    }
}
