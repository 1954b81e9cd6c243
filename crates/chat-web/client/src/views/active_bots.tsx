// Everyone's bots.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import { byName, userName } from "../store/select";
import type { State, User } from "../store/types";
import { Avatar } from "../widgets/controls";
import { BotForm } from "./bot_form";
import { t } from "../text/language";

/** Bots of everyone. */
export function ActiveBotsSection() {
  const users = useStore((state) => state.users);
  const bots = [...users.values()].filter((user) => user.is_bot && user.is_active && !user.is_system_bot);
  bots.sort((a, b) => byName(a.full_name, b.full_name));
  return (
    <>
      <ul class="people-list all">
        {bots.map((bot) => (
          <ActiveBot key={bot.user_id} bot={bot} />
        ))}
      </ul>
      {bots.length === 0 && <p class="muted">{t("Nobody has a bot.")}</p>}
    </>
  );
}

function ActiveBot({ bot }: { bot: User }) {
  const state = app.state as State;
  const [isEdited, setEdited] = useState(false);
  const { user_id: id, full_name: name, bot_owner_id: owner } = bot;
  const deactivate = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Deactivate {0}?", name),
        text: t("Its key no longer works. Its messages stay."),
        label: t("Deactivate"),
        run: () => void attempt(request("DELETE", `bots/${id}`), t("{0} was deactivated.", name)),
      },
    });
  return (
    <li>
      <Avatar userId={id} size={28} />
      <span dir="auto">
        {name} <small class="muted">{bot.delivery_email ?? bot.email}</small>
        {owner != null && <small class="muted">{t("Owner: {0}", userName(state, owner))}</small>}
      </span>
      <button type="button" class="secondary" aria-label={t("Change {0}", name)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
      <button type="button" class="danger" aria-label={t("Deactivate {0}", name)} onClick={deactivate}>{t("Deactivate")}</button>
      {isEdited && <BotForm botId={id} name={name} ownerId={owner ?? undefined} close={() => setEdited(false)} />}
    </li>
  );
}
