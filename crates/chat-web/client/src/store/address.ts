// Addresses of views: what stands behind `#`, in the format that clients of this family copy to each other.
import { type Narrow, type Term } from "./narrow";
import { directPlace } from "./place";
import type { State } from "./types";

/** A view that the address names. */
export type Route =
  | { readonly view: "narrow"; readonly narrow: Narrow }
  | { readonly view: "inbox" | "feed" | "drafts" | "scheduled" | "channels" }
  | { readonly view: "settings"; readonly section: string }
  | { readonly view: "unknown" };

/** Encodes a part of an address: percent signs become dots, and dots are encoded. */
export function encodePart(text: string): string {
  const escaped = encodeURIComponent(text).replace(/[.!'()*]/g, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return escaped.replaceAll("%", ".");
}

/** Decodes a part of an address; `undefined` for what no client wrote. */
export function decodePart(text: string): string | undefined {
  try {
    // A part that was escaped again on its way has percent signs; they mean what dots mean.
    return decodeURIComponent(text.replaceAll(".", "%"));
  } catch {
    return undefined;
  }
}

/** Other names of operators, which older links have. */
const OPERATORS: Readonly<Record<string, string>> = {
  stream: "channel",
  streams: "channels",
  subject: "topic",
  "pm-with": "dm",
  pm_with: "dm",
  "group-pm-with": "dm-including",
  from: "sender",
};

export function canonicalOperator(operator: string): string {
  return OPERATORS[operator] ?? operator;
}

/** Returns the address of a narrow, with `#`. */
export function narrowHash(narrow: Narrow, state: State): string {
  const parts = narrow.map((term) => {
    const operator = (term.negated ? "-" : "") + term.operator;
    return `${encodePart(operator)}/${encodeOperand(term, state)}`;
  });
  return parts.length === 0 ? "#feed" : `#narrow/${parts.join("/")}`;
}

function encodeOperand({ operator, operand }: Term, state: State): string {
  if (operator === "channel" && typeof operand === "number") {
    const name = state.channels.get(operand)?.name ?? "unknown";
    return `${operand}-${encodePart(name.replaceAll(" ", "-"))}`;
  }
  if (operator === "sender" || operator === "dm-including") {
    return `${operand}-${encodePart(slug(state.users.get(Number(operand))?.full_name ?? "unknown"))}`;
  }
  if (Array.isArray(operand)) {
    const name = operand.length === 1 ? slug(state.users.get(operand[0] ?? 0)?.full_name ?? "unknown") : "group";
    return `${operand.join(",")}-${encodePart(name)}`;
  }
  return encodePart(String(operand));
}

function slug(name: string): string {
  return name.replace(/[ "%/<>`\p{C}]+/gu, "-");
}

/** Reads an address, with or without `#`. */
export function parseHash(hash: string, state: State): Route {
  const [head = "", ...rest] = hash.replace(/^.*#/, "").split("/");
  switch (head) {
    case "":
    case "inbox":
    case "feed":
    case "drafts":
    case "scheduled":
    case "channels":
      return { view: head === "" ? homeView(state) : head };
    case "all_messages":
      return { view: "feed" };
    case "settings":
      return { view: "settings", section: rest[0] ?? "" };
    case "narrow": {
      const narrow = parseTerms(rest, state);
      return narrow ? { view: "narrow", narrow } : { view: "unknown" };
    }
    default:
      return { view: "unknown" };
  }
}

function homeView(state: State): "inbox" | "feed" {
  return state.settings["web_home_view"] === "all_messages" ? "feed" : "inbox";
}

function parseTerms(parts: readonly string[], state: State): Narrow | undefined {
  const terms: Term[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const operator = decodePart(parts[at] ?? "");
    if (operator === "" && at === parts.length - 1) break;
    const encoded = parts[at + 1];
    if (operator === undefined || encoded === undefined) return undefined;
    const negated = operator.startsWith("-");
    const name = canonicalOperator(negated ? operator.slice(1) : operator);
    const operand = parseOperand(name, encoded, state);
    if (operand === undefined) return undefined;
    terms.push(negated ? { operator: name, operand, negated } : { operator: name, operand });
  }
  return terms;
}

function parseOperand(operator: string, encoded: string, state: State): Term["operand"] | undefined {
  const text = decodePart(encoded);
  if (text === undefined) return undefined;
  switch (operator) {
    case "channel":
      return parseChannel(text, state);
    case "dm": {
      const ids = /^(\d+(?:,\d+)*)(?:-|$)/.exec(text)?.[1]?.split(",").map(Number);
      return ids && directPlace(state.selfId, ids).kind === "direct" ? directIds(state.selfId, ids) : undefined;
    }
    case "sender":
    case "dm-including": {
      const id = /^(\d+)(?:-|$)/.exec(text)?.[1];
      return id === undefined ? userByEmail(text, state) : Number(id);
    }
    case "near":
    case "with":
    case "id":
      return /^\d+$/.test(text) ? Number(text) : undefined;
    default:
      return text;
  }
}

function directIds(selfId: number, ids: readonly number[]): readonly number[] {
  const place = directPlace(selfId, ids);
  return place.kind === "direct" ? place.userIds : [];
}

/** A channel is named by its number and name; links of older clients have the name alone. */
function parseChannel(text: string, state: State): number | undefined {
  const id = /^(\d+)(?:-|$)/.exec(text)?.[1];
  if (id !== undefined && (state.channels.has(Number(id)) || /^\d+$/.test(text))) return Number(id);
  const folded = text.toLowerCase();
  for (const channel of state.channels.values()) {
    const name = channel.name.toLowerCase();
    if (name === folded || name.replaceAll(" ", "-") === folded) return channel.stream_id;
  }
  return id === undefined ? undefined : Number(id);
}

export function userByEmail(email: string, state: State): number | undefined {
  const folded = email.toLowerCase();
  for (const user of state.users.values()) {
    if (user.email.toLowerCase() === folded || user.delivery_email?.toLowerCase() === folded) return user.user_id;
  }
  return undefined;
}
