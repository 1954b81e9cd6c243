//! From what someone wants to say to a message that waits to be sent.
//!
//! Everything that follows from the realm is decided here. Two things only the store knows, and only rare messages ask
//! for them: the users who took part in a topic, and whether people have written to each other before
//! ([`super::send::compose_message`] asks for them).

use std::collections::BTreeSet;

use crate::event_log::event::{LocalEchoId, NewMessageEvent};
use crate::id::{ChannelId, DirectConversationId, EventId, MessageId, UserGroupId, UserId};
use crate::markdown::{RenderedMessage, WildcardMentionScope};
use crate::messages::store::{MessageDestination, NewMessage};
use crate::messages::widget;
use crate::model::channel::{ChannelNameError, parse_channel_name};
use crate::model::email_address_visibility;
use crate::model::message::{
    self, ContentFlags, Conversation, Message, MessageContentError, MessageFlag, Recipient, Submessage, TopicError,
    topic_key,
};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::render_context::RenderSettings;
use crate::model::user::User;
use crate::permission::access::ReadableHistory;
use crate::permission::send_message::{
    SendError, WildcardMention, find_direct_recipients, find_sendable_channel, find_sendable_channel_by_name,
    may_mention_wildcard, may_use_topic,
};
use crate::wire_format::{DisplayRecipient, message as object};

/// A request to send a message.
#[derive(Debug, Clone)]
pub struct SendRequest<'a> {
    /// Where.
    pub to: RequestedRecipient<'a>,
    /// The text, as typed.
    pub content: &'a str,
    /// The program it is sent with.
    pub client: &'a str,
    /// Whether the sender has read it by sending it.
    pub read_by_sender: bool,
    /// What the sender's own queue gets back.
    pub local: Option<LocalEchoId>,
    /// What it shows beside its text, as [`widget::parse_choices_widget`] has it; else the text may say it.
    pub widget: Option<&'a str>,
}

/// The recipient of a message, as the request names it.
#[derive(Debug, Clone, Copy)]
pub enum RequestedRecipient<'a> {
    /// To a channel, under a topic as typed.
    Channel(ChannelRef<'a>, &'a str),
    /// To people by their numbers.
    Ids(&'a [UserId]),
    /// To people by their addresses.
    Emails(&'a [String]),
}

/// A channel, as a request names it: by id or by name.
#[derive(Debug, Clone, Copy)]
pub enum ChannelRef<'a> {
    /// By number.
    Id(ChannelId),
    /// By name.
    Name(&'a str),
}

/// The reason why a message is not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    /// The text is none.
    #[error(transparent)]
    Content(#[from] MessageContentError),
    /// The topic is none.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The name is no channel's.
    #[error(transparent)]
    ChannelName(#[from] ChannelNameError),
    /// It may not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// A fact about stored messages that a decision needs.
#[derive(Debug)]
pub(super) enum StoreQuestion {
    /// Who wrote in the topic or gave a reaction there.
    Participants(Conversation),
    /// Whether these users have written to each other before.
    HaveWritten(Vec<UserId>),
}

/// A message that the rules of the realm permit, before the store is asked.
#[derive(Debug)]
pub(super) struct PermittedMessage {
    pub(super) composed: ComposedMessage,
    pub(super) question: Option<StoreQuestion>,
}

/// A composed message that is ready to be sent, with the users it mentions.
#[derive(Debug)]
pub struct ComposedMessage {
    /// The message.
    pub message: NewMessage,
    /// The users whom it mentions by name, of those who receive it.
    pub mentioned: Vec<UserId>,
}

/// The users who receive a message.
#[derive(Debug, Clone, Copy)]
pub(super) enum MessageReceivers<'a> {
    /// Who is in the channel.
    Channel(ChannelId),
    /// Who received that message of the channel, which has these marks, also when they have left since.
    Of(ChannelId, MessageId, ContentFlags),
    /// These users, in the order of their numbers.
    Users(&'a [UserId]),
}

impl MessageReceivers<'_> {
    /// Returns whether the user is among them.
    pub(super) fn include(self, realm: &RealmSnapshot, user_id: UserId) -> bool {
        match self {
            Self::Channel(id) => realm.subscription(id, user_id).is_some(),
            Self::Of(id, message, content_flags) => realm.membership(id, user_id).is_some_and(|membership| {
                let received = ReadableHistory::Received(&membership.spans);
                if content_flags.moved_in {
                    received.includes_moved_message(message)
                } else {
                    received.includes_message(message)
                }
            }),
            Self::Users(users) => users.binary_search(&user_id).is_ok(),
        }
    }

    /// All of them, in the order of their numbers.
    fn all(self, realm: &RealmSnapshot) -> Vec<UserId> {
        match self {
            Self::Channel(id) => realm.subscribers(id).collect(),
            Self::Of(..) => {
                let mut users: Vec<_> =
                    realm.users().map(|user| user.id).filter(|id| self.include(realm, *id)).collect();
                users.sort_unstable();
                users
            }
            Self::Users(users) => users.to_vec(),
        }
    }
}

/// Decides whether the sender may send the message, renders it, and finds whom it concerns. Refuses by the first of:
/// the topic, the text, the name of the channel or a receiver is none; the sender may not write there; they may not
/// mention everybody or a group.
pub(super) fn draft(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    sender: &User,
    request: SendRequest<'_>,
) -> Result<PermittedMessage, ComposeError> {
    let topic = match request.to {
        RequestedRecipient::Channel(_, topic) => message::normalize_topic(topic)?,
        RequestedRecipient::Ids(_) | RequestedRecipient::Emails(_) => String::new(),
    };
    let content = message::normalize_message_content(request.content)?;
    let (to, question) = address(setting, realm, sender, (request.to, &topic))?;
    let rendered = setting.render_message(realm, sender, &content);
    let participants = check_mentions(setting, realm, sender, (&to, &topic, &rendered))?;
    let receivers = match &to {
        MessageDestination::Channel { channel_id, .. } => MessageReceivers::Channel(*channel_id),
        MessageDestination::Direct(users) => MessageReceivers::Users(users),
    };
    let mentioned = rendered.mentioned_users.iter().copied();
    let mentioned = mentioned.filter(|user| receivers.include(realm, *user)).collect();
    let attachments = setting.linked_attachment_ids(&rendered);
    let mut flags = flags(setting, realm, receivers, (&content, &rendered));
    // Who does not want to hear the sender need not read them.
    flags.extend(
        realm
            .users_who_muted(sender.id)
            .filter(|user| receivers.include(realm, *user))
            .map(|id| (id, MessageFlag::Read)),
    );
    flags.sort_unstable();
    let event = NewMessageEvent {
        flags,
        wildcard: rendered.wildcards.contains(&WildcardMentionScope::Channel),
        sender: crate::wire_format::message_sender(sender),
        display_recipient: in_words(realm, receivers),
        topic_links: object::topic_link_objects(&topic, setting.render_context),
        message: Message {
            content_flags: content_flags(&rendered, request.read_by_sender),
            id: MessageId(0),
            sender_id: sender.id,
            recipient: recipient(&to),
            direct_users: match &to {
                MessageDestination::Channel { .. } => Vec::new(),
                MessageDestination::Direct(users) => users.clone(),
            },
            topic,
            content,
            html: rendered.html,
            sent_s: setting.now_s,
            client: request.client.to_owned(),
            last_edit_s: None,
            revision: EventId::BEFORE_FIRST,
            reactions: Vec::new(),
            submessages: Vec::new(),
        },
        local: request.local,
    };
    let mut message = NewMessage { decided_at: realm.changed_at(), to, event, attachments };
    with_widget(&mut message.event.message, request.widget);
    let composed = ComposedMessage { message, mentioned };
    Ok(PermittedMessage { composed, question: question.or(participants) })
}

/// The number of a submessage that comes with its message is given when the message is written.
fn with_widget(message: &mut Message, given: Option<&str>) {
    if let Some(content) = given.map(str::to_owned).or_else(|| widget::initial_widget_submessage(&message.content)) {
        message.content_flags.is_widget = true;
        message.submessages.push(Submessage { id: 0, sender_id: message.sender_id, content });
    }
}

/// Mentions everybody who took part in the topic of a message that asks for it.
pub(super) fn mention_participants(
    realm: &RealmSnapshot,
    sender: &User,
    message: &mut NewMessage,
    participants: &[UserId],
) -> Result<(), SendError> {
    let MessageDestination::Channel { channel_id, .. } = message.to else { return Ok(()) };
    let event = &mut message.event;
    may_mention_wildcard(
        realm,
        sender,
        (channel_id, WildcardMention::Topic(participants.len())),
        event.message.sent_s,
    )?;
    let here = participants.iter().filter(|user| realm.subscription(channel_id, **user).is_some());
    event.flags.extend(here.map(|user| (*user, MessageFlag::TopicWildcardMentioned)));
    event.flags.sort_unstable();
    Ok(())
}

type Address = (MessageDestination, Option<StoreQuestion>);

fn address(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    sender: &User,
    (to, topic): (RequestedRecipient<'_>, &str),
) -> Result<Address, ComposeError> {
    match to {
        RequestedRecipient::Channel(channel, _) => {
            let channel = match channel {
                ChannelRef::Id(id) => find_sendable_channel(realm, sender, id, setting.now_s)?,
                ChannelRef::Name(name) => {
                    find_sendable_channel_by_name(realm, sender, parse_channel_name(name)?, setting.now_s)?
                }
            };
            may_use_topic(realm, topic)?;
            let to = MessageDestination::Channel { channel_id: channel.id, public: !channel.privacy.is_invite_only() };
            Ok((to, None))
        }
        RequestedRecipient::Ids(ids) => direct(setting, realm, sender, ids),
        RequestedRecipient::Emails(emails) => {
            let find = |email: &String| {
                let user = email_address_visibility::find_user_by_visible_email(realm, sender, email)
                    .ok_or_else(|| SendError::NoUserWithEmail(email.clone()))?;
                Ok::<_, SendError>(user.id)
            };
            let ids: Vec<UserId> = emails.iter().map(find).collect::<Result<_, _>>()?;
            direct(setting, realm, sender, &ids)
        }
    }
}

fn direct(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    sender: &User,
    ids: &[UserId],
) -> Result<Address, ComposeError> {
    let (users, question) = match find_direct_recipients(realm, sender, ids, (true, setting.now_s)) {
        // Only who begins a conversation needs that permission, and whether they do the store knows.
        Err(SendError::DirectNotInitiated) => {
            let users = find_direct_recipients(realm, sender, ids, (false, setting.now_s))?;
            (users.clone(), Some(StoreQuestion::HaveWritten(users)))
        }
        decided => (decided?, None),
    };
    Ok((MessageDestination::Direct(users), question))
}

/// Returns whether the sender may mention all they mention; what has to be known for that.
fn check_mentions(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    sender: &User,
    (to, topic, rendered): (&MessageDestination, &str, &RenderedMessage),
) -> Result<Option<StoreQuestion>, SendError> {
    let mut question = None;
    if let MessageDestination::Channel { channel_id, .. } = to {
        if rendered.wildcards.contains(&WildcardMentionScope::Channel) {
            may_mention_wildcard(realm, sender, (*channel_id, WildcardMention::Channel), setting.now_s)?;
        }
        if rendered.wildcards.contains(&WildcardMentionScope::Topic) {
            let conversation = Conversation { recipient: Recipient::Channel(*channel_id), topic_key: topic_key(topic) };
            question = Some(StoreQuestion::Participants(conversation));
        }
    }
    check_groups(realm, sender, &rendered.mentioned_groups, setting.now_s)?;
    Ok(question)
}

/// Whether the sender may mention these groups; the refusal names the first that they may not.
pub(super) fn check_groups(
    realm: &RealmSnapshot,
    sender: &User,
    groups: &BTreeSet<UserGroupId>,
    now_s: i64,
) -> Result<(), SendError> {
    let refused = groups.iter().filter_map(|id| realm.group(*id));
    let refused = refused.into_iter().find(|group| !realm.is_permission_granted(sender, &group.can_mention, now_s));
    refused.map_or(Ok(()), |group| Err(SendError::GroupMentionRefused(group.name.clone())))
}

/// Returns what a rendered text has in it.
pub(crate) fn content_flags(rendered: &RenderedMessage, read_by_sender: bool) -> ContentFlags {
    ContentFlags {
        is_me: rendered.is_me_message,
        has_link: rendered.has_link(),
        has_image: rendered.has_image,
        has_attachment: rendered.has_attachment(),
        mentions_channel: rendered.wildcards.contains(&WildcardMentionScope::Channel),
        read_by_sender,
        moved_in: false,
        is_widget: false,
    }
}

/// Returns the receivers for whom a text sets a flag, in the order of their numbers: those it mentions, by name or in a
/// group, and those who wait for one of its words. Everybody at once is not among them.
pub(super) fn flags(
    setting: &RenderSettings<'_>,
    realm: &RealmSnapshot,
    receivers: MessageReceivers<'_>,
    (content, rendered): (&str, &RenderedMessage),
) -> Vec<(UserId, MessageFlag)> {
    let mut flags: BTreeSet<(UserId, MessageFlag)> = BTreeSet::new();
    let received = |user: &UserId| receivers.include(realm, *user);
    let mentioned = rendered.mentioned_users.iter().copied();
    flags.extend(mentioned.filter(received).map(|user| (user, MessageFlag::Mentioned)));
    if !rendered.mentioned_groups.is_empty() {
        let in_group = |user: &UserId| {
            let is_in = |user: &User| {
                rendered.mentioned_groups.iter().any(|group| realm.is_in_group(user, *group, setting.now_s))
            };
            realm.user(*user).is_some_and(|user| is_in(user))
        };
        let members = receivers.all(realm).into_iter().filter(in_group);
        flags.extend(members.map(|user| (user, MessageFlag::Mentioned)));
    }
    let alerted = setting.render_context.users_alerted_by(content).into_iter();
    flags.extend(alerted.filter(received).map(|user| (user, MessageFlag::HasAlertWord)));
    flags.into_iter().collect()
}

/// Returns the number of a set of users is given when the message is written.
fn recipient(to: &MessageDestination) -> Recipient {
    match to {
        MessageDestination::Channel { channel_id, .. } => Recipient::Channel(*channel_id),
        MessageDestination::Direct(_) => Recipient::Direct(DirectConversationId(0)),
    }
}

fn in_words(realm: &RealmSnapshot, receivers: MessageReceivers<'_>) -> DisplayRecipient {
    match receivers {
        MessageReceivers::Channel(id) | MessageReceivers::Of(id, ..) => {
            object::display_recipient(realm, Recipient::Channel(id), &[])
        }
        MessageReceivers::Users(users) => DisplayRecipient::Users(object::display_users(realm, users)),
    }
}
