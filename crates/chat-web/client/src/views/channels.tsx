// All channels, and making and reading about one.
import { useEffect, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt, goNarrow, subscribe, unsubscribe } from "../app/actions";
import { request } from "../transport/api";
import { narrowHash } from "../store/address";
import { channelNarrow } from "../store/narrow";
import { allChannels, byName, userName } from "../store/select";
import type { Channel, State } from "../store/types";
import { Avatar, Field, Modal, Switch } from "../widgets/controls";
import { ServerHtml } from "../widgets/html";
import { Icon } from "../widgets/icons";
import { PersonPicker } from "./person_picker";
import { ChannelForm, OwnChoices } from "./channel_form";
import { channelIcon } from "./recipient_bar";
import { t } from "../text/language";

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
        aria-label={t("Find a channel")}
        placeholder={t("Find a channel")}
        value={typed}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
      />
      <ul>
        {sorted.map((channel) => (
          <ChannelCard key={channel.stream_id} channel={channel} />
        ))}
      </ul>
      {found.length > sorted.length && <p class="muted">{t("{0} more; type to find them.", found.length - sorted.length)}</p>}
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
        {channel.stream_weekly_traffic !== null && <span class="muted">{t("{0} messages a week", channel.stream_weekly_traffic)}</span>}
      </header>
      {channel.description && <p dir="auto">{channel.description}</p>}
      <footer>
        <button type="button" class={subscribed ? "secondary" : "primary"} onClick={() => void (subscribed ? unsubscribe : subscribe)(name)}>
          {subscribed ? t("Unsubscribe") : t("Subscribe")}
        </button>
        <button type="button" class="secondary" onClick={() => app.setUi({ dialog: { is: "channel", channelId: id } })}>{t("About")}</button>
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
      name,
      description,
      subscribers: [state.selfId],
      invite_only: isPrivate,
      is_announcement_only: isAnnounced,
    };
    // A name that is taken, by an archived channel too, is refused; subscribing to it would create nothing.
    const made = request("POST", "channels/create", params);
    if (!(await attempt(made, t("#{0} was made.", name)))) return;
    close();
    goNarrow(channelNarrow(Number((await made)["id"])));
  };
  return (
    <Modal title={t("New channel")} close={close}>
      <form onSubmit={submit}>
        <Field label={t("Name")}>
          <input
            required
            maxLength={Number(state.realm["max_stream_name_length"] ?? 60)}
            value={name}
            onInput={(event) => setName((event.target as HTMLInputElement).value)}
          />
        </Field>
        <Field label={t("What it is for")}>
          <input
            maxLength={Number(state.realm["max_stream_description_length"] ?? 1024)}
            value={description}
            onInput={(event) => setDescription((event.target as HTMLInputElement).value)}
          />
        </Field>
        {state.realm["can_create_private_streams"] === true && (
          <Switch label={t("Private: only those who are added may read it")} checked={isPrivate} onChange={setPrivate} />
        )}
        <Switch label={t("Only administrators may write in it")} checked={isAnnounced} onChange={setAnnounced} />
        <footer>
          <button type="submit" class="primary" disabled={name.trim() === ""}>{t("Create channel")}</button>
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
    ? t("Everyone on the web may read it.")
    : channel.invite_only
      ? t("Private: only its subscribers may read it.")
      : t("Public: every member may read and join it.");
  return (
    <Modal title={`#${channel.name}`} close={close}>
      {channel.rendered_description && <ServerHtml html={channel.rendered_description} />}
      <p class="muted">{kinds}</p>
      {channel.subscribed && <OwnChoices channel={channel} />}
      <ChannelForm channel={channel} />
      <h3>{t("Subscribers")}{" "}{members && <span class="muted">({members.length})</span>}</h3>
      {members && <Subscribers channel={channel} members={members} reload={setMembers} />}
    </Modal>
  );
}

function Subscribers(props: { channel: Channel; members: number[]; reload: (members: number[]) => void }) {
  const { channel, members, reload } = props;
  const state = app.state as State;
  const add = async (id: number) => {
    const params = { subscriptions: [{ name: channel.name }], principals: [id] };
    if (await attempt(request("POST", "users/me/subscriptions", params), t("Added."))) reload([...members, id]);
  };
  const sorted = [...members].sort((a, b) => byName(userName(state, a), userName(state, b)));
  return (
    <>
      {state.realm["can_subscribe_other_users"] === true && (
        <PersonPicker label={t("Person to add")} except={members} onPick={(id) => void add(id)} />
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
