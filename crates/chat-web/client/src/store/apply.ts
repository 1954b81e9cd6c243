// The state after an event. A pure function: no clock, no network, no element of the page.
import * as channels from "./apply_channels";
import * as messages from "./apply_messages";
import * as people from "./apply_people";
import * as personal from "./apply_personal";
import type { Event, State } from "./types";

type Handler = (state: State, event: Event) => State;

/** Every type of event that changes the state. An event of another type leaves it as it is. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  message: messages.message,
  update_message: messages.updateMessage,
  delete_message: messages.deleteMessage,
  update_message_flags: messages.updateFlags,
  reaction: messages.reaction,
  submessage: messages.submessage,
  typing: people.typing,
  presence: people.presence,
  user_status: people.userStatus,
  realm_user: people.realmUser,
  realm_bot: people.realmBot,
  user_group: people.userGroup,
  custom_profile_fields: people.profileFields,
  stream: channels.stream,
  subscription: channels.subscription,
  default_streams: channels.defaultChannels,
  channel_folder: channels.folder,
  user_topic: personal.userTopic,
  muted_users: personal.mutedUsers,
  user_settings: personal.userSettings,
  alert_words: personal.alertWords,
  drafts: personal.drafts,
  scheduled_messages: personal.scheduledMessages,
  realm: personal.realm,
  realm_domains: personal.domains,
  realm_user_settings_defaults: personal.newcomerSettings,
  realm_emoji: personal.realmEmoji,
  realm_linkifiers: personal.linkifiers,
  realm_playgrounds: personal.playgrounds,
  invites_changed: personal.invitesChanged,
  realm_export: personal.exportsChanged,
  realm_export_consent: personal.exportsChanged,
};

export function apply(state: State, event: Event): State {
  const handler = Object.hasOwn(HANDLERS, event.type) ? HANDLERS[event.type] : undefined;
  return handler ? handler(state, event) : state;
}

export function applyAll(state: State, events: Iterable<Event>): State {
  let next = state;
  for (const event of events) next = apply(next, event);
  return next;
}

const OF_MESSAGES = new Set(["message", "update_message", "delete_message", "update_message_flags", "reaction", "submessage"]);

/** Returns whether the event concerns messages: these are applied again to a page that was asked for before them. */
export function concernsMessages(event: Event): boolean {
  return OF_MESSAGES.has(event.type);
}
