// The line above messages of one conversation, where a view shows several.
import { app, useStore } from "../app/app";
import { narrowHash } from "../store/address";
import { channelNarrow, placeNarrow } from "../store/narrow";
import { isResolved, placeOf } from "../store/place";
import { placeNames } from "../store/select";
import type { Message, State } from "../store/types";
import { Icon } from "../widgets/icons";
import { t } from "../text/language";

export function channelIcon(channel: { invite_only: boolean; is_web_public: boolean } | undefined) {
  if (channel?.is_web_public) return "globe" as const;
  return channel?.invite_only ? ("lock" as const) : ("hash" as const);
}

export function RecipientBar({ message, isCopy = false }: { message: Message; isCopy?: boolean }) {
  const state = app.state as State;
  const channel = useStore((now) => now.channels.get(message.stream_id ?? -1));
  const place = placeOf(state.selfId, message);
  const tabIndex = isCopy ? -1 : 0;
  if (place.kind === "direct") {
    return (
      <div class="recipient-bar direct">
        <a href={narrowHash(placeNarrow(place), state)} tabIndex={tabIndex}>
          <Icon name="people" /> {placeNames(state, place.userIds)}
        </a>
      </div>
    );
  }
  return (
    <div class="recipient-bar" style={{ "--channel": channel?.color ?? "#888" }}>
      <a class="channel-link" href={narrowHash(channelNarrow(place.channelId), state)} tabIndex={tabIndex}>
        <Icon name={channelIcon(channel)} /> {channel?.name ?? String(message.display_recipient)}
      </a>
      <span class="chevron" aria-hidden="true" />
      <a class="topic-link" href={narrowHash(placeNarrow(place), state)} tabIndex={tabIndex} dir="auto">
        <TopicName topic={place.topic} />
      </a>
    </div>
  );
}

export function TopicName({ topic }: { topic: string }) {
  if (topic === "") return <em>{t("general chat")}</em>;
  return isResolved(topic) ? (
    <span class="resolved">
      <span role="img" aria-label={t("Resolved")}>
        ✔
      </span>{" "}
      {topic.slice(2)}
    </span>
  ) : (
    <span>{topic}</span>
  );
}
