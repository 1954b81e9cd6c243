//! From the tables of an export to an organization.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::export_tables::codes::{self, TOPICS_FREE, TOPICS_NEEDED};
use super::export_tables::{ChannelRow, RealmTables, SubscriptionRow, SystemBotRow, UserGroupRow, UserRow};
use super::files::ImportedImageUrls;
use super::groups::Groups;
use super::messages::{ImportReferences, MessageSurvey};
use super::spans::{Happened, known, with_moved};
use super::{ImportError, ImportedOrganization, TransferReport, columns, organization_items};
use crate::id::{ChannelId, EventId, UserGroupId, UserId};
use crate::model::channel::{
    Channel, ChannelPostPolicy, ChannelPrivacy, Subscription, SubscriptionNotificationSettings, channel_name_key,
};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::group::SystemGroup;
use crate::model::message::Recipient;
use crate::model::organization_image::{OrganizationImage, OrganizationImageUrls};
use crate::model::realm::{EditHistoryVisibility, Realm, RealmPermissionSettings};
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::{RenderContext, RenderSettings};
use crate::model::role::Role;
use crate::model::user::{ApiKey, BotKind, BotProperties, User, parse_timezone};
use crate::organization::settings::{REALM_SETTINGS, RealmSettingType};
use crate::people::custom_profile_fields;

/// The color of a subscription without one.
const USUAL_COLOR: &str = "#c2c2c2";

/// The parts of an export from which an organization is imported.
#[derive(Debug, Clone, Copy)]
pub struct OrganizationImportSource<'a> {
    /// The tables of the export.
    pub tables: &'a RealmTables,
    /// What all its messages say together.
    pub survey: &'a MessageSurvey,
    /// Its pictures.
    pub pictures: &'a ImportedImageUrls,
}

/// Converts the organization from the tables of an export.
///
/// `realm_url` is the address the organization will have, without a slash at the end, and `key` gives a key nobody has.
///
/// # Errors
/// See [`ImportError`]; the export has to be mended then.
pub fn convert_organization(
    source: OrganizationImportSource<'_>,
    realm_url: &str,
    mut key: impl FnMut() -> Option<ApiKey>,
    report: &mut TransferReport,
) -> Result<ImportedOrganization, ImportError> {
    let OrganizationImportSource { tables, survey, pictures } = source;
    let [row] = tables.realms.as_slice() else { return Err(ImportError::Organizations(tables.realms.len())) };
    let users = users(tables, pictures, report)?;
    let ids: BTreeSet<UserId> = users.iter().map(|user| user.id).collect();
    let largest = largest(tables);
    let groups = Groups::read(tables, &ids, largest.saturating_add(1).., report);
    let mut realm = Realm { images: images(row, pictures, report), ..realm(row, &groups, report) };
    columns::report(&tables.columns, &groups, report);
    let channels = channels(tables, &groups, &ids, report)?;
    announcement_channels(row, &channels, &mut realm.rules);
    let mut organization = ImportedOrganization {
        head: EventId(head(tables, survey)),
        changes: vec![RealmChange::Realm(Box::new(realm))],
        spans: Vec::new(),
        keys: Vec::new(),
    };
    report.count_transferred("users", users.len());
    report.count_transferred("channels", channels.len());
    for user in users {
        organization.keys.push((user.id, key().ok_or(ImportError::NoKey(user.id))?));
        organization.changes.push(RealmChange::User(Box::new(user)));
    }
    let made = groups.into_all().map(|group| RealmChange::Group(Box::new(group)));
    organization.changes.extend(made);
    organization.changes.extend(channels.into_iter().map(|channel| RealmChange::Channel(Box::new(channel))));
    subscriptions(tables, survey, &ids, &mut organization, report);
    organization_items::changes((tables, pictures), &ids, &mut organization.changes, report);
    describe(&mut organization.changes, realm_url);
    let has_parts = survey.has_parts() || !tables.drafts.is_empty();
    report
        .count_omitted("votes in polls, drafts and invitations, of which the export has none", usize::from(!has_parts));
    for (table, rows) in &tables.others {
        report.count_omitted(table, usize::try_from(*rows).unwrap_or(usize::MAX));
    }
    Ok(organization)
}

/// Returns where the log begins: after everything whose number is a place in it.
pub(super) fn head(tables: &RealmTables, survey: &MessageSurvey) -> i64 {
    let uploads = tables.attachments.iter().map(|row| row.id);
    let unsent = tables.scheduled.iter().map(|row| row.id).chain(tables.drafts.iter().map(|row| row.id));
    uploads.chain(unsent).chain([survey.largest_id(), 1]).max().unwrap_or_default()
}

/// Returns the numbers of all accounts.
pub(super) fn ids(tables: &RealmTables) -> impl Iterator<Item = i64> {
    let users = tables.users.iter().chain(&tables.dummies).map(|row| row.columns.id);
    users.chain(tables.system_bots.iter().map(|row| row.id))
}

/// Returns the largest number of a user, channel or group.
fn largest(tables: &RealmTables) -> i64 {
    let groups = tables.groups.iter().chain(&tables.named_groups).map(UserGroupRow::number);
    ids(tables).chain(groups).chain(tables.channels.iter().map(|row| row.id)).max().unwrap_or_default()
}

fn users(
    tables: &RealmTables,
    pictures: &ImportedImageUrls,
    report: &mut TransferReport,
) -> Result<Vec<User>, ImportError> {
    let mut users: Vec<User> = tables.users.iter().map(|row| user(row, pictures)).collect();
    let with_picture = tables.users.iter().filter(|row| row.columns.avatar_source == "U").count();
    let shown = users.iter().filter(|user| user.avatar_url.is_some()).count();
    report.count_transferred("pictures of users", shown);
    report.count_omitted("pictures of users", with_picture.saturating_sub(shown));
    let embedded = tables.users.iter().filter(|row| row.columns.bot_type == Some(codes::EMBEDDED_BOT)).count();
    report.count_omitted("programs of embedded bots, which are ordinary bots now", embedded);
    let dummies = tables.dummies.iter().map(|row| User { is_active: false, ..user(row, pictures) });
    users.extend(dummies);
    restore_addresses(&mut users, tables);
    users.extend(tables.system_bots.iter().map(system_bot));
    let mut known: BTreeSet<UserId> = BTreeSet::new();
    users.retain(|user| known.insert(user.id));
    let mut addresses: HashMap<String, UserId> = HashMap::new();
    for user in &mut users {
        if let Some(bot) = &mut user.bot {
            bot.owner_id = bot.owner_id.filter(|owner| known.contains(owner));
        }
        if let Some(other) = addresses.insert(user.email_key(), user.id) {
            return Err(ImportError::SameAddress(other, user.id));
        }
    }
    let runs = |user: &User| user.is_active && user.bot.is_none() && user.is_administrator();
    if !users.iter().any(runs) {
        return Err(ImportError::NoAdministrator);
    }
    let people = users.iter().filter(|user| user.bot.is_none() && user.is_active).count();
    report.count_omitted("passwords, which no export has: people need another one", people);
    Ok(users)
}

/// Gives users the addresses that other servers refuse, and that are replaced in the table of users.
fn restore_addresses(users: &mut [User], tables: &RealmTables) {
    let refused: HashMap<i64, &str> =
        tables.addresses.iter().map(|row| (row.user_profile, row.address.as_str())).collect();
    for user in users {
        if let Some(address) = refused.get(&user.id.0) {
            user.email = clean(address);
        }
    }
}

fn user(row: &UserRow, pictures: &ImportedImageUrls) -> User {
    let UserRow { columns, .. } = row;
    let email = columns.delivery_email.as_deref().filter(|email| !email.is_empty()).unwrap_or(&columns.email);
    let is_own = columns.avatar_source == "U";
    User {
        full_name: clean(&columns.full_name),
        role: role(row),
        is_active: columns.is_active,
        joined_s: columns.date_joined,
        bot: columns.is_bot.then(|| BotProperties {
            kind: codes::bot_kind(columns.bot_type),
            owner_id: columns.bot_owner.map(UserId),
        }),
        timezone: parse_timezone(&columns.timezone).unwrap_or_default().to_owned(),
        avatar_url: pictures.avatars.get(&UserId(columns.id)).filter(|_| is_own).cloned(),
        avatar_version: columns.avatar_version.unwrap_or(1).max(1),
        ..account(columns.id, email)
    }
}

fn role(row: &UserRow) -> Role {
    match row.columns.role.map(Role::try_from) {
        Some(Ok(role)) => role,
        _ if row.columns.is_realm_admin => Role::Administrator,
        _ if row.columns.is_guest => Role::Guest,
        _ => Role::Member,
    }
}

/// A bot of the server that the export is of, of which it has no more than this: `welcome-bot@…` is called Welcome Bot.
/// It becomes the bot of this server.
fn system_bot(row: &SystemBotRow) -> User {
    let name = row.email.split('@').next().unwrap_or_default();
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_uppercase() + rest
    });
    User {
        full_name: words.collect::<Vec<_>>().join(" "),
        bot: Some(BotProperties { kind: BotKind::System, owner_id: None }),
        ..account(row.id, &row.email)
    }
}

/// An account of which no more is known than this.
fn account(id: i64, email: &str) -> User {
    User {
        id: UserId(id),
        email: clean(email),
        full_name: String::new(),
        role: Role::Member,
        is_active: true,
        joined_s: 0,
        bot: None,
        timezone: String::new(),
        avatar_url: None,
        avatar_version: 1,
        address_visibility: EmailAddressVisibility::default(),
    }
}

/// A text without the one character that Postgres does not take.
pub(super) fn clean(text: &str) -> String {
    text.replace('\0', "")
}

fn realm(row: &Map<String, Value>, groups: &Groups, report: &mut TransferReport) -> Realm {
    let text = |column: &str| clean(row.get(column).and_then(Value::as_str).unwrap_or_default());
    let mut realm = Realm {
        name: text("name"),
        description: text("description"),
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float stops at the ends of the integers")]
        created_s: row.get("date_created").and_then(Value::as_f64).unwrap_or_default().floor() as i64,
        is_deactivated: row.get("deactivated").and_then(Value::as_bool).unwrap_or_default(),
        rules: RealmPermissionSettings::default(),
        images: OrganizationImageUrls::default(),
    };
    let plain = REALM_SETTINGS
        .iter()
        .filter(|setting| !matches!(setting.kind, RealmSettingType::Group(..) | RealmSettingType::Text(..)))
        .filter(|setting| !matches!(setting.kind, RealmSettingType::Word(_)));
    for setting in plain {
        let Some(value) = row.get(setting.name) else { continue };
        // No place is given to it that it did not have: what cannot be read stays as in a new organization.
        if setting.put(value, &mut realm).is_err() {
            report.count_omitted("settings of the organization", 1);
        }
    }
    // Newer servers have a number for what was yes or no.
    if let Some(policy @ (TOPICS_FREE | TOPICS_NEEDED)) = row.get("topics_policy").and_then(Value::as_i64) {
        realm.rules.mandatory_topics = policy == TOPICS_NEEDED;
    }
    realm.rules.edit_history_visibility = edit_history_visibility(row);
    permissions(row, groups, &mut realm.rules, report);
    report.count_transferred("organizations", 1);
    realm
}

/// Sets the channels of announcements and of reports; not those that are archived.
fn announcement_channels(row: &Map<String, Value>, channels: &[Channel], rules: &mut RealmPermissionSettings) {
    let channel = |column: &str| {
        let id = ChannelId(row.get(column)?.as_i64()?);
        channels.iter().find(|channel| channel.id == id && !channel.is_archived)
    };
    let named = |column: &str| channel(column).map(|channel| channel.id);
    rules.new_channel_announcements = named("new_stream_announcements_stream");
    rules.signup_announcements = named("signup_announcements_stream");
    let private = channel("moderation_request_channel").filter(|channel| channel.privacy.is_invite_only());
    rules.moderation_requests = private.map(|channel| channel.id);
}

/// Returns which earlier states of messages are shown; a number that is none here shows nothing.
fn edit_history_visibility(row: &Map<String, Value>) -> EditHistoryVisibility {
    let of_number = |number: i64| {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        EditHistoryVisibility::ALL.get(place).copied()
    };
    match row.get("message_edit_history_visibility_policy").and_then(Value::as_i64) {
        Some(number) => of_number(number).unwrap_or(EditHistoryVisibility::None),
        // Older servers have yes or no.
        None if row.get("allow_edit_history") == Some(&Value::Bool(false)) => EditHistoryVisibility::None,
        None => EditHistoryVisibility::All,
    }
}

/// Reads who has each permission. One that the export does not have belongs to the group of the permission that it was
/// part of.
fn permissions(
    row: &Map<String, Value>,
    groups: &Groups,
    rules: &mut RealmPermissionSettings,
    report: &mut TransferReport,
) {
    rules.manage_all_groups = SystemGroup::Administrators.into();
    rules.manage_billing = SystemGroup::Owners.into();
    for permission in RealmPermission::ALL {
        let column = permission.rule().name;
        let Some(id) = row.get(column).and_then(Value::as_i64) else { continue };
        *permission.value_mut(rules) = groups.setting(id).unwrap_or_else(|| {
            report.count_omitted("permissions of groups that are not in the export, which administrators have now", 1);
            // Administrators may have been left out.
            report.restrictions.insert(format!("zerver_realm.{column}: an unknown group"));
            SystemGroup::Administrators.into()
        });
    }
    let is_absent = |column: &str| row.get(column).is_none_or(Value::is_null);
    if is_absent("can_resolve_topics_group") {
        rules.resolve_topics = rules.edit_topic.clone();
    }
    if is_absent("can_create_write_only_bots_group") && is_absent("bot_creation_policy") {
        rules.create_write_only_bots = rules.create_bots.clone();
    }
}

fn images(
    row: &Map<String, Value>,
    pictures: &ImportedImageUrls,
    report: &mut TransferReport,
) -> OrganizationImageUrls {
    let source = |image: OrganizationImage| row.get(&format!("{}_source", image.wire_name())).and_then(Value::as_str);
    let own = OrganizationImage::ALL.into_iter().filter(|image| source(*image) == Some("U")).count();
    let shown =
        OrganizationImage::ALL.into_iter().filter(|image| pictures.images.uploaded_url(*image).is_some()).count();
    report.count_transferred("pictures of the organization", shown);
    report.count_omitted("pictures of the organization that are none, or not in the export", own.saturating_sub(shown));
    pictures.images.clone()
}

fn channels(
    tables: &RealmTables,
    groups: &Groups,
    users: &BTreeSet<UserId>,
    report: &mut TransferReport,
) -> Result<Vec<Channel>, ImportError> {
    let mut names: BTreeMap<String, ChannelId> = BTreeMap::new();
    let mut channels = Vec::with_capacity(tables.channels.len());
    for row in &tables.channels {
        let channel = channel((tables, row), groups, users, report);
        if !channel.is_archived
            && let Some(other) = names.insert(channel_name_key(&channel.name), channel.id)
        {
            return Err(ImportError::SameChannelName(other, channel.id));
        }
        channels.push(channel);
    }
    Ok(channels)
}

fn channel(
    (tables, row): (&RealmTables, &ChannelRow),
    groups: &Groups,
    users: &BTreeSet<UserId>,
    report: &mut TransferReport,
) -> Channel {
    let privacy = match (row.is_web_public, row.invite_only, row.history_public_to_subscribers) {
        (true, ..) => ChannelPrivacy::WebPublic,
        (_, false, _) => ChannelPrivacy::Public,
        (_, true, Some(true)) => ChannelPrivacy::PrivateSharedHistory,
        (_, true, _) => ChannelPrivacy::PrivateProtectedHistory,
    };
    let administrators = groups.of_system(SystemGroup::Administrators).unwrap_or(UserGroupId(0));
    let remover = row.can_remove_subscribers_group.filter(|id| groups.has(*id)).map(UserGroupId);
    if remover.is_none() && row.can_remove_subscribers_group.is_some() {
        report.count_omitted("permissions of users and groups, which administrators have now", 1);
    }
    Channel {
        id: ChannelId(row.id),
        name: clean(&row.name),
        description: clean(&row.description),
        rendered_description: String::new(),
        created_s: row.date_created,
        creator_id: row.creator.map(UserId).filter(|creator| users.contains(creator)),
        privacy,
        post_policy: post_policy(row, groups, report),
        message_retention_days: row.message_retention_days.filter(|days| *days == -1 || *days > 0),
        can_remove_subscribers_group: remover.unwrap_or(administrators),
        is_archived: row.deactivated,
        is_recently_active: row.is_recently_active,
        folder_id: row.folder.filter(|id| tables.channel_folders.iter().any(|folder| folder.id == *id)),
    }
}

/// Who may write.
fn post_policy(row: &ChannelRow, groups: &Groups, report: &mut TransferReport) -> ChannelPostPolicy {
    let numbered = |number| ChannelPostPolicy::ALL.into_iter().find(|policy| policy.wire_number() == number);
    let Some(id) = row.can_send_message_group else {
        return row.stream_post_policy.map_or(ChannelPostPolicy::Everyone, |number| {
            numbered(number).unwrap_or(ChannelPostPolicy::Administrators)
        });
    };
    let (policy, is_the_same) = codes::post_policy(groups.system(id));
    if !is_the_same {
        report.count_omitted("permissions to write to a channel, which fewer have now", 1);
    }
    policy
}

fn subscriptions(
    tables: &RealmTables,
    survey: &MessageSurvey,
    users: &BTreeSet<UserId>,
    organization: &mut ImportedOrganization,
    report: &mut TransferReport,
) {
    let (atlas, happened) = (ImportReferences::from_tables(tables, survey), Happened::of(tables));
    let mut seen = BTreeSet::new();
    for row in tables.subscriptions.iter().filter(|row| users.contains(&UserId(row.user_profile))) {
        let Some(Recipient::Channel(channel_id)) = atlas.channel(row.recipient) else { continue };
        let place = (channel_id, UserId(row.user_profile));
        if !seen.insert(place) {
            continue;
        }
        let known = known(survey, (row.user_profile, row.recipient), row.active);
        let spans = happened.spans(place, known, organization.head);
        let spans = with_moved(spans, survey.moved(row.user_profile, row.recipient));
        organization.spans.extend(spans.into_iter().map(|span| (place.0, place.1, span)));
        let imported = subscription(row, place);
        if row.active {
            organization.changes.push(RealmChange::Subscription(Box::new(imported)));
            report.count_transferred("subscriptions", 1);
        } else if has_choices(&imported) {
            report.count_omitted("colors and other choices of subscriptions that ended", 1);
        }
    }
}

fn subscription(row: &SubscriptionRow, (channel_id, user_id): (ChannelId, UserId)) -> Subscription {
    let is_color = row.color.len() == 7 && row.color.starts_with('#');
    Subscription {
        channel_id,
        user_id,
        color: if is_color { row.color.clone() } else { USUAL_COLOR.to_owned() },
        is_muted: row.is_muted || row.in_home_view == Some(false),
        pin_to_top: row.pin_to_top,
        notifications: SubscriptionNotificationSettings {
            desktop: row.desktop_notifications,
            audible: row.audible_notifications,
            push: row.push_notifications,
            email: row.email_notifications,
            wildcard_mentions: row.wildcard_mentions_notify,
        },
    }
}

/// Returns whether a user chose anything that a new subscription does not have.
fn has_choices(subscription: &Subscription) -> bool {
    let Subscription { color, is_muted, pin_to_top, notifications, .. } = subscription;
    *is_muted || *pin_to_top || color != USUAL_COLOR || *notifications != SubscriptionNotificationSettings::default()
}

/// Renders what channels and their folders are for and what users say of themselves, once it is known who and what can be named.
fn describe(changes: &mut [RealmChange], realm_url: &str) {
    let realm = RealmSnapshot::default().preview_changes(changes);
    let render_context = RenderContext::from_realm(&realm);
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: None, now_s: 0 };
    for change in changes {
        match change {
            RealmChange::Channel(channel) => {
                channel.rendered_description = setting.render_description(&realm, &channel.description);
            }
            RealmChange::Item { kind: RealmItemKind::ChannelFolder, document: Some(Value::Object(folder)), .. } => {
                let text = folder.get("description").and_then(Value::as_str).unwrap_or_default();
                let html = setting.render_description(&realm, text);
                folder.insert("rendered_description".to_owned(), html.into());
            }
            RealmChange::UserItem {
                kind: UserItemKind::ProfileValue,
                key,
                document: Some(Value::Object(answer)),
                ..
            } => {
                let field = key.parse().ok().and_then(|id| custom_profile_fields::find_profile_field(&realm, id).ok());
                if let Some(text) = answer.get("value").and_then(Value::as_str)
                    && field.is_some_and(|field| field.kind.has_rendered_value())
                {
                    let html = setting.render_description(&realm, text);
                    answer.insert("rendered_value".to_owned(), html.into());
                }
            }
            _ => {}
        }
    }
}
