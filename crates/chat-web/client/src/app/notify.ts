// What reaches the reader outside of the page: notifications, sounds, the title and the icon of the tab.
import { app } from "./app";
import { goNarrow } from "./actions";
import { placeNarrow } from "../store/narrow";
import { isPlaceMuted, placeOf, topicPolicy } from "../store/place";
import { placeNames, unreadCounts } from "../store/select";
import type { Event, Message, State } from "../store/types";
import { cleanHtml } from "../widgets/html";
import { t } from "../text/language";

export function notificationsAllowed(): boolean {
  return "Notification" in window && Notification.permission === "granted";
}

export async function askPermission(): Promise<boolean> {
  if ("Notification" in window) await Notification.requestPermission();
  return notificationsAllowed();
}

export function startNotifications(): void {
  app.onEvents((events) => announce(events));
  app.subscribe(showCount);
  // The first click or key lets the page make sounds.
  addEventListener("pointerdown", () => void audio(), { once: true });
}

/** How a message is announced. */
interface Announcement {
  readonly shows: boolean;
  readonly sounds: boolean;
}

/** Returns how the reader wants to hear of a message. */
export function announcement(state: State, message: Message): Announcement {
  const { settings } = state;
  const is = (name: string) => settings[name] !== false;
  const none = { shows: false, sounds: false };
  if (message.sender_id === state.selfId || message.flags.includes("read")) return none;
  if (state.mutedUsers.has(message.sender_id)) return none;
  const isWildcard = message.flags.some((flag) => flag.includes("wildcard_mentioned"));
  const isMention = message.flags.includes("mentioned") || (isWildcard && is("wildcard_mentions_notify"));
  const isDirect = message.type === "private";
  if (isDirect || isMention || message.flags.includes("has_alert_word")) {
    return { shows: is("enable_desktop_notifications"), sounds: is("enable_sounds") };
  }
  if (isPlaceMuted(state, placeOf(state.selfId, message))) return none;
  if (topicPolicy(state, message.stream_id ?? 0, message.subject) === 3) {
    return {
      shows: is("enable_followed_topic_desktop_notifications"),
      sounds: is("enable_followed_topic_audible_notifications"),
    };
  }
  const channel = state.channels.get(message.stream_id ?? -1);
  return {
    shows: channel?.desktop_notifications ?? settings["enable_stream_desktop_notifications"] === true,
    sounds: channel?.audible_notifications ?? settings["enable_stream_audible_notifications"] === true,
  };
}

function announce(events: readonly Event[]): void {
  const { state } = app;
  if (!state) return;
  for (const event of events) {
    if (event.type !== "message") continue;
    const message = state.messages.get(event["message"].id);
    if (!message) continue;
    const { shows, sounds } = announcement(state, message);
    const isSeen = document.hasFocus() && document.visibilityState === "visible";
    if (shows && !isSeen) show(state, message);
    if (sounds && !isSeen) void chime();
  }
}

function show(state: State, message: Message): void {
  if (!notificationsAllowed()) return;
  const place = placeOf(state.selfId, message);
  const where =
    place.kind === "direct"
      ? place.userIds.length > 1
        ? t(" (to you and {0})", placeNames(state, place.userIds.filter((id) => id !== message.sender_id)))
        : ""
      : ` (#${state.channels.get(place.channelId)?.name ?? ""} > ${place.topic || t("general chat")})`;
  const isHidden = place.kind === "direct" && state.settings["pm_content_in_desktop_notifications"] === false;
  const content = cleanHtml(message.content);
  for (const spoiler of content.querySelectorAll(".spoiler-content")) spoiler.remove();
  const text = isHidden ? t("New direct message") : (content.textContent ?? "").trim().slice(0, 200);
  const notification = new Notification(message.sender_full_name + where, { body: text, tag: String(message.id) });
  notification.onclick = () => {
    focus();
    goNarrow([...placeNarrow(place), { operator: "near", operand: message.id }]);
    notification.close();
  };
}

let context: AudioContext | undefined;

async function audio(): Promise<AudioContext> {
  context ??= new AudioContext();
  if (context.state === "suspended") await context.resume();
  return context;
}

/** Two soft tones, made here: a sound file would be one more thing to load. */
async function chime(): Promise<void> {
  const out = await audio().catch(() => undefined);
  if (!out || out.state !== "running") return;
  for (const [at, frequency] of [[0, 660], [0.12, 880]] as const) {
    const [tone, volume] = [out.createOscillator(), out.createGain()];
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.0001, out.currentTime + at);
    volume.gain.exponentialRampToValueAtTime(0.12, out.currentTime + at + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, out.currentTime + at + 0.35);
    tone.connect(volume).connect(out.destination);
    tone.start(out.currentTime + at);
    tone.stop(out.currentTime + at + 0.4);
  }
}

let shownCount = -1;

/** Draws the number of unread messages that concern the reader onto the icon of the tab. */
function showCount(): void {
  const { state } = app;
  if (!state) return;
  const counts = unreadCounts(state);
  const setting = state.settings["desktop_icon_count_display"];
  const all = counts.total;
  const close = counts.directs + counts.mentions;
  const count = setting === 2 || setting === 3 ? close : setting === 4 ? 0 : all;
  if (count === shownCount) return;
  shownCount = count;
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (icon) icon.href = drawIcon(count);
}

export function unreadInTitle(): string {
  return shownCount > 0 ? `(${shownCount}) ` : "";
}

function drawIcon(count: number): string {
  const badge =
    count > 0
      ? `<circle cx="23" cy="9" r="9" fill="%23d6453d"/><text x="23" y="13" font-size="12" font-family="sans-serif" font-weight="700" text-anchor="middle" fill="%23fff">${count > 99 ? "∞" : count}</text>`
      : "";
  return `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="%232b5d6b"/><path d="M8 10h16v10H15l-5 4v-4H8z" fill="%23fff"/>${badge}</svg>`;
}

