// Keyboard shortcuts: those that people of this family of clients know.
import { app } from "../app/app";
import { go, goNarrow, setFlag, setTopicPolicy, toggleReaction } from "../app/actions";
import { closeCompose, compose, openCompose, targetOf } from "../app/compose";
import { narrowKey, placeNarrow, withoutAnchor, channelNarrow, conversationOf, FEED, type Narrow } from "../store/narrow";
import { placeOf, topicPolicy } from "../store/place";
import { mayDelete, mayEdit, mayMove, nextUnread } from "../store/select";
import type { Message, State } from "../store/types";
import { quoteMessage, replyTo } from "./message_menu";
import { t } from "../text/language";

/** What the help shows. */
export const KEYS: readonly { title: string; keys: readonly (readonly [string, string])[] }[] = [
  {
    title: t("Reading"),
    keys: [
      ["j", t("Next message")],
      ["k", t("Message before")],
      ["n", t("Next topic with unread messages")],
      ["p", t("Next direct conversation with unread messages")],
      ["G", t("Newest message")],
      ["Home", t("Oldest loaded message")],
      ["s", t("Conversation of the message")],
      ["S", t("Channel of the message")],
      ["Esc", t("Close, or go to the inbox")],
    ],
  },
  {
    title: t("Writing"),
    keys: [
      ["r", t("Reply")],
      ["R", t("Write to the sender")],
      [">", t("Quote and reply")],
      ["c", t("New topic")],
      ["x", t("New direct message")],
      ["e", t("Edit the message")],
      ["Ctrl Enter", t("Send")],
    ],
  },
  {
    title: t("The selected message"),
    keys: [
      ["*", t("Star")],
      ["+", t("React with thumbs up")],
      [":", t("React with an emoji")],
      ["u", t("Profile of the sender")],
      ["m", t("Move")],
      ["M", t("Mute or unmute the topic")],
      ["F", t("Follow or unfollow the topic")],
      [t("Delete"), t("Delete")],
    ],
  },
  {
    title: t("Going places"),
    keys: [
      ["/", t("Search")],
      ["q", t("Find a channel")],
      ["w", t("Find a person")],
      ["g i", t("Inbox")],
      ["g a", t("Combined feed")],
      ["g m", t("Mentions")],
      ["g s", t("Starred messages")],
      ["g p", t("Direct messages")],
      ["g d", t("Drafts")],
      ["g c", t("All channels")],
      ["?", t("This help")],
    ],
  },
];

/** What follows `g`. */
const PLACES: Readonly<Record<string, () => void>> = {
  i: () => go("#inbox"),
  a: () => go("#feed"),
  m: () => goNarrow([{ operator: "is", operand: "mentioned" }]),
  s: () => goNarrow([{ operator: "is", operand: "starred" }]),
  p: () => goNarrow([{ operator: "is", operand: "dm" }]),
  d: () => go("#drafts"),
  c: () => go("#channels"),
};
/** Time for the key after `g`. */
const SECOND_KEY_MS = 1_500;

let firstKeyMs = 0;

export function listenToKeys(): void {
  addEventListener("keydown", onKey);
}

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return element?.closest?.("input, textarea, select, [contenteditable], [role=menu], dialog") != null;
}

function onKey(event: KeyboardEvent): void {
  if (event.isComposing || event.altKey || !app.state) return;
  if (event.key === "Escape") return escape(event);
  if (event.ctrlKey || event.metaKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const second = Date.now() - firstKeyMs < SECOND_KEY_MS ? PLACES[event.key] : undefined;
  firstKeyMs = 0;
  const action = second ?? ACTIONS[event.key];
  if (!action) return;
  // A control that is focused has its own use of these.
  if ((event.key === "Enter" || event.key === " ") && event.target !== document.body) return;
  event.preventDefault();
  action(app.state);
}

function escape(event: KeyboardEvent): void {
  if (document.querySelector("dialog[open]")) return;
  if (app.ui.drawer) return app.setUi({ drawer: undefined });
  if (app.ui.editingId !== undefined) return app.setUi({ editingId: undefined });
  const inCompose = (event.target as HTMLElement | null)?.closest?.(".compose");
  if (compose.value.isOpen && (inCompose || !isTyping(event.target))) return void closeCompose();
  if (isTyping(event.target)) return (event.target as HTMLElement).blur();
  if (app.ui.selectedId !== undefined) return app.setUi({ selectedId: undefined });
  if (app.state?.settings["web_escape_navigates_to_home_view"] !== false) go("#inbox");
}

export function currentNarrow(): Narrow | undefined {
  const { route } = app.ui;
  if (route.view === "narrow") return route.narrow;
  return route.view === "feed" ? FEED : undefined;
}

function currentIds(): readonly number[] {
  const narrow = currentNarrow();
  return (narrow && app.list(narrowKey(withoutAnchor(narrow)))?.ids) ?? [];
}

/** Selects the message so many places from the selected one; without one, the first or last one in sight. */
function move(by: number): void {
  const ids = currentIds();
  if (ids.length === 0) return moveInInbox(by);
  const at = ids.indexOf(app.ui.selectedId ?? -1);
  if (at >= 0) return app.setUi({ selectedId: ids[Math.max(0, Math.min(ids.length - 1, at + by))] });
  const inSight = visibleIds();
  app.setUi({ selectedId: by > 0 ? (inSight[0] ?? ids[0]) : (inSight[inSight.length - 1] ?? ids[ids.length - 1]) });
}

function visibleIds(): number[] {
  const box = document.querySelector(".messages");
  if (!box) return [];
  const { top, bottom } = box.getBoundingClientRect();
  const rows = [...box.querySelectorAll<HTMLElement>(".row[data-id]")];
  const inSight = rows.filter((row) => {
    const place = row.getBoundingClientRect();
    return place.bottom > top + 40 && place.bottom <= bottom + 4;
  });
  return inSight.map((row) => Number(row.dataset["id"]));
}

function moveInInbox(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-inbox-row]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))]?.focus();
}

function goNext(state: State, kind: "topic" | "direct"): void {
  const narrow = currentNarrow();
  const next = nextUnread(state, narrow && conversationOf(narrow, state.selfId), kind);
  if (next) goNarrow(placeNarrow(next));
  else app.toast(kind === "topic" ? t("No more unread topics.") : t("No more unread direct messages."));
}

/** Returns the message that keys act on: the selected one, or the newest of the view. */
function target(state: State): Message | undefined {
  const ids = currentIds();
  const id = app.ui.selectedId ?? visibleIds().pop() ?? ids[ids.length - 1];
  return id === undefined ? undefined : state.messages.get(id);
}

function withTarget(act: (message: Message, state: State) => void): (state: State) => void {
  return (state) => {
    const message = target(state);
    if (message) act(message, state);
  };
}

function toggleTopic(message: Message, state: State, policy: number): void {
  if (message.type !== "stream") return;
  const channelId = message.stream_id ?? 0;
  const now = topicPolicy(state, channelId, message.subject);
  void setTopicPolicy(channelId, message.subject, now === policy ? 0 : policy);
}

function focus(selector: string, drawer?: "left" | "right"): void {
  // In a wide window the sides are always there.
  const isShown = (document.querySelector(selector)?.getClientRects().length ?? 0) > 0;
  if (drawer && !isShown) app.setUi({ drawer });
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}

function newTopic(state: State): void {
  const target = targetOf(currentNarrow(), state.selfId);
  const topic = target.kind === "topic" ? target : ({ kind: "topic", channelId: undefined, topic: "" } as const);
  void openCompose({ ...topic, topic: "" });
}

function reply(state: State): void {
  const message = target(state);
  if (message) return replyTo(message);
  const narrow = currentNarrow();
  const place = narrow && conversationOf(narrow, state.selfId);
  if (place) void openCompose(place);
}

const THUMBS_UP = { name: "thumbs_up", code: "1f44d", type: "unicode_emoji" };

const ACTIONS: Readonly<Record<string, (state: State) => void>> = {
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  G: () => app.setUi({ selectedId: currentIds()[currentIds().length - 1] }),
  End: () => app.setUi({ selectedId: currentIds()[currentIds().length - 1] }),
  Home: () => app.setUi({ selectedId: currentIds()[0] }),
  n: (state) => goNext(state, "topic"),
  p: (state) => goNext(state, "direct"),
  r: reply,
  Enter: reply,
  R: withTarget((message) => void openCompose({ kind: "direct", userIds: [message.sender_id] })),
  ">": withTarget((message) => void quoteMessage(message)),
  c: newTopic,
  x: () => void openCompose({ kind: "direct", userIds: [] }),
  e: withTarget((message, state) => {
    if (mayEdit(state, message)) app.setUi({ editingId: message.id, selectedId: message.id });
    else app.toast(t("This message cannot be edited."));
  }),
  "*": withTarget((message) => void setFlag([message.id], "starred", !message.flags.includes("starred"))),
  "+": withTarget((message) => void toggleReaction(message, THUMBS_UP)),
  ":": withTarget((message) => app.setUi({ dialog: { is: "emoji", messageId: message.id } })),
  u: withTarget((message) => app.setUi({ dialog: { is: "user", userId: message.sender_id } })),
  m: withTarget((message, state) => {
    if (mayMove(state, message)) app.setUi({ dialog: { is: "move", messageId: message.id } });
  }),
  M: withTarget((message, state) => toggleTopic(message, state, 1)),
  F: withTarget((message, state) => toggleTopic(message, state, 3)),
  Delete: withTarget((message, state) => {
    if (mayDelete(state, message)) app.setUi({ dialog: { is: "delete", messageId: message.id } });
  }),
  s: withTarget((message, state) => goNarrow(placeNarrow(placeOf(state.selfId, message)))),
  S: withTarget((message) => message.stream_id !== undefined && goNarrow(channelNarrow(message.stream_id))),
  "/": () => focus("#search"),
  q: () => focus("#channel-filter, .left-bar .channels a", "left"),
  w: () => focus("#people-filter", "right"),
  g: () => void (firstKeyMs = Date.now()),
  "?": () => app.setUi({ dialog: { is: "help" } }),
};

