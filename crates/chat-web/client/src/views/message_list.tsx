// The messages of a narrow: a window of rows that follows the reader, older and newer ones loaded as they come near.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { app, useApp, useStore } from "../app/app";
import { attempt, loadPage, markRead } from "../app/actions";
import { anchorOf, conversationOf, narrowKey, withoutAnchor, type Narrow } from "../store/narrow";
import { placeKey, placeOf } from "../store/place";
import type { MessageList, State } from "../store/types";
import { IconButton } from "../widgets/controls";
import { MessageRow } from "./message_row";
import { OutgoingRows } from "./outgoing";
import { RecipientBar } from "./recipient_bar";
import { onContentClick } from "./content_click";
import { END_TOLERANCE_PX, Heights, isToFollow, placeInList, windowAround, type Anchor } from "./scroller";
import { t } from "../text/language";

/** Rows from an end of what is loaded at which more is loaded. */
const LOAD_BEFORE_END = 25;
const READ_AFTER_MS = 250;
/** While the scroll bar is dragged from far to far, nothing is rendered until it rests for this long. */
const JUMP_MS = 50;
/** Pixels above the message that reading begins at: what was read before it gives the context. */
const CONTEXT_PX = 120;

export function MessageListView({ narrow }: { narrow: Narrow }) {
  const terms = useMemo(() => withoutAnchor(narrow), [narrowKey(narrow)]);
  const key = narrowKey(terms);
  const wanted = anchorOf(narrow);
  const list = useStore((state) => state.lists.get(key));
  const isLoaded = list !== undefined && (wanted === undefined || list.ids.includes(wanted));
  const [failure, setFailure] = useState<string>();
  const load = () => {
    setFailure(undefined);
    loadPage(terms, "replace", wanted ?? "first_unread").catch((error: Error) => setFailure(error.message));
  };
  useEffect(() => {
    if (!isLoaded) load();
  }, [key, wanted]);
  useEffect(() => {
    if (list?.stale && isLoaded) void reload(terms);
  }, [key, list?.stale]);
  if (!list) {
    return (
      <div class="messages empty-list" role="status">
        {failure ? (
          <p>
            {failure} <button onClick={load}>{t("Try again")}</button>
          </p>
        ) : (
          <p class="muted">{t("Loading messages…")}</p>
        )}
      </div>
    );
  }
  if (list.ids.length === 0 && list.foundOldest && list.foundNewest) return <EmptyList narrow={terms} />;
  return <Scroller key={`${key} ${wanted ?? ""} ${isLoaded}`} list={list} wanted={wanted} />;
}

const positions = new Map<string, { anchor: Anchor; isAtEnd: boolean }>();

/** Loads a list again where its reader is. */
function reload(narrow: Narrow): Promise<boolean> {
  const position = positions.get(narrowKey(narrow));
  return attempt(loadPage(narrow, "replace", position && !position.isAtEnd ? position.anchor.id : "newest"));
}

function EmptyList({ narrow }: { narrow: Narrow }) {
  const isConversation = useStore((state) => conversationOf(narrow, state.selfId) !== undefined);
  const key = narrow.length === 1 && conversationOf(narrow, app.state?.selfId ?? 0) ? narrow : narrow;
  return (
    <div class="messages empty-list">
      <div class="message-rows">
        <p class="muted" role="status">
          {isConversation ? t("No messages here yet. Write the first one.") : t("No messages found.")}
        </p>
        <OutgoingRows narrow={key} />
      </div>
    </div>
  );
}

function isOwnView(narrow: Narrow, state: State): boolean {
  return conversationOf(narrow, state.selfId) !== undefined;
}

function Scroller({ list, wanted }: { list: MessageList; wanted: number | undefined }) {
  const scroller = useScroller(list, wanted);
  const { host, rows, window: shown, isAtEnd, topPlaceId } = scroller;
  const { ids, narrow } = list;
  const isConversation = useStore((state) => isOwnView(narrow, state));
  const selectedId = useApp((app) => app.ui.selectedId);
  const firstUnread = useFirstUnread(list);
  const unreadBelow = useStore((state) => countUnreadBelow(state, list, isAtEnd));
  useEffect(() => {
    if (selectedId !== undefined) scroller.reveal(selectedId);
  }, [selectedId]);
  const visible = ids.slice(shown.start, shown.end);
  return (
    <div class="messages-frame">
      {!isConversation && topPlaceId !== undefined && <StickyBar id={topPlaceId} />}
      <div class="messages" ref={host} onScroll={scroller.onScroll} onClick={onContentClick} tabIndex={-1}>
        <div class="space" data-space="top" />
        <div class="message-rows" ref={rows} role="region" aria-label={t("Messages")}>
          {list.foundOldest && shown.start === 0 && <p class="list-edge">{t("This is where it begins.")}</p>}
          {visible.map((id, at) => (
            <MessageRow
              key={id}
              id={id}
              previousId={ids[shown.start + at - 1]}
              showsPlace={!isConversation}
              isSelected={id === selectedId}
              isFirstUnread={id === firstUnread}
              marked={list.marked.get(id)}
            />
          ))}
          {shown.end === ids.length && list.foundNewest && <OutgoingRows narrow={narrow} />}
        </div>
        <div class="space" data-space="bottom" />
      </div>
      {!isAtEnd && (
        <div class="to-end">
          <IconButton icon="arrowDown" label={t("Go to the newest message")} onClick={scroller.toEnd} />
          {unreadBelow > 0 && <span class="count">{unreadBelow}</span>}
        </div>
      )}
    </div>
  );
}

function StickyBar({ id }: { id: number }) {
  const message = useStore((state) => state.messages.get(id));
  return message ? (
    <div class="sticky-bar" aria-hidden="true">
      <RecipientBar message={message} isCopy />
    </div>
  ) : null;
}

/** Returns a message whose place is named at the upper edge: the first one known of that place, so that it changes seldom. */
function topPlace(narrow: Narrow, found: Anchor, at: number): number | undefined {
  const { state } = app;
  const message = state?.messages.get(found.id);
  if (!state || !message || isOwnView(narrow, state) || (found.offset >= -4 && at === 0)) return undefined;
  const key = placeKey(placeOf(state.selfId, message));
  if (shownPlace?.key !== key || !state.messages.has(shownPlace.id)) shownPlace = { key, id: found.id };
  return shownPlace.id;
}

let shownPlace: { key: string; id: number } | undefined;

function countUnreadBelow(state: State, list: MessageList, isAtEnd: boolean): number {
  if (isAtEnd || state.unread.places.size === 0) return 0;
  return list.ids.filter((id) => state.unread.places.has(id)).length;
}

/** Returns the message that was the first unread one when the list was opened. */
function useFirstUnread(list: MessageList): number | undefined {
  return useMemo(() => {
    const first = list.ids.find((id) => app.state?.unread.places.has(id));
    return first !== undefined && first !== list.ids[0] ? first : undefined;
  }, [narrowKey(list.narrow)]);
}

/** The part that measures, scrolls and loads. */
function useScroller(list: MessageList, wanted: number | undefined) {
  const { ids, narrow } = list;
  const key = narrowKey(narrow);
  const host = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const heights = useRef(new Heights()).current;
  const begin = useMemo(() => beginning(list, wanted), []);
  const anchor = useRef<Anchor>(begin.anchor);
  const stick = useRef(begin.isAtEnd);
  const [centerId, setCenterId] = useState(begin.anchor.id);
  const [isAtEnd, setAtEnd] = useState(begin.isAtEnd);
  const [topPlaceId, setTopPlaceId] = useState<number>();
  const heightPx = host.current?.clientHeight ?? 900;
  const shown = windowAround(ids, centerId, heightPx);
  const latest = useRef({ list, shown });
  latest.current = { list, shown };
  const lastScrollTop = useRef(0);

  const settle = () => {
    const [box, inner] = [host.current, rows.current];
    if (!box || !inner) return;
    const { list: now, shown: window } = latest.current;
    for (const row of inner.querySelectorAll<HTMLElement>(":scope > [data-id]")) {
      heights.set(Number(row.dataset["id"]), row.offsetHeight);
    }
    space(box, "top", heights.between(now.ids, 0, window.start));
    space(box, "bottom", heights.between(now.ids, window.end, now.ids.length));
    if (stick.current && now.foundNewest) {
      box.scrollTop = box.scrollHeight;
    } else {
      const row = inner.querySelector<HTMLElement>(`:scope > [data-id="${anchor.current.id}"]`);
      if (row) {
        const to = row.offsetTop - anchor.current.offset;
        if (Math.abs(box.scrollTop - to) >= 1) box.scrollTop = to;
      }
    }
    lastScrollTop.current = box.scrollTop;
  };
  useLayoutEffect(settle);
  useEffect(() => {
    const observer = new ResizeObserver(settle);
    if (rows.current) observer.observe(rows.current);
    if (host.current) observer.observe(host.current);
    return () => observer.disconnect();
  }, []);

  const jumpTimer = useRef<ReturnType<typeof setTimeout>>();
  const readTimer = useRef<ReturnType<typeof setTimeout>>();
  const look = () => {
    const box = host.current;
    if (!box) return;
    const { list: now, shown: window } = latest.current;
    const found = topRow(box, rows.current, now.ids, heights);
    anchor.current = found;
    const at = placeInList(now.ids, found.id);
    clearTimeout(jumpTimer.current);
    if (at < window.start || at >= window.end) jumpTimer.current = setTimeout(() => setCenterId(found.id), JUMP_MS);
    else if (isToFollow(window, at, now.ids.length, box.clientHeight)) setCenterId(found.id);
    setTopPlaceId(topPlace(now.narrow, found, at));
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < END_TOLERANCE_PX && now.foundNewest;
    // Rows that grow push the end away; only the reader leaves it.
    if (atEnd || box.scrollTop < lastScrollTop.current - 1) stick.current = atEnd;
    lastScrollTop.current = box.scrollTop;
    setAtEnd(atEnd || stick.current);
    positions.set(key, { anchor: found, isAtEnd: stick.current });
    loadMore(now, at, box.clientHeight);
    readTimer.current ??= setTimeout(() => {
      readTimer.current = undefined;
      markVisible(host.current, rows.current, latest.current.list);
    }, READ_AFTER_MS);
  };
  useEffect(() => {
    look();
    addEventListener("focus", look);
    return () => {
      removeEventListener("focus", look);
      clearTimeout(readTimer.current);
      clearTimeout(jumpTimer.current);
    };
  }, []);
  useEffect(look, [ids.length, list.foundNewest, list.foundOldest]);

  return {
    host,
    rows,
    window: shown,
    isAtEnd,
    topPlaceId,
    onScroll: look,
    toEnd: () => {
      stick.current = true;
      if (!list.foundNewest) void attempt(loadPage(narrow, "replace", "newest"));
      setCenterId(ids[ids.length - 1] ?? 0);
      settle();
    },
    reveal: (id: number) => reveal(id, { host: host.current, rows: rows.current, anchor, stick, setCenterId, settle }),
  };
}

function space(box: HTMLElement, name: string, height: number): void {
  const element = box.querySelector<HTMLElement>(`:scope > [data-space="${name}"]`);
  if (element) element.style.height = `${height}px`;
}

/** Returns where reading begins: at the message that is asked for, where the reader was, or at the first unread. */
function beginning(list: MessageList, wanted: number | undefined): { anchor: Anchor; isAtEnd: boolean } {
  const { ids, foundNewest } = list;
  const last = ids[ids.length - 1] ?? 0;
  if (wanted !== undefined) return { anchor: { id: wanted, offset: CONTEXT_PX }, isAtEnd: false };
  const before = positions.get(narrowKey(list.narrow));
  const firstUnread = ids.find((id) => app.state?.unread.places.has(id));
  if (before && firstUnread === undefined && ids.includes(before.anchor.id)) return before;
  const begin = firstUnread ?? (list.anchor <= last ? list.anchor : last);
  const at = Math.min(placeInList(ids, begin), Math.max(0, ids.length - 1));
  const isAtEnd = foundNewest && firstUnread === undefined && at === ids.length - 1;
  return { anchor: { id: ids[at] ?? 0, offset: CONTEXT_PX }, isAtEnd };
}

/** Returns the row at the upper edge: of the rendered ones, or by the measures where none is there. */
function topRow(box: HTMLElement, inner: HTMLElement | null, ids: readonly number[], heights: Heights): Anchor {
  const top = box.scrollTop;
  const rendered = [...(inner?.querySelectorAll<HTMLElement>(":scope > [data-id]") ?? [])];
  const [first, last] = [rendered[0], rendered[rendered.length - 1]];
  if (first && last && top >= first.offsetTop - 1 && top < last.offsetTop + last.offsetHeight) {
    let [low, high] = [0, rendered.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = rendered[middle] as HTMLElement;
      if (row.offsetTop + row.offsetHeight <= top) low = middle + 1;
      else high = middle;
    }
    const row = rendered[low] as HTMLElement;
    return { id: Number(row.dataset["id"]), offset: row.offsetTop - top };
  }
  const at = heights.at(ids, top);
  return { id: ids[at] ?? 0, offset: heights.between(ids, 0, at) - top };
}

function loadMore(list: MessageList, at: number, heightPx: number): void {
  if (list.stale || list.ids.length === 0) return;
  const visible = Math.ceil(heightPx / 40);
  if (!list.foundOldest && at < LOAD_BEFORE_END) void loadQuietly(list.narrow, "older", list.ids[0] ?? 0);
  if (!list.foundNewest && at + visible > list.ids.length - LOAD_BEFORE_END) {
    void loadQuietly(list.narrow, "newer", list.ids[list.ids.length - 1] ?? 0);
  }
}

/** What fails is tried again at the next scroll; the state of the connection is shown elsewhere. */
function loadQuietly(narrow: Narrow, mode: "older" | "newer", anchor: number): Promise<void> {
  return loadPage(narrow, mode, anchor).catch(() => undefined);
}

function readsOnSight(narrow: Narrow, state: State): boolean {
  const policy = state.settings["web_mark_read_on_scroll_policy"] ?? 1;
  return policy === 1 || (policy === 2 && conversationOf(narrow, state.selfId) !== undefined);
}

/** Marks as read what is in sight of a reader who is there. */
function markVisible(box: HTMLElement | null, inner: HTMLElement | null, list: MessageList): void {
  const { state } = app;
  if (!box || !inner || !state || !document.hasFocus() || app.ui.isReadingPaused || !readsOnSight(list.narrow, state)) return;
  const [top, bottom] = [box.scrollTop, box.scrollTop + box.clientHeight];
  const seen: number[] = [];
  for (const row of inner.querySelectorAll<HTMLElement>(":scope > [data-id]")) {
    const end = row.offsetTop + row.offsetHeight;
    // Of a message that is higher than the list, its end must be in sight.
    if (end <= bottom + 2 && end > top) seen.push(Number(row.dataset["id"]));
  }
  markRead(seen.filter((id) => isUnread(state, id)));
}

function isUnread(state: State, id: number): boolean {
  const message = state.messages.get(id);
  return message ? !message.flags.includes("read") || state.unread.places.has(id) : false;
}

interface Revealing {
  host: HTMLElement | null;
  rows: HTMLElement | null;
  anchor: { current: Anchor };
  stick: { current: boolean };
  setCenterId: (id: number) => void;
  settle: () => void;
}

/** Scrolls as little as needed to bring a row into sight. */
function reveal(id: number, { host, rows, anchor, stick, setCenterId, settle }: Revealing): void {
  const row = rows?.querySelector<HTMLElement>(`:scope > [data-id="${id}"]`);
  if (!host) return;
  if (!row) {
    stick.current = false;
    anchor.current = { id, offset: CONTEXT_PX };
    setCenterId(id);
    return;
  }
  const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
  const margin = 48;
  if (top - margin < host.scrollTop) {
    stick.current = false;
    anchor.current = { id, offset: margin };
    settle();
  } else if (bottom + margin > host.scrollTop + host.clientHeight) {
    anchor.current = { id, offset: Math.max(margin, host.clientHeight - row.offsetHeight - margin) };
    settle();
  }
}

/** Returns the place of a message, for keys that act on the selected one. */
export function placeOfId(id: number | undefined) {
  const { state } = app;
  const message = id === undefined ? undefined : state?.messages.get(id);
  return state && message ? placeOf(state.selfId, message) : undefined;
}
