// Events of channels and of the reader's subscriptions.
import { channelFrom, sortedFolders } from "./initial";
import { markStale } from "./lists";
import type { Channel, Event, Folder, Message, State } from "./types";

type Json = Record<string, any>;

export function stream(state: State, event: Event): State {
  switch (event.op) {
    case "create": {
      const fresh = (event.streams as Json[]).map((channel) => {
        const subscribed = state.channels.get(channel.stream_id)?.subscribed ?? false;
        return [channel.stream_id, { ...channelFrom(channel, subscribed), ...kept(state, channel) }] as const;
      });
      return { ...state, channels: state.channels.with(fresh) };
    }
    case "delete": {
      const ids: number[] = (event.streams as Json[] | undefined)?.map((channel) => channel.stream_id) ?? event.stream_ids;
      return { ...state, channels: state.channels.without(ids) };
    }
    case "update":
      return updated(state, event);
    default:
      return state;
  }
}

/** A subscription can be told before its channel: what it says stays. */
function kept(state: State, channel: Json): Partial<Channel> {
  const known = state.channels.get(channel.stream_id);
  if (!known?.subscribed) return {};
  const { color, is_muted, pin_to_top, desktop_notifications, audible_notifications } = known;
  const { push_notifications, email_notifications, wildcard_mentions_notify, subscribed } = known;
  const announced = { desktop_notifications, audible_notifications, push_notifications, email_notifications, wildcard_mentions_notify };
  return { color, is_muted, pin_to_top, ...announced, subscribed };
}

function updated(state: State, event: Event): State {
  const known = state.channels.get(event.stream_id);
  if (!known) return state;
  const { rendered_description, history_public_to_subscribers, is_web_public } = event;
  const beside = Object.entries({ rendered_description, history_public_to_subscribers, is_web_public });
  const channel = {
    ...known,
    [event.property as string]: event.value,
    ...Object.fromEntries(beside.filter(([, value]) => value !== undefined)),
  } as Channel;
  const messages = event.property === "name" ? renamed(state, channel) : state.messages;
  return { ...state, channels: state.channels.set(channel.stream_id, channel), messages };
}

/** Messages say what their channel is called. */
function renamed(state: State, channel: Channel): State["messages"] {
  const changed: [number, Message][] = [];
  for (const [id, message] of state.messages.entries()) {
    if (message.stream_id === channel.stream_id) changed.push([id, { ...message, display_recipient: channel.name }]);
  }
  return state.messages.with(changed);
}

export function subscription(state: State, event: Event): State {
  switch (event.op) {
    case "add": {
      const joined = (event.subscriptions as Json[]).map(
        (channel) => [channel.stream_id, channelFrom(channel, true)] as const,
      );
      return refreshed({ ...state, channels: state.channels.with(joined) });
    }
    case "remove": {
      const left = (event.subscriptions as Json[]).flatMap((gone) => {
        const known = state.channels.get(gone.stream_id);
        return known ? [[known.stream_id, { ...known, subscribed: false }] as const] : [];
      });
      return refreshed({ ...state, channels: state.channels.with(left) });
    }
    case "update": {
      const known = state.channels.get(event.stream_id);
      if (!known) return state;
      const property: string = event.property === "in_home_view" ? "is_muted" : event.property;
      const value = event.property === "in_home_view" ? !event.value : event.value;
      const channel = { ...known, [property]: value } as Channel;
      const next = { ...state, channels: state.channels.set(known.stream_id, channel) };
      return property === "is_muted" ? refreshed(next) : next;
    }
    default:
      return state;
  }
}

/** What the reader hears decides what is in their feed. */
function refreshed(state: State): State {
  return { ...state, lists: markStale(state, (term) => term.operator === "in") };
}

export function defaultChannels(state: State, event: Event): State {
  const channels = event.default_streams as (Json | number)[];
  const ids = channels.map((channel) => (typeof channel === "number" ? channel : channel.stream_id));
  return { ...state, defaultChannels: ids };
}

export function folder(state: State, event: Event): State {
  const { folders } = state;
  switch (event.op) {
    case "add": {
      const added = event.channel_folder as Folder;
      return { ...state, folders: sortedFolders([...folders.filter((one) => one.id !== added.id), added]) };
    }
    case "update": {
      const changed = folders.map((one) => (one.id === event.channel_folder_id ? { ...one, ...event.data } : one));
      return { ...state, folders: changed };
    }
    case "reorder": {
      const order = event.order as number[];
      return { ...state, folders: sortedFolders(folders.map((one) => ({ ...one, order: order.indexOf(one.id) }))) };
    }
    default:
      return state;
  }
}
