//! What of an organization an export contains.
//!
//! A part of an organization is exported as if it was all there is: the realm is restricted once, at the beginning, and
//! everything that is written of the realm comes from the restricted one. Messages and what belongs to one user are
//! selected as the store shows them.
//!
//! # Source
//! Not specified; as existing servers export, but for these: a public export names no private channel; an export with
//! consent has the messages that a consenting user may read at the moment, and so nothing that they could read in a
//! channel before they left it; and copies of public messages say of others that they were read.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::ExportedMessage;
use crate::id::{ChannelId, MessageId, UserId};
use crate::messages::scheduled::{ScheduledDestination, ScheduledMessage};
use crate::model::channel::Channel;
use crate::model::email_address_visibility::{EmailAddressVisibility, PREFERENCE};
use crate::model::message::{EditHistoryEntry, Message, MessageFlag, Recipient};
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::model::realm_snapshot::{RealmSnapshot, StoredRealmState};
use crate::model::user::User;
use crate::organization::data_exports;
use crate::permission::access;
use crate::wire_format::subscription::default_subscription;
use crate::wire_format::user_settings;

/// The content of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportContent {
    /// Everything there is: for the operator of the server.
    Everything,
    /// Public channels with their messages, and users without their private data.
    Public,
    /// Also the private data of users who allow it, and what they can read.
    FullWithConsent,
}

/// Items of the realm that an export has rows for, or counts.
const ITEMS: [RealmItemKind; 8] = [
    RealmItemKind::Linkifier,
    RealmItemKind::Playground,
    RealmItemKind::ProfileField,
    RealmItemKind::Emoji,
    RealmItemKind::DefaultChannel,
    RealmItemKind::Invitation,
    RealmItemKind::Domain,
    RealmItemKind::UserDefaults,
];

/// Items of a user that only an export with their private data has.
const PRIVATE: [UserItemKind; 5] = [
    UserItemKind::Settings,
    UserItemKind::TopicPolicy,
    UserItemKind::MutedUser,
    UserItemKind::AlertWords,
    UserItemKind::Status,
];

/// Flags of a public message that follow from its text.
const OF_TEXT: [MessageFlag; 3] =
    [MessageFlag::Mentioned, MessageFlag::StreamWildcardMentioned, MessageFlag::TopicWildcardMentioned];

/// The selection of a part of the organization.
pub(super) struct ExportScope {
    content: ExportContent,
    /// The realm as it is, by which people may read.
    whole: Arc<RealmSnapshot>,
    consenting: BTreeSet<UserId>,
    /// The consenting users who are or were in each private channel.
    readers: HashMap<ChannelId, Vec<Arc<User>>>,
    /// Users whose accounts are placeholders where the archive is imported.
    placeholders: HashSet<UserId>,
    /// The messages that were written so far.
    messages: HashSet<MessageId>,
}

impl ExportScope {
    /// Returns the selection, and the realm as the export has it.
    pub(super) fn of(content: ExportContent, whole: &Arc<RealmSnapshot>) -> (Self, Arc<RealmSnapshot>) {
        let mut scope = Self {
            content,
            whole: Arc::clone(whole),
            consenting: BTreeSet::new(),
            readers: HashMap::new(),
            placeholders: HashSet::new(),
            messages: HashSet::new(),
        };
        if content == ExportContent::Everything {
            return (scope, Arc::clone(whole));
        }
        if content == ExportContent::FullWithConsent {
            for user in whole.users().filter(|user| data_exports::is_consenting(whole, user)) {
                scope.consenting.insert(user.id);
                for (channel, _) in whole.memberships_of_user(user.id) {
                    scope.readers.entry(channel).or_default().push(Arc::clone(user));
                }
            }
        }
        let realm = Arc::new(scope.restricted());
        (scope, realm)
    }

    /// Returns whether everything is exported.
    pub(super) fn is_everything(&self) -> bool {
        self.content == ExportContent::Everything
    }

    /// Returns whether the private data of the user is exported.
    pub(super) fn has_private_data_of(&self, user: UserId) -> bool {
        self.is_everything() || self.consenting.contains(&user)
    }

    /// Returns whether the account is a placeholder: no person can sign in to it where the archive is imported, until
    /// the person signs up there with its address.
    pub(super) fn is_placeholder(&self, user: UserId) -> bool {
        self.placeholders.contains(&user)
    }

    fn has_channel(&self, channel: &Channel) -> bool {
        !channel.privacy.is_invite_only() || self.readers.contains_key(&channel.id)
    }

    fn shows_channel(&self, id: ChannelId) -> bool {
        self.is_everything() || self.whole.channel(id).is_some_and(|channel| self.has_channel(channel))
    }

    /// Returns whether the message is exported.
    fn has_message(&self, message: &Message) -> bool {
        match message.recipient {
            Recipient::Direct(_) => message.direct_users.iter().any(|user| self.consenting.contains(user)),
            Recipient::Channel(id) => {
                let is_public = || self.whole.channel(id).is_some_and(|channel| !channel.privacy.is_invite_only());
                let readers = || self.readers.get(&id).into_iter().flatten();
                is_public() || readers().any(|user| access::may_read_message(&self.whole, user, message))
            }
        }
    }

    /// Returns a page of messages as the export has it.
    pub(super) fn select(&mut self, page: &[ExportedMessage]) -> Vec<ExportedMessage> {
        let found = page.iter().filter(|exported| self.has_message(&exported.message));
        let selected: Vec<_> = found.map(|exported| self.without_private_data(exported)).collect();
        self.messages.extend(selected.iter().map(|exported| exported.message.id));
        selected
    }

    fn without_private_data(&self, exported: &ExportedMessage) -> ExportedMessage {
        let copies = exported.copies.iter().filter_map(|(user, flags)| Some((*user, self.flags(*user, flags)?)));
        let past = exported.past.iter().filter_map(|entry| self.edit(entry));
        ExportedMessage { message: exported.message.clone(), past: past.collect(), copies: copies.collect() }
    }

    /// Returns the flags of a user's copy; `None` when the export does not have the copy. In a public export a copy
    /// says who received the message, and that it was read, so that no reader finds all of them unread elsewhere.
    fn flags(&self, user: UserId, flags: &[MessageFlag]) -> Option<Vec<MessageFlag>> {
        if self.consenting.contains(&user) {
            return Some(flags.to_vec());
        }
        let of_text = flags.iter().copied().filter(|flag| OF_TEXT.contains(flag));
        (self.content == ExportContent::Public).then(|| [MessageFlag::Read].into_iter().chain(of_text).collect())
    }

    /// Returns an edit without a place that the export does not have; `None` when nothing is left of it.
    fn edit(&self, entry: &EditHistoryEntry) -> Option<EditHistoryEntry> {
        let is_shown = |(from, to)| self.shows_channel(from) && self.shows_channel(to);
        if entry.channel.is_none_or(is_shown) {
            return Some(entry.clone());
        }
        // The topic before is one of a channel that is left out.
        let rest = EditHistoryEntry { channel: None, topic: None, ..entry.clone() };
        rest.content.is_some().then_some(rest)
    }

    /// Returns which of these messages the export has.
    pub(super) fn written(&self, messages: &[MessageId]) -> Vec<MessageId> {
        let is_written = |id: &MessageId| self.is_everything() || self.messages.contains(id);
        messages.iter().copied().filter(is_written).collect()
    }

    /// Returns whether the scheduled message is exported: a private one, until it is sent.
    pub(super) fn has_scheduled(&self, message: &ScheduledMessage) -> bool {
        let is_shown = match message.to {
            ScheduledDestination::Channel(id, _) => self.shows_channel(id),
            ScheduledDestination::Direct(_) => true,
        };
        self.has_private_data_of(message.user_id) && is_shown
    }

    /// Returns whether what a user wrote for that channel and did not send is exported.
    pub(super) fn has_draft(&self, author: UserId, channel: Option<ChannelId>) -> bool {
        self.has_private_data_of(author) && channel.is_none_or(|id| self.shows_channel(id))
    }

    /// Returns the realm without what the export does not have.
    fn restricted(&mut self) -> RealmSnapshot {
        let whole = Arc::clone(&self.whole);
        let mut changes: Vec<RealmChange> =
            whole.realm().map(|realm| RealmChange::Realm(Box::new(realm.clone()))).into_iter().collect();
        changes.extend(whole.users().map(|user| RealmChange::User(Box::new(self.account(user)))));
        let channels = whole.channels().filter(|channel| self.has_channel(channel));
        changes.extend(channels.map(|channel| RealmChange::Channel(Box::new(Channel::clone(channel)))));
        changes.extend(whole.groups().map(|group| RealmChange::Group(Box::new(group.as_ref().clone()))));
        changes.extend(self.items(&whole));
        let mut spans = Vec::new();
        for user in whole.users() {
            changes.extend(self.user_items(&whole, user));
            for (id, membership) in whole.memberships_of_user(user.id) {
                let Some(channel) = whole.channel(id).filter(|channel| self.has_channel(channel)) else { continue };
                spans.extend(membership.spans.iter().map(|span| (id, user.id, *span)));
                let own = membership.subscription.as_ref();
                let chosen = own.map(|own| {
                    if self.has_private_data_of(user.id) { own.clone() } else { default_subscription(channel, user.id) }
                });
                changes.extend(chosen.map(|chosen| RealmChange::Subscription(Box::new(chosen))));
            }
        }
        RealmSnapshot::from_stored_state(StoredRealmState {
            at: whole.log_position(),
            changes,
            spans,
            ..StoredRealmState::default()
        })
    }

    /// Returns the account as the export has it. Who hides their address from administrators hides it from exports.
    fn account(&mut self, user: &User) -> User {
        let mut account = user.clone();
        if self.has_private_data_of(user.id) {
            return account;
        }
        let is_hidden = user.email_address_visibility() == EmailAddressVisibility::Nobody;
        if is_hidden {
            account.email = user.public_email().into_owned();
        }
        if user.is_active && (is_hidden || self.content == ExportContent::FullWithConsent) {
            account.is_active = false;
            self.placeholders.insert(user.id);
        }
        account
    }

    fn items(&self, whole: &RealmSnapshot) -> Vec<RealmChange> {
        let is_there =
            |kind: RealmItemKind, id: i64| kind != RealmItemKind::DefaultChannel || self.shows_channel(ChannelId(id));
        let of_kind = |kind: RealmItemKind| {
            let items = whole.realm_items(kind).filter(move |(id, _)| is_there(kind, *id));
            items.map(move |(id, document)| RealmChange::Item { kind, id, document: Some(document.clone()) })
        };
        ITEMS.into_iter().flat_map(of_kind).collect()
    }

    fn user_items(&self, whole: &RealmSnapshot, user: &User) -> Vec<RealmChange> {
        let item = |kind, key: &str, document: Value| RealmChange::UserItem {
            user_id: user.id,
            kind,
            key: key.to_owned(),
            document: Some(document),
        };
        let of_kind = |kind: UserItemKind| {
            whole.user_items(user.id, kind).map(move |(key, document)| item(kind, key, document.clone()))
        };
        let mut items: Vec<_> = of_kind(UserItemKind::ProfileValue).collect();
        if !self.has_private_data_of(user.id) {
            let mut settings = user_settings::default_user_settings(whole);
            if let Some(number) = user_settings::user_settings_of(whole, user).remove(PREFERENCE) {
                settings.insert(PREFERENCE.to_owned(), number);
            }
            items.push(item(UserItemKind::Settings, "", Value::Object(settings)));
            return items;
        }
        let is_shown = |change: &RealmChange| match change {
            RealmChange::UserItem { kind: UserItemKind::TopicPolicy, document: Some(document), .. } => {
                document.get("stream_id").and_then(Value::as_i64).is_some_and(|id| self.shows_channel(ChannelId(id)))
            }
            _ => true,
        };
        items.extend(PRIVATE.into_iter().flat_map(of_kind).filter(is_shown));
        items
    }
}
