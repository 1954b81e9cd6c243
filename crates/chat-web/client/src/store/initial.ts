// The state that a registration begins with.
import { directPlace, placeKey, topicKey } from "./place";
import { Table } from "./table";
import type { Channel, Folder, Presence, State, UnreadConversation, User } from "./types";

type Json = Record<string, any>;

/** The types of events that the client applies. */
export const EVENT_TYPES = [
  "alert_words",
  "channel_folder",
  "custom_profile_fields",
  "default_streams",
  "delete_message",
  "drafts",
  "invites_changed",
  "message",
  "muted_users",
  "presence",
  "reaction",
  "realm",
  "realm_bot",
  "realm_domains",
  "realm_emoji",
  "realm_export",
  "realm_export_consent",
  "realm_linkifiers",
  "realm_playgrounds",
  "realm_user",
  "realm_user_settings_defaults",
  "restart",
  "scheduled_messages",
  "stream",
  "submessage",
  "subscription",
  "typing",
  "update_message",
  "update_message_flags",
  "user_group",
  "user_settings",
  "user_status",
  "user_topic",
];

/** The types whose state a registration returns. */
export const FETCH_TYPES = [
  "alert_words",
  "channel_folders",
  "custom_profile_fields",
  "default_streams",
  "drafts",
  "message",
  "muted_users",
  "presence",
  "realm",
  "realm_bot",
  "realm_domains",
  "realm_emoji",
  "realm_linkifiers",
  "realm_playgrounds",
  "realm_user",
  "realm_user_groups",
  "realm_user_settings_defaults",
  "recent_private_conversations",
  "scheduled_messages",
  "starred_messages",
  "subscription",
  "update_message_flags",
  "user_settings",
  "user_status",
  "user_topic",
];

/** Returns the state of a registration's answer. */
export function initialState(from: Json): State {
  const selfId: number = from.user_id;
  return {
    selfId,
    realm: Object.fromEntries(Object.entries(from).filter(([name, value]) => isPlain(value) || isPermission(from, name))),
    users: Table.from([
      ...users(from.realm_users, true),
      ...users(from.realm_non_active_users, false),
      ...users(from.cross_realm_bots, true),
    ]),
    presence: Table.from(presences(from.presences)),
    presenceUpdateId: from.presence_last_update_id ?? -1,
    statuses: Table.from(Object.entries(from.user_status ?? {}).map(([id, status]) => [Number(id), status as Json])),
    groups: byId(from.realm_user_groups, "id"),
    channels: channels(from),
    defaultChannels: list(from.realm_default_streams).map((channel) => channel.stream_id),
    folders: sortedFolders(list(from.channel_folders) as Folder[]),
    permissionRules: { realm: {}, stream: {}, group: {}, ...from.server_supported_permission_settings },
    domains: from.realm_domains ?? [],
    newcomerSettings: from.realm_user_settings_defaults ?? {},
    topics: Table.empty(),
    topicPolicies: new Map(
      list(from.user_topics).map((topic) => [topicKey(topic.stream_id, topic.topic_name), topic.visibility_policy]),
    ),
    mutedUsers: new Set(list(from.muted_users).map((muted) => muted.id)),
    settings: from.user_settings ?? {},
    alertWords: from.alert_words ?? [],
    messages: Table.empty(),
    lists: new Map(),
    unread: unread(selfId, from.unread_msgs ?? {}),
    starred: new Set(from.starred_messages ?? []),
    drafts: from.drafts ?? [],
    scheduled: from.scheduled_messages ?? [],
    directs: directs(selfId, list(from.recent_private_conversations)),
    typing: [],
    emoji: from.realm_emoji ?? {},
    profileFields: from.custom_profile_fields ?? [],
    linkifiers: from.realm_linkifiers ?? [],
    playgrounds: from.realm_playgrounds ?? [],
    bots: byId(from.realm_bots, "user_id"),
    revisions: { invites: 0, members: 0, exports: 0 },
  };
}

/** Permissions are given to a group, or to an object of people and groups. */
function isPermission(from: Json, name: string): boolean {
  return name.replace(/^realm_/, "") in (from.server_supported_permission_settings?.realm ?? {});
}

export function sortedFolders(folders: readonly Folder[]): Folder[] {
  return [...folders].sort((a, b) => a.order - b.order || a.id - b.id);
}

/** The flat keys are texts, numbers, switches, and what is none. */
function isPlain(value: unknown): boolean {
  return value === null || typeof value !== "object";
}

function list(value: unknown): Json[] {
  return Array.isArray(value) ? value : [];
}

function byId<V>(values: unknown, key: string): Table<V> {
  return Table.from(list(values).map((value) => [value[key], value as V] as const));
}

function users(values: unknown, isActive: boolean): (readonly [number, User])[] {
  return list(values).map((user) => [user.user_id, { ...user, is_active: isActive } as User]);
}

/** Returns presences in the short form, by user. */
export function presences(values: unknown): (readonly [number, Presence])[] {
  return Object.entries((values ?? {}) as Json).map(([id, { active_timestamp, idle_timestamp }]) => [
    Number(id),
    { active: active_timestamp ?? 0, idle: idle_timestamp ?? 0 },
  ]);
}

/** Returns a channel with what the client reads of a subscription, chosen or not. */
export function channelFrom(object: Json, subscribed: boolean): Channel {
  return {
    color: "#76ce90",
    is_archived: false,
    folder_id: null,
    is_muted: false,
    pin_to_top: false,
    desktop_notifications: null,
    audible_notifications: null,
    push_notifications: null,
    email_notifications: null,
    wildcard_mentions_notify: null,
    ...object,
    subscribed,
  } as Channel;
}

function channels(from: Json): Table<Channel> {
  const entries = (values: unknown, subscribed: boolean) =>
    list(values).map((channel) => [channel.stream_id, channelFrom(channel, subscribed)] as const);
  return Table.from([
    ...entries(from.never_subscribed, false),
    ...entries(from.unsubscribed, false),
    ...entries(from.subscriptions, true),
  ]);
}

function unread(selfId: number, from: Json): State["unread"] {
  const conversations = new Map<string, UnreadConversation>();
  const places: [number, string][] = [];
  const add = (place: UnreadConversation["place"], ids: number[]) => {
    const key = placeKey(place);
    const known = conversations.get(key);
    const all = known ? [...known.ids, ...ids].sort((a, b) => a - b) : ids;
    conversations.set(key, { place: known?.place ?? place, ids: all });
    for (const id of ids) places.push([id, key]);
  };
  for (const direct of list(from.pms)) {
    add(directPlace(selfId, [direct.other_user_id ?? direct.sender_id]), direct.unread_message_ids);
  }
  for (const group of list(from.huddles)) {
    add(directPlace(selfId, String(group.user_ids_string).split(",").map(Number)), group.unread_message_ids);
  }
  for (const { stream_id, topic, unread_message_ids } of list(from.streams)) {
    add({ kind: "topic", channelId: stream_id, topic }, unread_message_ids);
  }
  return { conversations, places: Table.from(places), mentions: new Set(from.mentions ?? []) };
}

function directs(selfId: number, values: Json[]): State["directs"] {
  const entries = values.map((direct) => {
    const place = directPlace(selfId, direct.user_ids);
    const userIds = place.kind === "direct" ? place.userIds : [];
    return [placeKey(place), { userIds, maxId: direct.max_message_id as number }] as const;
  });
  return new Map(entries);
}
