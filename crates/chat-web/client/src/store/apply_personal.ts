// Events of what the reader chose, of their drafts, and of the organization.
import { markStale } from "./lists";
import { topicKey } from "./place";
import type { Domain, Draft, Event, Scheduled, State } from "./types";

export function userTopic(state: State, event: Event): State {
  const key = topicKey(event.stream_id, event.topic_name);
  const topicPolicies = new Map(state.topicPolicies);
  if (event.visibility_policy === 0) topicPolicies.delete(key);
  else topicPolicies.set(key, event.visibility_policy);
  const next = { ...state, topicPolicies };
  const concerns = (operator: string, operand: unknown) =>
    operator === "in" || (operator === "is" && operand === "followed");
  return { ...next, lists: markStale(next, (term) => concerns(term.operator, term.operand)) };
}

export function mutedUsers(state: State, event: Event): State {
  const ids = (event.muted_users as { id: number }[]).map((muted) => muted.id);
  return { ...state, mutedUsers: new Set(ids) };
}

export function userSettings(state: State, event: Event): State {
  return { ...state, settings: { ...state.settings, [event.property as string]: event.value } };
}

export function alertWords(state: State, event: Event): State {
  return { ...state, alertWords: event.alert_words };
}

export function drafts(state: State, event: Event): State {
  switch (event.op) {
    case "add": {
      const added = event.drafts as Draft[];
      const rest = state.drafts.filter((draft) => !added.some((other) => other.id === draft.id));
      return { ...state, drafts: [...rest, ...added] };
    }
    case "update": {
      const changed = event.draft as Draft;
      return { ...state, drafts: state.drafts.map((draft) => (draft.id === changed.id ? changed : draft)) };
    }
    case "remove":
      return { ...state, drafts: state.drafts.filter((draft) => draft.id !== event.draft_id) };
    default:
      return state;
  }
}

export function scheduledMessages(state: State, event: Event): State {
  const without = (ids: readonly number[]) =>
    state.scheduled.filter((scheduled) => !ids.includes(scheduled.scheduled_message_id));
  switch (event.op) {
    case "add": {
      const added = event.scheduled_messages as Scheduled[];
      return { ...state, scheduled: [...without(added.map((one) => one.scheduled_message_id)), ...added] };
    }
    case "update": {
      const changed = event.scheduled_message as Scheduled;
      return { ...state, scheduled: [...without([changed.scheduled_message_id]), changed] };
    }
    case "remove":
      return { ...state, scheduled: without([event.scheduled_message_id]) };
    default:
      return state;
  }
}

export function realm(state: State, event: Event): State {
  if (event.op === "update_dict") {
    const news = Object.entries(event.data).map(([name, value]) => [`realm_${name}`, value]);
    return { ...state, realm: { ...state.realm, ...Object.fromEntries(news) } };
  }
  return { ...state, realm: { ...state.realm, [`realm_${event.property}`]: event.value } };
}

export function domains(state: State, event: Event): State {
  switch (event.op) {
    case "add":
      return { ...state, domains: [...state.domains, event.realm_domain as Domain] };
    case "change": {
      const changed = event.realm_domain as Domain;
      return { ...state, domains: state.domains.map((one) => (one.domain === changed.domain ? { ...one, ...changed } : one)) };
    }
    case "remove":
      return { ...state, domains: state.domains.filter((one) => one.domain !== event.domain) };
    default:
      return state;
  }
}

export function newcomerSettings(state: State, event: Event): State {
  return { ...state, newcomerSettings: { ...state.newcomerSettings, [event.property as string]: event.value } };
}

export function realmEmoji(state: State, event: Event): State {
  return { ...state, emoji: event.realm_emoji };
}

export function linkifiers(state: State, event: Event): State {
  return { ...state, linkifiers: event.realm_linkifiers };
}

export function playgrounds(state: State, event: Event): State {
  return { ...state, playgrounds: event.realm_playgrounds };
}

export function invitesChanged(state: State): State {
  return { ...state, revisions: { ...state.revisions, invites: state.revisions.invites + 1 } };
}

export function exportsChanged(state: State): State {
  return { ...state, revisions: { ...state.revisions, exports: state.revisions.exports + 1 } };
}
