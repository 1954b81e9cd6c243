// Where messages are written.
import { useEffect, useRef, useState } from "preact/hooks";
import { app, useApp, useStore } from "../app/app";
import { loadTopics, setSetting } from "../app/actions";
import { best, topicNames } from "../app/complete";
import {
  closeCompose,
  compose,
  missing,
  noteTyping,
  openCompose,
  scheduleComposed,
  sendComposed,
  stopTyping,
  targetOf,
  targetPlace,
  type Compose,
  type Target,
} from "../app/compose";
import { uploadFiles } from "../app/uploads";
import { request } from "../transport/api";
import { conversationOf, type Narrow } from "../store/narrow";
import { placeKey } from "../store/place";
import { byName, mayPost, ownChannels, placeNames, userName } from "../store/select";
import type { State } from "../store/types";
import { IconButton, MenuButton, type MenuItem } from "../widgets/controls";
import { ServerHtml } from "../widgets/html";
import { Icon, type IconName } from "../widgets/icons";
import { CompletingTextArea, Picker, replaceIn } from "../widgets/typeahead";
import { EmojiGrid } from "./emoji_picker";
import { personOptions } from "./person_picker";
import { ScheduleDialog } from "./schedule_dialog";
import { t } from "../text/language";

function useCompose(): Compose {
  const [value, setValue] = useState(compose.value);
  useEffect(() => {
    setValue(compose.value);
    return compose.subscribe(() => setValue(compose.value));
  }, []);
  return value;
}

export function ComposeBox({ narrow }: { narrow: Narrow | undefined }) {
  const value = useCompose();
  return value.isOpen ? <OpenBox value={value} narrow={narrow} /> : <ClosedBox narrow={narrow} />;
}

function ClosedBox({ narrow }: { narrow: Narrow | undefined }) {
  const label = useStore((state) => closedLabel(state, narrow));
  const selfId = useStore((state) => state.selfId);
  const refusal = useStore((state) => postingRefusal(state, targetOf(narrow, state.selfId)));
  const isConversation = narrow !== undefined && conversationOf(narrow, selfId) !== undefined;
  if (refusal && isConversation) return <p class="compose-closed muted">{refusal}</p>;
  return (
    <div class="compose-closed">
      {label && (
        <button type="button" class="as-field" onClick={() => void openCompose(targetOf(narrow, selfId))}>
          <span dir="auto">{label}</span>
        </button>
      )}
      <button type="button" class="secondary" onClick={() => void openCompose({ ...newTopic(narrow, selfId) })}>
        <Icon name="plus" /> <span>{t("New topic")}</span>
      </button>
      <button type="button" class="secondary" onClick={() => void openCompose({ kind: "direct", userIds: [] })}>
        <Icon name="people" /> <span>{t("New direct message")}</span>
      </button>
    </div>
  );
}

function newTopic(narrow: Narrow | undefined, selfId: number): Target {
  const target = targetOf(narrow, selfId);
  return target.kind === "topic" ? { ...target, topic: "" } : { kind: "topic", channelId: undefined, topic: "" };
}

function closedLabel(state: State, narrow: Narrow | undefined): string | undefined {
  const place = narrow && conversationOf(narrow, state.selfId);
  if (!place) return undefined;
  if (place.kind === "direct") return t("Message {0}", placeNames(state, place.userIds));
  return t("Message #{0} > {1}", state.channels.get(place.channelId)?.name ?? "", place.topic || t("general chat"));
}

/** Returns why the reader may not write there. */
function postingRefusal(state: State, target: Target): string | undefined {
  if (target.kind === "direct") {
    const gone = target.userIds.filter((id) => state.users.get(id)?.is_active === false);
    return gone.length > 0 ? t("{0} has left the organization.", gone.map((id) => userName(state, id)).join(", ")) : undefined;
  }
  const channel = target.channelId === undefined ? undefined : state.channels.get(target.channelId);
  if (channel?.is_archived) return t("This channel is archived: it can be read, but nobody can write in it.");
  return channel && !mayPost(state, channel) ? t("You may read in this channel, but not write.") : undefined;
}

function OpenBox({ value, narrow }: { value: Compose; narrow: Narrow | undefined }) {
  const state = app.state as State;
  const host = useRef<HTMLFormElement>(null);
  const [panel, setPanel] = useState<"emoji" | "schedule">();
  const [isOver, setOver] = useState(false);
  const enterSends = useStore((state) => state.settings["enter_sends"] === true);
  const refusal = useStore((state) => postingRefusal(state, value.target));
  const narrowPlace = narrow && conversationOf(narrow, state.selfId);
  const place = targetPlace(value.target, state);
  const isElsewhere = narrow !== undefined && place !== undefined && (!narrowPlace || placeKey(narrowPlace) !== placeKey(place));
  useEffect(() => stopTyping, []);
  const submit = (event?: Event) => {
    event?.preventDefault();
    sendComposed();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.isComposing && !event.shiftKey) {
      const isCombined = event.ctrlKey || event.metaKey;
      if (isCombined !== enterSends) submit(event);
    } else if ((event.ctrlKey || event.metaKey) && ["b", "i", "k"].includes(event.key.toLowerCase())) {
      const name = { b: "bold", i: "italic", k: "link" }[event.key.toLowerCase()] as FormatName;
      event.preventDefault();
      format(host.current, name);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    uploadFiles(event.dataTransfer?.files ?? []);
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    uploadFiles(files);
  };
  return (
    <form
      ref={host}
      class={`compose ${isOver ? "drop" : ""}`}
      aria-label={t("Write a message")}
      onSubmit={submit}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div class="compose-to">
        <TargetFields target={value.target} />
        <IconButton icon="close" label={t("Close and keep as a draft")} onClick={() => void closeCompose()} />
      </div>
      {refusal && <p class="notice">{refusal}</p>}
      {isElsewhere && place && <ElsewhereNote narrow={narrow} />}
      {value.isPreview ? (
        <Preview content={value.content} />
      ) : (
        <CompletingTextArea
          value={value.content}
          label={t("Message")}
          placeholder={t("Write a message")}
          onInput={(content) => {
            compose.set({ content });
            noteTyping();
          }}
          onKeyDown={keys}
          onPaste={paste}
        />
      )}
      {value.uploads.map((upload) => (
        <p class="upload" key={upload.id}>
          <span>{upload.name}</span>
          <progress aria-label={t("Uploading {0}", upload.name)} max={1} value={upload.part} />
          <IconButton icon="close" label={t("Cancel the upload of {0}", upload.name)} onClick={upload.cancel} />
        </p>
      ))}
      <Toolbar value={value} form={() => host.current} panel={panel} setPanel={setPanel} enterSends={enterSends} />
      {panel === "emoji" && (
        <div class="compose-panel">
          <EmojiGrid
            onPick={(emoji) => {
              setPanel(undefined);
              const field = area(host.current);
              if (field) replaceIn(field, field.selectionStart, field.selectionEnd, `:${emoji.name}: `);
            }}
          />
        </div>
      )}
      {panel === "schedule" && (
        <ScheduleDialog
          close={() => setPanel(undefined)}
          pick={(at) => {
            setPanel(undefined);
            void scheduleComposed(at);
          }}
        />
      )}
    </form>
  );
}

function ElsewhereNote({ narrow }: { narrow: Narrow }) {
  const selfId = useStore((state) => state.selfId);
  if (!conversationOf(narrow, selfId)) return null;
  return (
    <p class="notice">{t("You write to another conversation than the one you read.")}{" "}
      <button type="button" class="link" onClick={() => compose.set({ target: targetOf(narrow, selfId) })}>{t("Write here instead")}</button>
    </p>
  );
}

function TargetFields({ target }: { target: Target }) {
  return target.kind === "direct" ? <PeopleField userIds={target.userIds} /> : <TopicFields target={target} />;
}

function PeopleField({ userIds }: { userIds: readonly number[] }) {
  const state = app.state as State;
  const set = (ids: readonly number[]) => compose.set({ target: { kind: "direct", userIds: ids } });
  const options = (typed: string) => personOptions(typed, userIds);
  return (
    <div class="people-field">
      <Icon name="people" />
      {userIds.map((id) => (
        <span class="pill" key={id}>
          {userName(state, id)}
          <IconButton icon="close" label={t("Remove {0}", userName(state, id))} onClick={() => set(userIds.filter((other) => other !== id))} />
        </span>
      ))}
      <Picker
        key={userIds.join()}
        label={t("Add people")}
        value=""
        placeholder={userIds.length === 0 ? t("Whom do you write to?") : t("Add people")}
        options={options}
        onPick={(option) => set([...userIds, option.id ?? 0])}
        onBackspace={() => set(userIds.slice(0, -1))}
        isMissing={userIds.length === 0}
      />
    </div>
  );
}

function TopicFields({ target }: { target: Extract<Target, { kind: "topic" }> }) {
  const channels = useStore(ownChannels);
  const most = useStore((state) => Number(state.realm["max_topic_length"] ?? 60));
  const needsTopic = useStore((state) => state.realm["realm_mandatory_topics"] === true);
  const { channelId, topic } = target;
  const known = channelId === undefined ? undefined : app.state?.channels.get(channelId);
  const all = known && !channels.includes(known) ? [...channels, known] : channels;
  const sorted = [...all].sort((a, b) => byName(a.name, b.name));
  useEffect(() => {
    if (channelId !== undefined && !app.state?.topics.has(channelId)) void loadTopics(channelId).catch(() => undefined);
  }, [channelId]);
  const options = async (typed: string) => {
    const names = channelId === undefined ? [] : await topicNames(channelId);
    return best(names, typed, (name) => name, 8).map((name) => ({ key: name, label: name }));
  };
  return (
    <div class="topic-fields">
      <select
        aria-label={t("Channel")}
        data-missing={channelId === undefined || undefined}
        onChange={(event) => compose.set({ target: { ...target, channelId: Number((event.target as HTMLSelectElement).value) } })}
      >
        {channelId === undefined && <option selected>{t("Choose a channel")}</option>}
        {sorted.map((channel) => (
          <option key={channel.stream_id} value={channel.stream_id} selected={channel.stream_id === channelId}>
            # {channel.name}
          </option>
        ))}
      </select>
      <span class="chevron" aria-hidden="true" />
      <Picker
        label={t("Topic")}
        value={topic}
        placeholder={needsTopic ? t("Topic") : t("Topic (may stay empty)")}
        options={options}
        onInput={(typed) => compose.set({ target: { ...target, topic: typed } })}
        onPick={(option) => compose.set({ target: { ...target, topic: option.label } })}
        isMissing={channelId !== undefined && topic === ""}
        maxLength={most}
      />
    </div>
  );
}

function Preview({ content }: { content: string }) {
  const [html, setHtml] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    request("POST", "messages/render", { content })
      .then((answer) => isCurrent && setHtml(String(answer["rendered"])))
      .catch((error: Error) => isCurrent && app.toast(error.message, { isError: true }));
    return () => void (isCurrent = false);
  }, [content]);
  return (
    <div class="preview" role="region" aria-label={t("Preview")}>
      {html === undefined ? <p class="muted">{t("Rendering…")}</p> : <ServerHtml html={html} />}
    </div>
  );
}

type FormatName = "bold" | "italic" | "strike" | "code" | "link" | "quote" | "list";

const FORMATS: readonly { name: FormatName; label: string; icon: IconName }[] = [
  { name: "bold", label: t("Bold"), icon: "bold" },
  { name: "italic", label: t("Italic"), icon: "italic" },
  { name: "strike", label: t("Strikethrough"), icon: "strike" },
  { name: "link", label: t("Link"), icon: "link" },
  { name: "code", label: t("Code"), icon: "code" },
  { name: "quote", label: t("Quote"), icon: "quote" },
  { name: "list", label: t("List"), icon: "list" },
];

function area(form: HTMLFormElement | null): HTMLTextAreaElement | null {
  return form?.querySelector("textarea") ?? null;
}

/** Formats what is selected in the message, or begins it where nothing is. */
function format(form: HTMLFormElement | null, name: FormatName): void {
  const field = area(form);
  if (!field) return;
  const { selectionStart: start, selectionEnd: end, value } = field;
  const text = value.slice(start, end);
  const isBlock = text.includes("\n");
  const lines = (lead: string) => text.split("\n").map((line) => lead + line).join("\n");
  const around = (sign: string) => [`${sign}${text}${sign}`, sign.length] as const;
  const block = (open: string) => [`\n${open}\n${text}\n${open.slice(0, 3)}\n`, open.length + 2] as const;
  const [made, caret] = {
    bold: () => around("**"),
    italic: () => around("*"),
    strike: () => around("~~"),
    code: () => (isBlock ? block("```") : around("`")),
    link: () => [`[${text}](url)`, 1] as const,
    quote: () => block("```quote"),
    list: () => [lines("* "), 2] as const,
  }[name]();
  replaceIn(field, start, end, made);
  if (name === "link" && text !== "") field.setSelectionRange(start + made.length - 4, start + made.length - 1);
  else if (text === "") field.setSelectionRange(start + caret, start + caret);
}

function Toolbar(props: {
  value: Compose;
  form: () => HTMLFormElement | null;
  panel: "emoji" | "schedule" | undefined;
  setPanel: (panel: "emoji" | "schedule" | undefined) => void;
  enterSends: boolean;
}) {
  const { value, form, panel, setPanel, enterSends } = props;
  const input = useRef<HTMLInputElement>(null);
  const reason = useApp((app) => (app.state ? missing(app.state, value) : undefined));
  const more = (): MenuItem[] => [
    { label: t("Send later…"), icon: "clock", run: () => setPanel("schedule") },
    { label: t("Enter sends the message"), run: () => void setSetting("enter_sends", true), checked: enterSends },
    { label: t("Ctrl + Enter sends the message"), run: () => void setSetting("enter_sends", false), checked: !enterSends },
  ];
  return (
    <div class="toolbar" role="toolbar" aria-label={t("Formatting and sending")}>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={() => {
          uploadFiles(input.current?.files ?? []);
          if (input.current) input.current.value = "";
        }}
      />
      <IconButton icon="clip" label={t("Attach files")} onClick={() => input.current?.click()} />
      <IconButton icon="smile" label={t("Insert an emoji")} expanded={panel === "emoji"} onClick={() => setPanel(panel === "emoji" ? undefined : "emoji")} />
      <span class="formats">
        {FORMATS.map(({ name, label, icon }) => (
          <IconButton key={name} icon={icon} label={label} disabled={value.isPreview} onClick={() => format(form(), name)} />
        ))}
      </span>
      <IconButton icon="eye" label={t("Preview")} pressed={value.isPreview} onClick={() => compose.set({ isPreview: !value.isPreview })} />
      <span class="grow" />
      <MenuButton label={t("Sending options")} items={more} />
      <button type="submit" class="primary" aria-disabled={reason !== undefined} title={reason}>
        <Icon name="send" /> <span>{t("Send")}</span>
      </button>
    </div>
  );
}
