// One message: who, when, what, and what can be done with it.
import { memo } from "../widgets/memo";
import { app, shallow, useApp, useStore } from "../app/app";
import { setFlag, toggleReaction, type Emoji } from "../app/actions";
import { placeKey, placeOf } from "../store/place";
import { mayEdit, userName } from "../store/select";
import type { Message, Reaction, State } from "../store/types";
import { Avatar, IconButton, MenuButton, StatusEmoji } from "../widgets/controls";
import { emojiFromCode } from "../widgets/emoji_text";
import { ServerHtml } from "../widgets/html";
import { Icon } from "../widgets/icons";
import { dayOf, formatDay, formatFull, formatTime } from "../widgets/time";
import { EditBox } from "./edit_box";
import { messageMenu, quoteMessage } from "./message_menu";
import { Poll, widgetOf } from "./poll";
import { RecipientBar } from "./recipient_bar";
import { t } from "../text/language";

/** A message of the same sender within this time has no name above it. */
const GROUP_S = 600;

interface RowProps {
  id: number;
  previousId: number | undefined;
  showsPlace: boolean;
  isSelected: boolean;
  isFirstUnread: boolean;
  marked: { content: string; topic: string } | undefined;
}

/** How a row follows the one above it. */
interface Grouping {
  readonly newPlace: boolean;
  readonly newDay: boolean;
  readonly newSender: boolean;
}

function grouping(state: State, id: number, previousId: number | undefined): Grouping {
  const message = state.messages.get(id);
  const before = previousId === undefined ? undefined : state.messages.get(previousId);
  if (!message || !before) return { newPlace: true, newDay: true, newSender: true };
  const newPlace = placeKey(placeOf(state.selfId, message)) !== placeKey(placeOf(state.selfId, before));
  const newDay = dayOf(message.timestamp) !== dayOf(before.timestamp);
  const isLater = message.timestamp - before.timestamp > GROUP_S;
  const newSender = newPlace || newDay || isLater || message.sender_id !== before.sender_id || message.is_me_message;
  return { newPlace, newDay, newSender };
}

function Row({ id, previousId, showsPlace, isSelected, isFirstUnread, marked }: RowProps) {
  const message = useStore((state) => state.messages.get(id));
  const group = useStore((state) => grouping(state, id, previousId), shallow);
  const isMuted = useStore((state) => state.mutedUsers.has(message?.sender_id ?? -1));
  const isEditing = useApp((app) => app.ui.editingId === id);
  if (!message) return <div class="row" data-id={id} />;
  const isMentioned = message.flags.some((flag) => flag.endsWith("mentioned"));
  const classes = [
    "message",
    group.newSender || isFirstUnread ? "with-sender" : "",
    isSelected ? "selected" : "",
    isMentioned ? "mentioned" : "",
    message.flags.includes("read") ? "" : "unread",
  ];
  const name = `${message.sender_full_name}, ${formatTime(message.timestamp)}`;
  return (
    <div class="row" data-id={id}>
      {group.newDay && <DayLine seconds={message.timestamp} />}
      {isFirstUnread && (
        <div class="unread-line" role="separator">
          <span>{t("New")}</span>
        </div>
      )}
      {showsPlace && (group.newPlace || group.newDay) && <RecipientBar message={message} />}
      <article class={classes.join(" ")} aria-label={name} aria-current={isSelected || undefined} onClick={select(id)}>
        {isMuted ? (
          <MutedBody />
        ) : (
          <Body message={message} withSender={group.newSender || isFirstUnread} isEditing={isEditing} marked={marked} />
        )}
        {!isEditing && <Actions message={message} />}
      </article>
    </div>
  );
}

/** Selects a message that was clicked, and leaves alone what is in it. */
function select(id: number) {
  return (event: MouseEvent) => {
    if ((event.target as HTMLElement).closest("a, audio, button, input, textarea, video, [role=button]")) return;
    if (getSelection()?.isCollapsed !== false) app.setUi({ selectedId: id });
  };
}

export const MessageRow = memo(Row);

function DayLine({ seconds }: { seconds: number }) {
  return (
    <div class="day-line" role="separator">
      <span>{formatDay(seconds)}</span>
    </div>
  );
}

function MutedBody() {
  return <p class="muted muted-sender">{t("A message of a muted user.")}</p>;
}

function Body(props: { message: Message; withSender: boolean; isEditing: boolean; marked: RowProps["marked"] }) {
  const { message, withSender, isEditing, marked } = props;
  const selfId = useStore((state) => state.selfId);
  const widget = widgetOf(message);
  const openCard = () => app.setUi({ dialog: { is: "user", userId: message.sender_id } });
  return (
    <>
      <div class="gutter">
        {withSender ? (
          <button type="button" class="plain avatar-button" aria-label={t("Profile of {0}", message.sender_full_name)} onClick={openCard}>
            <Avatar userId={message.sender_id} url={message.avatar_url} />
          </button>
        ) : (
          <Time message={message} />
        )}
      </div>
      <div class="body">
        {withSender && (
          <p class="sender-line">
            <button type="button" class="plain sender" onClick={openCard} dir="auto">
              {message.sender_full_name}
            </button>
            <SenderMarks userId={message.sender_id} />
            <Time message={message} />
          </p>
        )}
        {isEditing ? (
          <EditBox message={message} />
        ) : widget ? (
          <Poll message={message} widget={widget} />
        ) : (
          <ServerHtml html={marked?.content ?? message.content} selfId={selfId} isMe={message.is_me_message} />
        )}
        <Marks message={message} />
        <Reactions message={message} />
      </div>
    </>
  );
}

function SenderMarks({ userId }: { userId: number }) {
  const isBot = useStore((state) => state.users.get(userId)?.is_bot ?? false);
  const isGuest = useStore((state) => state.users.get(userId)?.role === 600);
  return (
    <>
      <StatusEmoji userId={userId} />
      {isBot && <span class="tag">{t("bot")}</span>}
      {isGuest && <span class="tag">{t("guest")}</span>}
    </>
  );
}

function Time({ message }: { message: Message }) {
  return (
    <time dateTime={new Date(message.timestamp * 1000).toISOString()} title={formatFull(message.timestamp)}>
      {formatTime(message.timestamp)}
    </time>
  );
}

function Marks({ message }: { message: Message }) {
  if (message.last_edit_timestamp === undefined) return null;
  const show = () => app.setUi({ dialog: { is: "history", messageId: message.id } });
  return (
    <button type="button" class="plain edited" onClick={show} title={t("Edited {0}", formatFull(message.last_edit_timestamp))}>{t("edited")}</button>
  );
}

/** Reactions of one emoji. */
interface Tally {
  readonly emoji: Emoji;
  readonly userIds: number[];
}

function tallies(reactions: readonly Reaction[]): Tally[] {
  const all = new Map<string, Tally>();
  for (const { emoji_name: name, emoji_code: code, reaction_type: type, user_id } of reactions) {
    const key = `${type} ${code}`;
    const tally = all.get(key) ?? { emoji: { name, code, type }, userIds: [] };
    tally.userIds.push(user_id);
    all.set(key, tally);
  }
  return [...all.values()];
}

/** So many reactions show who reacted, and more show how many did. */
const NAMED_MOST = 3;

function Reactions({ message }: { message: Message }) {
  const state = app.state as State;
  const namesUsers = useStore((now) => now.settings["display_emoji_reaction_users"] !== false);
  if (message.reactions.length === 0) return null;
  const showsNames = namesUsers && message.reactions.length <= NAMED_MOST;
  const name = (id: number) => (id === state.selfId ? t("You") : userName(state, id));
  return (
    <div class="reactions" role="group" aria-label={t("Reactions")}>
      {tallies(message.reactions).map(({ emoji, userIds }) => {
        const who = userIds.map(name).join(", ");
        const own = userIds.includes(state.selfId);
        return (
          <button
            key={`${emoji.type} ${emoji.code}`}
            type="button"
            class={`reaction ${own ? "own" : ""}`}
            aria-pressed={own}
            aria-label={`${emoji.name.replaceAll("_", " ")}: ${who}`}
            title={t("{0} reacted with :{1}:", who, emoji.name)}
            onClick={() => void toggleReaction(message, emoji)}
          >
            <EmojiSign emoji={emoji} />
            <span>{showsNames ? who : userIds.length}</span>
          </button>
        );
      })}
      <IconButton
        icon="smile"
        label={t("Add a reaction")}
        class="add-reaction"
        onClick={() => app.setUi({ dialog: { is: "emoji", messageId: message.id } })}
      />
    </div>
  );
}

export function EmojiSign({ emoji }: { emoji: Emoji }) {
  const custom = useStore((state) => state.emoji[emoji.code]);
  if (emoji.type === "unicode_emoji") return <span class="emoji-sign">{emojiFromCode(emoji.code)}</span>;
  return custom ? <img class="emoji" src={custom.source_url} alt="" /> : <span>:{emoji.name}:</span>;
}

function Actions({ message }: { message: Message }) {
  const isStarred = message.flags.includes("starred");
  const isEditable = useStore((state) => mayEdit(state, message));
  return (
    <div class="actions" role="group" aria-label={t("Message actions")}>
      <IconButton
        icon="smile"
        label={t("Add a reaction")}
        onClick={() => app.setUi({ dialog: { is: "emoji", messageId: message.id } })}
      />
      {isEditable ? (
        <IconButton icon="draft" label={t("Edit")} onClick={() => app.setUi({ editingId: message.id })} />
      ) : (
        <IconButton icon="quote" label={t("Quote and reply")} onClick={() => void quoteMessage(message)} />
      )}
      <IconButton
        icon="star"
        label={isStarred ? t("Remove the star") : t("Star")}
        pressed={isStarred}
        filled={isStarred}
        class={isStarred ? "starred" : ""}
        onClick={() => void setFlag([message.id], "starred", !isStarred)}
      />
      <MenuButton label={t("More actions")} items={() => messageMenu(message)} />
      {isStarred && <span class="star-mark" aria-hidden="true"><Icon name="star" filled /></span>}
    </div>
  );
}
