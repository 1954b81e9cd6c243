// The search field: narrows as words, and words as narrows.
import { canonicalOperator, userByEmail } from "./address";
import { directPlace } from "./place";
import { placeNames, userName } from "./select";
import type { Narrow, Term } from "./narrow";
import type { State } from "./types";
import { t } from "../text/language";

/** Returns how a term is called on its pill. */
export function termLabel(term: Term, state: State): string {
  const { operator, operand, negated } = term;
  const lead = negated ? "not " : "";
  switch (operator) {
    case "channel":
      return `${lead}#${state.channels.get(Number(operand))?.name ?? t("unknown")}`;
    case "topic":
      return lead + t("topic: {0}", operand === "" ? t("general chat") : String(operand));
    case "dm":
      return lead + t("with {0}", placeNames(state, operand as readonly number[]));
    case "dm-including":
      return lead + t("including {0}", userName(state, Number(operand)));
    case "sender":
      return lead + t("from {0}", userName(state, Number(operand)));
    case "is":
      return `${lead}${IS_WORDS[String(operand)] ?? operand}`;
    case "has":
      return lead + t("has {0}", String(operand));
    case "in":
      return lead + (operand === "home" ? t("not muted") : t("everywhere"));
    case "search":
      return `${lead}“${operand}”`;
    default:
      return `${lead}${operator}: ${operand}`;
  }
}

const IS_WORDS: Readonly<Record<string, string>> = {
  dm: t("direct messages"),
  private: t("direct messages"),
  starred: t("starred"),
  unread: t("unread"),
  mentioned: t("mentions you"),
  alerted: t("has an alert word"),
  resolved: t("resolved"),
  followed: t("followed"),
};

/** A word, or `operator:operand`, where an operand with blanks stands in quotation marks. */
const WORDS = /(-?)(?:([a-z-]+):)?(?:"([^"]*)"?|(\S+))/giu;
const OPERATORS = new Set(["channel", "channels", "topic", "dm", "dm-including", "sender", "is", "has", "in", "near", "id", "with"]);

/** Reads what was typed into the search field. Words without an operator are looked for together. */
export function parseSearch(typed: string, state: State): Term[] {
  const terms: Term[] = [];
  const words: string[] = [];
  for (const [whole, minus, name, quoted, plain] of typed.matchAll(WORDS)) {
    const operator = name && canonicalOperator(name.toLowerCase());
    const operand = quoted ?? plain ?? "";
    const known = operator && OPERATORS.has(operator) ? readOperand(operator, operand, state) : undefined;
    if (operator && known !== undefined) terms.push({ operator, operand: known, ...(minus ? { negated: true } : {}) });
    else words.push(quoted !== undefined && !name ? `"${quoted}"` : whole);
  }
  if (words.length > 0) terms.push({ operator: "search", operand: words.join(" ") });
  return terms;
}

function readOperand(operator: string, text: string, state: State): Term["operand"] | undefined {
  switch (operator) {
    case "channel": {
      const folded = text.toLowerCase();
      return [...state.channels.values()].find((channel) => channel.name.toLowerCase() === folded)?.stream_id;
    }
    case "sender":
    case "dm-including":
      return readUser(text, state);
    case "dm": {
      const ids = text.split(",").map((name) => readUser(name.trim(), state));
      const known = ids.filter((id): id is number => id !== undefined);
      const place = directPlace(state.selfId, known);
      return known.length === ids.length && place.kind === "direct" ? place.userIds : undefined;
    }
    case "near":
    case "id":
    case "with":
      return /^\d+$/.test(text) ? Number(text) : undefined;
    default:
      return text;
  }
}

function readUser(text: string, state: State): number | undefined {
  if (text.toLowerCase() === "me") return state.selfId;
  const folded = text.toLowerCase();
  const byName = [...state.users.values()].find((user) => user.full_name.toLowerCase() === folded);
  return byName?.user_id ?? userByEmail(text, state);
}

/** A narrow that the search field proposes. */
export interface Proposal {
  readonly label: string;
  readonly terms: readonly Term[];
  readonly userId?: number;
}

const FIXED: readonly { words: string; label: string; term: Term }[] = [
  { words: "is:starred", label: t("Starred messages"), term: { operator: "is", operand: "starred" } },
  { words: "is:mentioned", label: t("Messages that mention you"), term: { operator: "is", operand: "mentioned" } },
  { words: "is:unread", label: t("Unread messages"), term: { operator: "is", operand: "unread" } },
  { words: "is:dm", label: t("Direct messages"), term: { operator: "is", operand: "dm" } },
  { words: "is:followed", label: t("Followed topics"), term: { operator: "is", operand: "followed" } },
  { words: "is:resolved", label: t("Resolved topics"), term: { operator: "is", operand: "resolved" } },
  { words: "has:link", label: t("Messages with a link"), term: { operator: "has", operand: "link" } },
  { words: "has:image", label: t("Messages with a picture"), term: { operator: "has", operand: "image" } },
  { words: "has:attachment", label: t("Messages with a file"), term: { operator: "has", operand: "attachment" } },
  { words: "has:reaction", label: t("Messages with a reaction"), term: { operator: "has", operand: "reaction" } },
];
const MOST_OF_KIND = 4;

/** Returns what the last word may mean, beside the words themselves. */
export function proposals(typed: string, state: State): Proposal[] {
  const text = typed.trim();
  const folded = text.toLowerCase().replace(/^[a-z-]+:"?/, "");
  const fixed = FIXED.filter(({ words, label }) => {
    return words.startsWith(text.toLowerCase()) || (text.length > 1 && label.toLowerCase().includes(text.toLowerCase()));
  });
  const all: Proposal[] = [];
  const words = parseSearch(text, state);
  if (text !== "") all.push({ label: t("Search for {0}", text), terms: words });
  all.push(...fixed.map(({ label, term }) => ({ label, terms: [term] })));
  if (folded === "") return all;
  const channels = [...state.channels.values()].filter((one) => one.name.toLowerCase().includes(folded));
  for (const channel of channels.slice(0, MOST_OF_KIND)) {
    all.push({ label: t("In #{0}", channel.name), terms: [{ operator: "channel", operand: channel.stream_id }] });
  }
  const users = [...state.users.values()].filter((one) => one.is_active && one.full_name.toLowerCase().includes(folded));
  for (const { user_id: userId, full_name } of users.slice(0, MOST_OF_KIND)) {
    all.push({ label: t("Sent by {0}", full_name), terms: [{ operator: "sender", operand: userId }], userId });
    all.push({ label: t("Direct messages with {0}", full_name), terms: [{ operator: "dm", operand: [userId] }], userId });
  }
  return all;
}

/** Returns the narrow with terms added; a conversation or a sender takes the place of another. */
export function addTerms(narrow: Narrow, terms: readonly Term[]): Narrow {
  const single = new Set(["channel", "topic", "dm"]);
  const replaced = new Set(terms.map((term) => term.operator).filter((operator) => single.has(operator)));
  return [...narrow.filter((term) => !replaced.has(term.operator)), ...terms];
}
