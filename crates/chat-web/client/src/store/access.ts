// Which events change what the reader has of messages without naming the messages.
import type { Event, Message, State } from "./types";

type Json = Record<string, any>;

/** The properties of a channel that decide who reads what was written in it, and whether it counts as unread. */
const OPENNESS = new Set(["invite_only", "is_web_public", "history_public_to_subscribers", "is_archived"]);

/**
 * Returns whether only a new registration says what is unread and starred after the event: which messages the reader
 * received, the server alone knows, and it does not tell what happened in a channel while the reader was not in it.
 */
export function needsRegistration(state: State, event: Event): boolean {
  switch (event.type) {
    case "stream":
      if (event.op === "update") return OPENNESS.has(event.property);
      return event.op === "delete" || (event.op === "create" && (event.streams as Json[]).some(hasHistory));
    case "subscription":
      return event.op === "remove" || (event.op === "add" && (event.subscriptions as Json[]).some(hasHistory));
    // What muted people write counts as read, for as long as they are muted.
    case "muted_users":
      return true;
    case "realm_user":
      return event.op === "update" && event.person.user_id === state.selfId && event.person.role !== undefined;
    case "update_message":
      return event.new_stream_id !== undefined && isUncertain(state, event);
    default:
      return false;
  }
}

function hasHistory(channel: Json): boolean {
  return channel.first_message_id != null;
}

/** Returns whether it is not known which of the moved messages were received where they were and where they are. */
function isUncertain(state: State, event: Event): boolean {
  const [from, to] = [state.channels.get(event.stream_id), state.channels.get(event.new_stream_id)];
  // A message that the reader could not see may have kept a star from before that.
  if (!from || (from.invite_only && !(from.subscribed && from.history_public_to_subscribers))) return true;
  const ids: number[] = event.message_ids ?? [event.message_id];
  return to?.subscribed === true && !ids.every((id) => staysRead(state.messages.get(id)));
}

function staysRead(message: Message | undefined): boolean {
  return message !== undefined && message.flags.includes("read") && !message.flags.includes("historical");
}
