//! The rules' values in the words of pages.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use oauth_core::authorization_endpoint::PatientSearchPagination;
use oauth_core::authorization_endpoint::{AppSummary, ConsentCheckbox, ConsentCheckboxGroup, ConsentPage};
use oauth_core::connected_apps::{AppAuthorizationMethod, AppConnectionId, ConnectedApp};
use oauth_core::ports::PatientSummary;

use super::view::{AppView, ConnectedAppView, ConsentGroupView, ConsentItemView, ConsentSubjectView};
use crate::page_frame::initial;

/// An app.
pub(crate) fn app(card: &AppSummary) -> AppView {
    AppView {
        name: card.name.clone(),
        initial: initial(&card.name),
        description: card.description.clone(),
        policy: card.policy_uri.clone(),
        terms: card.terms_uri.clone(),
    }
}

/// A patient, for the person who is asked. Two people may have one name, so that does not decide whose record it is.
pub(crate) fn subject(patient: &PatientSummary, asked: &ConsentPage) -> ConsentSubjectView {
    let whose = if asked.is_own { "your".to_owned() } else { format!("{}’s", patient.name) };
    ConsentSubjectView { whose, name: patient.name.clone(), born: patient.birth_date.as_deref().map(birth_date) }
}

/// Returns what the page says to a person who refused something when this app asked before.
pub(crate) fn earlier_refusal(items: &[ConsentCheckbox]) -> Option<&'static str> {
    let mut optional = items.iter().filter(|item| !item.required);
    if !optional.clone().any(|item| item.declined) {
        return None;
    }
    Some(if optional.any(|item| item.ticked) {
        "This app has asked you before. What you did not allow then has no tick now."
    } else {
        "This app has asked you before, and you did not allow it. Tick only what you want to share now."
    })
}

/// Returns what is asked for, group by group.
pub(crate) fn groups(items: &[ConsentCheckbox]) -> Vec<ConsentGroupView> {
    let groups = items.chunk_by(|one, other| one.group == other.group);
    groups.filter_map(|items| items.first().map(|first| group(first.group, items))).collect()
}

fn group(of: ConsentCheckboxGroup, items: &[ConsentCheckbox]) -> ConsentGroupView {
    let (title, detail) = match of {
        ConsentCheckboxGroup::Identity => ("Who you are", None),
        ConsentCheckboxGroup::Record => {
            ("Health information", Some("Take away the tick from what you want to keep to yourself."))
        }
        ConsentCheckboxGroup::Directory => {
            ("Names behind the record", Some("Doctors, places and organizations it speaks of."))
        }
        ConsentCheckboxGroup::User => {
            ("What you may see", Some("Whatever you may open yourself, not one record alone."))
        }
        ConsentCheckboxGroup::Duration => ("For how long", None),
        ConsentCheckboxGroup::Other => ("More", None),
    };
    let items = items.iter().map(|item| ConsentItemView {
        scope: item.scope.clone(),
        title: item.title.clone(),
        detail: item.detail.clone(),
        ticked: item.ticked,
        declined: item.declined,
        required: item.required,
    });
    ConsentGroupView { title, detail, items: items.collect() }
}

/// The field of what was allowed on the page.
pub(crate) const GRANT_FIELD: &str = "grant";
/// The field of what an app got without the page.
pub(crate) const CLIENT_FIELD: &str = "client";

/// An app that was let in.
pub(crate) fn connected(let_in: &ConnectedApp) -> ConnectedAppView {
    ConnectedAppView {
        held: match &let_in.held {
            AppConnectionId::Grant(id) => (GRANT_FIELD, id.clone()),
            AppConnectionId::Direct(client_id) => (CLIENT_FIELD, client_id.clone()),
        },
        by: match let_in.by {
            AppAuthorizationMethod::Page => None,
            AppAuthorizationMethod::Password => Some("your password, which the app was given"),
            AppAuthorizationMethod::Issuer => Some("your sign-in at another service"),
        },
        card: app(&let_in.app),
        patient: let_in.patient.as_ref().map(|patient| patient.name.clone()),
        since: day(let_in.since_s),
        last_used: let_in.last_used_s.map_or_else(|| "never".to_owned(), day),
        scopes: let_in.allowed.clone(),
    }
}

/// `21 November 2026`, in UTC.
fn day(at_s: i64) -> String {
    let time = Timestamp::from_second(at_s).unwrap_or_default();
    time.to_zoned(TimeZone::UTC).strftime("%-d %B %Y").to_string()
}

/// A date of birth as people write it; one that is less than a day stays as it is stored.
pub(crate) fn birth_date(stored: &str) -> String {
    stored.parse::<Date>().map_or_else(|_| stored.to_owned(), |date| date.strftime("%-d %B %Y").to_string())
}

/// Returns what tells a record from others of the same name, a part each. The id stands where nothing else does.
pub(crate) fn details(patient: &PatientSummary) -> Vec<String> {
    let born = patient.birth_date.as_deref().map(|date| format!("Born {}", birth_date(date)));
    let sex = patient.gender.as_deref().and_then(sex).map(str::to_owned);
    let number = patient.number.as_ref().map(|number| {
        let label = if number.is_members { "Member number" } else { "Record number" };
        format!("{label} {}", number.value)
    });
    let number = number.or_else(|| (patient.name != patient.id).then(|| format!("Record id {}", patient.id)));
    [born, sex, number, patient.address.clone()].into_iter().flatten().collect()
}

/// Returns the administrative sex in a word; nothing for `unknown`.
fn sex(stored: &str) -> Option<&'static str> {
    match stored {
        "female" => Some("Female"),
        "male" => Some("Male"),
        "other" => Some("Other sex"),
        _ => None,
    }
}

/// Returns how many patients a search found, and which of them are on the page.
pub(crate) fn found(search: &PatientSearchPagination, shown: usize) -> String {
    let count = match (search.total, search.is_cut) {
        (total, true) => format!("The first {total} patients found. Type more to find the others."),
        (1, false) => "1 patient found.".to_owned(),
        (total, false) => format!("{total} patients found."),
    };
    if shown == search.total {
        return count;
    }
    format!("{count} Showing {} to {}.", search.first + 1, search.first + shown)
}

/// Returns how long to wait: `40 seconds`, `2 minutes`.
pub(crate) fn duration(seconds: u64) -> String {
    let (count, unit) = if seconds < 60 { (seconds, "second") } else { (seconds.div_ceil(60), "minute") };
    if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_waits_are_written_as_people_say_them() {
        assert_eq!(day(1_767_225_600), "1 January 2026");
        assert_eq!(birth_date("1987-05-12"), "12 May 1987");
        assert_eq!(birth_date("1987-05"), "1987-05");
        for (seconds, text) in
            [(1, "1 second"), (59, "59 seconds"), (60, "1 minute"), (61, "2 minutes"), (900, "15 minutes")]
        {
            assert_eq!(duration(seconds), text);
        }
    }
}
