// The organization itself: its name, pictures, and what holds for its messages.
import { useState } from "preact/hooks";
import { useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request } from "../transport/api";
import { role } from "../store/select";
import { Field, Switch } from "../widgets/controls";
import { OrganizationImages } from "./organization_images";
import { t } from "../text/language";

const change = (name: string, value: unknown) => void attempt(request("PATCH", "realm", { [name]: value }), t("Saved."));

export function Organization() {
  const realm = useStore((state) => state.realm);
  const [name, setName] = useState(String(realm["realm_name"] ?? ""));
  const [description, setDescription] = useState(String(realm["realm_description"] ?? ""));
  const save = (event: Event) => {
    event.preventDefault();
    void attempt(request("PATCH", "realm", { name: name.trim(), description }), t("Saved."));
  };
  return (
    <>
      <form onSubmit={save}>
        <Field label={t("Name")}>
          <input required maxLength={40} value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Description")}>
          <textarea rows={3} value={description} onInput={(event) => setDescription((event.target as HTMLTextAreaElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Save changes")}</button>
        </footer>
      </form>
      <OrganizationImages />
      <h3>{t("Messages")}</h3>
      <Switch label={t("Every channel message needs a topic")} checked={realm["realm_mandatory_topics"] === true} onChange={(is) => change("mandatory_topics", is)} />
      <Switch
        label={t("Messages can be edited")}
        checked={realm["realm_allow_message_editing"] === true}
        onChange={(is) => change("allow_message_editing", is)}
      />
      <Limit name="message_content_edit_limit_seconds" label={t("Time to edit a message")} />
      <Limit name="message_content_delete_limit_seconds" label={t("Time to delete a message")} />
      <Limit name="move_messages_within_stream_limit_seconds" label={t("Time to move a message to another topic")} />
      <Limit name="move_messages_between_streams_limit_seconds" label={t("Time to move a message to another channel")} />
      <EditHistory />
      <Retention />
      <Switch
        label={t("Phones are notified only of what is encrypted for them")}
        checked={realm["realm_require_e2ee_push_notifications"] === true}
        onChange={(is) => change("require_e2ee_push_notifications", is)}
      />
    </>
  );
}

const HISTORIES = [
  ["all", t("Everything that was changed")],
  ["moves", t("Only where messages were moved")],
  ["none", t("Nothing")],
] as const;

function EditHistory() {
  const value = useStore((state) => String(state.realm["realm_message_edit_history_visibility_policy"] ?? "all"));
  return (
    <Field label={t("What everyone sees of earlier versions")}>
      <select
        value={value}
        onChange={(event) => change("message_edit_history_visibility_policy", (event.target as HTMLSelectElement).value)}
      >
        {HISTORIES.map(([word, label]) => (
          <option key={word} value={word}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  );
}

const DAYS = [30, 90, 365] as const;

/** For how long messages are kept where a channel says nothing else; owners choose it. */
function Retention() {
  const days = useStore((state) => Number(state.realm["realm_message_retention_days"] ?? -1));
  const isLocked = useStore(role) > 100;
  const isListed = days < 0 || DAYS.some((one) => one === days);
  const pick = (value: string) => change("message_retention_days", value === "unlimited" ? JSON.stringify(value) : Number(value));
  return (
    <Field label={t("Messages are kept")} {...(isLocked ? { hint: t("Only owners change this.") } : {})}>
      <select
        disabled={isLocked}
        value={days < 0 ? "unlimited" : String(days)}
        onChange={(event) => pick((event.target as HTMLSelectElement).value)}
      >
        <option value="unlimited">{t("Forever")}</option>
        {(isListed ? DAYS : [days, ...DAYS]).map((one) => (
          <option key={one} value={one}>{t("{0} days", one)}</option>
        ))}
      </select>
    </Field>
  );
}

const LIMITS: readonly (readonly [number, string])[] = [
  [120, t("2 minutes")],
  [600, t("10 minutes")],
  [3_600, t("1 hour")],
  [86_400, t("1 day")],
  [604_800, t("1 week")],
];

function Limit({ name, label }: { name: string; label: string }) {
  const value = useStore((state) => state.realm[`realm_${name}`]) as number | null;
  const isListed = value === null || LIMITS.some(([seconds]) => seconds === value);
  return (
    <Field label={label}>
      <select
        value={value ?? "unlimited"}
        onChange={(event) => {
          const picked = (event.target as HTMLSelectElement).value;
          change(name, picked === "unlimited" ? JSON.stringify(picked) : Number(picked));
        }}
      >
        {!isListed && <option value={value ?? ""}>{t("{0} seconds", value)}</option>}
        {LIMITS.map(([seconds, words]) => (
          <option key={seconds} value={seconds}>
            {words}
          </option>
        ))}
        <option value="unlimited">{t("No limit")}</option>
      </select>
    </Field>
  );
}

