// What administrators do: members, invitations, the organization itself, its emoji.
import { useEffect, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request, upload } from "../transport/api";
import { byName, isAdmin, isPermitted, role } from "../store/select";
import type { State, User } from "../store/types";
import { Avatar, Field, Switch } from "../widgets/controls";
import { formatAgo, formatMoment } from "../widgets/time";
import { ExportSection } from "./data_export";
import { GroupsSection } from "./groups";
import { ProfileFieldsSection } from "./profile_fields";
import { ActiveBotsSection, LinkifiersSection, PlaygroundsSection } from "./tools";
import { t } from "../text/language";

export const ROLES: readonly (readonly [number, string])[] = [
  [100, t("Owner")],
  [200, t("Administrator")],
  [300, t("Moderator")],
  [400, t("Member")],
  [600, t("Guest")],
];

/** The sections of the settings that are about the organization, each for those who may use it. */
export const ORGANIZATION_SECTIONS = [
  { name: "members", label: t("Members"), view: Members, isFor: isAdmin },
  { name: "invitations", label: t("Invitations"), view: Invitations, isFor: (state: State) => state.realm["can_invite_others_to_realm"] === true },
  { name: "organization", label: t("Organization"), view: Organization, isFor: isAdmin },
  { name: "groups", label: t("Groups"), view: GroupsSection, isFor: (state: State) => role(state) <= 400 },
  { name: "fields", label: t("Profile fields"), view: ProfileFieldsSection, isFor: isAdmin },
  { name: "linkifiers", label: t("Linkifiers"), view: LinkifiersSection, isFor: isAdmin },
  { name: "playgrounds", label: t("Playgrounds"), view: PlaygroundsSection, isFor: isAdmin },
  { name: "active-bots", label: t("Everyone's bots"), view: ActiveBotsSection, isFor: isAdmin },
  { name: "export", label: t("Data export"), view: ExportSection, isFor: isAdmin },
  { name: "emoji", label: t("Emoji"), view: CustomEmoji, isFor: (state: State) => isPermitted(state, state.realm["realm_add_custom_emoji_policy"]) },
] as const;

/** Members that are listed; the field above them finds the others. */
const LISTED = 100;

function Members() {
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
      {found.length > LISTED && <p class="muted">{t("{0} more; type to find them.", found.length - LISTED)}</p>}
    </>
  );
}

function MemberRow({ user, ownRole }: { user: User; ownRole: number }) {
  const selfId = useStore((state) => state.selfId);
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
    </li>
  );
}

interface Invite {
  readonly id: number;
  readonly email?: string;
  readonly link_url?: string;
  readonly invited: number;
  readonly expiry_date: number | null;
  readonly invited_as: number;
  readonly is_multiuse: boolean;
}

const DURATIONS: readonly (readonly [string, string])[] = [
  ["1440", t("1 day")],
  ["10080", t("1 week")],
  ["43200", t("30 days")],
  ["null", t("No limit")],
];

function Invitations() {
  const [emails, setEmails] = useState("");
  const [as, setAs] = useState("400");
  const [minutes, setMinutes] = useState("10080");
  const own = useStore(role);
  const terms = () => ({
    invite_as: Number(as),
    invite_expires_in_minutes: JSON.parse(minutes) as number | null,
    include_realm_default_subscriptions: true,
    stream_ids: [],
  });
  const send = async (event: Event) => {
    event.preventDefault();
    if (await attempt(request("POST", "invites", { ...terms(), invitee_emails: emails }), t("Invited."))) setEmails("");
  };
  const makeLink = () => attempt(request("POST", "invites/multiuse", terms()), t("The link is in the list below."));
  return (
    <>
      <form onSubmit={send}>
        <Field label={t("Addresses")} hint={t("Several with commas between them.")}>
          <textarea required rows={2} value={emails} onInput={(event) => setEmails((event.target as HTMLTextAreaElement).value)} />
        </Field>
        <Field label={t("They join as")}>
          <select value={as} onChange={(event) => setAs((event.target as HTMLSelectElement).value)}>
            {ROLES.filter(([number]) => number >= own).map(([number, word]) => (
              <option key={number} value={number}>
                {word}
              </option>
            ))}
          </select>
        </Field>
        <Field label={t("Valid for")}>
          <select value={minutes} onChange={(event) => setMinutes((event.target as HTMLSelectElement).value)}>
            {DURATIONS.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </Field>
        <footer>
          {isAdmin(app.state as State) && (
            <button type="button" class="secondary" onClick={() => void makeLink()}>{t("Make a link for anyone")}</button>
          )}
          <button type="submit" class="primary">{t("Send invitations")}</button>
        </footer>
      </form>
      <OpenInvites />
    </>
  );
}

function OpenInvites() {
  const revision = useStore((state) => state.revisions.invites);
  const [invites, setInvites] = useState<Invite[]>([]);
  useEffect(() => {
    void attempt(request("GET", "invites").then((answer) => setInvites(answer["invites"] as Invite[])));
  }, [revision]);
  const revoke = (invite: Invite) => {
    const path = invite.is_multiuse ? `invites/multiuse/${invite.id}` : `invites/${invite.id}`;
    void attempt(request("DELETE", path), t("Taken back."));
  };
  return (
    <>
      <h3>{t("Open invitations")}</h3>
      {invites.length === 0 && <p class="muted">{t("None.")}</p>}
      <ul class="people-list">
        {invites.map((invite) => (
          <li key={`${invite.is_multiuse} ${invite.id}`}>
            <span>
              {invite.link_url ? <a href={invite.link_url}>{invite.link_url}</a> : (invite.email ?? t("A link of someone else"))}{" "}
              <small class="muted">
                {formatAgo(invite.invited)}
                {invite.expiry_date !== null && `, until ${formatMoment(new Date(invite.expiry_date * 1000))}`}
              </small>
            </span>
            {!invite.is_multiuse && (
              <button type="button" class="secondary" onClick={() => void attempt(request("POST", `invites/${invite.id}/resend`), t("Sent again."))}>{t("Send again")}</button>
            )}
            <button type="button" class="danger" onClick={() => revoke(invite)}>{t("Take back")}</button>
          </li>
        ))}
      </ul>
    </>
  );
}

const PLAIN = [[1, t("Members")], [3, t("Full members")], [4, t("Moderators")], [2, t("Administrators")]] as const;
const OR_NOBODY = [...PLAIN, [6, t("Nobody")]] as const;
const WITH_GUESTS = [[5, t("Everyone")], ...PLAIN] as const;

const POLICIES: readonly { name: string; label: string; options: readonly (readonly [number, string])[] }[] = [
  { name: "invite_to_realm_policy", label: t("Who may invite people"), options: OR_NOBODY },
  { name: "invite_to_stream_policy", label: t("Who may add others to channels"), options: PLAIN },
  { name: "edit_topic_policy", label: t("Who may move messages to another topic"), options: [...WITH_GUESTS, [6, t("Nobody")]] },
  { name: "move_messages_between_streams_policy", label: t("Who may move messages to another channel"), options: OR_NOBODY },
  { name: "delete_own_message_policy", label: t("Who may delete their own messages"), options: WITH_GUESTS },
  { name: "add_custom_emoji_policy", label: t("Who may add emoji"), options: PLAIN },
  { name: "user_group_edit_policy", label: t("Who may change groups"), options: PLAIN },
];

const change = (name: string, value: unknown) => void attempt(request("PATCH", "realm", { [name]: value }), t("Saved."));

function Organization() {
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
      <h3>{t("Messages")}</h3>
      <Switch label={t("Every channel message needs a topic")} checked={realm["realm_mandatory_topics"] === true} onChange={(is) => change("mandatory_topics", is)} />
      <Switch
        label={t("Messages can be edited")}
        checked={realm["realm_allow_message_editing"] === true}
        onChange={(is) => change("allow_message_editing", is)}
      />
      <Limit name="message_content_edit_limit_seconds" label={t("Time to edit a message")} />
      <Limit name="message_content_delete_limit_seconds" label={t("Time to delete a message")} />
      <h3>{t("Permissions")}</h3>
      {POLICIES.map((policy) => (
        <Field key={policy.name} label={policy.label}>
          <select
            value={Number(realm[`realm_${policy.name}`])}
            onChange={(event) => change(policy.name, Number((event.target as HTMLSelectElement).value))}
          >
            {policy.options.map(([number, word]) => (
              <option key={number} value={number}>
                {word}
              </option>
            ))}
          </select>
        </Field>
      ))}
    </>
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

function CustomEmoji() {
  const emoji = useStore((state) => state.emoji);
  const [name, setName] = useState("");
  const [file, setFile] = useState<File>();
  const shown = Object.values(emoji).filter((one) => !one.deactivated);
  const add = async (event: Event) => {
    event.preventDefault();
    if (!file) return;
    const path = `realm/emoji/${encodeURIComponent(name.trim())}`;
    if (!(await attempt(upload(path, file, () => undefined).done, t("Added.")))) return;
    setName("");
    setFile(undefined);
    (event.target as HTMLFormElement).reset();
  };
  return (
    <>
      <ul class="people-list">
        {shown.map((one) => (
          <li key={one.id}>
            <img class="emoji" src={one.source_url} alt="" />
            <span>:{one.name}:</span>
            <button
              type="button"
              class="danger"
              aria-label={t("Remove {0}", one.name)}
              onClick={() => void attempt(request("DELETE", `realm/emoji/${encodeURIComponent(one.name)}`), t("Removed."))}
            >{t("Remove")}</button>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="muted">{t("No emoji of your own yet.")}</p>}
      <form onSubmit={add}>
        <Field label={t("Name")} hint={t("Small letters, digits, and underscores.")}>
          <input required pattern="[a-z0-9_\-]+" value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Picture")}>
          <input type="file" required accept="image/*" onChange={(event) => setFile((event.target as HTMLInputElement).files?.[0])} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Add emoji")}</button>
        </footer>
      </form>
    </>
  );
}
