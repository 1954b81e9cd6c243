// What is unread, by channel and topic.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { markNarrowRead } from "../app/actions";
import { narrowHash } from "../store/address";
import { channelNarrow, placeNarrow } from "../store/narrow";
import { inbox, placeNames, type Inbox } from "../store/select";
import type { State, UnreadConversation } from "../store/types";
import { Count, IconButton, MenuButton, PresenceDot } from "../widgets/controls";
import { Icon } from "../widgets/icons";
import { topicMenu } from "./message_menu";
import { channelIcon, TopicName } from "./recipient_bar";
import { t } from "../text/language";

/** Conversations that are listed at first, and further ones at once. */
const LISTED = 200;

/** Returns as much of the inbox as is listed, and how much is left. */
function listed({ directs, channels }: Inbox, most: number): Inbox & { left: number } {
  let room = Math.max(0, most - directs.length);
  const shown = channels.flatMap((one) => {
    const topics = one.topics.slice(0, room);
    room -= topics.length;
    return topics.length > 0 ? [{ ...one, topics }] : [];
  });
  const total = channels.reduce((sum, { topics }) => sum + topics.length, directs.length);
  return { directs: directs.slice(0, most), channels: shown, left: Math.max(0, total - most) };
}

export function InboxView() {
  const [most, setMost] = useState(LISTED);
  const { directs, channels, left } = listed(useStore(inbox), most);
  const state = app.state as State;
  if (directs.length === 0 && channels.length === 0) {
    return (
      <div class="page inbox-empty">
        <Icon name="check" />
        <h2>{t("Nothing unread")}</h2>
        <p class="muted">{t("Messages that you have not read are listed here.")}{" "}<a href="#feed">{t("Look at everything")}</a>
        </p>
      </div>
    );
  }
  return (
    <div class="page inbox">
      {directs.length > 0 && (
        <section aria-label={t("Unread direct messages")}>
          <header>
            <Icon name="people" />
            <h2>{t("Direct messages")}</h2>
            <Count count={directs.reduce((sum, { ids }) => sum + ids.length, 0)} />
          </header>
          <ul>
            {directs.map((conversation) => (
              <DirectRow key={conversation.ids[0]} conversation={conversation} />
            ))}
          </ul>
        </section>
      )}
      {channels.map(({ channel, topics, count }) => (
        <section key={channel.stream_id} aria-label={channel.name} style={{ "--channel": channel.color }}>
          <header class="of-channel">
            <Icon name={channelIcon(channel)} />
            <h2 dir="auto">
              <a href={narrowHash(channelNarrow(channel.stream_id), state)}>{channel.name}</a>
            </h2>
            <Count count={count} />
            <IconButton
              icon="check"
              label={t("Mark {0} as read", channel.name)}
              onClick={() => void markNarrowRead(channelNarrow(channel.stream_id))}
            />
          </header>
          <ul>
            {topics.map((conversation) => (
              <TopicRow key={conversation.ids[0]} conversation={conversation} />
            ))}
          </ul>
        </section>
      ))}
      {left > 0 && (
        <button type="button" class="secondary" onClick={() => setMost(most + LISTED)}>
          {t("{0} more conversations", left)}</button>
      )}
    </div>
  );
}

function Row(props: { conversation: UnreadConversation; name: ComponentChildren; label: string; children?: ComponentChildren }) {
  const { conversation, name, label, children } = props;
  const state = app.state as State;
  const { place, ids } = conversation;
  const isMention = ids.some((id) => state.unread.mentions.has(id));
  const narrow = placeNarrow(place);
  return (
    <li class="inbox-row">
      <a href={narrowHash(narrow, state)} data-inbox-row dir="auto">
        {name}
      </a>
      {isMention && (
        <span class="mention-mark" role="img" aria-label={t("mentions you")}>
          @
        </span>
      )}
      <Count count={ids.length} />
      <IconButton icon="check" label={t("Mark {0} as read", label)} onClick={() => void markNarrowRead(narrow)} />
      {children}
    </li>
  );
}

function DirectRow({ conversation }: { conversation: UnreadConversation }) {
  const state = app.state as State;
  const { place } = conversation;
  if (place.kind !== "direct") return null;
  const names = placeNames(state, place.userIds);
  const dot = place.userIds.length === 1 ? <PresenceDot userId={place.userIds[0] ?? 0} /> : <Icon name="people" />;
  return (
    <Row
      conversation={conversation}
      label={names}
      name={
        <>
          {dot} {names}
        </>
      }
    />
  );
}

function TopicRow({ conversation }: { conversation: UnreadConversation }) {
  const { place } = conversation;
  if (place.kind !== "topic") return null;
  return (
    <Row conversation={conversation} label={place.topic || t("general chat")} name={<TopicName topic={place.topic} />}>
      <MenuButton label={t("Options of {0}", place.topic || t("general chat"))} items={() => topicMenu(place.channelId, place.topic)} />
    </Row>
  );
}
