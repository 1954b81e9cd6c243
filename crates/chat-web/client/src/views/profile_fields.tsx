// The custom profile fields themselves, for administrators.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import type { ProfileField } from "../store/types";
import { Field, IconButton, Switch } from "../widgets/controls";
import { ACCOUNT, CHOICE, SHORT_TEXT, TYPES, choicesOf, dataOf } from "./profile_answers";
import { t } from "../text/language";

export function ProfileFieldsSection() {
  const fields = useStore((state) => state.profileFields);
  const move = (at: number, by: number) => {
    const order = fields.map((field) => field.id);
    const [moved] = order.splice(at, 1);
    order.splice(at + by, 0, moved as number);
    void attempt(request("PATCH", "realm/profile_fields", { order }));
  };
  return (
    <>
      <p class="muted">{t("What people may say of themselves on their cards.")}</p>
      <ul class="people-list all">
        {fields.map((field, at) => (
          <FieldRow key={field.id} field={field} up={at > 0 ? () => move(at, -1) : undefined} />
        ))}
      </ul>
      {fields.length === 0 && <p class="muted">{t("There are no fields yet.")}</p>}
      <h3>{t("New field")}</h3>
      <NewField />
    </>
  );
}

function FieldRow({ field, up }: { field: ProfileField; up: (() => void) | undefined }) {
  const [isEdited, setEdited] = useState(false);
  const { id, name } = field;
  const save = async (params: FieldParams) => {
    const isDone = await attempt(request("PATCH", `realm/profile_fields/${id}`, params), t("Field changed."));
    if (isDone) setEdited(false);
    return isDone;
  };
  const remove = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Delete the field {0}?", name),
        text: t("What people answered is deleted with it."),
        label: t("Delete field"),
        run: () => void attempt(request("DELETE", `realm/profile_fields/${id}`), t("Field deleted.")),
      },
    });
  return (
    <li>
      <span dir="auto">
        {name} <small class="tag">{TYPES.find(([type]) => type === field.type)?.[1]}</small>
        {field.hint && <small class="muted">{field.hint}</small>}
      </span>
      {up && <IconButton icon="up" label={t("Move {0} up", name)} onClick={up} />}
      <button type="button" class="secondary" aria-label={t("Change {0}", name)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
      <button type="button" class="danger" aria-label={t("Delete the field {0}", name)} onClick={remove}>{t("Delete")}</button>
      {isEdited && (
        <div class="row-form">
          <FieldForm label={t("Save changes")} field={field} save={save} />
        </div>
      )}
    </li>
  );
}

function NewField() {
  const add = (params: FieldParams) => attempt(request("POST", "realm/profile_fields", params), t("Field added."));
  return <FieldForm label={t("Add field")} save={add} />;
}

type FieldParams = Readonly<Record<string, unknown>>;

const SWITCHES = [
  { name: "display_in_profile_summary", label: t("Show it at the top of the card") },
  { name: "required", label: t("Everyone should answer it") },
  { name: "editable_by_user", label: t("People answer it themselves") },
] as const;

/** A form for a new field, or for the changes of one. A field keeps its type. */
function FieldForm(props: { label: string; field?: ProfileField; save: (params: FieldParams) => Promise<boolean> }) {
  const { label, field, save } = props;
  const [type, setType] = useState<number>(field?.type ?? SHORT_TEXT);
  const [name, setName] = useState(field?.name ?? "");
  const [hint, setHint] = useState(field?.hint ?? "");
  const [detail, setDetail] = useState(field ? detailOf(field) : "");
  const [switches, setSwitches] = useState<Readonly<Record<string, boolean>>>({
    display_in_profile_summary: field?.display_in_profile_summary ?? false,
    required: field?.required ?? false,
    editable_by_user: field?.editable_by_user ?? true,
  });
  const submit = async (event: Event) => {
    event.preventDefault();
    const params = { name: name.trim(), hint: hint.trim(), field_data: dataFrom(type, detail, field), ...switches };
    if (!(await save(field ? params : { ...params, field_type: type }))) return;
    setName("");
    setHint("");
    setDetail("");
  };
  return (
    <form onSubmit={submit}>
      {!field && (
        <Field label={t("Type")}>
          <select value={type} onChange={(event) => setType(Number((event.target as HTMLSelectElement).value))}>
            {TYPES.map(([number, word]) => (
              <option key={number} value={number}>
                {word}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Field label={t("Field name")}>
        <input required maxLength={40} value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label={t("Hint")}>
        <input maxLength={80} value={hint} onInput={(event) => setHint((event.target as HTMLInputElement).value)} />
      </Field>
      {type === CHOICE && (
        <Field label={t("Choices")} hint={t("One in each line.")}>
          <textarea required rows={3} value={detail} onInput={(event) => setDetail((event.target as HTMLTextAreaElement).value)} />
        </Field>
      )}
      {hasAddress(type, field) && (
        <Field label={t("Address of an account")} hint={t("With %(username)s where the name of the account goes.")}>
          <input required type="url" value={detail} onInput={(event) => setDetail((event.target as HTMLInputElement).value)} />
        </Field>
      )}
      {SWITCHES.map(({ name, label }) => (
        <Switch key={name} label={label} checked={switches[name] === true} onChange={(is) => setSwitches({ ...switches, [name]: is })} />
      ))}
      <footer>
        <button type="submit" class="primary">{label}</button>
      </footer>
    </form>
  );
}

/** Accounts at places that the server knows have their addresses from it. */
function hasAddress(type: number, field: ProfileField | undefined): boolean {
  return type === ACCOUNT && (!field || dataOf(field)["subtype"] === "custom");
}

function detailOf(field: ProfileField): string {
  if (field.type === ACCOUNT) return String(dataOf(field)["url_pattern"] ?? "");
  return field.type === CHOICE ? choicesOf(field).map(([, text]) => text).join("\n") : "";
}

/** Returns what a field has beside its name. A choice that stays keeps its key, and with it its answers. */
function dataFrom(type: number, detail: string, field: ProfileField | undefined): Record<string, unknown> | undefined {
  if (type === ACCOUNT) return hasAddress(type, field) ? { subtype: "custom", url_pattern: detail.trim() } : undefined;
  if (type !== CHOICE) return undefined;
  const known = field ? choicesOf(field) : [];
  const lines = [...new Set(detail.split("\n").map((line) => line.trim()).filter(Boolean))];
  let fresh = Math.max(-1, ...known.map(([key]) => Number(key)));
  const keyOf = (text: string) => known.find((one) => one[1] === text)?.[0] ?? String((fresh += 1));
  return Object.fromEntries(lines.map((text, at) => [keyOf(text), { text, order: String(at + 1) }]));
}
