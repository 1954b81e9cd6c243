// Custom profile fields: their answers on a card, in one's own settings, and the fields themselves for administrators.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import { userName } from "../store/select";
import type { ProfileField, ProfileValue, State } from "../store/types";
import { Field, IconButton, Switch } from "../widgets/controls";
import { ServerHtml } from "../widgets/html";
import { PersonPicker } from "./person_picker";
import { LOCALES, t } from "../text/language";

const [SHORT_TEXT, LONG_TEXT, CHOICE, DATE, LINK, PERSON, ACCOUNT, PRONOUNS] = [1, 2, 3, 4, 5, 6, 7, 8] as const;

const TYPES: readonly (readonly [number, string])[] = [
  [SHORT_TEXT, t("Short text")],
  [LONG_TEXT, t("Long text")],
  [CHOICE, t("Choice from a list")],
  [DATE, t("Date")],
  [LINK, t("Link")],
  [PERSON, t("People")],
  [ACCOUNT, t("Account elsewhere")],
  [PRONOUNS, t("Pronouns")],
];

interface Choice {
  readonly text: string;
  readonly order: string;
}

/** Returns the choices of a field, in their order, by the key that an answer has. */
function choicesOf(field: ProfileField): (readonly [string, string])[] {
  const all = Object.entries(dataOf(field) as Record<string, Choice>);
  return all.sort((a, b) => Number(a[1].order) - Number(b[1].order)).map(([key, { text }]) => [key, text] as const);
}

function dataOf(field: ProfileField): Record<string, unknown> {
  try {
    return JSON.parse(field.field_data || "{}");
  } catch {
    return {};
  }
}

function idsOf(value: string): number[] {
  try {
    const ids: unknown = JSON.parse(value);
    return Array.isArray(ids) ? ids.map(Number) : [];
  } catch {
    return [];
  }
}

/** An answer as others read it. */
export function FieldAnswer({ field, answer }: { field: ProfileField; answer: ProfileValue }) {
  const state = app.state as State;
  const { value } = answer;
  if (answer.rendered_value) return <ServerHtml html={answer.rendered_value} />;
  switch (field.type) {
    case CHOICE:
      return <span dir="auto">{choicesOf(field).find(([key]) => key === value)?.[1] ?? value}</span>;
    case DATE: {
      const day = new Date(`${value}T00:00:00`);
      return <span>{Number.isNaN(day.getTime()) ? value : day.toLocaleDateString([...LOCALES], { dateStyle: "long" })}</span>;
    }
    case LINK:
      return <SafeLink address={value}>{value}</SafeLink>;
    case PERSON:
      return <span dir="auto">{idsOf(value).map((id) => userName(state, id)).join(", ")}</span>;
    case ACCOUNT: {
      const pattern = dataOf(field)["url_pattern"];
      const address = typeof pattern === "string" ? pattern.replace("%(username)s", encodeURIComponent(value)) : "";
      return <SafeLink address={address}>{value}</SafeLink>;
    }
    default:
      return <span dir="auto">{value}</span>;
  }
}

function SafeLink({ address, children }: { address: string; children: string }) {
  if (!/^https?:\/\//i.test(address)) return <span dir="auto">{children}</span>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" dir="auto">
      {children}
    </a>
  );
}

/** The reader's answers. */
export function OwnProfileFields() {
  const fields = useStore((state) => state.profileFields);
  if (fields.length === 0) return null;
  return (
    <>
      <h3>{t("More about you")}</h3>
      {fields.map((field) => (
        <OwnField key={field.id} field={field} />
      ))}
    </>
  );
}

function save(id: number, value: string | readonly number[]): void {
  const answer = value.length === 0 ? request("DELETE", "users/me/profile_data", { data: [id] }) : request("PATCH", "users/me/profile_data", { data: [{ id, value }] });
  void attempt(answer, t("Saved."));
}

const INPUT_TYPES: Readonly<Record<number, string>> = { [DATE]: "date", [LINK]: "url" };

function OwnField({ field }: { field: ProfileField }) {
  const value = useStore((state) => state.users.get(state.selfId)?.profile_data?.[field.id]?.value ?? "");
  const { id, name, hint } = field;
  const changed = (event: Event) => save(id, (event.target as HTMLInputElement).value.trim());
  switch (field.type) {
    case PERSON:
      return <OwnPeople field={field} ids={idsOf(value)} />;
    case CHOICE:
      return (
        <Field label={name} hint={hint}>
          <select value={value} onChange={changed}>
            <option value="">{t("Not said")}</option>
            {choicesOf(field).map(([key, text]) => (
              <option key={key} value={key}>
                {text}
              </option>
            ))}
          </select>
        </Field>
      );
    default:
      return <OwnText key={value} field={field} value={value} />;
  }
}

/** What is typed stays while other things of the page change; it is saved when the field is left. */
function OwnText({ field, value }: { field: ProfileField; value: string }) {
  const [typed, setTyped] = useState(value);
  const onInput = (event: Event) => setTyped((event.target as HTMLInputElement).value);
  const onChange = () => save(field.id, typed.trim());
  return (
    <Field label={field.name} hint={field.hint}>
      {field.type === LONG_TEXT ? (
        <textarea rows={3} value={typed} onInput={onInput} onChange={onChange} />
      ) : (
        <input type={INPUT_TYPES[field.type] ?? "text"} value={typed} onInput={onInput} onChange={onChange} />
      )}
    </Field>
  );
}

function OwnPeople({ field, ids }: { field: ProfileField; ids: number[] }) {
  const state = app.state as State;
  return (
    <div class="field">
      <span>{field.name}</span>
      <ul class="pills">
        {ids.map((id) => (
          <li class="pill" key={id}>
            {userName(state, id)}{" "}
            <IconButton icon="close" label={t("Remove {0}", userName(state, id))} onClick={() => save(field.id, ids.filter((one) => one !== id))} />
          </li>
        ))}
      </ul>
      <PersonPicker label={t("Add to {0}", field.name)} except={ids} onPick={(id) => save(field.id, [...ids, id])} />
      {field.hint && <small>{field.hint}</small>}
    </div>
  );
}

/** The fields themselves, for administrators. */
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
  const { id, name } = field;
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
      <button type="button" class="danger" aria-label={t("Delete the field {0}", name)} onClick={remove}>{t("Delete")}</button>
    </li>
  );
}

function NewField() {
  const [type, setType] = useState<number>(SHORT_TEXT);
  const [name, setName] = useState("");
  const [hint, setHint] = useState("");
  const [detail, setDetail] = useState("");
  const [inSummary, setInSummary] = useState(false);
  const add = async (event: Event) => {
    event.preventDefault();
    const params = {
      field_type: type,
      name: name.trim(),
      hint: hint.trim(),
      field_data: newData(type, detail),
      display_in_profile_summary: inSummary,
    };
    if (!(await attempt(request("POST", "realm/profile_fields", params), t("Field added.")))) return;
    setName("");
    setHint("");
    setDetail("");
  };
  return (
    <form onSubmit={add}>
      <Field label={t("Type")}>
        <select value={type} onChange={(event) => setType(Number((event.target as HTMLSelectElement).value))}>
          {TYPES.map(([number, word]) => (
            <option key={number} value={number}>
              {word}
            </option>
          ))}
        </select>
      </Field>
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
      {type === ACCOUNT && (
        <Field label={t("Address of an account")} hint={t("With %(username)s where the name of the account goes.")}>
          <input required type="url" value={detail} onInput={(event) => setDetail((event.target as HTMLInputElement).value)} />
        </Field>
      )}
      <Switch label={t("Show it at the top of the card")} checked={inSummary} onChange={setInSummary} />
      <footer>
        <button type="submit" class="primary">{t("Add field")}</button>
      </footer>
    </form>
  );
}

function newData(type: number, detail: string): Record<string, unknown> | undefined {
  if (type === ACCOUNT) return { subtype: "custom", url_pattern: detail.trim() };
  if (type !== CHOICE) return undefined;
  const lines = detail.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((text, at) => [String(at), { text, order: String(at + 1) }]));
}
