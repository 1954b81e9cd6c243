// Invitations: by letter and by link, and which are open.
import { useEffect, useState } from "preact/hooks";
import { shallow, useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request } from "../transport/api";
import { may } from "../store/permissions";
import { allChannels, role } from "../store/select";
import { Field, Switch } from "../widgets/controls";
import { formatAgo, formatMoment } from "../widgets/time";
import { madeGroups } from "./group_chooser";
import { Pills } from "./pills";
import { ROLES } from "./roles";
import { t } from "../text/language";

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

export function Invitations() {
  const [emails, setEmails] = useState("");
  const [as, setAs] = useState("400");
  const [minutes, setMinutes] = useState("10080");
  const [withDefaults, setWithDefaults] = useState(true);
  const [channelIds, setChannelIds] = useState<readonly number[]>([]);
  const [groupIds, setGroupIds] = useState<readonly number[]>([]);
  const [isNotified, setNotified] = useState(true);
  const own = useStore(role);
  const channels = useStore(allChannels);
  const groups = useStore(madeGroups, shallow);
  const mayMakeLinks = useStore((state) => may(state, "create_multiuse_invite_group"));
  const mayInvite = useStore((state) => may(state, "can_invite_users_group"));
  const terms = () => ({
    invite_as: Number(as),
    invite_expires_in_minutes: JSON.parse(minutes) as number | null,
    include_realm_default_subscriptions: withDefaults,
    stream_ids: channelIds,
    group_ids: groupIds,
  });
  const send = async (event: Event) => {
    event.preventDefault();
    if (await attempt(request("POST", "invites", { ...terms(), invitee_emails: emails, notify_referrer_on_join: isNotified }), t("Invited."))) setEmails("");
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
        <Switch label={t("They are in the channels of new members")} checked={withDefaults} onChange={setWithDefaults} />
        <Pills
          label={t("Channels they are in from the start")}
          add={t("Channel to add")}
          all={channels.map(({ stream_id, name }) => ({ id: stream_id, name }))}
          picked={channelIds}
          onChange={setChannelIds}
        />
        <Pills label={t("Groups they are in from the start")} add={t("Group to add")} all={groups} picked={groupIds} onChange={setGroupIds} />
        <Switch label={t("Tell me when they join")} checked={isNotified} onChange={setNotified} />
        <footer>
          {mayMakeLinks && (
            <button type="button" class="secondary" onClick={() => void makeLink()}>{t("Make a link for anyone")}</button>
          )}
          <button type="submit" class="primary" disabled={!mayInvite}>{t("Send invitations")}</button>
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

