// The loaded stretches of narrows, and how pages and changes of messages go into them.
import { matches, narrowKey, type Narrow, type Term } from "./narrow";
import type { Message, MessageList, State } from "./types";

/** A page of messages, as `GET /messages` returns it. */
export interface Page {
  readonly messages: readonly Message[];
  readonly anchor: number;
  readonly found_oldest: boolean;
  readonly found_newest: boolean;
}

/** How a page goes into its list: in its place, or at one of its ends. */
export type PageMode = "replace" | "older" | "newer";

/** Lists that stay loaded beside the shown one; the least recently loaded go first. */
const LISTS_MAX = 12;

/**
 * Returns the state with a page in the list of its narrow. The page is newer than what is loaded: the caller applies
 * again the events that came since it was asked for.
 */
export function applyPage(state: State, narrow: Narrow, page: Page, mode: PageMode): State {
  const key = narrowKey(narrow);
  const before = state.lists.get(key);
  if (mode !== "replace" && !before) return state;
  const messages = state.messages.with(page.messages.map((message) => [message.id, message] as const));
  const pageIds = page.messages.map((message) => message.id);
  const ids = mode === "replace" ? pageIds : union(before?.ids ?? [], pageIds);
  const marked = new Map(mode === "replace" ? [] : before?.marked);
  for (const { id, match_content, match_subject } of page.messages) {
    if (match_content !== undefined) marked.set(id, { content: match_content, topic: match_subject ?? "" });
  }
  const list: MessageList = {
    narrow,
    ids,
    foundOldest: mode === "newer" ? (before?.foundOldest ?? false) : page.found_oldest,
    foundNewest: mode === "older" ? (before?.foundNewest ?? false) : page.found_newest,
    stale: mode === "replace" ? false : (before?.stale ?? false),
    anchor: mode === "replace" ? page.anchor : (before?.anchor ?? page.anchor),
    marked,
  };
  const lists = new Map(state.lists);
  lists.delete(key);
  lists.set(key, list);
  for (const old of lists.keys()) {
    if (lists.size <= LISTS_MAX) break;
    lists.delete(old);
  }
  return { ...state, messages, lists };
}

function union(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y);
}

/** Returns the lists with a new message at the end of those that it belongs to. */
export function appendMessage(state: State, message: Message): State["lists"] {
  return changeLists(state, (list) => {
    if (!list.foundNewest || list.ids.includes(message.id)) return list;
    const belongs = matches(list.narrow, message, state);
    if (belongs === false) return list;
    // Only the server knows whether a search finds it: the end of the list is no longer known.
    if (belongs === undefined) return { ...list, foundNewest: false };
    const last = list.ids[list.ids.length - 1] ?? -1;
    const ids = message.id > last ? [...list.ids, message.id] : union(list.ids, [message.id]);
    return { ...list, ids };
  });
}

/** Returns the lists without these messages. */
export function removeMessages(state: State, gone: ReadonlySet<number>): State["lists"] {
  return changeLists(state, (list) => {
    const ids = list.ids.filter((id) => !gone.has(id));
    return ids.length === list.ids.length ? list : { ...list, ids };
  });
}

/**
 * Returns the lists after these messages changed in a way that can move them from one narrow to another.
 *
 * A message that is loaded goes into the lists that select it now. Where only the server knows, or a message that may
 * have come is not loaded, the list is marked to be loaded again.
 */
export function reselect(state: State, changed: readonly number[]): State["lists"] {
  return changeLists(state, (list) => {
    let ids: readonly number[] = list.ids;
    let stale: boolean = list.stale;
    const present = new Set(list.ids);
    for (const id of changed) {
      const message = state.messages.get(id);
      if (!message) {
        if (present.has(id)) ids = ids.filter((other) => other !== id);
        else stale ||= isWithin(list, id);
        continue;
      }
      const belongs = matches(list.narrow, message, state);
      if (belongs === undefined) stale ||= present.has(id) || isWithin(list, id);
      else if (!belongs && present.has(id)) ids = ids.filter((other) => other !== id);
      else if (belongs && !present.has(id) && isWithin(list, id)) ids = union(ids, [id]);
    }
    return ids === list.ids && stale === list.stale ? list : { ...list, ids, stale };
  });
}

/** Returns the lists with those marked to be loaded again whose narrows have a term of that kind. */
export function markStale(state: State, concerns: (term: Term) => boolean): State["lists"] {
  return changeLists(state, (list) => (list.narrow.some(concerns) ? { ...list, stale: true } : list));
}

/** Returns whether a message of that number, if the narrow selects it, is in the loaded stretch. */
function isWithin(list: MessageList, id: number): boolean {
  const [first, last] = [list.ids[0], list.ids[list.ids.length - 1]];
  if (first === undefined || last === undefined) return list.foundOldest && list.foundNewest;
  return (id >= first || list.foundOldest) && (id <= last || list.foundNewest);
}

function changeLists(state: State, change: (list: MessageList) => MessageList): State["lists"] {
  let lists: Map<string, MessageList> | undefined;
  for (const [key, list] of state.lists) {
    const next = change(list);
    if (next === list) continue;
    lists ??= new Map(state.lists);
    lists.set(key, next);
  }
  return lists ?? state.lists;
}
