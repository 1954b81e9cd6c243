// Members: their accounts, roles, names and answers, as administrators keep them.
import { useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request } from "../transport/api";
import { byName, role } from "../store/select";
import type { User } from "../store/types";
import { Avatar, Field } from "../widgets/controls";
import { MemberForm } from "./member_form";
import { ROLES } from "./roles";
import { t } from "../text/language";

/** Members that are listed; the field above them finds the others. */
const LISTED = 100;

export function Members() {
  const [typed, setTyped] = useState("");
  const users = useStore((state) => state.users);
  const own = useStore(role);
  const folded = typed.toLowerCase();
  const found = [...users.values()].filter((user) => {
    return !user.is_system_bot && `${user.full_name} ${user.delivery_email ?? user.email}`.toLowerCase().includes(folded);
  });
  found.sort((a, b) => Number(b.is_active) - Number(a.is_active) || byName(a.full_name, b.full_name));
  return (
    <>
      <input
        type="search"
        class="filter"
        aria-label={t("Find a member")}
        placeholder={t("Find a member")}
        value={typed}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
      />
      <ul class="people-list all">
        {found.slice(0, LISTED).map((user) => (
          <MemberRow key={user.user_id} user={user} ownRole={own} />
        ))}
      </ul>
      {found.length === 0 && <p class="muted">{t("Nobody has this name.")}</p>}
      {found.length > LISTED && <p class="muted">{t("{0} more; type to find them.", found.length - LISTED)}</p>}
      <h3>{t("New member")}</h3>
      <NewMember />
    </>
  );
}

function MemberRow({ user, ownRole }: { user: User; ownRole: number }) {
  const selfId = useStore((state) => state.selfId);
  const [isEdited, setEdited] = useState(false);
  const { user_id: id, full_name: name } = user;
  // Owners are made and unmade by owners alone.
  const mayChange = id !== selfId && (ownRole <= 100 || user.role > 100);
  const setRole = (value: string) => void attempt(request("PATCH", `users/${id}`, { role: Number(value) }), t("The role of {0} was changed.", name));
  const deactivate = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Deactivate {0}?", name),
        text: t("They are signed out and cannot come back until they are reactivated. Their messages stay."),
        label: t("Deactivate"),
        run: () => void attempt(request("DELETE", user.is_bot ? `bots/${id}` : `users/${id}`), t("{0} was deactivated.", name)),
      },
    });
  return (
    <li>
      <Avatar userId={id} size={28} />
      <span dir="auto">
        {name} <small class="muted">{user.delivery_email ?? user.email}</small>
        {user.is_bot && <small class="tag">{t("bot")}</small>}
        {!user.is_active && <small class="tag">{t("deactivated")}</small>}
      </span>
      {mayChange && user.is_active && !user.is_bot && (
        <select aria-label={t("Role of {0}", name)} value={user.role} onChange={(event) => setRole((event.target as HTMLSelectElement).value)}>
          {ROLES.filter(([number]) => number >= ownRole || number === user.role).map(([number, word]) => (
            <option key={number} value={number}>
              {word}
            </option>
          ))}
        </select>
      )}
      {user.is_active && !user.is_bot && (
        <button type="button" class="secondary" aria-label={t("Change {0}", name)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
      )}
      {mayChange && user.is_active && (
        <button type="button" class="danger" aria-label={t("Deactivate {0}", name)} onClick={deactivate}>{t("Deactivate")}</button>
      )}
      {mayChange && !user.is_active && (
        <button
          type="button"
          class="secondary"
          aria-label={t("Reactivate {0}", name)}
          onClick={() => void attempt(request("POST", `users/${id}/reactivate`), t("{0} was reactivated.", name))}
        >{t("Reactivate")}</button>
      )}
      {isEdited && <MemberForm user={user} close={() => setEdited(false)} />}
    </li>
  );
}

/** An account that is ready at once: its password is told to the person, who changes it. */
function NewMember() {
  const [name, setName] = useState("");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const create = async (event: Event) => {
    event.preventDefault();
    const params = { full_name: name.trim(), email: email.trim(), password };
    if (!(await attempt(request("POST", "users", params), t("{0} has an account now.", name.trim())))) return;
    setName("");
    setEmail("");
    setPassword("");
  };
  return (
    <form onSubmit={create}>
      <p class="muted">{t("Makes an account without a letter. Tell the person the password; they can change it.")}</p>
      <Field label={t("Full name")}>
        <input required value={name} autocomplete="off" onInput={(event) => setName((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label={t("E-mail address")}>
        <input required type="email" value={email} autocomplete="off" onInput={(event) => setEmail((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label={t("Password")}>
        <input required type="password" minLength={6} value={password} autocomplete="new-password" onInput={(event) => setPassword((event.target as HTMLInputElement).value)} />
      </Field>
      <footer>
        <button type="submit" class="primary">{t("Create account")}</button>
      </footer>
    </form>
  );
}
