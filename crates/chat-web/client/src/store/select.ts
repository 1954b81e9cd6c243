// What views show, read from the state.
import { channelOf, conversationOf, narrowKey, withoutAnchor, type Narrow } from "./narrow";
import { may } from "./permissions";
import { isPlaceMuted, isTopicMuted, placeKey, topicKey } from "./place";
import type { Channel, Message, Place, State, UnreadConversation, User } from "./types";
import { t } from "../text/language";

/**
 * Returns a selector that computes again only when something that it reads is another. Views ask after every event,
 * and some answers are made of tens of thousands of users, channels or messages.
 */
function kept<A extends unknown[], R>(
  reads: (state: State, ...more: A) => unknown[],
  compute: (state: State, ...more: A) => R,
): (state: State, ...more: A) => R {
  let last: { read: unknown[]; result: R } | undefined;
  return (state, ...more) => {
    const read = [...reads(state, ...more), ...more];
    if (last && read.every((one, at) => one === last?.read[at])) return last.result;
    last = { read, result: compute(state, ...more) };
    return last.result;
  };
}

/** What decides which messages are unread and count. */
function unreadReads({ unread, topicPolicies, channels, mutedUsers }: State): unknown[] {
  return [unread, topicPolicies, channels, mutedUsers];
}

const collator = new Intl.Collator();

/** Compares names as people sort them. */
export function byName(a: string, b: string): number {
  return collator.compare(a, b);
}

export function userName(state: State, id: number): string {
  return state.users.get(id)?.full_name ?? t("Unknown user");
}

/** Returns the names in a direct conversation. */
export function placeNames(state: State, userIds: readonly number[]): string {
  const names = userIds.map((id) => (id === state.selfId ? t("{0} (you)", userName(state, id)) : userName(state, id)));
  return names.sort(byName).join(", ");
}

/** Returns those whose accounts are open, people and bots, in the order of their names. */
export const activeUsers = kept(
  (state) => [state.users],
  (state) => [...state.users.values()].filter((user) => user.is_active).sort((a, b) => byName(a.full_name, b.full_name)),
);

export type PresenceWord = "active" | "idle" | "offline";

export function presenceOf(state: State, userId: number, nowS: number): PresenceWord {
  const known = state.presence.get(userId);
  const limit = Number(state.realm["server_presence_offline_threshold_seconds"] ?? 140);
  if (!known || state.statuses.get(userId)?.away) return "offline";
  if (nowS - known.active < limit) return "active";
  return nowS - known.idle < limit ? "idle" : "offline";
}

export function role(state: State): number {
  return state.users.get(state.selfId)?.role ?? 400;
}

export function isAdmin(state: State): boolean {
  return role(state) <= 200;
}

function isWithin(limit: unknown, message: Message): boolean {
  return typeof limit !== "number" || Date.now() / 1000 - message.timestamp < limit;
}

export function mayEdit(state: State, message: Message): boolean {
  const { realm_allow_message_editing: isAllowed, realm_message_content_edit_limit_seconds: limit } = state.realm;
  if (isArchived(state, message)) return false;
  return message.sender_id === state.selfId && isAllowed === true && message.submessages.length === 0 && isWithin(limit, message);
}

/** In an archived channel nothing changes any more. */
function isArchived(state: State, message: Message): boolean {
  return state.channels.get(message.stream_id ?? -1)?.is_archived === true;
}

export function mayDelete(state: State, message: Message): boolean {
  if (isArchived(state, message)) return false;
  if (may(state, "can_delete_any_message_group")) return true;
  const { realm_message_content_delete_limit_seconds: limit } = state.realm;
  return message.sender_id === state.selfId && may(state, "can_delete_own_message_group") && isWithin(limit, message);
}

export function mayMove(state: State, message: Message): boolean {
  if (message.type !== "stream" || isArchived(state, message)) return false;
  const own = message.sender_id === state.selfId && state.realm["realm_allow_message_editing"] === true;
  return own || may(state, "can_move_messages_between_topics_group") || may(state, "can_move_messages_between_channels_group");
}

export function mayPost(state: State, channel: Channel): boolean {
  if (channel.is_archived) return false;
  const own = role(state);
  return { 1: true, 2: own <= 200, 3: own <= 400, 4: own <= 300 }[channel.stream_post_policy] ?? true;
}

/** Returns the channels that the reader is in: pinned first, muted last, by name. */
export const ownChannels = kept(
  (state) => [state.channels],
  (state) => {
    const own = [...state.channels.values()].filter((channel) => channel.subscribed && !channel.is_archived);
    const rank = (channel: Channel) => (channel.pin_to_top ? 0 : channel.is_muted ? 2 : 1);
    return own.sort((a, b) => rank(a) - rank(b) || byName(a.name, b.name));
  },
);

/** Channels under a heading. */
export interface ChannelSection {
  /** Of a folder its number, else a word. */
  readonly key: number | "pinned" | "other";
  readonly name: string;
  readonly channels: readonly Channel[];
}

/** Returns the channels that the reader is in as the side bar shows them: what is pinned, each folder, and the rest. */
export const channelSections = kept(
  (state) => [state.channels, state.folders],
  (state): ChannelSection[] => {
    const folders = state.folders.filter((folder) => !folder.is_archived);
    const sections = [
      { key: "pinned" as const, name: t("Pinned channels"), channels: [] as Channel[] },
      ...folders.map(({ id, name }) => ({ key: id, name, channels: [] as Channel[] })),
      { key: "other" as const, name: t("Other channels"), channels: [] as Channel[] },
    ];
    const byKey = new Map<ChannelSection["key"], Channel[]>(sections.map(({ key, channels }) => [key, channels]));
    for (const channel of ownChannels(state)) {
      const key = channel.pin_to_top ? "pinned" : (channel.folder_id ?? "other");
      (byKey.get(key) ?? byKey.get("other"))?.push(channel);
    }
    return sections.filter(({ channels }) => channels.length > 0);
  },
);

/** Returns all channels in use by name. */
export const allChannels = kept(
  (state) => [state.channels],
  (state) => [...state.channels.values()].filter((one) => !one.is_archived).sort((a, b) => byName(a.name, b.name)),
);

/** Returns the archived channels by name. */
export const archivedChannels = kept(
  (state) => [state.channels],
  (state) => [...state.channels.values()].filter((one) => one.is_archived).sort((a, b) => byName(a.name, b.name)),
);

/** What is unread in a channel, counted apart for topics that are heard and those that are muted. */
export interface ChannelUnread {
  readonly heard: number;
  readonly muted: number;
  readonly mentions: number;
}

export interface UnreadCounts {
  /** All that is not muted. */
  readonly total: number;
  readonly directs: number;
  readonly mentions: number;
  readonly channels: ReadonlyMap<number, ChannelUnread>;
}

/** Counts what is unread. */
export const unreadCounts = kept(unreadReads, count);

function count(state: State): UnreadCounts {
  let [total, directs] = [0, 0];
  const channels = new Map<number, ChannelUnread>();
  for (const { place, ids } of state.unread.conversations.values()) {
    const isMuted = isPlaceMuted(state, place);
    if (!isMuted) total += ids.length;
    if (place.kind === "direct") {
      if (!isMuted) directs += ids.length;
      continue;
    }
    const known = channels.get(place.channelId) ?? { heard: 0, muted: 0, mentions: 0 };
    const mentions = ids.filter((id) => state.unread.mentions.has(id)).length;
    channels.set(place.channelId, {
      heard: known.heard + (isMuted ? 0 : ids.length),
      muted: known.muted + (isMuted ? ids.length : 0),
      mentions: known.mentions + mentions,
    });
  }
  return { total, directs, mentions: state.unread.mentions.size, channels };
}

export function unreadIn(state: State, place: Place): readonly number[] {
  return state.unread.conversations.get(placeKey(place))?.ids ?? [];
}

/** A channel in the inbox with its topics, the one with the newest message first. */
export interface InboxChannel {
  readonly channel: Channel;
  readonly topics: readonly UnreadConversation[];
  readonly count: number;
}

export interface Inbox {
  readonly directs: readonly UnreadConversation[];
  readonly channels: readonly InboxChannel[];
}

/** Returns what is unread by channel and topic; what is muted only where the reader is mentioned in it. */
export const inbox = kept(unreadReads, makeInbox);

function makeInbox(state: State): Inbox {
  const directs: UnreadConversation[] = [];
  const byChannel = new Map<number, UnreadConversation[]>();
  for (const conversation of state.unread.conversations.values()) {
    const { place, ids } = conversation;
    if (isPlaceMuted(state, place) && !ids.some((id) => state.unread.mentions.has(id))) continue;
    if (place.kind === "direct") directs.push(conversation);
    else byChannel.set(place.channelId, [...(byChannel.get(place.channelId) ?? []), conversation]);
  }
  const newest = (one: UnreadConversation) => one.ids[one.ids.length - 1] ?? 0;
  const byNewest = (a: UnreadConversation, b: UnreadConversation) => newest(b) - newest(a);
  const channels = [...byChannel].flatMap(([id, topics]) => {
    const channel = state.channels.get(id);
    if (!channel) return [];
    return [{ channel, topics: topics.sort(byNewest), count: topics.reduce((sum, { ids }) => sum + ids.length, 0) }];
  });
  const rank = ({ channel }: InboxChannel) => (channel.pin_to_top ? 0 : 1);
  channels.sort((a, b) => rank(a) - rank(b) || byName(a.channel.name, b.channel.name));
  return { directs: directs.sort(byNewest), channels };
}

/** Returns the direct conversations, the one with the newest message first. */
export const recentDirects = kept(
  (state: State, _most: number) => [state.directs, state.unread],
  (state: State, most: number) => {
    const all = [...state.directs].sort((a, b) => b[1].maxId - a[1].maxId).slice(0, most);
    return all.map(([key, { userIds }]) => ({
      key,
      userIds,
      unread: state.unread.conversations.get(key)?.ids.length ?? 0,
    }));
  },
);

/** A topic of a channel in the side bar. */
export interface TopicRow {
  readonly name: string;
  readonly unread: number;
  readonly isMuted: boolean;
  readonly isFollowed: boolean;
}

/** Returns the topics of a channel: those with unread messages and the newest ones. */
export const channelTopics = kept(
  (state: State, channelId: number, _most: number) => [state.topics.get(channelId), ...unreadReads(state)],
  makeTopics,
);

function makeTopics(state: State, channelId: number, most: number): TopicRow[] {
  const rows = new Map<string, { name: string; maxId: number; unread: number }>();
  for (const { name, maxId } of state.topics.get(channelId) ?? []) {
    rows.set(topicKey(channelId, name), { name, maxId, unread: 0 });
  }
  for (const [key, { place, ids }] of state.unread.conversations) {
    if (place.kind !== "topic" || place.channelId !== channelId) continue;
    const known = rows.get(key);
    const maxId = Math.max(known?.maxId ?? 0, ids[ids.length - 1] ?? 0);
    rows.set(key, { name: known?.name ?? place.topic, maxId, unread: ids.length });
  }
  const sorted = [...rows.values()].sort((a, b) => b.maxId - a.maxId);
  const shown = sorted.filter((row, at) => at < most || row.unread > 0);
  return shown.map(({ name, unread }) => ({
    name,
    unread,
    isMuted: isTopicMuted(state, channelId, name),
    isFollowed: state.topicPolicies.get(topicKey(channelId, name)) === 3,
  }));
}

/** Returns the next conversation with unread messages after the shown one, as the side bar orders them. */
export function nextUnread(state: State, current: Place | undefined, kind: Place["kind"]): Place | undefined {
  const places: Place[] = [];
  const { directs, channels } = inbox(state);
  if (kind === "direct") places.push(...directs.map(({ place }) => place));
  else for (const { topics } of channels) places.push(...topics.map(({ place }) => place));
  if (places.length === 0) return undefined;
  const key = current && placeKey(current);
  const at = places.findIndex((place) => placeKey(place) === key);
  const next = places[(at + 1) % places.length];
  return next && placeKey(next) === key ? undefined : next;
}

/** Returns whether something is unread of what the narrow selects, as far as that is known. */
export function hasUnread(state: State, narrow: Narrow): boolean {
  const place = conversationOf(narrow, state.selfId);
  if (place) return unreadIn(state, place).length > 0;
  const terms = withoutAnchor(narrow);
  const channelId = terms.length === 1 ? channelOf(terms) : undefined;
  if (channelId !== undefined) {
    const counts = unreadCounts(state).channels.get(channelId);
    return (counts?.heard ?? 0) + (counts?.muted ?? 0) > 0;
  }
  return state.unread.places.size > 0 && (state.lists.get(narrowKey(terms))?.ids.some((id) => state.unread.places.has(id)) ?? false);
}

/** Returns the people of the organization: the reader first, then those who are there, by name. */
export const listedPeople = kept(
  (state: State, _typed: string, _nowS: number, _most: number) => [state.users, state.presence, state.statuses],
  (state: State, typed: string, nowS: number, most: number) => {
    const rank = { active: 0, idle: 1, offline: 2 };
    const order = (user: User) => (user.user_id === state.selfId ? -1 : rank[presenceOf(state, user.user_id, nowS)]);
    const folded = typed.toLowerCase();
    const found = [...state.users.values()].filter(
      (user) => user.is_active && !user.is_bot && user.full_name.toLowerCase().includes(folded),
    );
    const ranked = found.map((user) => [order(user), user] as const);
    ranked.sort((a, b) => a[0] - b[0] || byName(a[1].full_name, b[1].full_name));
    return ranked.slice(0, most).map(([, user]) => user);
  },
);
