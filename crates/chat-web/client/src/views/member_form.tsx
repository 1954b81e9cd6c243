// What administrators change of a member: name, status, and answers to profile fields.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { useStore } from "../app/app";
import { request } from "../transport/api";
import type { User } from "../store/types";
import { Field } from "../widgets/controls";
import { AnswerField } from "./profile_answers";
import { t } from "../text/language";

export function MemberForm({ user, close }: { user: User; close: () => void }) {
  const { user_id: id } = user;
  const fields = useStore((state) => state.profileFields);
  const known = useStore((state) => state.statuses.get(id));
  const [name, setName] = useState(user.full_name);
  const [status, setStatus] = useState(known?.status_text ?? "");
  const changeUser = (changes: Readonly<Record<string, unknown>>) => attempt(request("PATCH", `users/${id}`, changes), t("Saved."));
  const submit = async (event: Event) => {
    event.preventDefault();
    const { emoji_name = "", emoji_code = "", reaction_type = "" } = known ?? {};
    const params = { status_text: status.trim(), ...(emoji_name ? { emoji_name, emoji_code, reaction_type } : {}) };
    const isNamed = name.trim() === user.full_name || (await changeUser({ full_name: name.trim() }));
    const isSame = status.trim() === (known?.status_text ?? "");
    if (isNamed && (isSame || (await attempt(request("POST", `users/${id}/status`, params), t("Saved."))))) close();
  };
  const answer = (fieldId: number, value: string | readonly number[]) =>
    void changeUser({ profile_data: [{ id: fieldId, value: value.length === 0 ? null : value }] });
  return (
    <div class="row-form">
      <form onSubmit={submit}>
        <Field label={t("Full name")}>
          <input required maxLength={100} value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Status")}>
          <input maxLength={60} value={status} onInput={(event) => setStatus((event.target as HTMLInputElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Save changes")}</button>
        </footer>
      </form>
      {fields.map((field) => (
        <AnswerField key={field.id} field={field} userId={id} save={answer} />
      ))}
    </div>
  );
}
