// What the API sends, as far as the client reads it, and the state that is made of it.
import type { Table } from "./table";
import type { Narrow } from "./narrow";
import type { GroupSetting, PermissionRule } from "./permissions";

export interface Reaction {
  emoji_name: string;
  emoji_code: string;
  reaction_type: string;
  user_id: number;
}

export interface Submessage {
  id?: number;
  sender_id: number;
  msg_type: string;
  content: string;
}

export interface DisplayUser {
  id: number;
  full_name: string;
  email: string;
}

export interface Message {
  id: number;
  sender_id: number;
  sender_full_name: string;
  avatar_url: string | null;
  timestamp: number;
  client: string;
  type: "stream" | "private";
  stream_id?: number;
  subject: string;
  display_recipient: string | DisplayUser[];
  content: string;
  is_me_message: boolean;
  reactions: Reaction[];
  submessages: Submessage[];
  flags: string[];
  last_edit_timestamp?: number;
  match_content?: string;
  match_subject?: string;
  topic_links?: { text: string; url: string }[];
}

export interface ProfileValue {
  value: string;
  rendered_value?: string;
}

export interface User {
  user_id: number;
  email: string;
  delivery_email: string | null;
  full_name: string;
  role: number;
  is_bot: boolean;
  bot_type?: number | null;
  bot_owner_id?: number | null;
  is_active: boolean;
  /** A bot of the server itself, which nobody manages. */
  is_system_bot?: boolean;
  avatar_url: string | null;
  timezone: string;
  date_joined: string;
  profile_data?: Record<string, ProfileValue>;
}

export interface Channel {
  stream_id: number;
  name: string;
  description: string;
  rendered_description: string;
  invite_only: boolean;
  is_web_public: boolean;
  history_public_to_subscribers: boolean;
  stream_post_policy: number;
  message_retention_days: number | null;
  first_message_id: number | null;
  stream_weekly_traffic: number | null;
  date_created: number;
  creator_id: number | null;
  /** An archived channel can be read and not written in. */
  is_archived: boolean;
  folder_id: number | null;
  can_remove_subscribers_group: GroupSetting;
  /** Whether the reader is subscribed; the members below mean something only then. */
  subscribed: boolean;
  color: string;
  is_muted: boolean;
  pin_to_top: boolean;
  desktop_notifications: boolean | null;
  audible_notifications: boolean | null;
  push_notifications: boolean | null;
  email_notifications: boolean | null;
  wildcard_mentions_notify: boolean | null;
}

/** A heading under which channels stand in lists. */
export interface Folder {
  id: number;
  name: string;
  description: string;
  order: number;
  is_archived: boolean;
}

export interface Group {
  id: number;
  name: string;
  description: string;
  members: number[];
  direct_subgroup_ids: number[];
  is_system_group: boolean;
  deactivated: boolean;
  can_mention_group: GroupSetting;
}

export interface Status {
  status_text?: string;
  emoji_name?: string;
  emoji_code?: string;
  reaction_type?: string;
  away?: boolean;
}

export interface Presence {
  active: number;
  idle: number;
}

export interface Draft {
  id: number;
  type: "" | "stream" | "private";
  to: number[];
  topic: string;
  content: string;
  timestamp: number;
}

export interface Scheduled {
  scheduled_message_id: number;
  type: "stream" | "private";
  to: number | number[];
  topic?: string;
  content: string;
  rendered_content: string;
  scheduled_delivery_timestamp: number;
  failed: boolean;
}

export interface RealmEmoji {
  id: string;
  name: string;
  source_url: string;
  deactivated: boolean;
}

export interface ProfileField {
  id: number;
  type: number;
  name: string;
  hint: string;
  field_data: string;
  order: number;
  display_in_profile_summary?: boolean;
  required: boolean;
  editable_by_user: boolean;
}

/** A domain whose addresses may join. */
export interface Domain {
  domain: string;
  allow_subdomains: boolean;
}

/** Text that becomes a link in messages. */
export interface Linkifier {
  id: number;
  pattern: string;
  url_template: string;
}

/** A place that runs code of a language. */
export interface Playground {
  id: number;
  name: string;
  pygments_language: string;
  url_template: string;
}

export interface Bot {
  user_id: number;
  full_name: string;
  email: string;
  bot_type: number | null;
  is_active: boolean;
  owner_id: number | null;
}

/** Messages of one conversation that are not read. */
export interface UnreadConversation {
  readonly place: Place;
  /** Ascending. */
  readonly ids: readonly number[];
}

export interface Unread {
  readonly conversations: ReadonlyMap<string, UnreadConversation>;
  /** The key of the conversation of each unread message. */
  readonly places: Table<string>;
  readonly mentions: ReadonlySet<number>;
}

/** Where a message is: a topic of a channel, or among users (the reader left out unless alone). */
export type Place =
  | { readonly kind: "topic"; readonly channelId: number; readonly topic: string }
  | { readonly kind: "direct"; readonly userIds: readonly number[] };

/** The loaded stretch of the messages that a narrow selects. */
export interface MessageList {
  readonly narrow: Narrow;
  /** Ascending and without gaps: no message between two of them belongs to the narrow. */
  readonly ids: readonly number[];
  readonly foundOldest: boolean;
  readonly foundNewest: boolean;
  /** Whether the list must be loaded again, because a change could not be applied to what is loaded. */
  readonly stale: boolean;
  /** Where reading was to go on when the list was loaded. */
  readonly anchor: number;
  /** What a search marked, by message. */
  readonly marked: ReadonlyMap<number, { content: string; topic: string }>;
}

export interface Typist {
  readonly place: string;
  readonly userId: number;
  /** Local time in milliseconds. */
  readonly sinceMs: number;
}

export interface Topic {
  readonly name: string;
  readonly maxId: number;
}

export interface State {
  readonly selfId: number;
  /** The flat keys of the realm and of the server, as `/register` has them. */
  readonly realm: Readonly<Record<string, unknown>>;
  readonly users: Table<User>;
  readonly presence: Table<Presence>;
  readonly presenceUpdateId: number;
  readonly statuses: Table<Status>;
  readonly groups: Table<Group>;
  readonly channels: Table<Channel>;
  readonly defaultChannels: readonly number[];
  /** In their order, archived ones too. */
  readonly folders: readonly Folder[];
  /** Who can have a permission of the organization, of a channel, and of a group. */
  readonly permissionRules: Readonly<Record<"realm" | "stream" | "group", Readonly<Record<string, PermissionRule>>>>;
  readonly domains: readonly Domain[];
  /** The settings that new members begin with. */
  readonly newcomerSettings: Readonly<Record<string, unknown>>;
  /** Topics known by channel, the newest first; only of channels that were looked at. */
  readonly topics: Table<readonly Topic[]>;
  /** Visibility policies by the key of the topic: 1 muted, 2 unmuted, 3 followed. */
  readonly topicPolicies: ReadonlyMap<string, number>;
  readonly mutedUsers: ReadonlySet<number>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly alertWords: readonly string[];
  readonly messages: Table<Message>;
  readonly lists: ReadonlyMap<string, MessageList>;
  readonly unread: Unread;
  readonly starred: ReadonlySet<number>;
  readonly drafts: readonly Draft[];
  readonly scheduled: readonly Scheduled[];
  /** The newest message of each direct conversation, by its key. */
  readonly directs: ReadonlyMap<string, { readonly userIds: readonly number[]; readonly maxId: number }>;
  readonly typing: readonly Typist[];
  readonly emoji: Readonly<Record<string, RealmEmoji>>;
  readonly profileFields: readonly ProfileField[];
  readonly linkifiers: readonly Linkifier[];
  readonly playgrounds: readonly Playground[];
  readonly bots: Table<Bot>;
  /** Things that the client reads again when they have changed, by a number that grows. */
  readonly revisions: { readonly invites: number; readonly members: number; readonly exports: number };
}

/** An event as the queue tells it. */
export type Event = { type: string; op?: string; id?: number } & Record<string, any>;
