// Events of messages. Each can be applied twice without harm: a page that was asked for before an event and arrives
// after it gets the event again.
import { appendMessage, markStale, removeMessages, reselect } from "./lists";
import { MENTIONS } from "./narrow";
import { placeKey, placeOf } from "./place";
import { addUnread, moveUnread, removeUnread } from "./unread";
import type { Event, Message, Place, Reaction, State, Topic } from "./types";

/** Topics that stay known of a channel. */
const TOPICS_MAX = 500;

export function message(state: State, event: Event): State {
  // A page that was loaded in the meantime can have it already, and is newer than the event.
  const arrived: Message = state.messages.get(event.message.id) ?? { ...event.message, flags: event.flags ?? [] };
  const place = placeOf(state.selfId, arrived);
  const read = arrived.flags.includes("read");
  const mentioned = MENTIONS.some((flag) => arrived.flags.includes(flag)) ? [arrived.id] : [];
  const next: State = {
    ...state,
    messages: state.messages.set(arrived.id, arrived),
    unread: read ? state.unread : addUnread(state.unread, place, [arrived.id], mentioned),
    typing: state.typing.filter(
      (typist) => typist.userId !== arrived.sender_id || typist.place !== placeKey(place),
    ),
    ...noted(state, place, arrived.id),
  };
  return { ...next, lists: appendMessage(next, arrived) };
}

/** Returns what is known of the conversation after its newest message. */
function noted(state: State, place: Place, id: number): Partial<State> {
  if (place.kind === "topic") return { topics: notedTopic(state, place.channelId, place.topic, id) };
  const directs = new Map(state.directs);
  directs.set(placeKey(place), { userIds: place.userIds, maxId: id });
  return { directs };
}

function notedTopic(state: State, channelId: number, name: string, maxId: number): State["topics"] {
  const known = state.topics.get(channelId);
  if (!known) return state.topics;
  const folded = name.toLowerCase();
  const rest = known.filter((topic) => topic.name.toLowerCase() !== folded);
  const before = known.find((topic) => topic.name.toLowerCase() === folded);
  const topic: Topic = { name, maxId: Math.max(maxId, before?.maxId ?? 0) };
  const all = [topic, ...rest].sort((a, b) => b.maxId - a.maxId).slice(0, TOPICS_MAX);
  return state.topics.set(channelId, all);
}

export function updateMessage(state: State, event: Event): State {
  const edited = withText(state, event);
  const ids: number[] = event.message_ids ?? [event.message_id];
  const moves = event.orig_subject !== undefined && (event.subject !== undefined || event.new_stream_id !== undefined);
  if (!moves) return { ...edited, lists: searchedAgain(edited, event) };
  const channelId: number = event.new_stream_id ?? event.stream_id;
  const topic: string = event.subject ?? event.orig_subject;
  const display = state.channels.get(channelId)?.name ?? "";
  const moved: [number, Message][] = [];
  for (const id of ids) {
    const known = edited.messages.get(id);
    if (known) {
      const links = event.topic_links ?? known.topic_links;
      moved.push([id, { ...known, stream_id: channelId, subject: topic, display_recipient: display, topic_links: links }]);
    }
  }
  const place: Place = { kind: "topic", channelId, topic };
  const next: State = {
    ...edited,
    messages: edited.messages.with(moved),
    // In a channel that the reader is not in, everything counts as read.
    unread: state.channels.get(channelId)?.subscribed
      ? moveUnread(edited.unread, place, ids)
      : removeUnread(edited.unread, ids),
    topics: movedTopics(edited, event, { channelId, topic }, ids),
  };
  return { ...next, lists: reselect(next, ids) };
}

/** A text that changed may be found by other searches than before. */
function searchedAgain(state: State, event: Event): State["lists"] {
  if (event.rendered_content === undefined) return state.lists;
  return markStale(state, (term) => term.operator === "search" || term.operator === "has");
}

function withText(state: State, event: Event): State {
  const known = state.messages.get(event.message_id);
  const mentions = state.unread;
  if (!known || event.rendered_content === undefined) return state;
  const flags: string[] = event.flags ?? known.flags;
  const edited: Message = {
    ...known,
    content: event.rendered_content,
    is_me_message: event.is_me_message ?? known.is_me_message,
    flags,
    ...(event.rendering_only ? {} : { last_edit_timestamp: event.edit_timestamp }),
  };
  const isMentioned = MENTIONS.some((flag) => flags.includes(flag));
  const unread =
    isMentioned && mentions.places.has(known.id)
      ? addUnread(mentions, placeOf(state.selfId, edited), [], [known.id])
      : mentions;
  return { ...state, messages: state.messages.set(known.id, edited), unread };
}

function movedTopics(
  state: State,
  event: Event,
  to: { channelId: number; topic: string },
  ids: readonly number[],
): State["topics"] {
  let { topics } = state;
  const from = topics.get(event.stream_id);
  if (from && event.propagate_mode === "change_all") {
    const folded = String(event.orig_subject).toLowerCase();
    topics = topics.set(
      event.stream_id,
      from.filter((topic) => topic.name.toLowerCase() !== folded),
    );
  }
  return notedTopic({ ...state, topics }, to.channelId, to.topic, Math.max(...ids));
}

export function deleteMessage(state: State, event: Event): State {
  const ids: number[] = event.message_ids ?? [event.message_id];
  const gone = new Set(ids);
  const starred = ids.some((id) => state.starred.has(id))
    ? new Set([...state.starred].filter((id) => !gone.has(id)))
    : state.starred;
  return {
    ...state,
    lists: removeMessages(state, gone),
    messages: state.messages.without(ids),
    unread: removeUnread(state.unread, ids),
    starred,
  };
}

export function updateFlags(state: State, event: Event): State {
  const ids: number[] = event.messages ?? [];
  const flag: string = event.flag;
  const isAdded = (event.op ?? event.operation) === "add";
  const changed: [number, Message][] = [];
  for (const id of ids) {
    const known = state.messages.get(id);
    if (!known || known.flags.includes(flag) === isAdded) continue;
    const flags = isAdded ? [...known.flags, flag] : known.flags.filter((other) => other !== flag);
    changed.push([id, { ...known, flags }]);
  }
  const next: State = {
    ...state,
    messages: state.messages.with(changed),
    unread: flag === "read" ? withRead(state, event, ids, isAdded) : state.unread,
    starred: flag === "starred" ? withStars(state.starred, ids, isAdded) : state.starred,
  };
  // A list of what is unread keeps what was read while it is shown; what leaves it is what is no longer starred.
  return flag === "starred" ? { ...next, lists: reselectStarred(next, ids) } : next;
}

function reselectStarred(state: State, ids: readonly number[]): State["lists"] {
  const all = reselect(state, ids);
  const lists = new Map(state.lists);
  for (const [key, list] of all) {
    if (list.narrow.some((term) => term.operator === "is" && term.operand === "starred")) lists.set(key, list);
  }
  return lists;
}

function withStars(starred: ReadonlySet<number>, ids: readonly number[], isAdded: boolean): ReadonlySet<number> {
  const next = new Set(starred);
  for (const id of ids) {
    if (isAdded) next.add(id);
    else next.delete(id);
  }
  return next;
}

function withRead(state: State, event: Event, ids: readonly number[], isAdded: boolean): State["unread"] {
  if (isAdded) return removeUnread(state.unread, event.all ? [...placesOf(state), ...ids] : ids);
  let { unread } = state;
  for (const id of ids) {
    const detail = event.message_details?.[String(id)];
    const known = state.messages.get(id);
    const place = detail ? detailPlace(state, detail) : known && placeOf(state.selfId, known);
    const mentioned = detail?.mentioned ?? MENTIONS.some((flag) => known?.flags.includes(flag));
    if (place) unread = addUnread(unread, place, [id], mentioned ? [id] : []);
  }
  return unread;
}

function placesOf(state: State): number[] {
  return [...state.unread.places.entries()].map(([id]) => id);
}

function detailPlace(state: State, detail: Record<string, any>): Place {
  if (detail.type === "stream") return { kind: "topic", channelId: detail.stream_id, topic: detail.topic };
  const others = (detail.user_ids as number[]).filter((id) => id !== state.selfId).sort((a, b) => a - b);
  return { kind: "direct", userIds: others.length > 0 ? others : [state.selfId] };
}

export function reaction(state: State, event: Event): State {
  const known = state.messages.get(event.message_id);
  if (!known) return state;
  const isIt = (other: Reaction) =>
    other.user_id === event.user_id &&
    other.reaction_type === event.reaction_type &&
    other.emoji_code === event.emoji_code;
  const rest = known.reactions.filter((other) => !isIt(other));
  const added: Reaction = {
    emoji_name: event.emoji_name,
    emoji_code: event.emoji_code,
    reaction_type: event.reaction_type,
    user_id: event.user_id,
  };
  const has = rest.length < known.reactions.length;
  if (has === (event.op === "add")) return state;
  const reactions = event.op === "add" ? [...known.reactions, added] : rest;
  return { ...state, messages: state.messages.set(known.id, { ...known, reactions }) };
}

export function submessage(state: State, event: Event): State {
  const known = state.messages.get(event.message_id);
  if (!known || known.submessages.some((other) => other.id === event.submessage_id)) return state;
  const { submessage_id: id, sender_id, msg_type, content } = event;
  const submessages = [...known.submessages, { id, sender_id, msg_type, content }];
  return { ...state, messages: state.messages.set(known.id, { ...known, submessages }) };
}
