// What can be completed at the caret: people, groups, channels, topics, emoji and commands.
import { app } from "./app";
import { findEmoji, allEmoji } from "./emoji";
import { request } from "../transport/api";
import { byName, recentDirects } from "../store/select";
import type { State } from "../store/types";
import { emojiFromCode } from "../widgets/emoji_text";
import { t } from "../text/language";

/** One thing that can be put in at the caret. */
export interface Completion {
  readonly label: string;
  readonly detail?: string;
  readonly sign?: string;
  readonly userId?: number;
  /** What replaces the typed word. */
  readonly text: string;
}

export interface Completions {
  /** Where the typed word begins. */
  readonly start: number;
  readonly items: readonly Completion[];
}

const MOST = 8;

/** Returns 0 for a name that begins with the words, more the less it fits, and `undefined` for one without them. */
export function fit(name: string, typed: string): number | undefined {
  const [folded, wanted] = [name.toLowerCase(), typed.toLowerCase()];
  if (folded === wanted) return -1;
  if (folded.startsWith(wanted)) return 0;
  if (folded.includes(` ${wanted}`) || folded.includes(`-${wanted}`)) return 1;
  return folded.includes(wanted) ? 2 : undefined;
}

export function best<T>(all: Iterable<T>, typed: string, nameOf: (one: T) => string, most: number): T[] {
  const found: [number, T][] = [];
  for (const one of all) {
    const rank = fit(nameOf(one), typed);
    if (rank !== undefined) found.push([rank, one]);
  }
  found.sort((a, b) => a[0] - b[0]);
  return found.slice(0, most).map(([, one]) => one);
}

/** Returns what can stand at the end of the text before the caret. */
export async function completionsFor(before: string): Promise<Completions | undefined> {
  const { state } = app;
  if (!state || isInCode(before)) return undefined;
  const mention = /(?:^|[\s([{"'])(@_?(?:\*{0,2}))([^@*\n]{0,40})$/.exec(before);
  if (mention) return people(state, before, mention[1] ?? "@", mention[2] ?? "");
  const topic = /#\*\*([^*>\n]+)>([^*\n]{0,60})$/.exec(before);
  if (topic) return topics(state, before, topic[0], topic[1] ?? "", topic[2] ?? "");
  const channel = /(?:^|[\s([{"'])(#\*{0,2}([^#*>\n]{0,60}))$/.exec(before);
  if (channel) return channels(state, before, channel[1] ?? "", channel[2] ?? "");
  const emoji = /(?:^|[\s([{"'])(:([a-z0-9_+-]{2,40}))$/i.exec(before);
  if (emoji) return emojiNamed(before, emoji[1] ?? "", emoji[2] ?? "");
  const command = /^\/[a-z]*$/.exec(before);
  if (command) return commands(command[0]);
  return undefined;
}

/** Inside of code, nothing means anything. */
function isInCode(before: string): boolean {
  const fences = before.match(/^(?:```|~~~)/gm)?.length ?? 0;
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return fences % 2 === 1 || (line.match(/`/g)?.length ?? 0) % 2 === 1;
}

function completions(before: string, typed: string, items: Completion[]): Completions | undefined {
  return items.length > 0 ? { start: before.length - typed.length, items } : undefined;
}

function people(state: State, before: string, sign: string, typed: string): Completions | undefined {
  const isSilent = sign.startsWith("@_");
  const lead = isSilent ? "@_**" : "@**";
  const close = recentDirects(state, 30).flatMap(({ userIds }) => userIds);
  const rank = (id: number) => (close.indexOf(id) + 1 || 1000);
  const users = [...state.users.values()].filter((user) => user.is_active && (!user.is_bot || typed !== ""));
  users.sort((a, b) => rank(a.user_id) - rank(b.user_id) || byName(a.full_name, b.full_name));
  const isShared = (name: string) => users.filter((user) => user.full_name === name).length > 1;
  const found = best(users, typed, (user) => user.full_name, MOST).map((user) => ({
    label: user.full_name,
    detail: user.is_bot ? "bot" : (user.delivery_email ?? ""),
    userId: user.user_id,
    text: `${lead}${user.full_name}${isShared(user.full_name) ? `|${user.user_id}` : ""}** `,
  }));
  const wildcards = isSilent ? [] : best(["all", "everyone", "channel", "topic"], typed, (word) => word, 4);
  const groups = [...state.groups.values()].filter((group) => !group.deactivated && !group.is_system_group);
  const more = [
    ...best(groups, typed, (group) => group.name, 4).map((group) => ({
      label: group.name,
      detail: group.description || "group",
      sign: "👥",
      text: `${isSilent ? "@_*" : "@*"}${group.name}* `,
    })),
    ...wildcards.map((word) => ({ label: word, detail: t("everyone who reads it"), sign: "📣", text: `@**${word}** ` })),
  ];
  return completions(before, sign + typed, [...found, ...more].slice(0, MOST));
}

function channels(state: State, before: string, typed: string, words: string): Completions | undefined {
  const open = [...state.channels.values()].filter((channel) => !channel.is_archived);
  const all = open.sort((a, b) => Number(b.subscribed) - Number(a.subscribed));
  const found = best(all, words, (channel) => channel.name, MOST).map((channel) => ({
    label: channel.name,
    detail: channel.description,
    sign: channel.invite_only ? "🔒" : "#",
    text: `#**${channel.name}** `,
  }));
  const exact = found.find((one) => one.label.toLowerCase() === words.toLowerCase());
  const ofTopics = exact ? [{ ...exact, label: `${exact.label} > topic…`, text: `#**${exact.label}>` }] : [];
  return completions(before, typed, [...found, ...ofTopics].slice(0, MOST));
}

async function topics(
  state: State,
  before: string,
  typed: string,
  channelName: string,
  words: string,
): Promise<Completions | undefined> {
  const channel = [...state.channels.values()].find((one) => one.name === channelName);
  if (!channel) return undefined;
  const names = await topicNames(channel.stream_id);
  const items = best(names, words, (name) => name, MOST).map((name) => ({
    label: name,
    detail: channel.name,
    sign: ">",
    text: `#**${channel.name}>${name}** `,
  }));
  return completions(before, typed, items);
}

/** Returns the topics of a channel, the newest first. */
export async function topicNames(channelId: number): Promise<string[]> {
  const known = app.state?.topics.get(channelId);
  if (known) return known.map((topic) => topic.name);
  const answer = await request("GET", `users/me/${channelId}/topics`).catch(() => ({ topics: [] }));
  return (answer["topics"] as { name: string }[]).map((topic) => topic.name);
}

async function emojiNamed(before: string, typed: string, words: string): Promise<Completions | undefined> {
  const all = await allEmoji().catch(() => []);
  const items = findEmoji(all, words, MOST).map((emoji) => ({
    label: `:${emoji.name}:`,
    sign: emoji.type === "unicode_emoji" ? emojiFromCode(emoji.code) : "🖼",
    text: `:${emoji.name}: `,
  }));
  return completions(before, typed, items);
}

const COMMANDS = [
  { label: "/me", detail: t("Say what you do"), text: "/me " },
  { label: "/poll", detail: t("Ask a question; each further line is an answer"), text: "/poll " },
  { label: "/todo", detail: t("A list of tasks, one on each line"), text: "/todo " },
];

function commands(typed: string): Completions | undefined {
  return completions(
    typed,
    typed,
    COMMANDS.filter(({ label }) => label.startsWith(typed)),
  );
}
