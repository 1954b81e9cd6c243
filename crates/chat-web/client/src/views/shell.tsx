// The frame: what is above, beside and around the view.
import { useEffect, useLayoutEffect } from "preact/hooks";
import { app, shallow, useApp, useStore } from "../app/app";
import { go, markNarrowRead } from "../app/actions";
import { unreadInTitle } from "../app/notify";
import type { Connection } from "../transport/queue";
import type { Route } from "../store/address";
import { channelOf, conversationOf, FEED, withoutAnchor, type Narrow } from "../store/narrow";
import { placeKey } from "../store/place";
import { hasUnread, placeNames, userName } from "../store/select";
import { termLabel } from "../store/search";
import type { State } from "../store/types";
import { Avatar, IconButton, MenuButton } from "../widgets/controls";
import { Icon, type IconName } from "../widgets/icons";
import { setHourFormat } from "../widgets/time";
import { ChannelsView } from "./channels";
import { ComposeBox } from "./compose_box";
import { Dialogs } from "./dialogs";
import { DraftsView, ScheduledView } from "./drafts";
import { InboxView } from "./inbox";
import { LeftBar, channelMenu } from "./left_bar";
import { MessageListView } from "./message_list";
import { topicMenu } from "./message_menu";
import { channelIcon, TopicName } from "./recipient_bar";
import { RightBar } from "./right_bar";
import { SearchField } from "./search_field";
import { SettingsView, signOut } from "./settings";
import { t } from "../text/language";

export function Shell() {
  const drawer = useApp((app) => app.ui.drawer);
  const route = useApp((app) => app.ui.route);
  useTheme();
  const narrow = narrowOf(route);
  // All that is unread, muted or not: what tests compare with the server.
  const unread = useStore((state) => state.unread.places.size);
  return (
    <div class={`shell ${drawer ? `drawer-${drawer}` : ""}`} data-unread={unread}>
      <TopBar narrow={route.view === "narrow" ? narrow : undefined} />
      {drawer && <div class="scrim" onClick={() => app.setUi({ drawer: undefined })} />}
      <LeftBar />
      <main class="center" aria-label={t("Messages and views")}>
        <ViewHead route={route} />
        <View route={route} />
        <Typing narrow={narrow} />
        {route.view !== "settings" && route.view !== "channels" && <ComposeBox narrow={narrow} />}
      </main>
      <RightBar />
      <Dialogs />
      <Toasts />
    </div>
  );
}

function narrowOf(route: Route): Narrow | undefined {
  if (route.view === "narrow") return route.narrow;
  return route.view === "feed" ? FEED : undefined;
}

/** The theme and the sizes that the reader chose. */
function useTheme(): void {
  const scheme = useStore((state) => state.settings["color_scheme"]);
  const is24 = useStore((state) => state.settings["twenty_four_hour_time"] === true);
  const sizePx = useStore((state) => Number(state.settings["web_font_size_px"] ?? 16));
  const linePercent = useStore((state) => Number(state.settings["web_line_height_percent"] ?? 140));
  useLayoutEffect(() => {
    const root = document.documentElement;
    const theme = scheme === 2 ? "dark" : scheme === 3 ? "light" : "";
    if (theme) root.dataset["theme"] = theme;
    else delete root.dataset["theme"];
    setHourFormat(is24);
    root.style.setProperty("--text-size", `${sizePx / 16}rem`);
    root.style.setProperty("--text-line", String(linePercent / 100));
  }, [scheme, is24, sizePx, linePercent]);
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case "inbox":
      return <InboxView />;
    case "feed":
      return <MessageListView narrow={FEED} />;
    case "narrow":
      return <MessageListView narrow={route.narrow} />;
    case "drafts":
      return <DraftsView />;
    case "scheduled":
      return <ScheduledView />;
    case "channels":
      return <ChannelsView />;
    case "settings":
      return <SettingsView section={route.section} />;
    case "unknown":
      return (
        <div class="page">
          <p>{t("This link leads nowhere here.")}</p>
          <p>
            <a href="#inbox">{t("Go to the inbox")}</a>
          </p>
        </div>
      );
  }
}

function TopBar({ narrow }: { narrow: Narrow | undefined }) {
  const realm = useStore((state) => String(state.realm["realm_name"] ?? ""));
  const selfId = useStore((state) => state.selfId);
  const connection = useApp((app) => app.ui.connection);
  const drawer = useApp((app) => app.ui.drawer);
  const toggle = (side: "left" | "right") => () => app.setUi({ drawer: drawer === side ? undefined : side });
  const items = () => [
    { label: t("Your profile"), icon: "people" as const, run: () => app.setUi({ dialog: { is: "user" as const, userId: selfId } }) },
    { label: t("Set status"), icon: "smile" as const, run: () => app.setUi({ dialog: { is: "status" as const } }) },
    { label: t("Settings"), icon: "gear" as const, run: () => go("#settings/profile") },
    { label: t("Keyboard shortcuts"), icon: "help" as const, run: () => app.setUi({ dialog: { is: "help" as const } }) },
    { label: t("Sign out"), icon: "exit" as const, run: () => void signOut() },
  ];
  return (
    <header class="top-bar">
      <IconButton icon="menu" label={t("Conversations")} class="drawer-button" expanded={drawer === "left"} onClick={toggle("left")} />
      <a class="realm-name" href="#inbox" dir="auto">
        {realm}
      </a>
      <SearchField narrow={narrow} />
      <ConnectionState connection={connection} />
      <IconButton icon="people" label={t("People")} class="drawer-button people-button" expanded={drawer === "right"} onClick={toggle("right")} />
      <MenuButton label={t("Your account")} items={items} class="account">
        <Avatar userId={selfId} size={30} />
      </MenuButton>
    </header>
  );
}

function ConnectionState({ connection }: { connection: Connection }) {
  if (connection.is === "online") return <span class="connection" role="status" aria-label={t("Connected")} />;
  return (
    <span class="connection offline" role="status">
      {connection.is === "connecting" ? t("Connecting…") : t("No connection")}
      {connection.is === "waiting" && (
        <button type="button" class="link" onClick={() => app.queue.nudge()}>{t("Try now")}</button>
      )}
    </span>
  );
}

interface Head {
  readonly title: string;
  readonly icon: IconName;
  readonly detail?: string;
}

function headOf(route: Route, state: State): Head {
  switch (route.view) {
    case "inbox":
      return { title: t("Inbox"), icon: "inbox", detail: t("What you have not read") };
    case "feed":
      return { title: t("Combined feed"), icon: "feed", detail: t("All messages that are not muted") };
    case "drafts":
      return { title: t("Drafts"), icon: "draft" };
    case "scheduled":
      return { title: t("Scheduled messages"), icon: "clock" };
    case "channels":
      return { title: t("All channels"), icon: "hash" };
    case "settings":
      return { title: t("Settings"), icon: "gear" };
    case "unknown":
      return { title: t("Not found"), icon: "help" };
    case "narrow":
      return narrowHead(withoutAnchor(route.narrow), state);
  }
}

function narrowHead(narrow: Narrow, state: State): Head {
  const place = conversationOf(narrow, state.selfId);
  if (place?.kind === "direct") return { title: placeNames(state, place.userIds), icon: "people" };
  const channel = state.channels.get(channelOf(narrow) ?? -1);
  if (place?.kind === "topic") return { title: place.topic || t("general chat"), icon: channelIcon(channel) };
  if (channel && narrow.length === 1) return { title: channel.name, icon: channelIcon(channel), detail: channel.description };
  const only = narrow.length === 1 ? narrow[0] : undefined;
  if (only?.operator === "is" && only.operand === "starred") return { title: t("Starred"), icon: "star" };
  if (only?.operator === "is" && only.operand === "mentioned") return { title: t("Mentions"), icon: "at" };
  return { title: narrow.map((term) => termLabel(term, state)).join(", "), icon: "search" };
}

function ViewHead({ route }: { route: Route }) {
  const head = useStore((state) => headOf(route, state), shallow);
  const realm = useStore((state) => String(state.realm["realm_name"] ?? ""));
  const narrow = narrowOf(route);
  const place = useStore((state) => narrow && conversationOf(narrow, state.selfId), samePlace);
  const channel = useStore((state) => (narrow ? state.channels.get(channelOf(narrow) ?? -1) : undefined));
  const isUnread = useStore((state) => route.view === "narrow" && hasUnread(state, route.narrow));
  useEffect(() => {
    const show = () => (document.title = `${unreadInTitle()}${head.title} – ${realm}`);
    show();
    return app.subscribe(show);
  }, [head.title, realm]);
  return (
    <header class="view-head" style={channel ? { "--channel": channel.color } : {}}>
      <Icon name={head.icon} />
      {place?.kind === "topic" && channel && (
        <>
          <a class="head-channel" href={`#narrow/channel/${channel.stream_id}-`} dir="auto">
            {channel.name}
          </a>
          <span class="chevron" aria-hidden="true" />
        </>
      )}
      <h1 dir="auto">{place?.kind === "topic" ? <TopicName topic={place.topic} /> : head.title}</h1>
      {head.detail && (
        <p class="detail muted" dir="auto">
          {head.detail}
        </p>
      )}
      <span class="grow" />
      {isUnread && narrow && (
        <button type="button" class="link read-all" onClick={() => void markNarrowRead(withoutAnchor(narrow))}>{t("Mark as read")}</button>
      )}
      {place?.kind === "topic" && <MenuButton label={t("Topic options")} items={() => topicMenu(place.channelId, place.topic)} />}
      {channel && place?.kind !== "topic" && <MenuButton label={t("Channel options")} items={() => channelMenu(channel)} />}
    </header>
  );
}

function samePlace(a: ReturnType<typeof conversationOf>, b: ReturnType<typeof conversationOf>): boolean {
  return (a && placeKey(a)) === (b && placeKey(b)) && (a?.kind !== "topic" || b?.kind !== "topic" || a.topic === b.topic);
}

function Typing({ narrow }: { narrow: Narrow | undefined }) {
  const words = useStore((state) => {
    const place = narrow && conversationOf(narrow, state.selfId);
    if (!place || state.settings["receives_typing_notifications"] === false) return "";
    const key = placeKey(place);
    const names = state.typing.filter((one) => one.place === key).map((one) => userName(state, one.userId));
    if (names.length === 0) return "";
    if (names.length > 3) return t("Several people are typing…");
    return names.length === 1 ? t("{0} is typing…", names[0]) : t("{0} are typing…", names.join(", "));
  });
  return (
    <p class="typing-line" aria-live="polite" dir="auto">
      {words}
    </p>
  );
}

function Toasts() {
  const toasts = useApp((app) => app.ui.toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div class={`toast ${toast.isError ? "error" : ""}`} key={toast.id}>
          <span>{toast.text}</span>
          <IconButton icon="close" label={t("Dismiss")} onClick={() => app.dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
