// What people do: each action is a request, and where it helps, its effect is shown before the answer.
import { app, type Outgoing } from "./app";
import { ApiError, request, type Params } from "../transport/api";
import { narrowHash } from "../store/address";
import { applyPage, type Page, type PageMode } from "../store/lists";
import { narrowKey, wireNarrow, type Narrow } from "../store/narrow";
import { placeKey, topicPolicy } from "../store/place";
import { presences } from "../store/initial";
import type { Event, Message, Place, State, Topic } from "../store/types";
import { t } from "../text/language";

/** Messages that are loaded at first, and further ones at once. */
const PAGE = 100;
const FURTHER_PAGE = 400;
/** How long the word that something is done waits for its event. */
const EVENT_WAIT_MS = 2_000;

export function go(hash: string): void {
  if (location.hash !== hash) location.hash = hash;
  else app.setUi({ drawer: undefined });
}

export function goNarrow(narrow: Narrow): void {
  if (app.state) go(narrowHash(narrow, app.state));
}

/** Runs an action and shows why it failed. Returns whether it did what was asked for. */
export async function attempt(action: Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await action;
    if (done) app.toast(done);
    return true;
  } catch (error) {
    app.toast(error instanceof Error ? error.message : String(error), { isError: true });
    return false;
  }
}

const loading = new Set<string>();

/** Loads messages of a narrow around an anchor, or beyond an end of what is loaded. */
export async function loadPage(narrow: Narrow, mode: PageMode, anchor: number | string): Promise<void> {
  const key = `${narrowKey(narrow)} ${mode === "replace" ? anchor : mode}`;
  if (loading.has(key)) return;
  loading.add(key);
  try {
    let since: number;
    let page: Page;
    let registrations: number;
    do {
      since = app.eventsSoFar();
      registrations = app.registrations;
      page = await request<Page & Record<string, unknown>>("GET", "messages", {
        narrow: wireNarrow(narrow),
        anchor: String(anchor),
        num_before: { replace: PAGE / 2, older: FURTHER_PAGE, newer: 0 }[mode],
        num_after: { replace: PAGE / 2, older: 0, newer: FURTHER_PAGE }[mode],
        client_gravatar: true,
      });
      // What happened between a page and a registration after it is in neither, and no event tells of it.
    } while (app.registrations !== registrations);
    app.change(since, (state) => applyPage(state, narrow, page, mode));
    const event = { type: "update_message_flags", op: "add", flag: "read", messages: [...readQueue], all: false };
    if (readQueue.size > 0) app.applyLocally(event);
  } finally {
    loading.delete(key);
  }
}

export async function loadTopics(channelId: number): Promise<void> {
  const answer = await request("GET", `users/me/${channelId}/topics`);
  const topics = (answer["topics"] as { name: string; max_id: number }[]).map(
    ({ name, max_id }): Topic => ({ name, maxId: max_id }),
  );
  if (app.state) {
    app.state = { ...app.state, topics: app.state.topics.set(channelId, topics) };
    app.setUi({});
  }
}

const readQueue = new Set<number>();
let readTimer: ReturnType<typeof setTimeout> | undefined;

/** Marks messages as read: at once here, and together with others on the server. */
export function markRead(ids: readonly number[]): void {
  if (ids.length === 0) return;
  app.applyLocally({ type: "update_message_flags", op: "add", flag: "read", messages: [...ids], all: false });
  for (const id of ids) readQueue.add(id);
  readTimer ??= setTimeout(flush, 400);
}

/** What is under way: marking as unread waits for it, so that the later wish is the later request. */
let flushing: Promise<void> = Promise.resolve();

function flush(): void {
  flushing = flushRead();
}

async function flushRead(): Promise<void> {
  readTimer = undefined;
  const messages = [...readQueue].slice(0, 1000);
  if (messages.length === 0) return;
  try {
    await request("POST", "messages/flags", { messages, op: "add", flag: "read" });
    for (const id of messages) readQueue.delete(id);
    if (readQueue.size > 0) readTimer = setTimeout(flush, 50);
  } catch (error) {
    // Without a network they stay in the queue; what the server refuses is given up.
    if (error instanceof ApiError) for (const id of messages) readQueue.delete(id);
    else readTimer = setTimeout(flush, 5_000);
  }
}

/** Of each thing that is changed back and forth, the change under way. */
const underWay = new Map<string, Promise<unknown>>();

/** Makes a request about a thing after the one before it: requests that are under way together may arrive in any order. */
function inOrder(thing: string, change: () => Promise<unknown>): Promise<unknown> {
  const made = (underWay.get(thing) ?? Promise.resolve()).then(change, change);
  underWay.set(thing, made);
  const forget = () => void (underWay.get(thing) === made && underWay.delete(thing));
  made.then(forget, forget);
  return made;
}

/** Shows a change of a thing at once and asks for it, after the one before it; a refusal takes it back. */
function setAtOnce(thing: string, shown: Event, undone: Event, change: () => Promise<unknown>): Promise<unknown> {
  app.applyLocally(shown);
  return inOrder(thing, change).catch((error) => {
    app.applyLocally(undone);
    throw error;
  });
}

/** Ends with a change when its event has come too: nothing older about the thing comes after that. */
async function untilTold(change: Promise<unknown>, isItsEvent: (event: Event) => boolean): Promise<void> {
  let stop = () => {};
  const told = new Promise<void>((resolve) => {
    stop = app.onEvents((events) => events.some(isItsEvent) && resolve());
  });
  try {
    await change;
    // A change of nothing has no event.
    await Promise.race([told, new Promise((resolve) => setTimeout(resolve, EVENT_WAIT_MS))]);
  } finally {
    stop();
  }
}

export function setFlag(ids: readonly number[], flag: string, isSet: boolean): Promise<boolean> {
  const op = isSet ? "add" : "remove";
  const event = { type: "update_message_flags", op, flag, messages: [...ids], all: false };
  const undone = { ...event, op: isSet ? "remove" : "add" };
  const change = () => request("POST", "messages/flags", { messages: ids, op, flag });
  return attempt(setAtOnce(`flag ${flag}`, event, undone, change));
}

/** Marks everything from this message on as not read, in its narrow. */
export async function markUnreadFrom(narrow: Narrow, id: number): Promise<boolean> {
  // What the server was not told yet is taken back here alone: for it, nothing changes.
  const untold = [...readQueue].filter((queued) => queued >= id);
  for (const queued of untold) readQueue.delete(queued);
  if (untold.length > 0) {
    app.applyLocally({ type: "update_message_flags", op: "remove", flag: "read", messages: untold, all: false });
  }
  await flushing;
  const marked = request("POST", "messages/flags/narrow", {
    narrow: wireNarrow(narrow),
    anchor: String(id),
    include_anchor: true,
    num_before: 0,
    num_after: 5000,
    op: "remove",
    flag: "read",
  });
  return attempt(marked);
}

export function markNarrowRead(narrow: Narrow): Promise<boolean> {
  const marked = request("POST", "messages/flags/narrow", {
    narrow: [...wireNarrow(narrow), { operator: "is", operand: "unread", negated: false }],
    anchor: "newest",
    num_before: 5000,
    num_after: 0,
    op: "add",
    flag: "read",
  });
  return attempt(marked, t("Marked as read."));
}

export interface Emoji {
  readonly name: string;
  readonly code: string;
  readonly type: string;
}

export function toggleReaction(message: Message, emoji: Emoji): Promise<boolean> {
  const selfId = app.state?.selfId ?? 0;
  const has = message.reactions.some(
    (one) => one.user_id === selfId && one.emoji_code === emoji.code && one.reaction_type === emoji.type,
  );
  const params = { emoji_name: emoji.name, emoji_code: emoji.code, reaction_type: emoji.type };
  const event = { type: "reaction", message_id: message.id, user_id: selfId, ...params };
  const shown = { ...event, op: has ? "remove" : "add" };
  const undone = { ...event, op: has ? "add" : "remove" };
  const change = () => request(has ? "DELETE" : "POST", `messages/${message.id}/reactions`, params);
  return attempt(setAtOnce(`reaction ${message.id} ${emoji.type} ${emoji.code}`, shown, undone, change));
}

/** Returns where a message goes, in the parameters of the API. */
export function destination(place: Place): Params {
  return place.kind === "topic"
    ? { type: "stream", to: place.channelId, topic: place.topic }
    : { type: "direct", to: place.userIds };
}

let localCount = 0;

/** Sends a message; it is shown at once, and stays with the reason when it cannot be sent. */
export function send(place: Place, content: string): void {
  localCount += 1;
  const localId = `${Date.now()}.${localCount}`;
  const params = { ...destination(place), content };
  const outgoing: Outgoing = { localId, placeKey: placeKey(place), content, error: undefined, params };
  app.setUi({ outgoing: [...app.ui.outgoing, outgoing] });
  void deliver(outgoing);
}

export async function deliver(outgoing: Outgoing): Promise<void> {
  const put = (news: Partial<Outgoing>) =>
    app.setUi({
      outgoing: app.ui.outgoing.map((one) => (one.localId === outgoing.localId ? { ...one, ...news } : one)),
    });
  put({ error: undefined });
  try {
    const { queueId } = app.queue;
    const answer = await request("POST", "messages", {
      ...outgoing.params,
      queue_id: queueId,
      local_id: outgoing.localId,
      read_by_sender: true,
    });
    const sentId = Number(answer["id"]);
    put({ sentId });
    // Its event takes it out of the list. Should the queue have ended in the meantime, this does.
    setTimeout(() => discard(outgoing.localId), app.state?.messages.has(sentId) ? 0 : 8_000);
  } catch (error) {
    put({ error: error instanceof Error ? error.message : String(error) });
  }
}

export function discard(localId: string): void {
  if (!app.ui.outgoing.some((one) => one.localId === localId)) return;
  app.setUi({ outgoing: app.ui.outgoing.filter((one) => one.localId !== localId) });
}

export function editMessage(id: number, changes: Params): Promise<Record<string, any>> {
  return request("PATCH", `messages/${id}`, changes);
}

export function deleteMessage(id: number): Promise<boolean> {
  return attempt(request("DELETE", `messages/${id}`), t("Message deleted."));
}

/** Returns the text of a message as it was typed. */
export async function rawContent(id: number): Promise<string> {
  const answer = await request("GET", `messages/${id}`, { apply_markdown: false });
  return String(answer["raw_content"]);
}

export function setTopicPolicy(channelId: number, topic: string, policy: number): Promise<boolean> {
  const words = [t("Topic follows its channel again."), t("Topic muted."), t("Topic unmuted."), t("Topic followed.")];
  const params = { stream_id: channelId, topic, visibility_policy: policy };
  const event = { type: "user_topic", stream_id: channelId, topic_name: topic };
  const before = app.state ? topicPolicy(app.state, channelId, topic) : 0;
  const shown = { ...event, visibility_policy: policy };
  const undone = { ...event, visibility_policy: before };
  const change = () => request("POST", "user_topics", params);
  const isOwn = (one: Event) =>
    one.type === "user_topic" && one.stream_id === channelId && one.topic_name === topic && one.visibility_policy === policy;
  return attempt(untilTold(setAtOnce(`topic ${channelId}`, shown, undone, change), isOwn), words[policy]);
}

export function setChannelProperty(channelId: number, property: string, value: unknown): Promise<boolean> {
  const data = [{ stream_id: channelId, property, value }];
  return attempt(request("POST", "users/me/subscriptions/properties", { subscription_data: data }));
}

export function subscribe(name: string): Promise<boolean> {
  return attempt(request("POST", "users/me/subscriptions", { subscriptions: [{ name }] }), t("Subscribed to #{0}.", name));
}

export function unsubscribe(name: string): Promise<boolean> {
  return attempt(request("DELETE", "users/me/subscriptions", { subscriptions: [name] }), t("Unsubscribed from #{0}.", name));
}

export function setMutedUser(userId: number, isMuted: boolean): Promise<boolean> {
  return attempt(request(isMuted ? "POST" : "DELETE", `users/me/muted_users/${userId}`));
}

export function setSetting(name: string, value: unknown): Promise<boolean> {
  return attempt(request("PATCH", "settings", { [name]: value }));
}

/** Says that the reader is there, and learns who else is. */
export async function ping(isActive: boolean): Promise<void> {
  if (!app.state) return;
  const answer = await request("POST", "users/me/presence", {
    status: isActive ? "active" : "idle",
    last_update_id: app.state.presenceUpdateId,
    slim_presence: true,
    new_user_input: isActive,
  });
  app.applyLocally({
    type: "presence",
    presences: presences(answer["presences"]),
    last_update_id: answer["presence_last_update_id"] ?? app.state.presenceUpdateId,
  });
}

/** Returns a link to a message that other clients open too. */
export function linkTo(state: State, narrow: Narrow, id: number): string {
  const hash = narrowHash([...narrow, { operator: "near", operand: id }], state);
  return `${location.origin}/${hash}`;
}
