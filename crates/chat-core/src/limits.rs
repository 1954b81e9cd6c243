//! Bounds of what people write and ask for. Those of rendering stand in [`crate::markdown::limits`].

/// The number of seconds in a day.
pub const SECONDS_PER_DAY: i64 = 86_400;

/// The maximum number of characters of a message; a longer one is truncated with a notice.
pub const MAX_MESSAGE_CHARS: usize = 10_000;
/// The maximum number of characters of a topic; a longer one is truncated and ends in dots.
pub const MAX_TOPIC_CHARS: usize = 60;
/// Characters of a channel's name.
pub const MAX_CHANNEL_NAME_CHARS: usize = 60;
/// Characters of a channel's description.
pub const MAX_CHANNEL_DESCRIPTION_CHARS: usize = 1_024;
/// The maximum number of channel folders of a realm, archived ones included. Not specified; every client receives all of
/// them when it starts.
pub const MAX_CHANNEL_FOLDERS: usize = 500;
/// Characters of a channel folder's name.
pub const MAX_CHANNEL_FOLDER_NAME_CHARS: usize = 60;
/// Characters of a channel folder's description.
pub const MAX_CHANNEL_FOLDER_DESCRIPTION_CHARS: usize = 1_024;
/// Days without a new message after which a channel is not recently active any more.
pub const RECENT_ACTIVITY_DAYS: i64 = 180;
/// Subscriptions that one request begins or ends: users times channels. Not specified; we stop where a request would
/// hold up all others.
pub const MAX_SUBSCRIPTION_CHANGES_PER_REQUEST: usize = 20_000;
/// Characters of a user's full name, at least two.
pub const MAX_FULL_NAME_CHARS: usize = 100;
/// The maximum number of characters of a user's e-mail address.
pub const MAX_EMAIL_CHARS: usize = 254;
/// Characters of a time zone's name. Not specified; the longest in use has 32.
pub const MAX_TIMEZONE_CHARS: usize = 100;
/// The minimum number of characters of a new password.
pub const MIN_PASSWORD_CHARS: usize = 6;
/// Characters of a new password that clients offer, at most. The server takes longer ones.
pub const MAX_PASSWORD_CHARS: usize = 100;
/// Characters of a user group's name.
pub const MAX_USER_GROUP_NAME_CHARS: usize = 100;
/// Characters of a user group's description. Not specified; we allow what a channel's may have.
pub const MAX_USER_GROUP_DESCRIPTION_CHARS: usize = 1_024;
/// The maximum number of characters of a custom profile field's name.
pub const MAX_PROFILE_FIELD_NAME_CHARS: usize = 40;
/// The maximum number of characters of a custom profile field's hint.
pub const MAX_PROFILE_FIELD_HINT_CHARS: usize = 80;
/// The maximum number of custom profile fields shown in the summary of a profile.
pub const MAX_SUMMARY_PROFILE_FIELDS: usize = 2;
/// The maximum number of custom profile fields of a realm. Not specified; every client loads all of them at its start.
pub const MAX_PROFILE_FIELDS: usize = 100;
/// The maximum number of characters of a custom profile field's `field_data`, as JSON. Not specified; hundreds of
/// options fit.
pub const MAX_PROFILE_FIELD_DATA_CHARS: usize = 50_000;
/// The maximum number of characters of a short-text profile field's value.
pub const MAX_SHORT_PROFILE_VALUE_CHARS: usize = 50;
/// The maximum number of characters of a long-text profile field's value.
pub const MAX_LONG_PROFILE_VALUE_CHARS: usize = 500;
/// The maximum number of characters of a profile field's value that is a link. Not specified; browsers surely accept
/// this length.
pub const MAX_LINK_PROFILE_VALUE_CHARS: usize = 2_000;
/// The maximum number of users that a profile field's value can name. Not specified; more would mean nothing to people.
pub const MAX_USERS_PER_PROFILE_VALUE: usize = 100;
/// The maximum number of bots of one owner. Not specified; people cannot look after more.
pub const MAX_BOTS_PER_OWNER: usize = 100;
/// The maximum number of characters of a bot's storage, keys and values together.
pub const MAX_BOT_STORAGE_CHARS: i64 = 10_000_000;
/// The maximum number of characters of a key in a bot's storage. Not specified; keys are names.
pub const MAX_BOT_STORAGE_KEY_CHARS: usize = 255;
/// The maximum number of characters of an e-mail domain.
pub const MAX_EMAIL_DOMAIN_CHARS: usize = 255;
/// The maximum number of e-mail domains of a realm. Not specified; every client loads all of them at its start.
pub const MAX_REALM_DOMAINS: usize = 100;
/// The maximum number of users of one direct-message conversation, the sender included. Not specified; each of them is
/// named in every event. Not specified; we stop at a number that people can still mean, because each of them is named
/// in every event.
pub const MAX_DIRECT_MESSAGE_USERS: usize = 200;
/// The maximum number of linkifiers of a realm. Not specified; each of them is matched against every message.
pub const MAX_LINKIFIERS: usize = 200;
/// Characters of a linkifier's pattern, and of its template.
pub const MAX_LINKIFIER_CHARS: usize = 1_000;
/// The maximum number of code playgrounds of a realm. Not specified; every client receives all of them when it starts.
pub const MAX_PLAYGROUNDS: usize = 500;
/// Characters of a playground's name.
pub const MAX_PLAYGROUND_NAME_CHARS: usize = 100;
/// The maximum number of characters of a playground's language.
pub const MAX_PLAYGROUND_LANGUAGE_CHARS: usize = 40;
/// Characters of a playground's template.
pub const MAX_PLAYGROUND_URL_TEMPLATE_CHARS: usize = 1_000;
/// The maximum number of custom emoji of a realm, active or not. Not specified; every client receives all of them when
/// it starts.
pub const MAX_CUSTOM_EMOJI: usize = 5_000;
/// Characters of a custom emoji's name.
pub const MAX_CUSTOM_EMOJI_NAME_CHARS: usize = 100;
/// The maximum number of messages in one response.
pub const MAX_MESSAGES_PER_RESPONSE: u64 = 5_000;
/// The maximum number of characters of a user's status text.
pub const MAX_STATUS_TEXT_CHARS: usize = 60;
/// Saved snippets of one user. Not specified; each is stored in memory and sent when a client starts.
pub const MAX_SAVED_SNIPPETS: usize = 200;
/// Characters of a saved snippet's title.
pub const MAX_SNIPPET_TITLE_CHARS: usize = 60;
/// Navigation views of one user. Not specified; as many as a list can still show.
pub const MAX_NAVIGATION_VIEWS: usize = 100;
/// Characters of a navigation view's fragment. Not specified; the longest topic, percent-encoded, fits.
pub const MAX_FRAGMENT_CHARS: usize = 1_000;
/// Characters of a navigation view's name. Not specified; we allow what a user's name may have.
pub const MAX_VIEW_NAME_CHARS: usize = 100;
/// The maximum number of alert words of one user. Not specified; all users' words are searched for in every message.
/// Not specified; together with those of others they are looked for in every message.
pub const MAX_ALERT_WORDS_PER_USER: usize = 1_000;
/// The maximum number of characters of an alert word.
pub const MAX_ALERT_WORD_CHARS: usize = 100;
/// The maximum number of topics for which one user has a visibility policy. Not specified; each is kept in memory and
/// sent when a client starts.
pub const MAX_TOPIC_POLICIES_PER_USER: usize = 10_000;
/// The maximum number of terms of a narrow. Not specified; no person needs more. Not specified; we stop where a person
/// would have long given up.
pub const MAX_NARROW_TERMS: usize = 50;
/// The maximum number of words and phrases in all searches of a narrow together, negated ones included. Not specified;
/// each is compared with every candidate message.
pub const MAX_SEARCH_WORDS_PER_NARROW: usize = 128;
/// Seconds after the end of a time limit during which an edit still passes: the request was on its way.
pub const EDIT_GRACE_PERIOD_S: i64 = 20;
