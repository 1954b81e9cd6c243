// What is not read, by conversation.
import { placeKey } from "./place";
import type { Place, Unread, UnreadConversation } from "./types";

/** Returns the index with messages of a place added. Those that are there already stay where they are. */
export function addUnread(unread: Unread, place: Place, ids: readonly number[], mentioned: readonly number[]): Unread {
  const fresh = ids.filter((id) => !unread.places.has(id));
  const mentions = withAll(unread.mentions, mentioned);
  if (fresh.length === 0) return mentions === unread.mentions ? unread : { ...unread, mentions };
  const key = placeKey(place);
  const conversations = new Map(unread.conversations);
  const known = conversations.get(key);
  const all = known ? merged(known.ids, fresh) : [...fresh].sort((a, b) => a - b);
  conversations.set(key, { place: known?.place ?? place, ids: all });
  return { conversations, places: unread.places.with(fresh.map((id) => [id, key] as const)), mentions };
}

/** Returns the index without these messages. */
export function removeUnread(unread: Unread, ids: readonly number[]): Unread {
  const gone = ids.filter((id) => unread.places.has(id));
  const mentions = withoutAll(unread.mentions, ids);
  if (gone.length === 0) return mentions === unread.mentions ? unread : { ...unread, mentions };
  const conversations = new Map<string, UnreadConversation>(unread.conversations);
  const byKey = new Map<string, Set<number>>();
  for (const id of gone) {
    const key = unread.places.get(id) ?? "";
    byKey.set(key, (byKey.get(key) ?? new Set()).add(id));
  }
  for (const [key, lost] of byKey) {
    const known = conversations.get(key);
    const left = known?.ids.filter((id) => !lost.has(id)) ?? [];
    if (known && left.length > 0) conversations.set(key, { ...known, ids: left });
    else conversations.delete(key);
  }
  return { conversations, places: unread.places.without(gone), mentions };
}

/** Returns the index after messages moved to another place. */
export function moveUnread(unread: Unread, place: Place, ids: readonly number[]): Unread {
  const moved = ids.filter((id) => unread.places.has(id));
  if (moved.length === 0) return unread;
  const mentioned = moved.filter((id) => unread.mentions.has(id));
  return addUnread(removeUnread(unread, moved), place, moved, mentioned);
}

function merged(known: readonly number[], more: readonly number[]): number[] {
  const last = known[known.length - 1] ?? -1;
  const all = [...known, ...more];
  return more.every((id) => id > last) && more.length === 1 ? all : all.sort((a, b) => a - b);
}

function withAll(set: ReadonlySet<number>, ids: readonly number[]): ReadonlySet<number> {
  const fresh = ids.filter((id) => !set.has(id));
  return fresh.length === 0 ? set : new Set([...set, ...fresh]);
}

function withoutAll(set: ReadonlySet<number>, ids: readonly number[]): ReadonlySet<number> {
  const gone = ids.filter((id) => set.has(id));
  if (gone.length === 0) return set;
  const left = new Set(set);
  for (const id of gone) left.delete(id);
  return left;
}
