// Narrows: which messages a view shows, as terms, as the address of the view, and as words in the search field.
import { directPlace, isTopicMuted, topicPolicy, isResolved } from "./place";
import type { Message, Place, State } from "./types";

export interface Term {
  readonly operator: string;
  readonly operand: string | number | readonly number[];
  readonly negated?: boolean;
}

/** All terms hold at once; an empty narrow selects everything. */
export type Narrow = readonly Term[];

/** What the combined feed shows: everything that is not muted. */
export const FEED: Narrow = [{ operator: "in", operand: "home" }];

export function topicNarrow(channelId: number, topic: string): Narrow {
  return [
    { operator: "channel", operand: channelId },
    { operator: "topic", operand: topic },
  ];
}

export function channelNarrow(channelId: number): Narrow {
  return [{ operator: "channel", operand: channelId }];
}

export function placeNarrow(place: Place): Narrow {
  return place.kind === "topic"
    ? topicNarrow(place.channelId, place.topic)
    : [{ operator: "dm", operand: [...place.userIds] }];
}

export function narrowKey(narrow: Narrow): string {
  return JSON.stringify(narrow.map((term) => [term.operator, fold(term.operand), term.negated ?? false]));
}

function fold(operand: Term["operand"]): Term["operand"] {
  return typeof operand === "string" ? operand.toLowerCase() : operand;
}

/** Returns the narrow without the terms that only say where to begin reading. */
export function withoutAnchor(narrow: Narrow): Narrow {
  return narrow.filter((term) => term.operator !== "near" && term.operator !== "with" && term.operator !== "id");
}

/** Returns the message that the narrow is to be read from, where it names one. */
export function anchorOf(narrow: Narrow): number | undefined {
  const term = narrow.find(({ operator }) => operator === "near" || operator === "with");
  return typeof term?.operand === "number" ? term.operand : undefined;
}

function operandOf(narrow: Narrow, operator: string): Term["operand"] | undefined {
  const found = narrow.filter((term) => term.operator === operator && !term.negated);
  return found.length === 1 ? found[0]?.operand : undefined;
}

/** Returns the channel that the narrow stays in. */
export function channelOf(narrow: Narrow): number | undefined {
  const operand = operandOf(narrow, "channel");
  return typeof operand === "number" ? operand : undefined;
}

/** Returns the conversation that the narrow shows, where it shows exactly one. */
export function conversationOf(narrow: Narrow, selfId: number): Place | undefined {
  const terms = withoutAnchor(narrow);
  const [channelId, topic, users] = [channelOf(terms), operandOf(terms, "topic"), operandOf(terms, "dm")];
  if (terms.length === 2 && channelId !== undefined && typeof topic === "string") {
    return { kind: "topic", channelId, topic };
  }
  return terms.length === 1 && Array.isArray(users) ? directPlace(selfId, users as readonly number[]) : undefined;
}

/** Returns the terms as the API takes them. */
export function wireNarrow(narrow: Narrow): object[] {
  return withoutAnchor(narrow).map(({ operator, operand, negated }) => ({
    operator,
    operand,
    negated: negated ?? false,
  }));
}

/** Returns whether the narrow selects the message; `undefined` where only the server knows. */
export function matches(narrow: Narrow, message: Message, state: State): boolean | undefined {
  let unknown = false;
  for (const term of withoutAnchor(narrow)) {
    const holds = termHolds(term, message, state);
    if (holds === undefined) unknown = true;
    else if (holds === (term.negated ?? false)) return false;
  }
  return unknown ? undefined : true;
}

function termHolds(term: Term, message: Message, state: State): boolean | undefined {
  const { operator, operand } = term;
  const isChannel = message.type === "stream";
  const channel = isChannel ? state.channels.get(message.stream_id ?? -1) : undefined;
  switch (operator) {
    case "channel":
      return isChannel && message.stream_id === operand;
    case "topic":
      return isChannel && message.subject.toLowerCase() === String(operand).toLowerCase();
    case "dm":
      return !isChannel && sameUsers(message, operand as readonly number[], state.selfId);
    case "dm-including":
      return !isChannel && directIds(message).includes(Number(operand));
    case "sender":
      return message.sender_id === operand;
    case "channels":
      return operand === "public" ? isChannel && channel?.invite_only === false : undefined;
    case "in":
      return operand !== "home" || !isChannel || !isTopicMuted(state, message.stream_id ?? 0, message.subject);
    case "is":
      return isHolds(String(operand), message, state);
    case "has":
      return operand === "reaction" ? message.reactions.length > 0 : undefined;
    default:
      return undefined;
  }
}

function isHolds(operand: string, message: Message, state: State): boolean | undefined {
  const has = (flag: string) => message.flags.includes(flag);
  switch (operand) {
    case "dm":
    case "private":
      return message.type === "private";
    case "starred":
      return has("starred");
    case "unread":
      return !has("read");
    case "mentioned":
      return MENTIONS.some(has);
    case "alerted":
      return has("has_alert_word");
    case "resolved":
      return message.type === "stream" && isResolved(message.subject);
    case "followed":
      return message.type === "stream" && topicPolicy(state, message.stream_id ?? 0, message.subject) === 3;
    default:
      return undefined;
  }
}

/** The flags of a message that mentions its reader. */
export const MENTIONS = [
  "mentioned",
  "wildcard_mentioned",
  "stream_wildcard_mentioned",
  "topic_wildcard_mentioned",
] as const;

function directIds(message: Message): number[] {
  return Array.isArray(message.display_recipient) ? message.display_recipient.map((user) => user.id) : [];
}

function sameUsers(message: Message, operand: readonly number[], selfId: number): boolean {
  const all = (ids: readonly number[]) => [...new Set([...ids, selfId])].sort((a, b) => a - b).join(",");
  return all(directIds(message)) === all(operand);
}
