// What one chooses for a channel, and what administrators change of it.
import { useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt, setChannelProperty } from "../app/actions";
import { request } from "../transport/api";
import type { GroupSetting } from "../store/permissions";
import { isAdmin, role } from "../store/select";
import type { Channel } from "../store/types";
import { Field, Switch } from "../widgets/controls";
import { GroupChooser } from "./group_chooser";
import { t } from "../text/language";

const ANNOUNCED = [
  ["desktop_notifications", t("Desktop notifications")],
  ["audible_notifications", t("Sound")],
  ["push_notifications", t("Notifications on the phone")],
  ["email_notifications", t("Letters")],
  ["wildcard_mentions_notify", t("@all counts as a mention")],
] as const;

/** What the reader chose for a channel that they are in. */
export function OwnChoices({ channel }: { channel: Channel }) {
  const { stream_id: id } = channel;
  const set = (name: string, value: unknown) => void setChannelProperty(id, name, value);
  return (
    <>
      <Field label={t("Color")}>
        <input type="color" value={channel.color} onChange={(event) => set("color", (event.target as HTMLInputElement).value)} />
      </Field>
      <Switch label={t("Pinned to the top")} checked={channel.pin_to_top} onChange={(is) => set("pin_to_top", is)} />
      <Switch label={t("Muted")} checked={channel.is_muted} onChange={(is) => set("is_muted", is)} />
      <h3>{t("Notifications of this channel")}</h3>
      {ANNOUNCED.map(([name, label]) => (
        <Field key={name} label={label}>
          <select
            value={String(channel[name])}
            onChange={(event) => set(name, JSON.parse((event.target as HTMLSelectElement).value))}
          >
            <option value="null">{t("As in my settings")}</option>
            <option value="true">{t("Always")}</option>
            <option value="false">{t("Never")}</option>
          </select>
        </Field>
      ))}
    </>
  );
}

export const POST_POLICIES = [
  [1, t("Everyone")],
  [3, t("Full members")],
  [4, t("Moderators")],
  [2, t("Administrators")],
] as const;

/** Who may read a channel, in the parameters of a change. */
export const KINDS = {
  public: { label: t("Every member"), params: { is_private: false, is_web_public: false, history_public_to_subscribers: true } },
  web: { label: t("Everyone on the web"), params: { is_private: false, is_web_public: true, history_public_to_subscribers: true } },
  shared: {
    label: t("Its subscribers, also what was written before they came"),
    params: { is_private: true, is_web_public: false, history_public_to_subscribers: true },
  },
  protected: {
    label: t("Its subscribers, from when they came"),
    params: { is_private: true, is_web_public: false, history_public_to_subscribers: false },
  },
} as const;

export type ChannelKind = keyof typeof KINDS;

function kindOf(channel: Channel): ChannelKind {
  if (channel.is_web_public) return "web";
  if (!channel.invite_only) return "public";
  return channel.history_public_to_subscribers ? "shared" : "protected";
}

/** What administrators change of a channel. */
export function ChannelForm({ channel }: { channel: Channel }) {
  const mayChange = useStore(isAdmin);
  if (!mayChange) return null;
  const path = `streams/${channel.stream_id}`;
  if (channel.is_archived) return <Unarchive channel={channel} />;
  const archive = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Archive #{0}?", channel.name),
        text: t("Nobody can write in it any more. Those who could read it still can, and an administrator can take it back."),
        label: t("Archive channel"),
        run: () => void attempt(request("DELETE", path), t("Channel archived.")),
      },
    });
  return (
    <>
      <ChannelTexts channel={channel} />
      <h3>{t("Permissions of this channel")}</h3>
      <ChannelPermissions channel={channel} />
      <footer>
        <button type="button" class="danger" onClick={archive}>{t("Archive channel")}</button>
      </footer>
    </>
  );
}

function Unarchive({ channel: { stream_id, name } }: { channel: Channel }) {
  const takeBack = () => void attempt(request("PATCH", `streams/${stream_id}`, { is_archived: false }), t("#{0} is back.", name));
  return (
    <footer>
      <button type="button" class="primary" onClick={takeBack}>{t("Unarchive channel")}</button>
    </footer>
  );
}

function ChannelTexts({ channel }: { channel: Channel }) {
  const [name, setName] = useState(channel.name);
  const [description, setDescription] = useState(channel.description);
  const save = (event: Event) => {
    event.preventDefault();
    const changes = {
      ...(name === channel.name ? {} : { new_name: name }),
      ...(description === channel.description ? {} : { description }),
    };
    if (Object.keys(changes).length > 0) void attempt(request("PATCH", `streams/${channel.stream_id}`, changes), t("Channel changed."));
  };
  return (
    <form onSubmit={save}>
      <Field label={t("Name")}>
        <input required value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label={t("Description")}>
        <input value={description} onInput={(event) => setDescription((event.target as HTMLInputElement).value)} />
      </Field>
      <footer>
        <button type="submit" class="primary">{t("Save changes")}</button>
      </footer>
    </form>
  );
}

function ChannelPermissions({ channel }: { channel: Channel }) {
  const isDefault = useStore((state) => state.defaultChannels.includes(channel.stream_id));
  const change = (changes: Readonly<Record<string, unknown>>) =>
    void attempt(request("PATCH", `streams/${channel.stream_id}`, changes), t("Channel changed."));
  const setDefault = (is: boolean) =>
    void attempt(request(is ? "POST" : "DELETE", "default_streams", { stream_id: channel.stream_id }), t("Channel changed."));
  return (
    <>
      <Field label={t("Who may read")}>
        <select value={kindOf(channel)} onChange={(event) => change(KINDS[(event.target as HTMLSelectElement).value as ChannelKind].params)}>
          {Object.entries(KINDS).map(([kind, { label }]) => (
            <option key={kind} value={kind}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <Field label={t("Who may write")}>
        <select
          value={channel.stream_post_policy}
          onChange={(event) => change({ stream_post_policy: Number((event.target as HTMLSelectElement).value) })}
        >
          {POST_POLICIES.map(([number, word]) => (
            <option key={number} value={number}>
              {word}
            </option>
          ))}
        </select>
      </Field>
      <Remover channel={channel} change={(group) => change({ can_remove_subscribers_group: group })} />
      <FolderField folderId={channel.folder_id} onChange={(id) => change({ folder_id: id })} />
      <Retention days={channel.message_retention_days} change={(value) => change({ message_retention_days: value })} />
      {!channel.invite_only && <Switch label={t("New members are in it from the start")} checked={isDefault} onChange={setDefault} />}
    </>
  );
}

/** Who may take others out of the channel, beside administrators. */
function Remover({ channel, change }: { channel: Channel; change: (group: GroupSetting) => void }) {
  const rule = useStore((state) => state.permissionRules.stream["can_remove_subscribers_group"]);
  if (!rule || channel.can_remove_subscribers_group === undefined) return null;
  return <GroupChooser label={t("Who may take others out")} value={channel.can_remove_subscribers_group} rule={rule} onChange={change} />;
}

/** The folder in which lists show a channel; nothing where there are no folders. */
export function FolderField({ folderId, onChange }: { folderId: number | null; onChange: (id: number | null) => void }) {
  const all = useStore((state) => state.folders);
  const folders = all.filter((folder) => !folder.is_archived || folder.id === folderId);
  if (folders.length === 0) return null;
  return (
    <Field label={t("Folder")}>
      <select value={String(folderId)} onChange={(event) => onChange(JSON.parse((event.target as HTMLSelectElement).value))}>
        <option value="null">{t("No folder")}</option>
        {folders.map(({ id, name }) => (
          <option key={id} value={String(id)}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  );
}

const DAYS = [30, 90, 365] as const;

/** For how long messages are kept; owners choose it. */
export function Retention({ days, change }: { days: number | null; change: (value: string | number) => void }) {
  const isLocked = useStore(role) > 100;
  const value = days === null ? "realm_default" : days < 0 ? "unlimited" : String(days);
  const isListed = days === null || days < 0 || DAYS.some((one) => one === days);
  return (
    <Field label={t("Messages are kept")} {...(isLocked ? { hint: t("Only owners change this.") } : {})}>
      <select
        disabled={isLocked}
        value={value}
        onChange={(event) => {
          const picked = (event.target as HTMLSelectElement).value;
          change(/^\d+$/.test(picked) ? Number(picked) : picked);
        }}
      >
        <option value="realm_default">{t("As in the whole organization")}</option>
        <option value="unlimited">{t("Forever")}</option>
        {DAYS.map((one) => (
          <option key={one} value={one}>{t("{0} days", one)}</option>
        ))}
        {!isListed && <option value={value}>{t("{0} days", value)}</option>}
      </select>
    </Field>
  );
}
