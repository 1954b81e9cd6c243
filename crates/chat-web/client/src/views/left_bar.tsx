// The left side: views, direct conversations, channels with their topics.
import { useEffect, useState } from "preact/hooks";
import { app, shallow, useApp, useStore } from "../app/app";
import { attempt, loadTopics, setChannelProperty, unsubscribe } from "../app/actions";
import { openCompose } from "../app/compose";
import { request } from "../transport/api";
import { narrowHash, type Route } from "../store/address";
import { channelNarrow, channelOf, conversationOf, placeNarrow, topicNarrow, type Narrow } from "../store/narrow";
import { placeKey } from "../store/place";
import { may } from "../store/permissions";
import { channelSections, channelTopics, ownChannels, placeNames, recentDirects, unreadCounts, type ChannelSection } from "../store/select";
import type { Channel, State } from "../store/types";
import { Count, IconButton, MenuButton, PresenceDot, StatusEmoji } from "../widgets/controls";
import { Icon, type IconName } from "../widgets/icons";
import { topicMenu } from "./message_menu";
import { channelIcon, TopicName } from "./recipient_bar";
import { t } from "../text/language";

const DIRECTS_SHOWN = 8;
const DIRECTS_MOST = 60;
const TOPICS_SHOWN = 6;
const TOPICS_MOST = 200;

export function LeftBar() {
  const route = useApp((app) => app.ui.route);
  return (
    <nav class="left-bar" aria-label={t("Conversations")}>
      <Views route={route} />
      <Directs route={route} />
      <Channels route={route} />
    </nav>
  );
}

interface ViewLink {
  readonly hash: string;
  readonly label: string;
  readonly icon: IconName;
  readonly count: number;
  readonly quiet?: boolean;
  readonly what?: string;
}

const MENTIONED: Narrow = [{ operator: "is", operand: "mentioned" }];
const STARRED: Narrow = [{ operator: "is", operand: "starred" }];

function Views({ route }: { route: Route }) {
  const counts = useStore(unreadCounts);
  const starred = useStore((state) => state.starred.size);
  const drafts = useStore((state) => state.drafts.length);
  const scheduled = useStore((state) => state.scheduled.length);
  const state = app.state as State;
  const views: ViewLink[] = [
    { hash: "#inbox", label: t("Inbox"), icon: "inbox", count: counts.total },
    { hash: "#feed", label: t("Combined feed"), icon: "feed", count: 0 },
    { hash: narrowHash(MENTIONED, state), label: t("Mentions"), icon: "at", count: counts.mentions },
    { hash: narrowHash(STARRED, state), label: t("Starred"), icon: "star", count: starred, quiet: true, what: t("starred") },
    { hash: "#drafts", label: t("Drafts"), icon: "draft", count: drafts, quiet: true, what: t("drafts") },
    ...(scheduled > 0
      ? [{ hash: "#scheduled", label: t("Scheduled"), icon: "clock" as const, count: scheduled, quiet: true, what: t("scheduled") }]
      : []),
  ];
  const current = hashOf(route, state);
  return (
    <ul class="links">
      {views.map(({ hash, label, icon, count, quiet, what }) => (
        <li key={hash}>
          <a href={hash} class="link-row" aria-current={hash === current ? "page" : undefined}>
            <Icon name={icon} />
            <span class="name">{label}</span>
            <Count count={count} quiet={quiet ?? false} what={what ?? t("unread")} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function hashOf(route: Route, state: State): string {
  if (route.view === "narrow") return narrowHash(route.narrow, state);
  return `#${route.view}`;
}

function Directs({ route }: { route: Route }) {
  const [showsAll, setShowsAll] = useState(false);
  const directs = useStore((state) => recentDirects(state, DIRECTS_MOST));
  const state = app.state as State;
  const narrow = route.view === "narrow" ? route.narrow : undefined;
  const place = narrow && conversationOf(narrow, state.selfId);
  const current = place && placeKey(place);
  const shown = directs.filter((one, at) => showsAll || at < DIRECTS_SHOWN || one.unread > 0 || one.key === current);
  return (
    <section aria-label={t("Direct messages")}>
      <header class="section-head">
        <a href="#narrow/is/dm">
          <h2>{t("Direct messages")}</h2>
        </a>
        <IconButton icon="plus" label={t("New direct message")} onClick={() => void openCompose({ kind: "direct", userIds: [] })} />
      </header>
      <ul class="links">
        {shown.map(({ key, userIds, unread }) => (
          <li key={key}>
            <a
              href={narrowHash(placeNarrow({ kind: "direct", userIds }), state)}
              class="link-row"
              aria-current={key === current ? "page" : undefined}
            >
              {userIds.length === 1 ? <PresenceDot userId={userIds[0] ?? 0} /> : <Icon name="people" />}
              <span class="name" dir="auto">
                {placeNames(state, userIds)}
              </span>
              {userIds.length === 1 && <StatusEmoji userId={userIds[0] ?? 0} />}
              <Count count={unread} />
            </a>
          </li>
        ))}
      </ul>
      {shown.length < directs.length && (
        <button type="button" class="more-link" onClick={() => setShowsAll(true)}>{t("All conversations")}</button>
      )}
      {showsAll && directs.length > DIRECTS_SHOWN && (
        <button type="button" class="more-link" onClick={() => setShowsAll(false)}>{t("Fewer conversations")}</button>
      )}
    </section>
  );
}

const CREATING = ["can_create_public_channel_group", "can_create_private_channel_group", "can_create_web_public_channel_group"];

function mayCreateChannels(state: State): boolean {
  return CREATING.some((permission) => may(state, permission));
}

/** Channels that are rendered; of more, the field above them finds the others. */
const CHANNELS_MOST = 200;

function Channels({ route }: { route: Route }) {
  const channels = useStore(ownChannels);
  const mayCreate = useStore(mayCreateChannels);
  const sections = useStore((state) => (showsFolders(state) ? channelSections(state) : NO_SECTIONS));
  const [filter, setFilter] = useState("");
  const current = route.view === "narrow" ? channelOf(route.narrow) : undefined;
  const folded = filter.toLowerCase();
  const found = channels.filter((channel) => channel.name.toLowerCase().includes(folded));
  const shown = found.filter((channel, at) => at < CHANNELS_MOST || channel.stream_id === current);
  return (
    <section aria-label={t("Channels")}>
      <header class="section-head">
        <a href="#channels">
          <h2>{t("Channels")}</h2>
        </a>
        {mayCreate && <IconButton icon="plus" label={t("New channel")} onClick={() => app.setUi({ dialog: { is: "new-channel" } })} />}
      </header>
      {channels.length > 12 && (
        <input
          type="search"
          id="channel-filter"
          class="filter"
          aria-label={t("Filter channels")}
          placeholder={t("Filter channels")}
          value={filter}
          onInput={(event) => setFilter((event.target as HTMLInputElement).value)}
        />
      )}
      {sections.length === 0 && <ChannelRows channels={shown} current={current} route={route} />}
      {sections.map((section) => (
        <FolderRows key={section.key} section={section} shown={shown} current={current} route={route} />
      ))}
      {found.length > shown.length && <p class="muted small">{t("{0} more; type to find them.", found.length - shown.length)}</p>}
      <a class="more-link" href="#channels">{t("All channels")}</a>
    </section>
  );
}

const NO_SECTIONS: readonly ChannelSection[] = [];

/** Folders are shown where there are some, unless the reader chose otherwise. */
function showsFolders(state: State): boolean {
  return state.settings["web_left_sidebar_show_channel_folders"] !== false && state.folders.some((folder) => !folder.is_archived);
}

interface RowsProps {
  readonly current: number | undefined;
  readonly route: Route;
}

function ChannelRows({ channels, current, route }: RowsProps & { channels: readonly Channel[] }) {
  return (
    <ul class="links channels">
      {channels.map((channel) => (
        <ChannelRow key={channel.stream_id} channel={channel} isCurrent={channel.stream_id === current} route={route} />
      ))}
    </ul>
  );
}

/** The channels of a folder below its name, which hides and shows them. */
function FolderRows({ section, shown, ...rest }: RowsProps & { section: ChannelSection; shown: readonly Channel[] }) {
  const inside = new Set(section.channels);
  const channels = shown.filter((channel) => inside.has(channel));
  const unread = useStore((state) => section.channels.reduce((sum, one) => sum + (unreadCounts(state).channels.get(one.stream_id)?.heard ?? 0), 0));
  if (channels.length === 0) return null;
  return (
    <details class="folder" open>
      <summary>
        <span class="name" dir="auto">
          {section.name}
        </span>
        <Count count={unread} quiet />
      </summary>
      <ChannelRows channels={channels} {...rest} />
    </details>
  );
}

function ChannelRow({ channel, isCurrent, route }: { channel: Channel; isCurrent: boolean; route: Route }) {
  const unread = useStore((state) => unreadCounts(state).channels.get(channel.stream_id), shallow);
  const state = app.state as State;
  const narrow = channelNarrow(channel.stream_id);
  const heard = unread?.heard ?? 0;
  const quiet = heard === 0;
  const isShown = isCurrent && route.view === "narrow" && route.narrow.length === 1;
  return (
    <li class={channel.is_muted ? "is-muted" : ""}>
      <div class="link-row" style={{ "--channel": channel.color }}>
        <a href={narrowHash(narrow, state)} aria-current={isShown ? "page" : undefined}>
          <Icon name={channelIcon(channel)} />
          <span class="name" dir="auto">
            {channel.name}
          </span>
        </a>
        {(unread?.mentions ?? 0) > 0 && (
          <span class="mention-mark" role="img" aria-label={t("mentions you")}>
            @
          </span>
        )}
        <Count count={quiet ? (unread?.muted ?? 0) : heard} quiet={quiet} />
        <MenuButton label={t("Options of {0}", channel.name)} items={() => channelMenu(channel)} />
      </div>
      {isCurrent && <Topics channel={channel} route={route} />}
    </li>
  );
}

export function channelMenu(channel: Channel) {
  const { stream_id: id, name } = channel;
  const read = () => attempt(request("POST", "mark_stream_as_read", { stream_id: id }), t("Marked as read."));
  return [
    { label: t("New topic"), icon: "plus" as const, run: () => void openCompose({ kind: "topic", channelId: id, topic: "" }) },
    { label: t("Mark as read"), icon: "check" as const, run: () => void read() },
    {
      label: channel.pin_to_top ? t("Unpin") : t("Pin to the top"),
      icon: "pin" as const,
      run: () => void setChannelProperty(id, "pin_to_top", !channel.pin_to_top),
    },
    {
      label: channel.is_muted ? t("Unmute channel") : t("Mute channel"),
      icon: "mute" as const,
      run: () => void setChannelProperty(id, "is_muted", !channel.is_muted),
    },
    { label: t("About this channel"), icon: "help" as const, run: () => app.setUi({ dialog: { is: "channel", channelId: id } }) },
    { label: t("Unsubscribe"), icon: "exit" as const, run: () => void unsubscribe(name) },
  ];
}

function Topics({ channel, route }: { channel: Channel; route: Route }) {
  const [most, setMost] = useState(TOPICS_SHOWN);
  const { stream_id: channelId } = channel;
  const isKnown = useStore((state) => state.topics.has(channelId));
  const topics = useStore((state) => channelTopics(state, channelId, most));
  const total = useStore((state) => state.topics.get(channelId)?.length ?? 0);
  useEffect(() => {
    if (!isKnown) void loadTopics(channelId).catch(() => undefined);
  }, [channelId, isKnown]);
  const state = app.state as State;
  const place = route.view === "narrow" ? conversationOf(route.narrow, state.selfId) : undefined;
  const current = place?.kind === "topic" ? place.topic.toLowerCase() : undefined;
  return (
    <ul class="links topics" aria-label={t("Topics of {0}", channel.name)}>
      {topics.map(({ name, unread, isMuted, isFollowed }) => (
        <li key={name.toLowerCase()} class={isMuted && !channel.is_muted ? "is-muted" : ""}>
          <div class="link-row">
            <a
              href={narrowHash(topicNarrow(channelId, name), state)}
              aria-current={name.toLowerCase() === current ? "page" : undefined}
            >
              <span class="name" dir="auto">
                <TopicName topic={name} />
              </span>
            </a>
            {isFollowed && <span class="follow-mark" role="img" aria-label={t("followed")}><Icon name="follow" /></span>}
            <Count count={unread} quiet={isMuted} />
            <MenuButton label={t("Options of {0}", name || t("general chat"))} items={() => topicMenu(channelId, name)} />
          </div>
        </li>
      ))}
      {total > topics.length && (
        <li>
          <button type="button" class="more-link" onClick={() => setMost(TOPICS_MOST)}>{t("More topics")}</button>
        </li>
      )}
    </ul>
  );
}
