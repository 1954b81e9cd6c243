//! Items of the organization and of its users: linkifiers, emoji, profile answers, statuses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::TransferReport;
use super::export_tables::{RealmTables, UserStatusRow, codes};
use super::files::{self, ImportedImageUrls};
use super::organization::clean;
use crate::id::{ChannelId, UserId};
use crate::markdown::Linkifier;
use crate::model::message::{ReactionType, topic_key};
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::people::custom_profile_fields::{ProfileField, ProfileFieldType};
use crate::people::personal_settings::preferences::{PreferenceScope, fitting};

/// Adds them all.
pub(super) fn changes(
    (tables, pictures): (&RealmTables, &ImportedImageUrls),
    users: &BTreeSet<UserId>,
    changes: &mut Vec<RealmChange>,
    report: &mut TransferReport,
) {
    folders(tables, users, changes, report);
    let before = changes.len();
    of_realm(tables, changes, report);
    let answers = profile_fields(tables, users, changes, report);
    let items = changes.len() - before - answers;
    report.count_transferred("linkifiers, playgrounds, domains, default channels and profile fields", items);
    preferences(tables, changes, report);
    topics(tables, users, changes, report);
    of_users(tables, users, changes, report);
    let emoji = files::emoji((tables, pictures), users, changes, report);
    statuses((tables, &emoji), users, changes, report);
}

fn item(kind: RealmItemKind, id: i64, document: Value) -> RealmChange {
    RealmChange::Item { kind, id, document: Some(document) }
}

fn of_user(user: i64, kind: UserItemKind, key: &str, document: Value) -> RealmChange {
    RealmChange::UserItem { user_id: UserId(user), kind, key: key.to_owned(), document: Some(document) }
}

fn of_realm(tables: &RealmTables, changes: &mut Vec<RealmChange>, report: &mut TransferReport) {
    let known: BTreeSet<i64> = tables.channels.iter().map(|row| row.id).collect();
    let defaults = tables.default_channels.iter().filter(|row| known.contains(&row.stream));
    changes.extend(defaults.map(|row| item(RealmItemKind::DefaultChannel, row.stream, json!({}))));
    for row in &tables.linkifiers {
        let before = || row.url_format_string.as_deref().map(template);
        let template = row.url_template.clone().or_else(before).unwrap_or_default();
        if template.is_empty() || Linkifier::new(&row.pattern, &template).is_err() {
            report.count_omitted("linkifiers with a pattern or template that is none here", 1);
            continue;
        }
        let document = json!({"pattern": row.pattern, "url_template": template, "order": row.order});
        changes.push(item(RealmItemKind::Linkifier, row.id, document));
    }
    for row in &tables.playgrounds {
        let before = || row.url_prefix.as_ref().map(|prefix| format!("{prefix}{{code}}"));
        let Some(template) = row.url_template.clone().or_else(before) else {
            report.count_omitted("playgrounds without a template", 1);
            continue;
        };
        let language = &row.pygments_language;
        let document = json!({"name": row.name, "pygments_language": language, "url_template": template});
        changes.push(item(RealmItemKind::Playground, row.id, document));
    }
    changes.extend(tables.domains.iter().map(|row| {
        let document = json!({"domain": row.domain.to_lowercase(), "allow_subdomains": row.allow_subdomains});
        item(RealmItemKind::Domain, row.id, document)
    }));
}

/// Adds the folders of channels. Their descriptions are rendered later.
fn folders(
    tables: &RealmTables,
    users: &BTreeSet<UserId>,
    changes: &mut Vec<RealmChange>,
    report: &mut TransferReport,
) {
    changes.extend(tables.channel_folders.iter().map(|row| {
        let document = json!({
            "name": clean(&row.name),
            "description": clean(&row.description),
            "rendered_description": "",
            "order": row.order.unwrap_or(row.id),
            "date_created": row.date_created,
            "creator_id": row.creator.map(UserId).filter(|creator| users.contains(creator)),
            "is_archived": row.is_archived,
        });
        item(RealmItemKind::ChannelFolder, row.id, document)
    }));
    report.count_transferred("folders of channels", tables.channel_folders.len());
}

/// Returns the template of what older servers wrote as a format: `%(id)s` is `{id}`, `%%` is `%`.
fn template(format: &str) -> String {
    let pieces = format.split("%%").map(|piece| piece.replace("%(", "{").replace(")s", "}"));
    pieces.collect::<Vec<_>>().join("%")
}

/// Returns the number of answers.
fn profile_fields(
    tables: &RealmTables,
    users: &BTreeSet<UserId>,
    changes: &mut Vec<RealmChange>,
    report: &mut TransferReport,
) -> usize {
    let mut kinds = BTreeMap::new();
    for row in &tables.profile_fields {
        let Ok(kind) = ProfileFieldType::try_from(row.field_type) else {
            report.count_omitted("profile fields of an unknown kind", 1);
            continue;
        };
        let field = ProfileField {
            name: clean(&row.name),
            kind,
            hint: clean(&row.hint),
            field_data: clean(row.field_data.as_deref().unwrap_or_default()),
            order: row.order,
            required: row.required,
            display_in_profile_summary: row.display_in_profile_summary,
            editable_by_user: row.editable_by_user.unwrap_or(true),
        };
        kinds.insert(row.id, kind);
        changes.push(item(RealmItemKind::ProfileField, row.id, json!(field)));
    }
    let mut taken = 0;
    for row in tables.profile_values.iter().filter(|row| users.contains(&UserId(row.user_profile))) {
        let value = match (&row.value, kinds.get(&row.field)) {
            (Value::String(text), Some(kind)) => answer(*kind, &clean(text), users),
            _ => None,
        };
        let Some(value) = value else {
            report.count_omitted("answers to profile fields", 1);
            continue;
        };
        changes.push(of_user(row.user_profile, UserItemKind::ProfileValue, &row.field.to_string(), value));
        taken += 1;
    }
    report.count_transferred("answers to profile fields", taken);
    taken
}

/// An answer as it is kept, but for its HTML.
fn answer(kind: ProfileFieldType, text: &str, users: &BTreeSet<UserId>) -> Option<Value> {
    match kind {
        ProfileFieldType::People => {
            let named: Vec<UserId> = serde_json::from_str(text).ok()?;
            let here: Vec<UserId> = named.into_iter().filter(|user| users.contains(user)).collect();
            Some(json!({"value": json!(here).to_string()}))
        }
        _ => Some(json!({"value": text})),
    }
}

/// The columns with words where preferences have them.
fn named(columns: &Map<String, Value>) -> Map<String, Value> {
    let mut columns = columns.clone();
    codes::name_preferences(&mut columns);
    columns
}

fn preferences(tables: &RealmTables, changes: &mut Vec<RealmChange>, report: &mut TransferReport) {
    let (mut users, mut refused) = (0, 0);
    for row in &tables.users {
        let (chosen, wrong) = fitting(PreferenceScope::Own, &named(&row.all));
        refused += wrong;
        if !chosen.is_empty() {
            users += 1;
            changes.push(of_user(row.columns.id, UserItemKind::Settings, "", Value::Object(chosen)));
        }
    }
    if let Some(row) = tables.user_defaults.first() {
        let (chosen, wrong) = fitting(PreferenceScope::Newcomers, &named(row));
        refused += wrong;
        changes.push(item(RealmItemKind::UserDefaults, 0, Value::Object(chosen)));
    }
    report.count_transferred("users with preferences of their own", users);
    report.count_omitted("preferences with a value that is none here", refused);
}

fn topics(tables: &RealmTables, users: &BTreeSet<UserId>, changes: &mut Vec<RealmChange>, report: &mut TransferReport) {
    let channels: BTreeSet<i64> = tables.channels.iter().map(|row| row.id).collect();
    let (mut taken, mut left) = (0, 0);
    for row in tables.topics.iter().chain(&tables.muted_topics) {
        let is_here = users.contains(&UserId(row.user_profile)) && channels.contains(&row.stream);
        if !is_here || !(1..=3).contains(&row.visibility_policy) {
            left += 1;
            continue;
        }
        let topic = clean(&row.topic_name);
        let document = json!({
            "stream_id": row.stream,
            "topic_name": topic,
            "last_updated": row.last_updated,
            "visibility_policy": row.visibility_policy,
        });
        let key = format!("{}/{}", ChannelId(row.stream), topic_key(&topic));
        changes.push(of_user(row.user_profile, UserItemKind::TopicPolicy, &key, document));
        taken += 1;
    }
    report.count_transferred("topics muted, unmuted or followed", taken);
    report.count_omitted("topics muted, unmuted or followed", left);
}

fn of_users(
    tables: &RealmTables,
    users: &BTreeSet<UserId>,
    changes: &mut Vec<RealmChange>,
    report: &mut TransferReport,
) {
    let known = |id: i64| users.contains(&UserId(id));
    for row in tables.muted_users.iter().filter(|row| known(row.user_profile) && known(row.muted_user)) {
        let document = json!({"timestamp": row.date_muted});
        changes.push(of_user(row.user_profile, UserItemKind::MutedUser, &row.muted_user.to_string(), document));
        report.count_transferred("muted users", 1);
    }
    let mut words: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for row in tables.alert_words.iter().filter(|row| known(row.user_profile)) {
        words.entry(row.user_profile).or_default().push(clean(&row.word));
    }
    for (user, words) in words {
        report.count_transferred("alert words", words.len());
        changes.push(of_user(user, UserItemKind::AlertWords, "", json!(words)));
    }
}

fn statuses(
    (tables, emoji): (&RealmTables, &BTreeSet<i64>),
    users: &BTreeSet<UserId>,
    changes: &mut Vec<RealmChange>,
    report: &mut TransferReport,
) {
    for row in tables.statuses.iter().filter(|row| users.contains(&UserId(row.user_profile))) {
        let document = status(row, emoji, report);
        if !document.is_empty() {
            changes.push(of_user(row.user_profile, UserItemKind::Status, "", Value::Object(document)));
            report.count_transferred("statuses", 1);
        }
    }
}

fn status(row: &UserStatusRow, emoji: &BTreeSet<i64>, report: &mut TransferReport) -> Map<String, Value> {
    let mut kept = Map::new();
    if !row.status_text.is_empty() {
        kept.insert("status_text".to_owned(), clean(&row.status_text).into());
    }
    let is_here = || row.emoji_code.parse().is_ok_and(|id: i64| emoji.contains(&id));
    if row.reaction_type == ReactionType::RealmEmoji.wire_name() && !is_here() {
        report.count_omitted("custom emoji of statuses that are not here", 1);
    } else if !row.emoji_name.is_empty() && ReactionType::from_wire_name(&row.reaction_type).is_some() {
        let keys =
            [("emoji_name", &row.emoji_name), ("emoji_code", &row.emoji_code), ("reaction_type", &row.reaction_type)];
        kept.extend(keys.map(|(key, text)| (key.to_owned(), clean(text).into())));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_older_servers_are_the_templates_they_became() {
        assert_eq!(template("https://x.org/%(org)s/%(id)s?q=%%20"), "https://x.org/{org}/{id}?q=%20");
        let rows = json!({
            "zerver_realmfilter": [{"id": 1, "pattern": "#(?P<id>[0-9]+)", "url_format_string": "https://x.org/%(id)s"}],
            "zerver_realmplayground": [{"id": 2, "name": "R", "pygments_language": "R", "url_prefix": "https://r.org/?"}],
        });
        let (mut changes, mut report) = (Vec::new(), TransferReport::default());
        of_realm(&serde_json::from_value(rows).unwrap(), &mut changes, &mut report);
        let templates = changes.iter().map(|change| match change {
            RealmChange::Item { document: Some(document), .. } => document["url_template"].as_str(),
            _ => None,
        });
        assert_eq!(templates.collect::<Vec<_>>(), [Some("https://x.org/{id}"), Some("https://r.org/?{code}")]);
    }
}
