import type { Message, Place, State } from "./types";

/** Returns the key of a topic: topics are compared without regard to case. */
export function topicKey(channelId: number, topic: string): string {
  return `c/${channelId}/${topic.toLowerCase()}`;
}

/** Returns the key of a conversation; equal for equal places. */
export function placeKey(place: Place): string {
  return place.kind === "topic" ? topicKey(place.channelId, place.topic) : `d/${place.userIds.join(",")}`;
}

/** Returns a direct conversation by all or some of its users: sorted, and without the reader unless alone. */
export function directPlace(selfId: number, userIds: Iterable<number>): Place {
  const others = [...new Set(userIds)].filter((id) => id !== selfId).sort((a, b) => a - b);
  return { kind: "direct", userIds: others.length > 0 ? others : [selfId] };
}

export function placeOf(selfId: number, message: Message): Place {
  if (message.type === "stream") {
    return { kind: "topic", channelId: message.stream_id ?? 0, topic: message.subject };
  }
  const users = Array.isArray(message.display_recipient) ? message.display_recipient : [];
  return directPlace(
    selfId,
    users.map((user) => user.id),
  );
}

/** Returns the numbers of everyone in the conversation, the reader included. */
export function participants(selfId: number, place: Place): number[] {
  return place.kind === "direct" ? [...new Set([...place.userIds, selfId])] : [];
}

/** Returns the visibility policy that was chosen for a topic: 0 none, 1 muted, 2 unmuted, 3 followed. */
export function topicPolicy(state: State, channelId: number, topic: string): number {
  return state.topicPolicies.get(topicKey(channelId, topic)) ?? 0;
}

/** Returns whether the reader does not want to hear of a topic, by itself or with its channel. */
export function isTopicMuted(state: State, channelId: number, topic: string): boolean {
  const policy = topicPolicy(state, channelId, topic);
  if (policy !== 0) return policy === 1;
  const channel = state.channels.get(channelId);
  return !channel?.subscribed || channel.is_muted;
}

/** Returns whether the conversation is not counted and not announced. */
export function isPlaceMuted(state: State, place: Place): boolean {
  if (place.kind === "topic") return isTopicMuted(state, place.channelId, place.topic);
  return place.userIds.length === 1 && state.mutedUsers.has(place.userIds[0] ?? 0);
}

const RESOLVED = "✔ ";

export function isResolved(topic: string): boolean {
  return topic.startsWith(RESOLVED);
}

/** Returns the topic without the mark of a resolved one. */
export function unresolved(topic: string): string {
  return topic.replace(/^✔ (?:[✔ ]*)/u, "");
}

export function resolved(topic: string): string {
  return RESOLVED + unresolved(topic);
}
