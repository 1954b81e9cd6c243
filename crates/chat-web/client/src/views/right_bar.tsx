// The right side: who is there.
import { useEffect, useState } from "preact/hooks";
import { app, shallow, useStore } from "../app/app";
import { narrowHash } from "../store/address";
import { placeNarrow } from "../store/narrow";
import { directPlace } from "../store/place";
import { listedPeople, unreadIn } from "../store/select";
import type { State, User } from "../store/types";
import { Avatar, Count, MenuButton, PresenceDot, StatusEmoji } from "../widgets/controls";
import { t } from "../text/language";

/** People that are rendered; the field above them finds the others. */
const SHOWN_MOST = 150;
const REFRESH_MS = 60_000;

export function RightBar() {
  const [typed, setTyped] = useState("");
  const [nowS, setNow] = useState(Math.floor(Date.now() / 1000));
  useEffect(() => {
    const timer = setInterval(() => setNow(Math.floor(Date.now() / 1000)), REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
  const users = useStore((state) => listedPeople(state, typed, nowS, SHOWN_MOST), shallow);
  return (
    <aside class="right-bar" aria-label={t("People")}>
      <input
        type="search"
        id="people-filter"
        class="filter"
        aria-label={t("Filter people")}
        placeholder={t("Filter people")}
        value={typed}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
      />
      <ul class="links people">
        {users.map((user) => (
          <PersonRow key={user.user_id} user={user} />
        ))}
      </ul>
      {users.length === 0 && <p class="muted small">{t("Nobody has this name.")}</p>}
    </aside>
  );
}

function PersonRow({ user }: { user: User }) {
  const state = app.state as State;
  const place = directPlace(state.selfId, [user.user_id]);
  const unread = useStore((now) => unreadIn(now, place).length);
  const status = useStore((now) => now.statuses.get(user.user_id)?.status_text);
  const openCard = () => app.setUi({ dialog: { is: "user", userId: user.user_id } });
  return (
    <li>
      <div class="link-row">
        <a href={narrowHash(placeNarrow(place), state)} title={status}>
          <span class="avatar-frame">
            <Avatar userId={user.user_id} size={26} />
            <PresenceDot userId={user.user_id} />
          </span>
          <span class="name" dir="auto">
            {user.full_name}
            {user.user_id === state.selfId && <span class="muted">{" "}{t("(you)")}</span>}
            {status && <small class="muted">{status}</small>}
          </span>
        </a>
        <StatusEmoji userId={user.user_id} />
        <Count count={unread} />
        <MenuButton label={t("Options of {0}", user.full_name)} items={() => [{ label: t("Profile"), icon: "people", run: openCard }]} />
      </div>
    </li>
  );
}
