// All channels, and reading about one.
import { useEffect, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt, subscribe, unsubscribe } from "../app/actions";
import { request } from "../transport/api";
import { narrowHash } from "../store/address";
import { channelNarrow } from "../store/narrow";
import { isGiven, may } from "../store/permissions";
import { allChannels, archivedChannels, byName, isAdmin, userName } from "../store/select";
import type { Channel, State } from "../store/types";
import { Avatar, IconButton, Modal } from "../widgets/controls";
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
      <ArchivedChannels typed={folded} />
      {found.length > sorted.length && <p class="muted">{t("{0} more; type to find them.", found.length - sorted.length)}</p>}
    </div>
  );
}

function FolderTag({ folderId }: { folderId: number | null }) {
  const name = useStore((state) => state.folders.find((folder) => folder.id === folderId)?.name);
  return name === undefined ? null : <span class="tag">{name}</span>;
}

/** Archived channels can be read; administrators take them back. */
function ArchivedChannels({ typed }: { typed: string }) {
  const all = useStore(archivedChannels);
  const mayTakeBack = useStore(isAdmin);
  const state = app.state as State;
  const found = all.filter(({ name }) => name.toLowerCase().includes(typed)).slice(0, SHOWN_MOST);
  if (found.length === 0) return null;
  const takeBack = ({ stream_id, name }: Channel) =>
    void attempt(request("PATCH", `streams/${stream_id}`, { is_archived: false }), t("#{0} is back.", name));
  return (
    <section aria-label={t("Archived channels")}>
      <h2>{t("Archived channels")}</h2>
      <ul>
        {found.map((channel) => (
          <li class="card" key={channel.stream_id}>
            <header>
              <a class="channel-link" href={narrowHash(channelNarrow(channel.stream_id), state)} dir="auto">
                <Icon name={channelIcon(channel)} /> <strong>{channel.name}</strong>
              </a>
              {mayTakeBack && (
                <button type="button" class="secondary" aria-label={t("Unarchive {0}", channel.name)} onClick={() => takeBack(channel)}>{t("Unarchive")}</button>
              )}
            </header>
          </li>
        ))}
      </ul>
    </section>
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
        <FolderTag folderId={channel.folder_id} />
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
      {channel.is_archived && <p class="notice">{t("This channel is archived: it can be read, but nobody can write in it.")}</p>}
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
  const mayTakeOut = isAdmin(state) || isGiven(state, channel.can_remove_subscribers_group);
  const takeOut = async (id: number) => {
    const params = { subscriptions: [channel.name], principals: [id] };
    const done = t("{0} is no longer in {1}.", userName(state, id), `#${channel.name}`);
    if (await attempt(request("DELETE", "users/me/subscriptions", params), done)) reload(members.filter((one) => one !== id));
  };
  const sorted = [...members].sort((a, b) => byName(userName(state, a), userName(state, b)));
  return (
    <>
      {may(state, "can_add_subscribers_group") && !channel.is_archived && (
        <PersonPicker label={t("Person to add")} except={members} onPick={(id) => void add(id)} />
      )}
      <ul class="people-list">
        {sorted.slice(0, SHOWN_MOST).map((id) => (
          <li key={id}>
            <Avatar userId={id} size={24} /> <span dir="auto">{userName(state, id)}</span>
            {mayTakeOut && id !== state.selfId && (
              <IconButton icon="close" label={t("Take {0} out of {1}", userName(state, id), `#${channel.name}`)} onClick={() => void takeOut(id)} />
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
