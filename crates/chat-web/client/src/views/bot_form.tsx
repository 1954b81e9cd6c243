// What is changed of a bot: its name, and who answers for it.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app } from "../app/app";
import { request } from "../transport/api";
import { userName } from "../store/select";
import type { State } from "../store/types";
import { Field } from "../widgets/controls";
import { PersonPicker } from "./person_picker";
import { t } from "../text/language";

export function BotForm(props: { botId: number; name: string; ownerId: number | undefined; close: () => void }) {
  const state = app.state as State;
  const [name, setName] = useState(props.name);
  const [ownerId, setOwnerId] = useState(props.ownerId);
  const bots = [...state.users.values()].filter((user) => user.is_bot).map((user) => user.user_id);
  const save = async (event: Event) => {
    event.preventDefault();
    const changes = {
      ...(name.trim() === props.name ? {} : { full_name: name.trim() }),
      ...(ownerId === props.ownerId ? {} : { bot_owner_id: ownerId }),
    };
    const isSame = Object.keys(changes).length === 0;
    if (isSame || (await attempt(request("PATCH", `bots/${props.botId}`, changes), t("Bot changed.")))) props.close();
  };
  return (
    <form class="row-form" onSubmit={save}>
      <Field label={t("Name of the bot")}>
        <input required maxLength={100} value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
      </Field>
      <div class="field">
        <span>{t("Who answers for it")}</span>
        {ownerId !== undefined && <span dir="auto">{userName(state, ownerId)}</span>}
        <PersonPicker label={t("Another person")} except={[...bots, ...(ownerId === undefined ? [] : [ownerId])]} onPick={setOwnerId} />
      </div>
      <footer>
        <button type="submit" class="primary">{t("Save changes")}</button>
      </footer>
    </form>
  );
}
