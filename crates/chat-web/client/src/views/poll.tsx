// Polls and lists of things to do: messages that their readers take part in.
import { useMemo, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { attempt } from "../app/actions";
import { userName } from "../store/select";
import type { Message, State, Submessage } from "../store/types";
import { request } from "../transport/api";
import { t } from "../text/language";

export type Widget =
  | { readonly kind: "poll"; readonly question: string; readonly options: readonly string[] }
  | { readonly kind: "todo"; readonly title: string; readonly tasks: readonly { task: string; desc: string }[] };

/** Returns what the message shows beside its text. */
export function widgetOf(message: Message): Widget | undefined {
  const first = message.submessages[0];
  const data = first && parsed(first);
  const extra = (data?.["extra_data"] ?? {}) as Record<string, any>;
  if (data?.["widget_type"] === "poll") {
    return { kind: "poll", question: String(extra["question"] ?? ""), options: extra["options"] ?? [] };
  }
  if (data?.["widget_type"] === "todo") {
    return { kind: "todo", title: String(extra["task_list_title"] || t("Task list")), tasks: extra["tasks"] ?? [] };
  }
  return undefined;
}

function parsed(submessage: Submessage): Record<string, any> | undefined {
  try {
    const data: unknown = JSON.parse(submessage.content);
    return typeof data === "object" && data !== null ? (data as Record<string, any>) : undefined;
  } catch {
    return undefined;
  }
}

interface Option {
  readonly key: string;
  readonly text: string;
  readonly voters: Set<number>;
}

export interface PollState {
  question: string;
  readonly options: Option[];
}

/** Returns a poll after everything that its readers added, in order. */
export function pollState(message: Message, widget: Extract<Widget, { kind: "poll" }>): PollState {
  const options: Option[] = widget.options.map((text, at) => ({ key: `canned,${at}`, text, voters: new Set() }));
  const state: PollState = { question: widget.question, options };
  for (const submessage of message.submessages.slice(1)) {
    const data = parsed(submessage);
    if (data?.["type"] === "question" && submessage.sender_id === message.sender_id) state.question = String(data["question"]);
    if (data?.["type"] === "new_option" && !options.some((one) => one.text === data["option"])) {
      options.push({ key: `${submessage.sender_id},${data["idx"]}`, text: String(data["option"]), voters: new Set() });
    }
    if (data?.["type"] === "vote") {
      const option = options.find((one) => one.key === data["key"]);
      if (data["vote"] === 1) option?.voters.add(submessage.sender_id);
      else option?.voters.delete(submessage.sender_id);
    }
  }
  return state;
}

export interface Task {
  readonly key: string;
  readonly task: string;
  readonly desc: string;
  isDone: boolean;
}

/** Returns the tasks of a list after everything that its readers added, in order. */
export function todoState(message: Message, widget: Extract<Widget, { kind: "todo" }>): { title: string; tasks: Task[] } {
  const tasks: Task[] = widget.tasks.map(({ task, desc }, at) => ({ key: `${at},canned`, task, desc, isDone: false }));
  let { title } = widget;
  for (const submessage of message.submessages.slice(1)) {
    const data = parsed(submessage);
    if (data?.["type"] === "new_task_list_title" && submessage.sender_id === message.sender_id) title = String(data["title"]);
    if (data?.["type"] === "new_task" && !tasks.some((one) => one.task === data["task"])) {
      const key = `${data["key"]},${submessage.sender_id}`;
      tasks.push({ key, task: String(data["task"]), desc: String(data["desc"] ?? ""), isDone: data["completed"] === true });
    }
    if (data?.["type"] === "strike") {
      const struck = tasks.find((one) => one.key === data["key"]);
      if (struck) struck.isDone = !struck.isDone;
    }
  }
  return { title, tasks };
}

/** The number that the reader's next addition has: it is told apart by it from their others. */
function nextIndex(message: Message, selfId: number): number {
  return message.submessages.filter((one) => one.sender_id === selfId).length + 1;
}

function add(message: Message, content: object): void {
  const params = { message_id: message.id, msg_type: "widget", content: JSON.stringify(content) };
  void attempt(request("POST", "submessage", params));
}

export function Poll({ message, widget }: { message: Message; widget: Widget }) {
  return widget.kind === "poll" ? <PollBody message={message} widget={widget} /> : <TodoBody message={message} widget={widget} />;
}

function PollBody({ message, widget }: { message: Message; widget: Extract<Widget, { kind: "poll" }> }) {
  const selfId = useStore((state) => state.selfId);
  const poll = useMemo(() => pollState(message, widget), [message.submessages]);
  const state = app.state as State;
  return (
    <section class="widget" aria-label={t("Poll")}>
      <p class="widget-title" dir="auto">{poll.question || t("Poll")}</p>
      <ul>
        {poll.options.map(({ key, text, voters }) => {
          const own = voters.has(selfId);
          const names = [...voters].map((id) => userName(state, id)).join(", ");
          return (
            <li key={key}>
              <button
                type="button"
                class="vote"
                aria-pressed={own}
                aria-label={t("Vote for {0}: {1} votes", text, voters.size)}
                onClick={() => add(message, { type: "vote", key, vote: own ? -1 : 1 })}
              >
                {voters.size}
              </button>
              <span dir="auto">{text}</span>
              <small class="muted">{names}</small>
            </li>
          );
        })}
      </ul>
      <AddLine label={t("Add an answer")} onAdd={(option) => add(message, { type: "new_option", idx: nextIndex(message, selfId), option })} />
    </section>
  );
}

function TodoBody({ message, widget }: { message: Message; widget: Extract<Widget, { kind: "todo" }> }) {
  const selfId = useStore((state) => state.selfId);
  const { title, tasks } = useMemo(() => todoState(message, widget), [message.submessages]);
  const addTask = (task: string) =>
    add(message, { type: "new_task", key: nextIndex(message, selfId), task, desc: "", completed: false });
  return (
    <section class="widget" aria-label={t("Task list")}>
      <p class="widget-title" dir="auto">{title}</p>
      <ul>
        {tasks.map(({ key, task, desc, isDone }) => (
          <li key={key}>
            <label class={isDone ? "done" : ""}>
              <input type="checkbox" checked={isDone} onChange={() => add(message, { type: "strike", key })} />{" "}
              <span dir="auto">{task}</span> <small class="muted">{desc}</small>
            </label>
          </li>
        ))}
      </ul>
      <AddLine label={t("Add a task")} onAdd={addTask} />
    </section>
  );
}

function AddLine({ label, onAdd }: { label: string; onAdd: (text: string) => void }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== "") onAdd(text.trim());
    setText("");
  };
  return (
    <form class="add-line" onSubmit={submit}>
      <input aria-label={label} placeholder={label} value={text} maxLength={200} onInput={(event) => setText((event.target as HTMLInputElement).value)} />
      <button type="submit" class="secondary">{t("Add")}</button>
    </form>
  );
}
