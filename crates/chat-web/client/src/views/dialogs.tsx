// The dialogs: cards of users, history, readers, moving, deleting, status, help.
import { useEffect, useState } from "preact/hooks";
import { app, useApp, useStore, type Dialog } from "../app/app";
import { attempt, deleteMessage, editMessage, goNarrow, setMutedUser } from "../app/actions";
import { openCompose } from "../app/compose";
import { allEmoji, type NamedEmoji } from "../app/emoji";
import { best, topicNames } from "../app/complete";
import { request } from "../transport/api";
import { placeNarrow } from "../store/narrow";
import { directPlace } from "../store/place";
import { byName, presenceOf, userName } from "../store/select";
import type { Message, State, User } from "../store/types";
import { Avatar, Field, Modal, PresenceDot, StatusEmoji } from "../widgets/controls";
import { ServerHtml } from "../widgets/html";
import { formatAgo, formatFull, formatMoment } from "../widgets/time";
import { Picker } from "../widgets/typeahead";
import { ChannelDialog } from "./channels";
import { ReactionDialog } from "./emoji_picker";
import { groupNames } from "./groups";
import { KEYS } from "./keys";
import { NewChannelDialog } from "./new_channel";
import { FieldAnswer } from "./profile_answers";
import { ROLES } from "./roles";
import { LOCALES, t } from "../text/language";

const close = () => app.setUi({ dialog: undefined });

export function Dialogs() {
  const dialog = useApp((app) => app.ui.dialog);
  const lightbox = useApp((app) => app.ui.lightbox);
  return (
    <>
      {dialog && <One key={JSON.stringify({ ...dialog, run: undefined })} dialog={dialog} />}
      {lightbox && (
        <Modal title={t("Picture")} close={() => app.setUi({ lightbox: undefined })} class="lightbox">
          <img src={lightbox} alt="" />
          <p>
            <a href={lightbox} target="_blank" rel="noopener">{t("Open in a new tab")}</a>
          </p>
        </Modal>
      )}
    </>
  );
}

function One({ dialog }: { dialog: Dialog }) {
  switch (dialog.is) {
    case "help":
      return <Help />;
    case "user":
      return <UserCard userId={dialog.userId} />;
    case "history":
      return <History id={dialog.messageId} />;
    case "receipts":
      return <Receipts id={dialog.messageId} />;
    case "move":
      return <Move id={dialog.messageId} />;
    case "delete":
      return (
        <Confirm
          title={t("Delete this message?")}
          text={t("It is taken away for everyone.")}
          label={t("Delete message")}
          run={() => void deleteMessage(dialog.messageId)}
        />
      );
    case "new-channel":
      return <NewChannelDialog close={close} />;
    case "channel":
      return <ChannelDialog channelId={dialog.channelId} close={close} />;
    case "emoji":
      return <ReactionDialog messageId={dialog.messageId} close={close} />;
    case "status":
      return <StatusDialog />;
    case "confirm":
      return <Confirm {...dialog} />;
  }
}

function Confirm({ title, text, label, run }: { title: string; text: string; label: string; run: () => void }) {
  return (
    <Modal title={title} close={close} class="narrow">
      <p>{text}</p>
      <footer>
        <button type="button" class="secondary" onClick={close}>{t("Cancel")}</button>
        <button
          type="button"
          class="danger"
          data-focus
          onClick={() => {
            close();
            run();
          }}
        >
          {label}
        </button>
      </footer>
    </Modal>
  );
}

function UserCard({ userId }: { userId: number }) {
  const user = useStore((state) => state.users.get(userId));
  const status = useStore((state) => state.statuses.get(userId));
  const isMuted = useStore((state) => state.mutedUsers.has(userId));
  const state = app.state as State;
  if (!user) return null;
  const isSelf = userId === state.selfId;
  const write = () => {
    const place = directPlace(state.selfId, [userId]);
    close();
    goNarrow(placeNarrow(place));
    void openCompose(place);
  };
  return (
    <Modal title={user.full_name} close={close} class="narrow user-card">
      <div class="card-head">
        <Avatar userId={userId} size={72} />
        <div>
          <p>
            <PresenceDot userId={userId} /> {lastSeen(state, userId)}
          </p>
          {(status?.status_text || status?.emoji_name) && (
            <p>
              <StatusEmoji userId={userId} /> <span dir="auto">{status.status_text}</span>
            </p>
          )}
          <p class="muted">
            {user.is_active ? (ROLES.find(([number]) => number === user.role)?.[1] ?? t("Member")) : t("Deactivated")}
            {user.is_bot && ", bot"}
          </p>
        </div>
      </div>
      <Facts user={user} />
      <footer>
        {isSelf ? (
          <button type="button" class="secondary" onClick={() => app.setUi({ dialog: { is: "status" } })}>{t("Set status")}</button>
        ) : (
          <button type="button" class="secondary" onClick={() => void setMutedUser(userId, !isMuted)}>
            {isMuted ? t("Unmute") : t("Mute")}
          </button>
        )}
        <button
          type="button"
          class="secondary"
          onClick={() => {
            close();
            goNarrow([{ operator: "sender", operand: userId }]);
          }}
        >{t("Messages")}</button>
        <button type="button" class="primary" data-focus onClick={write}>{t("Write")}</button>
      </footer>
    </Modal>
  );
}

function lastSeen(state: State, userId: number): string {
  const presence = presenceOf(state, userId, Date.now() / 1000);
  const known = state.presence.get(userId);
  if (presence === "active") return t("Active now");
  if (presence === "idle") return t("Idle");
  return known && known.active > 0 ? t("Last active {0}", formatAgo(known.active)) : t("Not seen lately");
}

function Facts({ user }: { user: User }) {
  const state = app.state as State;
  const time = localTime(user.timezone);
  const owner = user.bot_owner_id;
  const fields = state.profileFields.filter((field) => user.profile_data?.[field.id]?.value);
  const groups = groupNames(state, user.user_id);
  return (
    <dl class="facts">
      {user.delivery_email && (
        <>
          <dt>{t("Email")}</dt>
          <dd>{user.delivery_email}</dd>
        </>
      )}
      {time && (
        <>
          <dt>{t("Local time")}</dt>
          <dd>{time}</dd>
        </>
      )}
      {owner != null && (
        <>
          <dt>{t("Owner")}</dt>
          <dd>{userName(state, owner)}</dd>
        </>
      )}
      {groups.length > 0 && (
        <>
          <dt>{t("Groups")}</dt>
          <dd dir="auto">{groups.join(", ")}</dd>
        </>
      )}
      {fields.map((field) => {
        const answer = user.profile_data?.[field.id];
        return (
          <>
            <dt dir="auto">{field.name}</dt>
            <dd>{answer && <FieldAnswer field={field} answer={answer} />}</dd>
          </>
        );
      })}
    </dl>
  );
}

function localTime(timeZone: string): string | undefined {
  try {
    return timeZone ? new Date().toLocaleTimeString([...LOCALES], { timeZone, hour: "2-digit", minute: "2-digit" }) : undefined;
  } catch {
    return undefined;
  }
}

interface Revision {
  readonly timestamp: number;
  readonly user_id: number | null;
  readonly rendered_content: string;
  readonly topic: string;
  readonly prev_topic?: string;
  readonly prev_stream?: number;
  readonly content_html_diff?: string;
}

function History({ id }: { id: number }) {
  const [revisions, setRevisions] = useState<Revision[]>();
  const state = app.state as State;
  useEffect(() => {
    request("GET", `messages/${id}/history`).then(
      (answer) => setRevisions(answer["message_history"] as Revision[]),
      (error: Error) => {
        close();
        app.toast(error.message, { isError: true });
      },
    );
  }, [id]);
  return (
    <Modal title={t("Edit history")} close={close}>
      {!revisions && <p class="muted">{t("Loading…")}</p>}
      <ol class="history">
        {revisions?.map((revision, at) => (
          <li key={at}>
            <p class="muted">
              {at === 0 ? t("Written") : t("Changed")} {formatMoment(new Date(revision.timestamp * 1000))}
              {revision.user_id != null && `, ${userName(state, revision.user_id)}`}
            </p>
            {revision.prev_topic !== undefined && (
              <p>{t("Topic:")}{" "}<del>{revision.prev_topic}</del> <ins>{revision.topic}</ins>
              </p>
            )}
            {revision.prev_stream !== undefined && (
              <p>{t("Moved from #{0}", state.channels.get(revision.prev_stream)?.name ?? t("another channel"))}</p>
            )}
            <ServerHtml html={revision.content_html_diff ?? revision.rendered_content} />
          </li>
        ))}
      </ol>
    </Modal>
  );
}

function Receipts({ id }: { id: number }) {
  const [readers, setReaders] = useState<number[]>();
  const message = useStore((state) => state.messages.get(id));
  const state = app.state as State;
  useEffect(() => {
    request("GET", `messages/${id}/read_receipts`).then(
      (answer) => setReaders(answer["user_ids"] as number[]),
      (error: Error) => {
        close();
        app.toast(error.message, { isError: true });
      },
    );
  }, [id]);
  return (
    <Modal title={t("Who has read it")} close={close} class="narrow">
      {message && <p class="muted">{t("Sent {0}", formatFull(message.timestamp))}</p>}
      {!readers && <p class="muted">{t("Loading…")}</p>}
      {readers?.length === 0 && <p>{t("Nobody yet, or nobody who says so.")}</p>}
      <ul class="people-list">
        {readers?.map((userId) => (
          <li key={userId}>
            <Avatar userId={userId} size={24} /> <span dir="auto">{userName(state, userId)}</span>
          </li>
        ))}
      </ul>
    </Modal>
  );
}

function Move({ id }: { id: number }) {
  const message = useStore((state) => state.messages.get(id));
  return message ? <MoveForm message={message} /> : null;
}

const PROPAGATIONS = [
  { mode: "change_all", label: t("All messages of the topic") },
  { mode: "change_later", label: t("This message and the later ones") },
  { mode: "change_one", label: t("Only this message") },
] as const;

function MoveForm({ message }: { message: Message }) {
  const state = app.state as State;
  const [channelId, setChannelId] = useState(message.stream_id ?? 0);
  const [topic, setTopic] = useState(message.subject);
  const [mode, setMode] = useState<string>("change_all");
  const channels = [...state.channels.values()].filter((one) => (one.subscribed && !one.is_archived) || one.stream_id === message.stream_id);
  const options = async (typed: string) =>
    best(await topicNames(channelId), typed, (name) => name, 8).map((name) => ({ key: name, label: name }));
  const isSame = channelId === message.stream_id && topic.trim() === message.subject;
  const submit = async (event: Event) => {
    event.preventDefault();
    const changes = {
      propagate_mode: mode,
      ...(topic.trim() === message.subject ? {} : { topic: topic.trim() }),
      ...(channelId === message.stream_id ? {} : { stream_id: channelId }),
    };
    if (!(await attempt(editMessage(message.id, changes), t("Moved.")))) return;
    close();
    goNarrow(placeNarrow({ kind: "topic", channelId, topic: topic.trim() }));
  };
  return (
    <Modal title={t("Move messages")} close={close}>
      <form onSubmit={submit}>
        <Field label={t("Channel")}>
          <select value={channelId} onChange={(event) => setChannelId(Number((event.target as HTMLSelectElement).value))}>
            {channels
              .sort((a, b) => byName(a.name, b.name))
              .map((channel) => (
                <option key={channel.stream_id} value={channel.stream_id}>
                  {channel.name}
                </option>
              ))}
          </select>
        </Field>
        <div class="field">
          <span>{t("Topic")}</span>
          <Picker
            label={t("Topic")}
            value={topic}
            placeholder={t("Topic")}
            options={options}
            onInput={setTopic}
            onPick={(option) => setTopic(option.label)}
            maxLength={Number(state.realm["max_topic_length"] ?? 60)}
          />
        </div>
        <fieldset>
          <legend>{t("What moves")}</legend>
          {PROPAGATIONS.map((one) => (
            <label key={one.mode}>
              <input type="radio" name="propagate" checked={mode === one.mode} onChange={() => setMode(one.mode)} /> {one.label}
            </label>
          ))}
        </fieldset>
        <footer>
          <button type="submit" class="primary" disabled={isSame}>{t("Move")}</button>
        </footer>
      </form>
    </Modal>
  );
}

const STATUSES = [
  ["calendar", t("In a meeting")],
  ["bus", t("Commuting")],
  ["sick", t("Out sick")],
  ["palm_tree", t("On vacation")],
  ["house", t("Working from home")],
] as const;

function StatusDialog() {
  const state = app.state as State;
  const own = state.statuses.get(state.selfId);
  const [text, setText] = useState(own?.status_text ?? "");
  const [emoji, setEmoji] = useState(own?.emoji_name ?? "");
  const [known, setKnown] = useState<NamedEmoji[]>([]);
  useEffect(() => {
    allEmoji().then(setKnown, () => undefined);
  }, []);
  const save = async (statusText: string, name: string) => {
    const params = { status_text: statusText, emoji_name: name };
    if (await attempt(request("POST", "users/me/status", params))) close();
  };
  const options = (typed: string) =>
    best(known, typed, (one) => one.name, 8).map((one) => ({ key: one.code, label: one.name }));
  return (
    <Modal title={t("Your status")} close={close} class="narrow">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save(text, emoji);
        }}
      >
        <Field label={t("Status")}>
          <input maxLength={60} value={text} onInput={(event) => setText((event.target as HTMLInputElement).value)} />
        </Field>
        <div class="field">
          <span>{t("Emoji")}</span>
          <Picker label={t("Emoji")} value={emoji} placeholder={t("None")} options={options} onInput={setEmoji} onPick={(one) => setEmoji(one.label)} />
        </div>
        <div class="choices">
          {STATUSES.filter(([name]) => known.some((one) => one.names.includes(name))).map(([name, words]) => (
            <button key={name} type="button" class="secondary" onClick={() => void save(words, name)}>
              {words}
            </button>
          ))}
        </div>
        <footer>
          <button type="button" class="secondary" onClick={() => void save("", "")}>{t("Clear status")}</button>
          <button type="submit" class="primary">{t("Save")}</button>
        </footer>
      </form>
    </Modal>
  );
}

function Help() {
  return (
    <Modal title={t("Keyboard shortcuts")} close={close}>
      <div class="help">
        {KEYS.map(({ title, keys }) => (
          <table key={title}>
            <caption>{title}</caption>
            <tbody>
              {keys.map(([key, meaning]) => (
                <tr key={key}>
                  <td>
                    {key.split(" ").map((one) => (
                      <kbd key={one}>{one}</kbd>
                    ))}
                  </td>
                  <td>{meaning}</td>
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </div>
    </Modal>
  );
}
