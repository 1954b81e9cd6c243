//! What a person is asked, and what follows from the answer.
//!
//! Each requested scope is put before the person in *lines*: a wildcard as the types it reaches, a plain
//! scope on Condition or Observation as their categories, and after them a line for what none of these is, with
//! the scope itself as its value; everything else as one line. A scope is granted as it was asked for when all its
//! lines stay ticked, because apps compare the text; else the ticked lines are granted in its place, and what has no
//! line of its own is not. So nothing beyond the request, and nothing that was not on the page, can come out,
//! whatever is posted.

use smart_scopes::{ClinicalScope, Context, Interaction, ResourceSelector, Scope, ScopeSet, Syntax, restrict};

use super::declined::{EarlierDecision, ScopeDecision};
use super::pages::{ConsentCheckbox, ConsentCheckboxGroup};
use super::request::is_context;
use super::titles::{CATEGORIES, TITLES, title_of};
use crate::client::EndUserGrantSettings;
use crate::limits::{REFRESH_TOKEN_DEFAULT_IDLE_S, REFRESH_TOKEN_DEFAULT_LIFETIME_S};
use crate::ports::ConsentGrant;

/// Returns the scopes a requested one is split into; none where it is shown as itself alone.
pub(super) fn split(scope: &Scope) -> Vec<Scope> {
    let Scope::Clinical(clinical) = scope else { return Vec::new() };
    let parts = match clinical.resource() {
        ResourceSelector::Type(_) => categories(clinical),
        ResourceSelector::Any => {
            let of_type = |title: &super::titles::TitledScope| {
                let resource = title.resource_type.parse().ok()?;
                ClinicalScope::new(clinical.context(), resource, clinical.permissions(), None).ok()
            };
            TITLES.iter().filter_map(of_type).collect()
        }
    };
    parts.into_iter().map(Scope::Clinical).collect()
}

/// A plain v2 scope that only reads Conditions or Observations, as scopes on their categories. A query can
/// stand on no other (specification, Limits), so a v1 scope and one that writes stay whole.
fn categories(scope: &ClinicalScope) -> Vec<ClinicalScope> {
    let of_category = |category: &super::titles::CategoryTitle| {
        let query = category.query().parse().ok()?;
        ClinicalScope::new(scope.context(), scope.resource().clone(), scope.permissions(), Some(query)).ok()
    };
    let is_split = scope.query().is_none() && scope.permissions().syntax() == Syntax::V2;
    let own = CATEGORIES.iter().filter(|category| scope.resource().selects(category.resource_type) && is_split);
    own.filter_map(of_category).collect()
}

/// Returns the lines of the page for a scope; the last of one that is split stands for what the others leave.
pub(super) fn lines(scope: &Scope) -> Vec<Scope> {
    split(scope).iter().flat_map(lines).chain([scope.clone()]).collect()
}

/// Returns whether the person is not asked for it: without an id the app does not know who came back, and a context
/// opens nothing by itself.
pub(super) fn is_required(scope: &Scope) -> bool {
    is_context(scope) || matches!(scope, Scope::OpenId)
}

/// Returns the ticks of the page for what is requested, after what was decided `before`.
pub(super) fn items(
    requested: &ScopeSet,
    settings: &EndUserGrantSettings,
    before: Option<&ConsentGrant>,
) -> Vec<ConsentCheckbox> {
    let earlier = EarlierDecision::of(before);
    let mut items: Vec<ConsentCheckbox> = Vec::new();
    for line in requested.iter().flat_map(lines) {
        let item = item(&line, settings, earlier.stand(&line));
        if items.iter().all(|shown| shown.scope != item.scope) {
            items.push(item);
        }
    }
    items.sort_by_key(|item| item.group);
    items
}

/// Returns what the person allowed of what is requested, in the order and, where it can be, the words of the request.
///
/// `ticked` are values of the form.
pub(super) fn allowed(requested: &ScopeSet, ticked: &[String]) -> ScopeSet {
    let is_ticked = |scope: &Scope| is_required(scope) || ticked.contains(&scope.to_string());
    let mut allowed = ScopeSet::default();
    for scope in requested {
        allowed.extend(allowed_of(scope, &is_ticked));
    }
    allowed
}

fn allowed_of(scope: &Scope, is_ticked: &dyn Fn(&Scope) -> bool) -> Vec<Scope> {
    let mut is_whole = is_ticked(scope);
    let mut allowed = Vec::new();
    for part in split(scope) {
        let of_part = allowed_of(&part, is_ticked);
        is_whole &= of_part == [part];
        allowed.extend(of_part);
    }
    if is_whole { vec![scope.clone()] } else { allowed }
}

/// Returns whether `left` of what was `asked` for is of use to an app: data or an identity, or the context where
/// nothing else was asked for, as by an app that only wants to know which patient it is about.
pub(crate) fn is_of_use(asked: &ScopeSet, left: &ScopeSet) -> bool {
    if says_something(asked) { says_something(left) } else { left.iter().any(is_context) }
}

fn says_something(scopes: &ScopeSet) -> bool {
    scopes.iter().any(|scope| !is_context(scope) && !matches!(scope, Scope::OfflineAccess | Scope::OnlineAccess))
}

/// Returns what a stored grant gives of what is requested, when the person need not be asked again: each requested
/// scope was allowed before, or was asked for then and not allowed. A grant that gives nothing answers no question.
pub(super) fn remembered(stored: &ConsentGrant, requested: &ScopeSet) -> Option<ScopeSet> {
    if !stored.grants_anything() {
        return None;
    }
    // Both texts were printed by a set; what no longer reads covers nothing.
    let granted = ScopeSet::parse(&stored.granted).unwrap_or_default();
    let asked = ScopeSet::parse(&stored.requested).unwrap_or_default();
    let mut given = ScopeSet::default();
    for scope in requested {
        if is_required(scope) || granted.covers(scope) {
            given.insert(scope.clone());
        } else if asked.covers(scope) {
            let one: ScopeSet = [scope.clone()].into_iter().collect();
            given.extend(restrict(&one, &granted).granted);
        } else {
            return None;
        }
    }
    is_of_use(requested, &given).then_some(given)
}

/// Returns what is kept of a decision: beside it, what the person decided before and was not asked about now.
///
/// A wider scope that was allowed before stays where all that is asked of it now is allowed again. Where some of it
/// is not, it goes, and with it that it was ever asked for, so that the person is asked about the rest anew.
pub(super) fn kept(before: Option<&ConsentGrant>, requested: &ScopeSet, allowed: &ScopeSet) -> (ScopeSet, ScopeSet) {
    let read = |text: Option<&String>| text.and_then(|text| ScopeSet::parse(text).ok()).unwrap_or_default();
    let stays = |scope: &&Scope| {
        let one: ScopeSet = [(*scope).clone()].into_iter().collect();
        restrict(&one, requested).granted.iter().all(|asked| allowed.covers(asked))
    };
    let was_granted: ScopeSet = read(before.map(|grant| &grant.granted)).iter().filter(stays).cloned().collect();
    let was_asked = read(before.map(|grant| &grant.requested));
    let was_asked = was_asked.iter().filter(|scope| was_granted.covers(scope) || stays(scope)).cloned().collect();
    (bounded(requested, &was_asked), bounded(allowed, &was_granted))
}

/// Returns whether nothing that a stored grant gives is missing in `granted`.
pub(super) fn covers_all_of(granted: &ScopeSet, stored: &ConsentGrant) -> bool {
    ScopeSet::parse(&stored.granted).unwrap_or_default().iter().all(|scope| granted.covers(scope))
}

/// Returns the union of both, the first alone where that would not read back.
pub(super) fn bounded(first: &ScopeSet, second: &ScopeSet) -> ScopeSet {
    let union = first.union(second);
    let reads_back = ScopeSet::parse(&union.to_string()).is_ok_and(|read| read == union);
    if reads_back { union } else { first.clone() }
}

/// Scopes in plain words, for the page of connected apps.
pub(crate) fn in_words(scopes: &str, settings: Option<&EndUserGrantSettings>) -> Vec<String> {
    let scopes = ScopeSet::parse(scopes).unwrap_or_default();
    let mut shown: Vec<(ConsentCheckboxGroup, String)> = Vec::new();
    for scope in scopes.iter().filter(|scope| !is_context(scope)) {
        let (group, title) = titled(scope);
        let detail = match scope {
            Scope::Clinical(clinical) => actions(clinical),
            Scope::OfflineAccess => settings.map(duration),
            _ => None,
        };
        let line = detail.map_or_else(|| title.clone(), |detail| format!("{title} \u{2013} {detail}"));
        if shown.iter().all(|(_, other)| *other != line) {
            shown.push((group, line));
        }
    }
    shown.sort_by_key(|(group, _)| *group);
    shown.into_iter().map(|(_, line)| line).collect()
}

fn item(scope: &Scope, settings: &EndUserGrantSettings, stand: ScopeDecision) -> ConsentCheckbox {
    let (group, title) = titled(scope);
    let (title, detail) = match rest(scope) {
        Some(title) => (title.to_owned(), Some(REST.to_owned())),
        None => (title, detail(scope, settings)),
    };
    ConsentCheckbox {
        scope: scope.to_string(),
        title,
        detail,
        group,
        ticked: stand == ScopeDecision::Ticked,
        declined: stand == ScopeDecision::Declined,
        required: is_required(scope),
    }
}

/// What is said of a line that stands for what the others of its scope leave.
const REST: &str = "What none of the lines above names. The app gets it only together with all of them.";

/// Returns the title of the line for what the other lines of a scope leave; `None` where it has no others.
fn rest(scope: &Scope) -> Option<&'static str> {
    let Scope::Clinical(clinical) = scope else { return None };
    if split(scope).is_empty() {
        return None;
    }
    Some(match clinical.resource() {
        ResourceSelector::Any => "Everything else",
        ResourceSelector::Type(name) if name.as_str() == "Condition" => "Other health problems",
        ResourceSelector::Type(_) => "Other results and measurements",
    })
}

fn titled(scope: &Scope) -> (ConsentCheckboxGroup, String) {
    let (group, title) = match scope {
        Scope::Clinical(clinical) => return titled_data(clinical),
        Scope::OpenId => (ConsentCheckboxGroup::Identity, "Recognise you when you come back"),
        Scope::FhirUser => (ConsentCheckboxGroup::Identity, "Who you are in the health plan's records"),
        Scope::Profile => (ConsentCheckboxGroup::Identity, "Your name and language"),
        Scope::Email => (ConsentCheckboxGroup::Identity, "Your e-mail address"),
        Scope::OfflineAccess => (ConsentCheckboxGroup::Duration, "Keep access when you are away"),
        Scope::OnlineAccess => (ConsentCheckboxGroup::Duration, "Access while you use the app"),
        Scope::Launch => (ConsentCheckboxGroup::Other, "What you were looking at when you opened the app"),
        Scope::LaunchContext(context) if context.is_patient() => (ConsentCheckboxGroup::Other, "Whose record it is"),
        Scope::LaunchContext(context) if context.is_encounter() => {
            (ConsentCheckboxGroup::Other, "Which visit it is about")
        }
        Scope::LaunchContext(_) => (ConsentCheckboxGroup::Other, "What the app is about"),
        Scope::Custom(name) => return (ConsentCheckboxGroup::Other, name.clone()),
    };
    (group, title.to_owned())
}

fn titled_data(scope: &ClinicalScope) -> (ConsentCheckboxGroup, String) {
    let (group, title) = match scope.resource() {
        ResourceSelector::Any => (ConsentCheckboxGroup::Record, "Everything in the record".to_owned()),
        ResourceSelector::Type(name) => match title_of(name.as_str()) {
            Some(known) => (known.group, known.title.to_owned()),
            None => (ConsentCheckboxGroup::Record, format!("Entries of the kind {name}")),
        },
    };
    let title = match scope.query() {
        None => title,
        Some(query) => {
            let known = CATEGORIES.iter().find(|category| {
                let same = category
                    .query()
                    .parse()
                    .is_ok_and(|own: smart_scopes::ScopeQuery| own.implies(query) && query.implies(&own));
                same && scope.resource().selects(category.resource_type)
            });
            known.map_or_else(
                || format!("{title}, only where {}", readable(query)),
                |category| category.title.to_owned(),
            )
        }
    };
    let group = if scope.context() == Context::User { ConsentCheckboxGroup::User } else { group };
    (group, title)
}

fn readable(query: &smart_scopes::ScopeQuery) -> String {
    let parts = query.parameters().iter().map(|parameter| format!("{} is {}", parameter.name, parameter.value));
    parts.collect::<Vec<_>>().join(" and ")
}

fn detail(scope: &Scope, settings: &EndUserGrantSettings) -> Option<String> {
    match scope {
        Scope::OfflineAccess => Some(format!("{}. You can take it back at any time.", capital(&duration(settings)))),
        Scope::Clinical(clinical) => {
            let known = match clinical.resource() {
                ResourceSelector::Type(name) if clinical.query().is_none() => title_of(name.as_str()),
                _ => None,
            };
            let actions = actions(clinical).map(|actions| format!("The app may {actions}."));
            let sentences: Vec<String> =
                known.map(|title| title.detail.to_owned()).into_iter().chain(actions).collect();
            (!sentences.is_empty()).then(|| sentences.join(" "))
        }
        _ => None,
    }
}

/// Returns what the app may do with the entries; nothing where it may only see them, which is what everybody expects.
fn actions(scope: &ClinicalScope) -> Option<String> {
    let may = |interaction| scope.permissions().allows(interaction);
    let verbs = [
        (may(Interaction::Read) || may(Interaction::Search), "see"),
        (may(Interaction::Create), "add"),
        (may(Interaction::Update), "change"),
        (may(Interaction::Delete), "delete"),
    ];
    let verbs: Vec<_> = verbs.into_iter().filter(|(may, _)| *may).map(|(_, verb)| verb).collect();
    match verbs.as_slice() {
        ["see"] | [] => None,
        [one] => Some(format!("{one} entries")),
        [front @ .., last] => Some(format!("{} and {last} entries", front.join(", "))),
    }
}

/// For how long a refresh token keeps the app connected.
fn duration(settings: &EndUserGrantSettings) -> String {
    let idle_s = settings.refresh_idle_s.unwrap_or(REFRESH_TOKEN_DEFAULT_IDLE_S);
    let lifetime_s = settings.refresh_lifetime_s.unwrap_or(REFRESH_TOKEN_DEFAULT_LIFETIME_S);
    if idle_s >= lifetime_s {
        return format!("for {}", span(lifetime_s));
    }
    format!("until it is not used for {}, and for {} at most", span(idle_s), span(lifetime_s))
}

/// A length of time in its largest unit that says it exactly.
fn span(seconds: i64) -> String {
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let fitting = units.into_iter().find(|(each_s, _)| seconds % each_s == 0 && seconds >= *each_s);
    let (each_s, name) = fitting.unwrap_or((1, "second"));
    let count = seconds / each_s;
    if count == 1 { format!("one {name}") } else { format!("{count} {name}s") }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    fn grant((requested, granted): (&str, &str)) -> ConsentGrant {
        ConsentGrant {
            id: "g".to_owned(),
            user_id: "ada".to_owned(),
            client_id: "app".to_owned(),
            patient_id: None,
            requested: requested.to_owned(),
            granted: granted.to_owned(),
            refused: String::new(),
            created_s: 0,
            used_s: None,
        }
    }

    /// Returns what the app gets without a page, after the decisions in turn; `None` when the person is asked.
    fn after(decisions: &[(&str, &str)], request: &str) -> Option<String> {
        let mut held: Option<ConsentGrant> = None;
        for (requested, allowed) in decisions {
            let (requested, granted) = kept(held.as_ref(), &set(requested), &set(allowed));
            held = Some(grant((&requested.to_string(), &granted.to_string())));
        }
        remembered(&held?, &set(request)).map(|scopes| scopes.to_string())
    }

    #[test]
    fn allowing_less_again_takes_nothing_of_the_rest_away() {
        let wide = ("patient/*.rs", "patient/*.rs");
        let narrow = ("patient/Patient.rs", "patient/Patient.rs");
        let lab = "patient/Observation.rs?category=lab";
        assert_eq!(after(&[wide, narrow], lab).as_deref(), Some(lab));
        assert_eq!(after(&[wide, narrow], "patient/*.rs").as_deref(), Some("patient/*.rs"));
    }

    #[test]
    fn what_was_declined_later_is_not_given_by_what_was_allowed_before() {
        let wide = ("patient/*.rs", "patient/*.rs");
        let declined = ("patient/Patient.rs patient/Goal.rs", "patient/Patient.rs");
        assert_eq!(
            after(&[wide, declined], "patient/Patient.rs patient/Goal.rs").as_deref(),
            Some("patient/Patient.rs")
        );
        assert_eq!(after(&[wide, declined], "patient/Encounter.rs"), None, "the person is asked about the rest");
        assert_eq!(after(&[wide, declined], "patient/*.rs"), None);
    }

    #[test]
    fn what_was_declined_once_is_not_asked_again() {
        let partly = ("patient/*.rs", "patient/Patient.rs");
        assert_eq!(after(&[partly], "patient/*.rs").as_deref(), Some("patient/Patient.rs"));
        let more = ("patient/Goal.rs", "patient/Goal.rs");
        assert_eq!(after(&[partly, more], "patient/Goal.rs").as_deref(), Some("patient/Goal.rs"));
    }
}
