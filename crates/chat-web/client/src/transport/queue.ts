// The event queue: registers, polls, and goes on after sleep, a lost network, a restart or an expired queue.
import { ApiError, NetworkError, request } from "./api";
import { EVENT_TYPES, FETCH_TYPES } from "../store/initial";
import type { Event } from "../store/types";

/** Whether events arrive. */
export type Connection = { readonly is: "connecting" | "online" } | { readonly is: "waiting"; readonly untilMs: number };

export interface QueueHooks {
  /** A queue was registered; `answer` is the state that its events go on from. */
  registered(answer: Record<string, any>): void;
  events(events: Event[]): void;
  connection(connection: Connection): void;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** The server answers a poll within a minute, events or not. */
const POLL_TIMEOUT_MS = 90_000;
/** A poll that has been open for this long when the computer wakes up may be lost, and is made again. */
const SUSPICIOUS_MS = 10_000;

export class EventQueue {
  queueId = "";
  private lastEventId = -1;
  private failures = 0;
  private isRenewing = false;
  private pollBeganMs = 0;
  private polling: AbortController | undefined;
  private endWait: (() => void) | undefined;

  constructor(private readonly hooks: QueueHooks) {}

  /** Runs for as long as the page is open. */
  async run(): Promise<never> {
    for (;;) {
      try {
        if (this.queueId === "") await this.register();
        await this.poll();
      } catch (error) {
        await this.recover(error);
      }
    }
  }

  /** Tries again now: the network came back, or the computer woke up. */
  nudge(): void {
    this.endWait?.();
    if (this.polling && Date.now() - this.pollBeganMs > SUSPICIOUS_MS) this.polling.abort();
  }

  /** Registers anew: the server has not told what the state lacks, and will not. */
  renew(): void {
    const { queueId } = this;
    if (queueId === "") return;
    this.queueId = "";
    this.isRenewing = true;
    this.polling?.abort();
    void request("DELETE", "events", { queue_id: queueId }).catch(() => undefined);
  }

  private async register(): Promise<void> {
    if (!this.isRenewing) this.hooks.connection({ is: "connecting" });
    this.isRenewing = false;
    const answer = await request("POST", "register", {
      event_types: EVENT_TYPES,
      fetch_event_types: FETCH_TYPES,
      apply_markdown: true,
      client_gravatar: true,
      slim_presence: true,
      client_capabilities: {
        notification_settings_null: true,
        bulk_message_deletion: true,
        user_avatar_url_field_optional: true,
        stream_typing_notifications: true,
        user_settings_object: true,
        linkifier_url_template: true,
        include_deactivated_groups: true,
        archived_channels: true,
      },
    });
    this.queueId = String(answer["queue_id"]);
    this.lastEventId = Number(answer["last_event_id"]);
    this.failures = 0;
    this.hooks.registered(answer);
    this.hooks.connection({ is: "online" });
  }

  private async poll(): Promise<void> {
    this.polling = new AbortController();
    this.pollBeganMs = Date.now();
    const params = { queue_id: this.queueId, last_event_id: this.lastEventId, ...(this.failures > 0 ? { dont_block: true } : {}) };
    const answer = await request<{ events: Event[] }>("GET", "events", params, {
      signal: this.polling.signal,
      timeoutMs: POLL_TIMEOUT_MS,
    });
    if (this.failures > 0) this.hooks.connection({ is: "online" });
    this.failures = 0;
    for (const event of answer.events) this.lastEventId = Math.max(this.lastEventId, event.id ?? -1);
    // What passes, such as typing, comes under the number of an event before it: numbers say nothing of what is new.
    const news = answer.events.filter((event) => event.type !== "heartbeat");
    if (news.length > 0) this.hooks.events(news);
  }

  private async recover(error: unknown): Promise<void> {
    if (error instanceof ApiError && error.code === "BAD_EVENT_QUEUE_ID") {
      this.queueId = "";
      return;
    }
    // A poll that `nudge` ended is made again at once.
    if (error instanceof DOMException && error.name === "AbortError") return;
    if (!(error instanceof NetworkError || error instanceof ApiError)) console.error(error);
    this.failures += 1;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (this.failures - 1), LONGEST_WAIT_MS);
    // Clients that lost the server together do not all come back together.
    const spreadMs = waitMs * (0.75 + Math.random() / 2);
    // The first failure is often a restart that is over within a second: it is not shown.
    if (this.failures > 1) this.hooks.connection({ is: "waiting", untilMs: Date.now() + spreadMs });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, spreadMs);
      this.endWait = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.endWait = undefined;
  }
}
