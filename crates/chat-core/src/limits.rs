//! Bounds of what people write and ask for. Those of rendering stand in [`crate::markdown::limits`].

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;

/// Characters of a message; what is longer is cut and says so.
pub const MAX_MESSAGE_CHARS: usize = 10_000;
/// Characters of a topic; what is longer is cut and ends in dots.
pub const MAX_TOPIC_CHARS: usize = 60;
/// Characters of a channel's name.
pub const MAX_CHANNEL_NAME_CHARS: usize = 60;
/// Characters of a channel's description.
pub const MAX_CHANNEL_DESCRIPTION_CHARS: usize = 1_024;
/// Subscriptions that one request begins or ends: users times channels. Not specified; we stop where a request would
/// hold up all others.
pub const MAX_SUBSCRIPTIONS_AT_ONCE: usize = 20_000;
/// Characters of a user's full name, at least two.
pub const MAX_FULL_NAME_CHARS: usize = 100;
/// Characters of a user's address.
pub const MAX_EMAIL_CHARS: usize = 254;
/// Characters of a time zone's name. Not specified; the longest in use has 32.
pub const MAX_TIMEZONE_CHARS: usize = 100;
/// Characters of a new password, at least.
pub const MIN_PASSWORD_CHARS: usize = 6;
/// Characters of a new password that clients offer, at most. The server takes longer ones.
pub const MAX_PASSWORD_CHARS: usize = 100;
/// Characters of a user group's name.
pub const MAX_GROUP_NAME_CHARS: usize = 100;
/// Characters of a user group's description. Not specified; we allow what a channel's may have.
pub const MAX_GROUP_DESCRIPTION_CHARS: usize = 1_024;
/// Characters of a custom profile field's name.
pub const MAX_FIELD_NAME_CHARS: usize = 40;
/// Characters of a custom profile field's hint.
pub const MAX_FIELD_HINT_CHARS: usize = 80;
/// Custom profile fields whose answers stand in the short form of a profile.
pub const MAX_SUMMARY_FIELDS: usize = 2;
/// Custom profile fields of a realm. Not specified; each is in everybody's start, and people answer them one by one.
pub const MAX_PROFILE_FIELDS: usize = 100;
/// Characters of what belongs to a field, as JSON. Not specified; hundreds of options fit.
pub const MAX_FIELD_DATA_CHARS: usize = 50_000;
/// Characters of a short answer.
pub const MAX_SHORT_ANSWER_CHARS: usize = 50;
/// Characters of a long answer.
pub const MAX_LONG_ANSWER_CHARS: usize = 500;
/// Characters of an answer that is a link. Not specified; what browsers take for sure.
pub const MAX_LINK_ANSWER_CHARS: usize = 2_000;
/// Users one answer names. Not specified; as many as people can still mean.
pub const MAX_PEOPLE_IN_ANSWER: usize = 100;
/// Bots one user answers for. Not specified; as many as people can still look after.
pub const MAX_BOTS_PER_OWNER: usize = 100;
/// Characters of what a bot's program keeps, keys and texts together.
pub const MAX_STORAGE_CHARS: i64 = 10_000_000;
/// Characters of a key of what a bot's program keeps. Not specified; keys are names.
pub const MAX_STORAGE_KEY_CHARS: usize = 255;
/// Characters of a domain of mail.
pub const MAX_DOMAIN_CHARS: usize = 255;
/// Domains of mail of a realm. Not specified; they are in everybody's start.
pub const MAX_REALM_DOMAINS: usize = 100;
/// Users of one direct conversation, the sender among them. Not specified; we stop at a number that people can
/// still mean, because each of them is named in every event.
pub const MAX_DIRECT_USERS: usize = 200;
/// Linkifiers of a realm. Not specified; each of them looks at every message.
pub const MAX_LINKIFIERS: usize = 200;
/// Characters of a linkifier's pattern, and of its template.
pub const MAX_LINKIFIER_CHARS: usize = 1_000;
/// Playgrounds of a realm. Not specified; each client receives all of them when it starts.
pub const MAX_PLAYGROUNDS: usize = 500;
/// Characters of a playground's name.
pub const MAX_PLAYGROUND_NAME_CHARS: usize = 100;
/// Characters of a playground's language.
pub const MAX_PLAYGROUND_LANGUAGE_CHARS: usize = 40;
/// Characters of a playground's template.
pub const MAX_PLAYGROUND_URL_CHARS: usize = 1_000;
/// Custom emoji of a realm, in use or not. Not specified; each client receives all of them when it starts.
pub const MAX_CUSTOM_EMOJI: usize = 5_000;
/// Characters of a custom emoji's name.
pub const MAX_EMOJI_NAME_CHARS: usize = 100;
/// Messages of one answer.
pub const MAX_WINDOW: u64 = 5_000;
/// Characters of what a user says they are doing.
pub const MAX_STATUS_CHARS: usize = 60;
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
/// Words one user watches for. Not specified; together with those of others they are looked for in every message.
pub const MAX_ALERT_WORDS: usize = 1_000;
/// Characters of a word someone watches for.
pub const MAX_ALERT_WORD_CHARS: usize = 100;
/// Topics one user mutes, unmutes or follows. Not specified; each is kept in memory and told when a client starts.
pub const MAX_TOPIC_POLICIES: usize = 10_000;
/// Terms of one narrow. Not specified; we stop where a person would have long given up.
pub const MAX_NARROW_TERMS: usize = 50;
/// Words and quoted parts that all searches of a narrow look for together, negated ones among them. Not specified;
/// each of them is compared with every message that comes into question.
pub const MAX_SEARCH_WORDS: usize = 128;
/// Seconds after the end of a time limit during which an edit still passes: the request was on its way.
pub const EDIT_GRACE_S: i64 = 20;
