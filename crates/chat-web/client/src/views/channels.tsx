// All channels, and making and reading about one.
import { useEffect, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt, goNarrow, setChannelProperty, subscribe, unsubscribe } from "../app/actions";
import { request } from "../transport/api";
import { narrowHash } from "../store/address";
import { channelNarrow } from "../store/narrow";
import { allChannels, byName, isAdmin, userName } from "../store/select";
import type { Channel, State } from "../store/types";
import { Avatar, Field, Modal, Switch } from "../widgets/controls";
import { ServerHtml } from "../widgets/html";
import { Icon } from "../widgets/icons";
import { channelIcon } from "./recipient_bar";

const SHOWN_MOST = 200;

export function ChannelsView() {
  const [typed, setTyped] = useState("");
  const all = useStore(allChannels);
  const folded = typed.toLowerCase();
  const found = all.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(folded));
  const sorted = found.slice(0, SHOWN_MOST);
  return (
    <div class="page cards">
      <input
        type="search"
        class="filter"
        aria-label="Find a channel"
        placeholder="Find a channel"
        value={typed}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
      />
      <ul>
        {sorted.map((channel) => (
          <ChannelCard key={channel.stream_id} channel={channel} />
        ))}
      </ul>
      {found.length > sorted.length && <p class="muted">{found.length - sorted.length} more; type to find them.</p>}
    </div>
  );
}

function ChannelCard({ channel }: { channel: Channel }) {
  const state = app.state as State;
  const { name, stream_id: id, subscribed } = channel;
  return (
    <li class="card" style={{ "--channel": channel.color }}>
      <header>
        <a class="channel-link" href={narrowHash(channelNarrow(id), state)} dir="auto">
          <Icon name={channelIcon(channel)} /> <strong>{name}</strong>
        </a>
        {channel.stream_weekly_traffic !== null && <span class="muted">{channel.stream_weekly_traffic} messages a week</span>}
      </header>
      {channel.description && <p dir="auto">{channel.description}</p>}
      <footer>
        <button type="button" class={subscribed ? "secondary" : "primary"} onClick={() => void (subscribed ? unsubscribe : subscribe)(name)}>
          {subscribed ? "Unsubscribe" : "Subscribe"}
        </button>
        <button type="button" class="secondary" onClick={() => app.setUi({ dialog: { is: "channel", channelId: id } })}>
          About
        </button>
      </footer>
    </li>
  );
}

export function NewChannelDialog({ close }: { close: () => void }) {
  const state = app.state as State;
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [isPrivate, setPrivate] = useState(state.realm["can_create_public_streams"] !== true);
  const [isAnnounced, setAnnounced] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const params = {
      subscriptions: [{ name, description }],
      invite_only: isPrivate,
      is_announcement_only: isAnnounced,
    };
    if (!(await attempt(request("POST", "users/me/subscriptions", params), `#${name} was made.`))) return;
    close();
    const made = [...(app.state as State).channels.values()].find((channel) => channel.name === name.trim());
    if (made) goNarrow(channelNarrow(made.stream_id));
  };
  return (
    <Modal title="New channel" close={close}>
      <form onSubmit={submit}>
        <Field label="Name">
          <input
            required
            maxLength={Number(state.realm["max_stream_name_length"] ?? 60)}
            value={name}
            onInput={(event) => setName((event.target as HTMLInputElement).value)}
          />
        </Field>
        <Field label="What it is for">
          <input
            maxLength={Number(state.realm["max_stream_description_length"] ?? 1024)}
            value={description}
            onInput={(event) => setDescription((event.target as HTMLInputElement).value)}
          />
        </Field>
        {state.realm["can_create_private_streams"] === true && (
          <Switch label="Private: only those who are added may read it" checked={isPrivate} onChange={setPrivate} />
        )}
        <Switch label="Only administrators may write in it" checked={isAnnounced} onChange={setAnnounced} />
        <footer>
          <button type="submit" class="primary" disabled={name.trim() === ""}>
            Create channel
          </button>
        </footer>
      </form>
    </Modal>
  );
}

export function ChannelDialog({ channelId, close }: { channelId: number; close: () => void }) {
  const channel = useStore((state) => state.channels.get(channelId));
  const [members, setMembers] = useState<number[]>();
  useEffect(() => {
    request("GET", `streams/${channelId}/members`).then(
      (answer) => setMembers(answer["subscribers"] as number[]),
      () => setMembers([]),
    );
  }, [channelId, channel?.subscribed]);
  if (!channel) return null;
  const kinds = channel.is_web_public
    ? "Everyone on the web may read it."
    : channel.invite_only
      ? "Private: only its subscribers may read it."
      : "Public: every member may read and join it.";
  return (
    <Modal title={`#${channel.name}`} close={close}>
      {channel.rendered_description && <ServerHtml html={channel.rendered_description} />}
      <p class="muted">{kinds}</p>
      {channel.subscribed && <OwnChoices channel={channel} />}
      <ChannelForm channel={channel} />
      <h3>Subscribers {members && <span class="muted">({members.length})</span>}</h3>
      <Subscribers channel={channel} members={members ?? []} reload={setMembers} />
    </Modal>
  );
}

function OwnChoices({ channel }: { channel: Channel }) {
  const { stream_id: id } = channel;
  return (
    <>
      <Field label="Color">
        <input type="color" value={channel.color} onChange={(event) => void setChannelProperty(id, "color", (event.target as HTMLInputElement).value)} />
      </Field>
      <Switch label="Pinned to the top" checked={channel.pin_to_top} onChange={(is) => void setChannelProperty(id, "pin_to_top", is)} />
      <Switch label="Muted" checked={channel.is_muted} onChange={(is) => void setChannelProperty(id, "is_muted", is)} />
      <Switch
        label="Desktop notifications for every message"
        checked={channel.desktop_notifications === true}
        onChange={(is) => void setChannelProperty(id, "desktop_notifications", is)}
      />
    </>
  );
}

/** What administrators change of a channel. */
function ChannelForm({ channel }: { channel: Channel }) {
  const mayChange = useStore(isAdmin);
  const [name, setName] = useState(channel.name);
  const [description, setDescription] = useState(channel.description);
  if (!mayChange) return null;
  const path = `streams/${channel.stream_id}`;
  const save = (event: Event) => {
    event.preventDefault();
    const changes = {
      ...(name === channel.name ? {} : { new_name: name }),
      ...(description === channel.description ? {} : { description }),
    };
    if (Object.keys(changes).length > 0) void attempt(request("PATCH", path, changes), "Channel changed.");
  };
  const archive = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: `Archive #${channel.name}?`,
        text: "Nobody will be able to read or write in it.",
        label: "Archive channel",
        run: () => void attempt(request("DELETE", path), "Channel archived."),
      },
    });
  return (
    <form onSubmit={save}>
      <Field label="Name">
        <input value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label="Description">
        <input value={description} onInput={(event) => setDescription((event.target as HTMLInputElement).value)} />
      </Field>
      <footer>
        <button type="button" class="danger" onClick={archive}>
          Archive channel
        </button>
        <button type="submit" class="primary">
          Save changes
        </button>
      </footer>
    </form>
  );
}

function Subscribers(props: { channel: Channel; members: number[]; reload: (members: number[]) => void }) {
  const { channel, members, reload } = props;
  const state = app.state as State;
  const [added, setAdded] = useState("");
  const others = [...state.users.values()].filter((user) => user.is_active && !members.includes(user.user_id));
  const add = async (event: Event) => {
    event.preventDefault();
    const id = Number(added);
    const params = { subscriptions: [{ name: channel.name }], principals: [id] };
    if (await attempt(request("POST", "users/me/subscriptions", params), "Added.")) reload([...members, id]);
    setAdded("");
  };
  const sorted = [...members].sort((a, b) => byName(userName(state, a), userName(state, b)));
  return (
    <>
      {state.realm["can_subscribe_other_users"] === true && others.length > 0 && (
        <form class="add-line" onSubmit={add}>
          <select aria-label="Person to add" value={added} onChange={(event) => setAdded((event.target as HTMLSelectElement).value)}>
            <option value="">Choose a person</option>
            {others
              .sort((a, b) => byName(a.full_name, b.full_name))
              .map((user) => (
                <option key={user.user_id} value={user.user_id}>
                  {user.full_name}
                </option>
              ))}
          </select>
          <button type="submit" class="secondary" disabled={added === ""}>
            Add
          </button>
        </form>
      )}
      <ul class="people-list">
        {sorted.slice(0, SHOWN_MOST).map((id) => (
          <li key={id}>
            <Avatar userId={id} size={24} /> <span dir="auto">{userName(state, id)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
