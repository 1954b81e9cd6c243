// The running client: holds the state, feeds it with events, and tells the views when it has changed.
import { useEffect, useRef, useState } from "preact/hooks";
import { EventQueue, type Connection } from "../transport/queue";
import { apply, applyAll, concernsMessages } from "../store/apply";
import { needsRegistration } from "../store/access";
import { expireTyping } from "../store/apply_people";
import { initialState } from "../store/initial";
import { narrowKey } from "../store/narrow";
import { parseHash, type Route } from "../store/address";
import type { Event, MessageList, State } from "../store/types";

/** A message that is shown before the server has told it, or that could not be sent. */
export interface Outgoing {
  readonly localId: string;
  readonly placeKey: string;
  readonly content: string;
  readonly error: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
  /** The message that it has become, once the server has said so. */
  readonly sentId?: number;
}

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
  readonly action?: { readonly label: string; readonly run: () => void };
}

/** What is shown, beside the state of the server. */
export interface Ui {
  readonly route: Route;
  readonly connection: Connection;
  /** The message that keys act on. */
  readonly selectedId: number | undefined;
  readonly editingId: number | undefined;
  readonly toasts: readonly Toast[];
  readonly outgoing: readonly Outgoing[];
  readonly drawer: "left" | "right" | undefined;
  readonly dialog: Dialog | undefined;
  readonly lightbox: string | undefined;
  /** Whether what is in sight is not marked as read: the reader just marked some of it as unread. */
  readonly isReadingPaused: boolean;
}

/** The dialog in front of everything else. */
export type Dialog =
  | { readonly is: "help" }
  | { readonly is: "user"; readonly userId: number }
  | { readonly is: "history" | "receipts" | "move" | "delete"; readonly messageId: number }
  | { readonly is: "new-channel" }
  | { readonly is: "channel"; readonly channelId: number }
  | { readonly is: "emoji"; readonly messageId: number }
  | { readonly is: "status" }
  | { readonly is: "confirm"; readonly title: string; readonly text: string; readonly label: string; readonly run: () => void };

/** Events that stay known for pages that were asked for before they came. */
const REPLAY_MAX = 2_000;
const TYPING_SWEEP_MS = 5_000;
const RENEW_AFTER_MS = 300;
const RENEW_SPREAD_MS = 500;
const TOAST_MS = 6_000;

type Hook = (events: readonly Event[], before: State | undefined) => void;

export class App {
  state: State | undefined;
  ui: Ui = {
    route: { view: "unknown" },
    connection: { is: "connecting" },
    selectedId: undefined,
    editingId: undefined,
    toasts: [],
    outgoing: [],
    drawer: undefined,
    dialog: undefined,
    lightbox: undefined,
    isReadingPaused: false,
  };
  readonly queue: EventQueue;
  /** How often the state was replaced by that of a registration. */
  registrations = 0;
  private readonly listeners = new Set<() => void>();
  private readonly hooks = new Set<Hook>();
  private isScheduled = false;
  private replay: { at: number; event: Event }[] = [];
  private eventCount = 0;
  private toastCount = 0;
  private renewing: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.queue = new EventQueue({
      registered: (answer) => this.registered(answer),
      events: (events) => this.applyEvents(events),
      connection: (connection) => this.setUi({ connection }),
    });
  }

  start(): void {
    void this.queue.run();
    addEventListener("online", () => this.queue.nudge());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.queue.nudge());
    addEventListener("hashchange", () => this.routeChanged());
    setInterval(() => this.sweepTyping(), TYPING_SWEEP_MS);
  }

  /** A queue begins anew after it expired: what was loaded is loaded again, what was typed stays in its fields. */
  private registered(answer: Record<string, any>): void {
    const fresh = initialState(answer);
    const lists = new Map<string, MessageList>();
    for (const [key, list] of this.state?.lists ?? []) {
      lists.set(key, { ...list, stale: true, foundNewest: false });
    }
    // Lists that are shown stay until they were loaded again, so that the page does not jump to its beginning.
    this.state = { ...fresh, lists, messages: this.state?.messages ?? fresh.messages };
    this.replay = [];
    this.registrations += 1;
    // Another registration is no other view: what is selected, edited or open stays.
    if (this.ui.route.view === "unknown") this.routeChanged();
    else this.setUi({ route: parseHash(location.hash, this.state) });
    this.changed();
  }

  private routeChanged(): void {
    if (!this.state) return;
    const route = parseHash(location.hash, this.state);
    this.setUi({ route, drawer: undefined, selectedId: undefined, editingId: undefined, isReadingPaused: false });
  }

  /** Applies events of the queue, and those that an action makes to show its effect at once. */
  applyEvents(events: readonly Event[]): void {
    const before = this.state;
    if (!before) return;
    const arrived_ms = Date.now();
    const timed = events.map((event) => (event.type === "typing" ? { ...event, arrived_ms } : event));
    for (const event of timed) {
      if (concernsMessages(event)) this.replay.push({ at: this.eventCount++, event });
    }
    if (this.replay.length > REPLAY_MAX) this.replay = this.replay.slice(-REPLAY_MAX / 2);
    this.state = applyAll(before, timed);
    this.dropDelivered(events);
    for (const hook of this.hooks) hook(events, before);
    if (events.some((event) => needsRegistration(before, event))) this.renewSoon();
    this.changed();
  }

  /** Several channels that are joined at once cost one registration, and not all readers of a channel register at once. */
  private renewSoon(): void {
    clearTimeout(this.renewing);
    this.renewing = setTimeout(() => this.queue.renew(), RENEW_AFTER_MS + Math.random() * RENEW_SPREAD_MS);
  }

  private dropDelivered(events: readonly Event[]): void {
    const delivered = new Set(events.map((event) => event["local_message_id"]).filter(Boolean));
    if (delivered.size === 0) return;
    this.setUi({ outgoing: this.ui.outgoing.filter((message) => !delivered.has(message.localId)) });
  }

  /** Returns the moment, in events, that a request for messages begins at. */
  eventsSoFar(): number {
    return this.eventCount;
  }

  /** Changes the state by an answer, and applies again the events that came since the request was made. */
  change(since: number, change: (state: State) => State): void {
    if (!this.state) return;
    const later = this.replay.filter(({ at }) => at >= since).map(({ event }) => event);
    this.state = applyAll(change(this.state), later);
    this.changed();
  }

  applyLocally(event: Event): void {
    if (!this.state) return;
    this.state = apply(this.state, event);
    this.changed();
  }

  /** Calls the hook with the events that arrive, until the returned function is called. */
  onEvents(hook: Hook): () => void {
    this.hooks.add(hook);
    return () => void this.hooks.delete(hook);
  }

  setUi(news: Partial<Ui>): void {
    this.ui = { ...this.ui, ...news };
    this.changed();
  }

  toast(text: string, options: { isError?: boolean; action?: Toast["action"] } = {}): void {
    const id = (this.toastCount += 1);
    const { isError = false, action } = options;
    const toast: Toast = action ? { id, text, isError, action } : { id, text, isError };
    this.setUi({ toasts: [...this.ui.toasts.slice(-3), toast] });
    setTimeout(() => this.dismiss(id), TOAST_MS);
  }

  dismiss(id: number): void {
    this.setUi({ toasts: this.ui.toasts.filter((toast) => toast.id !== id) });
  }

  list(key: string): MessageList | undefined {
    return this.state?.lists.get(key);
  }

  private sweepTyping(): void {
    if (!this.state || this.state.typing.length === 0) return;
    const longest = Number(this.state.realm["server_typing_started_expiry_period_milliseconds"] ?? 45_000);
    const next = expireTyping(this.state, Date.now() - longest);
    if (next !== this.state) {
      this.state = next;
      this.changed();
    }
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells the views once for all changes of a moment. */
  private changed(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    queueMicrotask(() => {
      this.isScheduled = false;
      for (const listener of [...this.listeners]) listener();
    });
  }
}

export const app = new App();

/** Returns what `select` picks of the running client, and renders again when that has changed. */
export function useApp<T>(select: (app: App) => T, isEqual: (a: T, b: T) => boolean = Object.is): T {
  const [, render] = useState(0);
  const selected = select(app);
  const current = useRef({ select, selected, isEqual });
  current.current = { select, selected, isEqual };
  useEffect(
    () =>
      app.subscribe(() => {
        const { select, selected, isEqual } = current.current;
        if (!isEqual(select(app), selected)) render((count) => count + 1);
      }),
    [],
  );
  return selected;
}

/** As [`useApp`], of the state; views are shown only when there is one. */
export function useStore<T>(select: (state: State) => T, isEqual?: (a: T, b: T) => boolean): T {
  return useApp((app) => select(app.state as State), isEqual);
}

/** Compares lists and flat objects by their members. */
export function shallow<T>(a: T, b: T): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const [first, second] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(first);
  return keys.length === Object.keys(second).length && keys.every((key) => Object.is(first[key], second[key]));
}

export function keyOf(route: Route): string | undefined {
  return route.view === "narrow" ? narrowKey(route.narrow) : undefined;
}
