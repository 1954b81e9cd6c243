// What can be done with a message, beyond its buttons.
import { app } from "../app/app";
import { attempt, editMessage, goNarrow, linkTo, markUnreadFrom, rawContent, setTopicPolicy } from "../app/actions";
import { compose, openCompose } from "../app/compose";
import { request } from "../transport/api";
import { placeNarrow } from "../store/narrow";
import { isResolved, placeOf, resolved, topicPolicy, unresolved } from "../store/place";
import { may } from "../store/permissions";
import { isAdmin, mayDelete, mayEdit, mayMove } from "../store/select";
import type { Message, State } from "../store/types";
import type { MenuItem } from "../widgets/controls";
import { t } from "../text/language";

export function messageMenu(message: Message): MenuItem[] {
  const state = app.state as State;
  const dialog = (is: "history" | "receipts" | "move" | "delete") => () =>
    app.setUi({ dialog: { is, messageId: message.id } });
  const items: (MenuItem | false)[] = [
    { label: t("Reply"), icon: "reply", run: () => replyTo(message) },
    { label: t("Quote and reply"), icon: "quote", run: () => void quoteMessage(message) },
    mayEdit(state, message) && { label: t("Edit"), icon: "draft", run: () => app.setUi({ editingId: message.id }) },
    mayMove(state, message) && { label: t("Move or rename the topic"), icon: "move", run: dialog("move") },
    { label: t("Mark as unread from here"), icon: "inbox", run: () => void markUnread(message) },
    { label: t("Copy link to message"), icon: "link", run: () => void copyLink(message) },
    { label: t("Who has read it"), icon: "eye", run: dialog("receipts") },
    message.last_edit_timestamp !== undefined && { label: t("Edit history"), icon: "clock", run: dialog("history") },
    mayDelete(state, message) && { label: t("Delete"), icon: "trash", run: dialog("delete") },
  ];
  return items.filter((item): item is MenuItem => item !== false);
}

export function replyTo(message: Message): void {
  const place = placeOf((app.state as State).selfId, message);
  void openCompose(place);
}

/** Puts the text of a message into the compose box, with who wrote it and a link to it. */
export async function quoteMessage(message: Message): Promise<void> {
  const state = app.state as State;
  const place = placeOf(state.selfId, message);
  try {
    const raw = await rawContent(message.id);
    const runs = raw.match(/`{3,}/g) ?? [];
    const fence = "`".repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
    const link = linkTo(state, placeNarrow(place), message.id);
    const quoted = `@_**${message.sender_full_name}|${message.sender_id}** [said](${link}):\n${fence}quote\n${raw}\n${fence}\n`;
    const before = compose.value.isOpen ? compose.value.content : "";
    const gap = before === "" || before.endsWith("\n") ? "" : "\n";
    await openCompose(compose.value.isOpen && before !== "" ? compose.value.target : place, before + gap + quoted);
  } catch (error) {
    app.toast(error instanceof Error ? error.message : String(error), { isError: true });
  }
}

async function markUnread(message: Message): Promise<void> {
  const state = app.state as State;
  const { route } = app.ui;
  const place = placeOf(state.selfId, message);
  const narrow = route.view === "narrow" ? route.narrow : placeNarrow(place);
  app.setUi({ isReadingPaused: true });
  await markUnreadFrom(narrow, message.id);
}

async function copyLink(message: Message): Promise<void> {
  const state = app.state as State;
  await navigator.clipboard.writeText(linkTo(state, placeNarrow(placeOf(state.selfId, message)), message.id));
  app.toast(t("Link copied."));
}

/** Marks a topic as resolved, or no longer: all its messages move under the other name. */
export async function toggleResolved(channelId: number, topic: string): Promise<void> {
  const id = newestIn(channelId, topic);
  if (id === undefined) return app.toast(t("The topic has no messages."), { isError: true });
  const name = isResolved(topic) ? unresolved(topic) : resolved(topic);
  const moved = editMessage(id, { topic: name, propagate_mode: "change_all" });
  const done = isResolved(topic) ? t("The topic is open again.") : t("The topic is resolved.");
  if (await attempt(moved, done)) goNarrow(placeNarrow({ kind: "topic", channelId, topic: name }));
}

function deleteTopic(channelId: number, topic: string): void {
  app.setUi({
    dialog: {
      is: "confirm",
      title: t("Delete the topic {0}?", topic || t("general chat")),
      text: t("All its messages are taken away for everyone."),
      label: t("Delete topic"),
      run: () => void attempt(request("POST", `streams/${channelId}/delete_topic`, { topic_name: topic }), t("Topic deleted.")),
    },
  });
}

export function newestIn(channelId: number, topic: string): number | undefined {
  const folded = topic.toLowerCase();
  let newest: number | undefined;
  for (const message of app.state?.messages.values() ?? []) {
    const isThere = message.stream_id === channelId && message.subject.toLowerCase() === folded;
    if (isThere && message.id > (newest ?? -1)) newest = message.id;
  }
  return newest ?? app.state?.topics.get(channelId)?.find((one) => one.name.toLowerCase() === folded)?.maxId;
}

const POLICIES = [
  { label: t("As the channel"), policy: 0 },
  { label: t("Mute topic"), policy: 1 },
  { label: t("Unmute topic"), policy: 2 },
  { label: t("Follow topic"), policy: 3 },
] as const;

export function topicMenu(channelId: number, topic: string): MenuItem[] {
  const state = app.state as State;
  const current = topicPolicy(state, channelId, topic);
  const newest = newestIn(channelId, topic);
  const message = newest === undefined ? undefined : state.messages.get(newest);
  const isArchived = state.channels.get(channelId)?.is_archived === true;
  const mayResolve = !isArchived && (may(state, "can_resolve_topics_group") || may(state, "can_move_messages_between_topics_group"));
  const items: (MenuItem | false)[] = [
    ...POLICIES.map(({ label, policy }) => ({
      label,
      checked: policy === current,
      run: () => void setTopicPolicy(channelId, topic, policy),
    })),
    mayResolve && {
      label: isResolved(topic) ? t("Mark as unresolved") : t("Mark as resolved"),
      icon: "check",
      run: () => void toggleResolved(channelId, topic),
    },
    message !== undefined &&
      mayMove(state, message) && {
        label: t("Move or rename the topic"),
        icon: "move",
        run: () => app.setUi({ dialog: { is: "move", messageId: message.id } }),
      },
    isAdmin(state) && !isArchived && { label: t("Delete topic"), icon: "trash", run: () => deleteTopic(channelId, topic) },
  ];
  return items.filter((item): item is MenuItem => item !== false);
}
