// The emoji there are: those of Unicode from the server's list, and those of the organization.
import { app } from "./app";
import type { Emoji } from "./actions";

export interface NamedEmoji extends Emoji {
  readonly names: readonly string[];
}

let unicode: Promise<NamedEmoji[]> | undefined;

/** Emoji that people use most, offered first. */
const POPULAR = [
  ["+1", "thumbs_up"],
  ["heart"],
  ["smile"],
  ["tada"],
  ["joy"],
  ["check"],
  ["eyes"],
  ["pray"],
  ["fire"],
  ["rocket"],
  ["100"],
];

async function loadUnicode(): Promise<NamedEmoji[]> {
  const response = await fetch("/static/emoji-data.json", { credentials: "same-origin" });
  const { code_to_names } = (await response.json()) as { code_to_names: Record<string, string[]> };
  const all = Object.entries(code_to_names).map(([code, names]) => ({
    code,
    names,
    name: names[0] ?? code,
    type: "unicode_emoji",
  }));
  const places = new Map(POPULAR.flatMap((names, place) => names.map((name) => [name, place] as const)));
  const rank = (emoji: NamedEmoji) => places.get(emoji.name) ?? POPULAR.length;
  return all.sort((a, b) => rank(a) - rank(b) || Number.parseInt(a.code, 16) - Number.parseInt(b.code, 16));
}

export async function allEmoji(): Promise<NamedEmoji[]> {
  unicode ??= loadUnicode().catch((error) => {
    unicode = undefined;
    throw error;
  });
  const custom = Object.values(app.state?.emoji ?? {})
    .filter((emoji) => !emoji.deactivated)
    .map(({ id, name }) => ({ code: id, name, names: [name], type: "realm_emoji" }));
  const names = new Set(custom.map((emoji) => emoji.name));
  return [...custom, ...(await unicode).filter((emoji) => !names.has(emoji.name))];
}

/** Returns the emoji that a few letters can mean, the likeliest first. */
export function findEmoji(all: readonly NamedEmoji[], typed: string, most: number): NamedEmoji[] {
  const wanted = typed.toLowerCase().replaceAll(" ", "_");
  const found: [number, NamedEmoji][] = [];
  for (const emoji of all) {
    const ranked = emoji.names.map((name) => [nameRank(name, wanted), name] as const);
    const [rank, name] = ranked.reduce((best, one) => (one[0] < best[0] ? one : best), [UNFIT, ""] as const);
    // It is offered under the name that was meant, of the several that it has.
    if (rank < UNFIT) found.push([rank, { ...emoji, name }]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, most).map(([, emoji]) => emoji);
}

const UNFIT = 9;

function nameRank(name: string, wanted: string): number {
  if (name === wanted) return 0;
  if (name.startsWith(wanted)) return 1;
  if (name.includes(`_${wanted}`)) return 2;
  return name.includes(wanted) ? 3 : UNFIT;
}
