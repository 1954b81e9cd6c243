// What is being written. It outlives views, queues and reloads: nothing that was typed is lost.
import { app } from "./app";
import { attempt, destination, send } from "./actions";
import { request } from "../transport/api";
import { conversationOf, channelOf, type Narrow } from "../store/narrow";
import { directPlace, placeKey } from "../store/place";
import type { Draft, Place, Scheduled, State } from "../store/types";
import { t } from "../text/language";

/** Where a message is to go, as far as it is said. */
export type Target =
  | { readonly kind: "topic"; readonly channelId: number | undefined; readonly topic: string }
  | { readonly kind: "direct"; readonly userIds: readonly number[] };

export interface Compose {
  readonly isOpen: boolean;
  readonly target: Target;
  readonly content: string;
  readonly draftId: number | undefined;
  readonly isPreview: boolean;
  readonly uploads: readonly { readonly id: number; readonly name: string; readonly part: number; readonly cancel: () => void }[];
}

const EMPTY: Compose = {
  isOpen: false,
  target: { kind: "topic", channelId: undefined, topic: "" },
  content: "",
  draftId: undefined,
  isPreview: false,
  uploads: [],
};
/** A text that was not touched for this long is kept on the server. */
const DRAFT_AFTER_MS = 4_000;

type Listener = () => void;

class ComposeState {
  value: Compose = EMPTY;
  private readonly listeners = new Set<Listener>();
  private draftTimer: ReturnType<typeof setTimeout> | undefined;
  private savedContent = "";
  private saving: Promise<void> = Promise.resolve();

  /** Reads what a closed or reloaded page had in it. */
  restore(selfId: number): void {
    try {
      const stored = JSON.parse(localStorage.getItem(`compose/${selfId}`) ?? "null") as Compose | null;
      if (stored && this.value === EMPTY && stored.content !== "") {
        this.set({ ...EMPTY, target: stored.target, content: stored.content, draftId: stored.draftId, isOpen: true });
      }
    } catch {
      // What cannot be read was not written by this client.
    }
  }

  set(news: Partial<Compose>): void {
    const before = this.value;
    this.value = { ...before, ...news };
    for (const listener of [...this.listeners]) listener();
    const { target, content, draftId } = this.value;
    if (before.content === content && before.target === target && before.draftId === draftId) return;
    const key = `compose/${app.state?.selfId ?? 0}`;
    if (content === "") localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify({ target, content, draftId }));
    clearTimeout(this.draftTimer);
    if (content.trim() !== "") this.draftTimer = setTimeout(() => void this.saveDraft(), DRAFT_AFTER_MS);
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Keeps the text on the server; one request after the other, so that one text is one draft. */
  saveDraft(): Promise<void> {
    clearTimeout(this.draftTimer);
    this.saving = this.saving.then(() => this.saveNow()).catch(() => undefined);
    return this.saving;
  }

  private async saveNow(): Promise<void> {
    const { content, target, draftId } = this.value;
    const isKept = app.state?.settings["enable_drafts_synchronization"] !== false;
    const mark = JSON.stringify([content, target]);
    if (content.trim() === "" || !isKept || mark === this.savedContent) return;
    const draft = { ...draftPlace(target), content, timestamp: Math.floor(Date.now() / 1000) };
    if (draftId !== undefined && app.state?.drafts.some((one) => one.id === draftId)) {
      await request("PATCH", `drafts/${draftId}`, { draft });
    } else {
      const answer = await request("POST", "drafts", { drafts: [draft] });
      const id = (answer["ids"] as number[])[0];
      if (this.value.content.trim() === "") await request("DELETE", `drafts/${id}`);
      else this.set({ draftId: id });
    }
    this.savedContent = mark;
  }

  /** Takes the text away, with its draft when it was sent. */
  clear(isSent: boolean): void {
    const { draftId } = this.value;
    clearTimeout(this.draftTimer);
    this.savedContent = "";
    this.set({ content: "", draftId: undefined, isPreview: false });
    if (isSent && draftId !== undefined) void request("DELETE", `drafts/${draftId}`).catch(() => undefined);
  }
}

export const compose = new ComposeState();

function draftPlace(target: Target): Pick<Draft, "type" | "to" | "topic"> {
  if (target.kind === "topic") {
    const to = target.channelId === undefined ? [] : [target.channelId];
    return { type: to.length > 0 ? "stream" : "", to, topic: target.topic };
  }
  return { type: "private", to: [...target.userIds], topic: "" };
}

/** Returns the conversation, once it is said. */
export function targetPlace(target: Target, state: State): Place | undefined {
  if (target.kind === "direct") {
    return target.userIds.length > 0 ? directPlace(state.selfId, target.userIds) : undefined;
  }
  if (target.channelId === undefined) return undefined;
  return { kind: "topic", channelId: target.channelId, topic: target.topic.trim() };
}

/** Returns where a message goes that is begun in a view. */
export function targetOf(narrow: Narrow | undefined, selfId: number): Target {
  const place = narrow && conversationOf(narrow, selfId);
  if (place) return place;
  return { kind: "topic", channelId: narrow && channelOf(narrow), topic: "" };
}

/** Opens the compose box. A text that is there already stays, unless it is for elsewhere: that becomes a draft. */
export async function openCompose(target: Target, content?: string): Promise<void> {
  const { value } = compose;
  const isElsewhere = app.state && key(value.target) !== key(target);
  if (isElsewhere && value.content.trim() !== "" && content === undefined) {
    await compose.saveDraft();
    app.toast(t("What you wrote is kept in your drafts."));
    compose.clear(false);
  }
  const text = content ?? compose.value.content;
  compose.set({ isOpen: true, target, content: text, isPreview: false });
  queueMicrotask(focusCompose);
}

function key(target: Target): string {
  if (target.kind === "direct") return `d/${target.userIds.join(",")}`;
  return `c/${target.channelId}/${target.topic.toLowerCase()}`;
}

export function focusCompose(): void {
  requestAnimationFrame(() => {
    const missing = document.querySelector<HTMLElement>(".compose [data-missing]");
    (missing ?? document.querySelector<HTMLElement>(".compose textarea"))?.focus();
  });
}

export async function closeCompose(): Promise<void> {
  compose.set({ isOpen: false, isPreview: false });
  (document.activeElement as HTMLElement | null)?.blur();
  // A draft that was emptied is given up.
  if (compose.value.content.trim() === "") return compose.clear(true);
  await compose.saveDraft();
  app.toast(t("Kept in your drafts."));
  if (compose.value.draftId !== undefined && !compose.value.isOpen) compose.clear(false);
}

/** Returns why the message cannot be sent as it is. */
export function missing(state: State, { target, content, uploads }: Compose): string | undefined {
  if (uploads.length > 0) return t("Wait until the upload is complete.");
  if (target.kind === "topic" && target.channelId === undefined) return t("Choose a channel.");
  if (target.kind === "topic" && target.topic.trim() === "" && state.realm["realm_mandatory_topics"] === true) {
    return t("Write a topic.");
  }
  if (target.kind === "direct" && target.userIds.length === 0) return t("Choose whom to write to.");
  if (content.trim() === "") return t("Write a message.");
  const most = Number(state.realm["max_message_length"] ?? 10_000);
  return [...content].length > most ? t("The message is longer than {0} characters.", most) : undefined;
}

export function sendComposed(): boolean {
  const { state } = app;
  if (!state) return false;
  const reason = missing(state, compose.value);
  const place = targetPlace(compose.value.target, state);
  if (reason || !place) {
    app.toast(reason ?? t("Choose where it goes."), { isError: true });
    focusCompose();
    return false;
  }
  send(place, compose.value.content);
  compose.clear(true);
  return true;
}

export async function scheduleComposed(atS: number): Promise<void> {
  const { state } = app;
  const place = state && targetPlace(compose.value.target, state);
  const reason = state && missing(state, compose.value);
  if (!place || reason) return app.toast(reason ?? t("Choose where it goes."), { isError: true });
  const params = { ...destination(place), content: compose.value.content, scheduled_delivery_timestamp: atS };
  const when = new Date(atS * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  if (await attempt(request("POST", "scheduled_messages", params), t("Will be sent {0}.", when))) compose.clear(true);
}

export function draftTarget(draft: Draft): Target {
  if (draft.type === "private") return { kind: "direct", userIds: draft.to };
  return { kind: "topic", channelId: draft.to[0], topic: draft.topic };
}

export function scheduledTarget(scheduled: Scheduled): Target {
  if (Array.isArray(scheduled.to)) return { kind: "direct", userIds: scheduled.to };
  return { kind: "topic", channelId: scheduled.to, topic: scheduled.topic ?? "" };
}

/** The conversation whose other people are told that the reader writes. */
let typingIn: { key: string; place: Place; sinceMs: number } | undefined;
let typingStop: ReturnType<typeof setTimeout> | undefined;

/** Tells the other people of a conversation that the reader writes to them, as often as the server asks for. */
export function noteTyping(): void {
  const { state } = app;
  const place = state && targetPlace(compose.value.target, state);
  if (!state || !place || compose.value.content.trim() === "") return stopTyping();
  const setting = place.kind === "direct" ? "send_private_typing_notifications" : "send_stream_typing_notifications";
  if (state.settings[setting] === false) return;
  const again = Number(state.realm["server_typing_started_wait_period_milliseconds"] ?? 10_000);
  const key = placeKey(place);
  if (typingIn && typingIn.key !== key) stopTyping();
  if (!typingIn || Date.now() - typingIn.sinceMs > again) {
    typingIn = { key, place, sinceMs: Date.now() };
    sendTyping(place, "start");
  }
  clearTimeout(typingStop);
  typingStop = setTimeout(stopTyping, Number(state.realm["server_typing_stopped_wait_period_milliseconds"] ?? 5_000));
}

export function stopTyping(): void {
  clearTimeout(typingStop);
  if (typingIn) sendTyping(typingIn.place, "stop");
  typingIn = undefined;
}

function sendTyping(place: Place, op: "start" | "stop"): void {
  const params =
    place.kind === "direct"
      ? { type: "direct", op, to: place.userIds }
      : { type: "stream", op, stream_id: place.channelId, topic: place.topic };
  void request("POST", "typing", params).catch(() => undefined);
}
