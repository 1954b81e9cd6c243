// Answers to custom profile fields: on a card, in one's own settings, and as administrators give them.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import { isAdmin, userName } from "../store/select";
import type { ProfileField, ProfileValue, State } from "../store/types";
import { Field, IconButton } from "../widgets/controls";
import { ServerHtml } from "../widgets/html";
import { PersonPicker } from "./person_picker";
import { LOCALES, t } from "../text/language";

export const [SHORT_TEXT, LONG_TEXT, CHOICE, DATE, LINK, PERSON, ACCOUNT, PRONOUNS] = [1, 2, 3, 4, 5, 6, 7, 8] as const;

export const TYPES: readonly (readonly [number, string])[] = [
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
export function choicesOf(field: ProfileField): (readonly [string, string])[] {
  const all = Object.entries(dataOf(field) as Record<string, Choice>);
  return all.sort((a, b) => Number(a[1].order) - Number(b[1].order)).map(([key, { text }]) => [key, text] as const);
}

export function dataOf(field: ProfileField): Record<string, unknown> {
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

/** Takes an answer, or that there is none when it is empty. */
export type SaveAnswer = (fieldId: number, value: string | readonly number[]) => void;

/** The reader's answers. */
export function OwnProfileFields() {
  const selfId = useStore((state) => state.selfId);
  const fields = useStore((state) => state.profileFields);
  const isAdministrator = useStore(isAdmin);
  const open = fields.filter((field) => isAdministrator || field.editable_by_user !== false);
  if (open.length === 0) return null;
  return (
    <>
      <h3>{t("More about you")}</h3>
      {open.map((field) => (
        <AnswerField key={field.id} field={field} userId={selfId} save={saveOwn} />
      ))}
    </>
  );
}

function saveOwn(id: number, value: string | readonly number[]): void {
  const [method, data] = value.length === 0 ? (["DELETE", [id]] as const) : (["PATCH", [{ id, value }]] as const);
  void attempt(request(method, "users/me/profile_data", { data }), t("Saved."));
}

const INPUT_TYPES: Readonly<Record<number, string>> = { [DATE]: "date", [LINK]: "url" };

interface AnswerProps {
  readonly field: ProfileField;
  readonly userId: number;
  readonly save: SaveAnswer;
}

/** The field of an answer, that of the reader or of a member. */
export function AnswerField(props: AnswerProps) {
  const { field, userId, save } = props;
  const value = useStore((state) => state.users.get(userId)?.profile_data?.[field.id]?.value ?? "");
  const { id, name, hint } = field;
  const changed = (event: Event) => save(id, (event.target as HTMLInputElement).value.trim());
  switch (field.type) {
    case PERSON:
      return <AnswerPeople field={field} ids={idsOf(value)} save={save} />;
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
      return <AnswerText key={value} field={field} value={value} save={save} />;
  }
}

/** What is typed stays while other things of the page change; it is saved when the field is left. */
function AnswerText({ field, value, save }: { field: ProfileField; value: string; save: SaveAnswer }) {
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

function AnswerPeople({ field, ids, save }: { field: ProfileField; ids: number[]; save: SaveAnswer }) {
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
