// What the tests of the store begin with.
import { initialState } from "../src/store/initial";
import type { Event, Message, State } from "../src/store/types";

export const SELF = 9;
export const GENERAL = 20;
export const DESIGN = 21;

const channel = (stream_id: number, name: string) => ({ stream_id, name, description: "", invite_only: false });

/** The answer of a registration: user 9 in two channels, with two other users, and nothing unread. */
export function registration(): Record<string, any> {
  const person = (user_id: number, full_name: string) => ({
    user_id,
    full_name,
    email: `user${user_id}@example.org`,
    delivery_email: `user${user_id}@example.org`,
    role: 400,
    is_bot: false,
    avatar_url: null,
    timezone: "",
    date_joined: "2026-01-01T00:00+00:00",
    profile_data: {},
  });
  return {
    user_id: SELF,
    realm_name: "Acme",
    realm_allow_message_editing: true,
    realm_users: [person(SELF, "Ada"), person(12, "Sam Porter"), person(13, "Bea")],
    realm_non_active_users: [person(14, "Tom")],
    subscriptions: [
      { ...channel(GENERAL, "general"), color: "#aabbcc", is_muted: false, pin_to_top: false },
      { ...channel(DESIGN, "design things"), color: "#aabbcc", is_muted: false, pin_to_top: false },
    ],
    unsubscribed: [],
    never_subscribed: [channel(22, "elsewhere")],
    unread_msgs: { pms: [], huddles: [], streams: [], mentions: [], count: 0 },
    starred_messages: [],
    user_topics: [],
    muted_users: [],
    user_settings: { color_scheme: 1 },
    recent_private_conversations: [],
    drafts: [],
    scheduled_messages: [],
    presences: { "12": { active_timestamp: 1_000, idle_timestamp: 1_000 } },
    presence_last_update_id: 3,
    user_status: {},
    realm_user_groups: [],
    realm_emoji: {},
    realm_bots: [],
    custom_profile_fields: [],
    realm_default_streams: [],
  };
}

export function world(): State {
  return initialState(registration());
}

/** A message of a channel, from user 12. */
export function inTopic(id: number, topic: string, more: Partial<Message> = {}): Message {
  return {
    id,
    sender_id: 12,
    sender_full_name: "Sam Porter",
    avatar_url: null,
    timestamp: 1_700_000_000 + id,
    client: "test",
    type: "stream",
    stream_id: GENERAL,
    subject: topic,
    display_recipient: "general",
    content: `<p>message ${id}</p>`,
    is_me_message: false,
    reactions: [],
    submessages: [],
    flags: [],
    ...more,
  };
}

/** A direct message among these users and user 9. */
export function among(id: number, userIds: number[], more: Partial<Message> = {}): Message {
  const users = [...new Set([SELF, ...userIds])];
  const display_recipient = users.map((user) => ({ id: user, full_name: `User ${user}`, email: "" }));
  const { stream_id: _, ...message } = inTopic(id, "");
  return { ...message, type: "private", display_recipient, ...more };
}

export function arrived(message: Message): Event {
  const { flags, ...rest } = message;
  return { type: "message", message: rest, flags };
}

export function flagged(flag: string, op: "add" | "remove", messages: number[], more: object = {}): Event {
  return { type: "update_message_flags", op, flag, messages, all: false, ...more };
}
