// Events of people, groups and bots.
import { directPlace, placeKey } from "./place";
import type { Bot, Event, Group, Message, Place, Presence, State, Status, User } from "./types";

export function typing(state: State, event: Event): State {
  const userId: number = event.sender.user_id;
  if (userId === state.selfId) return state;
  const place: Place =
    event.message_type === "stream"
      ? { kind: "topic", channelId: event.stream_id, topic: event.topic }
      : directPlace(
          state.selfId,
          (event.recipients as { user_id: number }[]).map((user) => user.user_id),
        );
  const key = placeKey(place);
  const rest = state.typing.filter((typist) => typist.userId !== userId || typist.place !== key);
  // When it arrived is written into the event by who took it from the network: this module reads no clock.
  const typist = { place: key, userId, sinceMs: event.arrived_ms ?? 0 };
  return { ...state, typing: event.op === "start" ? [...rest, typist] : rest };
}

/** Returns the state without those who have been typing since before that moment: their end was not heard. */
export function expireTyping(state: State, beforeMs: number): State {
  const left = state.typing.filter((typist) => typist.sinceMs >= beforeMs);
  return left.length === state.typing.length ? state : { ...state, typing: left };
}

export function presence(state: State, event: Event): State {
  // The answer to a sign of life says it of many users.
  if (event.presences !== undefined) {
    return { ...state, presence: state.presence.with(event.presences), presenceUpdateId: event.last_update_id };
  }
  const said = event.presence?.website ?? event.presence?.aggregated;
  if (!said) return state;
  const known = state.presence.get(event.user_id) ?? { active: 0, idle: 0 };
  const at: number = said.timestamp;
  const next: Presence = said.status === "active" ? { active: at, idle: at } : { ...known, idle: at };
  return { ...state, presence: state.presence.set(event.user_id, next) };
}

export function userStatus(state: State, event: Event): State {
  const { type: _type, id: _id, user_id, ...news } = event;
  const status: Status = { ...state.statuses.get(user_id), ...news };
  return { ...state, statuses: state.statuses.set(user_id, status) };
}

export function realmUser(state: State, event: Event): State {
  const { person } = event;
  const revisions = { ...state.revisions, members: state.revisions.members + 1 };
  if (event.op === "add") {
    const user: User = { ...person, is_active: true };
    return { ...state, users: state.users.set(user.user_id, user), revisions };
  }
  const known = state.users.get(person.user_id);
  if (!known) return state;
  if (event.op === "remove") {
    return { ...state, users: state.users.set(known.user_id, { ...known, is_active: false }), revisions };
  }
  const { custom_profile_field: answer, new_email, bot_owner_id, ...news } = person;
  const user: User = { ...known, ...news };
  if (new_email !== undefined) user.email = new_email;
  if (bot_owner_id !== undefined) user.bot_owner_id = bot_owner_id;
  if (answer) user.profile_data = withAnswer(known, answer);
  const messages = renamed(state, known, user);
  return { ...state, users: state.users.set(user.user_id, user), messages, revisions };
}

function withAnswer(user: User, answer: { id: number; value: string | null; rendered_value?: string }): User["profile_data"] {
  const data = { ...user.profile_data };
  if (answer.value === null) delete data[answer.id];
  else {
    const rendered = answer.rendered_value === undefined ? {} : { rendered_value: answer.rendered_value };
    data[answer.id] = { value: answer.value, ...rendered };
  }
  return data;
}

/** Messages say who sent them. */
function renamed(state: State, before: User, after: User): State["messages"] {
  if (before.full_name === after.full_name && before.avatar_url === after.avatar_url) return state.messages;
  const changed: [number, Message][] = [];
  for (const [id, message] of state.messages.entries()) {
    if (message.sender_id !== after.user_id) continue;
    changed.push([id, { ...message, sender_full_name: after.full_name, avatar_url: after.avatar_url }]);
  }
  return state.messages.with(changed);
}

export function realmBot(state: State, event: Event): State {
  const { bot } = event;
  if (event.op === "add") return { ...state, bots: state.bots.set(bot.user_id, bot as Bot) };
  const known = state.bots.get(bot.user_id);
  if (event.op === "delete" || event.op === "remove") {
    return known ? { ...state, bots: state.bots.set(bot.user_id, { ...known, is_active: false }) } : state;
  }
  return known ? { ...state, bots: state.bots.set(bot.user_id, { ...known, ...bot }) } : state;
}

export function userGroup(state: State, event: Event): State {
  if (event.op === "add") return { ...state, groups: state.groups.set(event.group.id, event.group as Group) };
  if (event.op === "remove") return { ...state, groups: state.groups.without([event.group_id]) };
  const known = state.groups.get(event.group_id);
  const group = known && changedGroup(known, event);
  return group ? { ...state, groups: state.groups.set(group.id, group) } : state;
}

function changedGroup(group: Group, event: Event): Group {
  const joined = (known: number[], ids: number[]) => [...new Set([...known, ...ids])];
  const left = (known: number[], ids: number[]) => known.filter((id) => !ids.includes(id));
  switch (event.op) {
    case "update":
      return { ...group, ...event.data };
    case "add_members":
      return { ...group, members: joined(group.members, event.user_ids) };
    case "remove_members":
      return { ...group, members: left(group.members, event.user_ids) };
    case "add_subgroups":
      return { ...group, direct_subgroup_ids: joined(group.direct_subgroup_ids, event.direct_subgroup_ids) };
    case "remove_subgroups":
      return { ...group, direct_subgroup_ids: left(group.direct_subgroup_ids, event.direct_subgroup_ids) };
    default:
      return group;
  }
}

export function profileFields(state: State, event: Event): State {
  return { ...state, profileFields: event.fields };
}
