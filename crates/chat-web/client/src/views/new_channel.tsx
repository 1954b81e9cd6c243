// Making a channel.
import { useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt, goNarrow } from "../app/actions";
import { request } from "../transport/api";
import { channelNarrow } from "../store/narrow";
import { may } from "../store/permissions";
import { activeUsers, isAdmin, role } from "../store/select";
import type { State } from "../store/types";
import { Field, Modal, Switch } from "../widgets/controls";
import { FolderField, KINDS, POST_POLICIES, Retention, type ChannelKind } from "./channel_form";
import { GroupChooser } from "./group_chooser";
import { Pills } from "./pills";
import { t } from "../text/language";

/** What a new channel is made with beside its name, in the parameters of the API. */
interface Chosen {
  readonly stream_post_policy: number;
  readonly folder_id: number | null;
  readonly message_retention_days: string | number;
  readonly can_remove_subscribers_group: number | undefined;
  readonly is_default_stream: boolean;
}

const USUAL: Chosen = {
  stream_post_policy: 1,
  folder_id: null,
  message_retention_days: "realm_default",
  can_remove_subscribers_group: undefined,
  is_default_stream: false,
};

/** Returns the kinds of channels that the reader may make. */
function kinds(state: State): ChannelKind[] {
  const isPrivate = may(state, "can_create_private_channel_group");
  const permitted = {
    public: may(state, "can_create_public_channel_group"),
    web: may(state, "can_create_web_public_channel_group"),
    shared: isPrivate,
    protected: isPrivate,
  };
  return (Object.keys(KINDS) as ChannelKind[]).filter((kind) => permitted[kind]);
}

export function NewChannelDialog({ close }: { close: () => void }) {
  const state = app.state as State;
  const offered = kinds(state);
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [kind, setKind] = useState<ChannelKind>(offered[0] ?? "public");
  const [people, setPeople] = useState<readonly number[]>([]);
  const [chosen, setChosen] = useState(USUAL);
  const isPrivate = kind === "shared" || kind === "protected";
  const submit = async (event: Event) => {
    event.preventDefault();
    const { is_private: invite_only, ...openness } = KINDS[kind].params;
    const isDefault = chosen.is_default_stream && !isPrivate;
    const params = { name, description, subscribers: [state.selfId, ...people], invite_only, ...openness, ...chosen, is_default_stream: isDefault };
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
        <Field label={t("Who may read")}>
          <select value={kind} onChange={(event) => setKind((event.target as HTMLSelectElement).value as ChannelKind)}>
            {offered.map((one) => (
              <option key={one} value={one}>
                {KINDS[one].label}
              </option>
            ))}
          </select>
        </Field>
        <FolderField folderId={chosen.folder_id} onChange={(folder_id) => setChosen({ ...chosen, folder_id })} />
        {may(state, "can_add_subscribers_group") && <Members picked={people} onChange={setPeople} />}
        <details>
          <summary>{t("More choices")}</summary>
          <MoreChoices chosen={chosen} onChange={setChosen} isPrivate={isPrivate} />
        </details>
        <footer>
          <button type="submit" class="primary" disabled={name.trim() === ""}>{t("Create channel")}</button>
        </footer>
      </form>
    </Modal>
  );
}

function Members({ picked, onChange }: { picked: readonly number[]; onChange: (picked: readonly number[]) => void }) {
  const state = app.state as State;
  const others = activeUsers(state).filter((user) => user.user_id !== state.selfId);
  const all = others.map((user) => ({ id: user.user_id, name: user.full_name }));
  return <Pills label={t("People in it beside you")} add={t("Person to add")} all={all} picked={picked} onChange={onChange} />;
}

function MoreChoices(props: { chosen: Chosen; onChange: (chosen: Chosen) => void; isPrivate: boolean }) {
  const { chosen, onChange, isPrivate } = props;
  const state = app.state as State;
  const rule = useStore((now) => now.permissionRules.stream["can_remove_subscribers_group"]);
  const administrators = [...state.groups.values()].find((group) => group.name === "role:administrators")?.id ?? 0;
  const days = chosen.message_retention_days;
  return (
    <>
      <Field label={t("Who may write")}>
        <select
          value={chosen.stream_post_policy}
          onChange={(event) => onChange({ ...chosen, stream_post_policy: Number((event.target as HTMLSelectElement).value) })}
        >
          {POST_POLICIES.map(([number, word]) => (
            <option key={number} value={number}>
              {word}
            </option>
          ))}
        </select>
      </Field>
      {rule && (
        <GroupChooser
          label={t("Who may take others out")}
          value={chosen.can_remove_subscribers_group ?? administrators}
          rule={rule}
          onChange={(group) => typeof group === "number" && onChange({ ...chosen, can_remove_subscribers_group: group })}
        />
      )}
      {role(state) <= 100 && (
        <Retention
          days={days === "realm_default" ? null : days === "unlimited" ? -1 : Number(days)}
          change={(value) => onChange({ ...chosen, message_retention_days: value })}
        />
      )}
      {isAdmin(state) && !isPrivate && (
        <Switch
          label={t("New members are in it from the start")}
          checked={chosen.is_default_stream}
          onChange={(is) => onChange({ ...chosen, is_default_stream: is })}
        />
      )}
    </>
  );
}
