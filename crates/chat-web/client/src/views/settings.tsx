// The reader's own settings.
import { useEffect, useState } from "preact/hooks";
import { app, shallow, useStore } from "../app/app";
import { attempt, setSetting } from "../app/actions";
import { csrfToken, request, upload } from "../transport/api";
import type { Bot, State } from "../store/types";
import { askPermission, notificationsAllowed } from "../app/notify";
import { Avatar, Field, Switch } from "../widgets/controls";
import { formatAgo } from "../widgets/time";
import { BotForm } from "./bot_form";
import { ORGANIZATION_SECTIONS } from "./organization";
import { OwnProfileFields } from "./profile_answers";
import { DISPLAY_CHOICES, DISPLAY_SWITCHES, NOTIFICATION_SWITCHES, OTHERS_SEE_SWITCHES, type SettingSwitch } from "./setting_lists";
import { LANGUAGES, t } from "../text/language";

const SECTIONS = [
  { name: "profile", label: t("Profile"), view: Profile },
  { name: "account", label: t("Password and API key"), view: Account },
  { name: "display", label: t("Display"), view: Display },
  { name: "notifications", label: t("Notifications"), view: Notifications },
  { name: "bots", label: t("Bots"), view: Bots },
  { name: "sessions", label: t("Sessions"), view: Sessions },
] as const;

export function SettingsView({ section }: { section: string }) {
  const ofOrganization = useStore((state) => ORGANIZATION_SECTIONS.filter((one) => one.isFor(state)), shallow);
  const all = [...SECTIONS, ...ofOrganization];
  const current = all.find((one) => one.name === section) ?? SECTIONS[0];
  const View = current.view;
  const link = ({ name, label }: { name: string; label: string }) => (
    <a key={name} href={`#settings/${name}`} aria-current={name === current.name ? "page" : undefined}>
      {label}
    </a>
  );
  return (
    <div class="page settings">
      <nav aria-label={t("Settings")}>
        {SECTIONS.map(link)}
        {ofOrganization.length > 0 && <span class="nav-head muted">{t("Organization")}</span>}
        {ofOrganization.map(link)}
      </nav>
      <section aria-label={current.label}>
        <h2>{current.label}</h2>
        <View />
      </section>
    </div>
  );
}

function Profile() {
  const state = app.state as State;
  const user = useStore((now) => now.users.get(now.selfId));
  const [name, setName] = useState(user?.full_name ?? "");
  const [zone, setZone] = useState(String(state.settings["timezone"] || ""));
  const zones = Intl.supportedValuesOf("timeZone");
  const save = (event: Event) => {
    event.preventDefault();
    void attempt(request("PATCH", "settings", { full_name: name.trim(), timezone: zone }), t("Saved."));
  };
  const pickAvatar = (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) void attempt(upload("users/me/avatar", file, () => undefined).done, t("Picture changed."));
    input.value = "";
  };
  return (
    <>
      <div class="card-head">
        <Avatar userId={state.selfId} size={72} />
        <p>
          <label class="secondary as-button">{t("Change picture")}<input type="file" accept="image/*" class="hidden-input" onChange={(event) => pickAvatar(event.target as HTMLInputElement)} />
          </label>{" "}
          <button type="button" class="secondary" onClick={() => void attempt(request("DELETE", "users/me/avatar"), t("Picture removed."))}>{t("Remove picture")}</button>
        </p>
      </div>
      <form onSubmit={save}>
        <Field label={t("Full name")}>
          <input required value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Time zone")}>
          <select value={zone} onChange={(event) => setZone((event.target as HTMLSelectElement).value)}>
            <option value="">{t("Not said")}</option>
            {zones.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </Field>
        <footer>
          <button type="button" class="secondary" onClick={() => app.setUi({ dialog: { is: "status" } })}>{t("Set status")}</button>
          <button type="submit" class="primary">{t("Save changes")}</button>
        </footer>
      </form>
      <OwnProfileFields />
    </>
  );
}

function Account() {
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const email = useStore((state) => state.users.get(state.selfId)?.delivery_email ?? state.users.get(state.selfId)?.email ?? "");
  const change = async (event: Event) => {
    event.preventDefault();
    if (!(await attempt(request("PATCH", "settings", { old_password: old, new_password: fresh }), t("Password changed.")))) return;
    setOld("");
    setFresh("");
  };
  return (
    <>
      <EmailForm email={email} />
      <h3>{t("Password")}</h3>
      <form onSubmit={change}>
        <input type="text" class="hidden-input" autocomplete="username" value={email} tabIndex={-1} aria-hidden="true" readOnly />
        <Field label={t("Current password")}>
          <input type="password" required autocomplete="current-password" value={old} onInput={(event) => setOld((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("New password")}>
          <input type="password" required minLength={6} autocomplete="new-password" value={fresh} onInput={(event) => setFresh((event.target as HTMLInputElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Change password")}</button>
        </footer>
      </form>
      <h3>{t("API key")}</h3>
      <ApiKey email={email} />
    </>
  );
}

/** The address changes when a link in a letter to the new one was opened. */
function EmailForm({ email }: { email: string }) {
  const [fresh, setFresh] = useState("");
  const [sentTo, setSentTo] = useState<string>();
  const change = async (event: Event) => {
    event.preventDefault();
    if (!(await attempt(request("PATCH", "settings", { email: fresh.trim() })))) return;
    setSentTo(fresh.trim());
    setFresh("");
  };
  return (
    <>
      <p class="muted">{t("Your address: {0}", email)}</p>
      {sentTo && (
        <p class="notice" role="status">{t("We sent a letter to {0}. Open the link in it to change your address.", sentTo)}</p>
      )}
      <form onSubmit={change}>
        <Field label={t("New address")}>
          <input type="email" required autocomplete="email" value={fresh} onInput={(event) => setFresh((event.target as HTMLInputElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="secondary">{t("Change address")}</button>
        </footer>
      </form>
    </>
  );
}

/** The key is shown to who types the password again, and is kept nowhere. */
function ApiKey({ email }: { email: string }) {
  const [password, setPassword] = useState("");
  const [key, setKey] = useState<string>();
  const show = async (event: Event) => {
    event.preventDefault();
    await attempt(
      request("POST", "fetch_api_key", { username: email, password }).then((answer) => setKey(String(answer["api_key"]))),
    );
    setPassword("");
  };
  if (key === undefined) {
    return (
      <form onSubmit={show}>
        <p>{t("Programs use this key in your name. Whoever has it can read and write as you.")}</p>
        <Field label={t("Your password")}>
          <input type="password" required autocomplete="off" value={password} onInput={(event) => setPassword((event.target as HTMLInputElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="secondary">{t("Show API key")}</button>
        </footer>
      </form>
    );
  }
  return (
    <>
      <p>
        <code class="secret">{key}</code>
      </p>
      <footer>
        <button type="button" class="secondary" onClick={() => setKey(undefined)}>{t("Hide")}</button>
        <button type="button" class="primary" onClick={() => download("zuliprc", zuliprc(email, key))}>{t("Download zuliprc")}</button>
      </footer>
    </>
  );
}

function zuliprc(email: string, key: string): string {
  const site = String(app.state?.realm["realm_url"] ?? location.origin);
  return `[api]\nemail=${email}\nkey=${key}\nsite=${site}\n`;
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

function Setting({ name, label }: { name: string; label: string }) {
  const value = useStore((state) => state.settings[name] === true);
  return <Switch label={label} checked={value} onChange={(checked) => void setSetting(name, checked)} />;
}

function Settings({ all }: { all: readonly SettingSwitch[] }) {
  return (
    <>
      {all.map(({ name, label }) => (
        <Setting key={name} name={name} label={label} />
      ))}
    </>
  );
}

function Choice(props: { name: string; label: string; options: readonly (readonly [string | number, string])[] }) {
  const value = useStore((state) => state.settings[props.name]) as string | number;
  return (
    <Field label={props.label}>
      <select
        value={value}
        onChange={(event) => {
          const picked = (event.target as HTMLSelectElement).value;
          void setSetting(props.name, typeof value === "number" ? Number(picked) : picked);
        }}
      >
        {props.options.map(([option, label]) => (
          <option key={option} value={option}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** Returns the languages of the client, and the chosen one where the client has no words in it. */
function languages(): [string, string][] {
  const chosen = String(app.state?.settings["default_language"] ?? "en");
  const own = Object.entries(LANGUAGES) as [string, string][];
  return own.some(([code]) => code === chosen) ? own : [...own, [chosen, chosen]];
}

function Display() {
  return (
    <>
      <Choice name="default_language" label={t("Language")} options={languages()} />
      {DISPLAY_CHOICES.map((choice) => (
        <Choice key={choice.name} {...choice} />
      ))}
      <Settings all={DISPLAY_SWITCHES} />
      <h3>{t("What others see")}</h3>
      <Settings all={OTHERS_SEE_SWITCHES} />
      <h3>{t("Private data")}</h3>
      <Setting name="allow_private_data_export" label={t("Let administrators export my private data")} />
      <p class="muted">{t("An export with consent then also has the private channels and direct messages you can read, and your settings.")}</p>
    </>
  );
}

function Notifications() {
  const [isAllowed, setAllowed] = useState(notificationsAllowed());
  const words = useStore((state) => state.alertWords);
  const [word, setWord] = useState("");
  const add = async (event: Event) => {
    event.preventDefault();
    if (await attempt(request("POST", "users/me/alert_words", { alert_words: [word.trim()] }))) setWord("");
  };
  return (
    <>
      {!isAllowed && (
        <p class="notice">{t("This browser shows no notifications of this page.")}{" "}
          <button type="button" class="link" onClick={() => void askPermission().then(setAllowed)}>{t("Allow notifications")}</button>
        </p>
      )}
      <Settings all={NOTIFICATION_SWITCHES} />
      <h3>{t("Alert words")}</h3>
      <p class="muted">{t("Messages with these words are announced as mentions are.")}</p>
      <ul class="pills">
        {words.map((one) => (
          <li class="pill" key={one}>
            {one}{" "}
            <button
              type="button"
              class="link"
              aria-label={t("Remove {0}", one)}
              onClick={() => void attempt(request("DELETE", "users/me/alert_words", { alert_words: [one] }))}
            >{t("Remove")}</button>
          </li>
        ))}
      </ul>
      <form class="add-line" onSubmit={add}>
        <input aria-label={t("New alert word")} placeholder={t("New alert word")} value={word} onInput={(event) => setWord((event.target as HTMLInputElement).value)} />
        <button type="submit" class="secondary" disabled={word.trim() === ""}>{t("Add")}</button>
      </form>
    </>
  );
}

function Bots() {
  const selfId = useStore((state) => state.selfId);
  const bots = useStore((state) => state.bots);
  const own = [...bots.values()].filter((bot) => bot.owner_id === selfId && bot.is_active);
  const [name, setName] = useState("");
  const [short, setShort] = useState("");
  const create = async (event: Event) => {
    event.preventDefault();
    const params = { full_name: name.trim(), short_name: short.trim(), bot_type: 1 };
    const made = request("POST", "bots", params).then((answer) => {
      const email = [...(app.state as State).bots.values()].find((bot) => bot.user_id === answer["user_id"])?.email ?? "";
      download("zuliprc", zuliprc(email || `${short.trim()}-bot@${app.state?.realm["realm_bot_domain"]}`, String(answer["api_key"])));
    });
    if (!(await attempt(made, t("Bot created; its zuliprc was downloaded.")))) return;
    setName("");
    setShort("");
  };
  return (
    <>
      <ul class="people-list">
        {own.map((bot) => (
          <BotRow key={bot.user_id} bot={bot} />
        ))}
      </ul>
      {own.length === 0 && <p class="muted">{t("You have no bots.")}</p>}
      <h3>{t("New bot")}</h3>
      <form onSubmit={create}>
        <Field label={t("Name")}>
          <input required value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Name in its address")} hint={t("Letters, digits and hyphens.")}>
          <input required pattern="[A-Za-z0-9._\-]+" value={short} onInput={(event) => setShort((event.target as HTMLInputElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Create bot")}</button>
        </footer>
      </form>
    </>
  );
}

function BotRow({ bot }: { bot: Bot }) {
  const [isEdited, setEdited] = useState(false);
  const fresh = () => {
    const path = `bots/${bot.user_id}/api_key/regenerate`;
    const made = request("POST", path).then((answer) => download("zuliprc", zuliprc(bot.email, String(answer["api_key"]))));
    void attempt(made, t("The bot has a new key; its zuliprc was downloaded."));
  };
  return (
    <li>
      <Avatar userId={bot.user_id} size={28} />
      <span>
        {bot.full_name} <small class="muted">{bot.email}</small>
      </span>
      <button type="button" class="secondary" aria-label={t("Change {0}", bot.full_name)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
      <button type="button" class="secondary" onClick={fresh}>{t("New key")}</button>
      <button type="button" class="danger" onClick={() => void attempt(request("DELETE", `bots/${bot.user_id}`), t("Bot deactivated."))}>{t("Deactivate")}</button>
      {isEdited && <BotForm botId={bot.user_id} name={bot.full_name} ownerId={bot.owner_id ?? undefined} close={() => setEdited(false)} />}
    </li>
  );
}

interface Session {
  readonly id: string;
  readonly created: number;
  readonly last_used: number;
  readonly user_agent: string;
  readonly is_current: boolean;
}

function Sessions() {
  const [sessions, setSessions] = useState<Session[]>();
  const load = () =>
    attempt(request("GET", "sessions").then((answer) => setSessions(answer["sessions"] as Session[])));
  useEffect(() => void load(), []);
  const end = async (path: string) => {
    if (await attempt(request("DELETE", path), t("Signed out there."))) await load();
  };
  return (
    <>
      <p class="muted">{t("Browsers that are signed in to your account.")}</p>
      <ul class="people-list">
        {sessions?.map((session) => (
          <li key={session.id}>
            <span>
              {session.user_agent || t("Unknown browser")}{" "}
              <small class="muted">{session.is_current ? t("this browser") : `used ${formatAgo(session.last_used)}`}</small>
            </span>
            {!session.is_current && (
              <button type="button" class="secondary" onClick={() => void end(`sessions/${session.id}`)}>{t("Sign out")}</button>
            )}
          </li>
        ))}
      </ul>
      <footer>
        <button type="button" class="danger" onClick={() => void end("sessions")}>{t("Sign out everywhere else")}</button>
      </footer>
    </>
  );
}

/** Ends the session of this browser. What was typed and not sent was for this person alone. */
export async function signOut(): Promise<void> {
  localStorage.removeItem(`compose/${app.state?.selfId ?? 0}`);
  await fetch("/logout/", { method: "POST", headers: { "X-CSRFToken": csrfToken() }, redirect: "manual" }).catch(() => undefined);
  location.assign("/login/");
}
