// Texts that are kept, and messages that wait for their time.
import { app, useStore } from "../app/app";
import { attempt, goNarrow } from "../app/actions";
import { compose, draftTarget, openCompose, scheduledTarget, targetPlace, type Target } from "../app/compose";
import { request } from "../transport/api";
import { placeNarrow } from "../store/narrow";
import { placeNames } from "../store/select";
import type { Draft, Scheduled, State } from "../store/types";
import { ServerHtml } from "../widgets/html";
import { formatAgo, formatMoment } from "../widgets/time";
import { t } from "../text/language";

function targetName(target: Target, state: State): string {
  if (target.kind === "direct") return target.userIds.length > 0 ? placeNames(state, target.userIds) : t("Nobody yet");
  const name = target.channelId === undefined ? undefined : state.channels.get(target.channelId)?.name;
  return name === undefined ? t("No channel yet") : `#${name} > ${target.topic || t("general chat")}`;
}

function openAt(target: Target, content: string): void {
  const state = app.state as State;
  const place = targetPlace(target, state);
  if (place) goNarrow(placeNarrow(place));
  void openCompose(target, content);
}

export function DraftsView() {
  const drafts = useStore((state) => state.drafts);
  const sorted = [...drafts].sort((a, b) => b.timestamp - a.timestamp);
  return (
    <div class="page cards">
      {sorted.length === 0 && <p class="muted">{t("No drafts. What you write and do not send is kept here.")}</p>}
      <ul>
        {sorted.map((draft) => (
          <DraftCard key={draft.id} draft={draft} />
        ))}
      </ul>
    </div>
  );
}

function DraftCard({ draft }: { draft: Draft }) {
  const state = app.state as State;
  const target = draftTarget(draft);
  const restore = () => {
    openAt(target, draft.content);
    compose.set({ draftId: draft.id });
  };
  return (
    <li class="card">
      <header>
        <strong dir="auto">{targetName(target, state)}</strong>
        <span class="muted">{formatAgo(draft.timestamp)}</span>
      </header>
      <p class="typed" dir="auto">
        {draft.content}
      </p>
      <footer>
        <button type="button" class="primary" onClick={restore}>{t("Go on writing")}</button>
        <button type="button" class="secondary" onClick={() => void attempt(request("DELETE", `drafts/${draft.id}`), t("Draft deleted."))}>{t("Delete draft")}</button>
      </footer>
    </li>
  );
}

export function ScheduledView() {
  const scheduled = useStore((state) => state.scheduled);
  const sorted = [...scheduled].sort((a, b) => a.scheduled_delivery_timestamp - b.scheduled_delivery_timestamp);
  return (
    <div class="page cards">
      {sorted.length === 0 && <p class="muted">{t("No message waits to be sent.")}</p>}
      <ul>
        {sorted.map((one) => (
          <ScheduledCard key={one.scheduled_message_id} scheduled={one} />
        ))}
      </ul>
    </div>
  );
}

function ScheduledCard({ scheduled }: { scheduled: Scheduled }) {
  const state = app.state as State;
  const target = scheduledTarget(scheduled);
  const remove = (done?: string) =>
    attempt(request("DELETE", `scheduled_messages/${scheduled.scheduled_message_id}`), done);
  const edit = async () => {
    if (await remove()) openAt(target, scheduled.content);
  };
  const when = formatMoment(new Date(scheduled.scheduled_delivery_timestamp * 1000));
  return (
    <li class="card">
      <header>
        <strong dir="auto">{targetName(target, state)}</strong>
        <span class={scheduled.failed ? "send-error" : "muted"}>{scheduled.failed ? t("Could not be sent") : when}</span>
      </header>
      <ServerHtml html={scheduled.rendered_content} />
      <footer>
        <button type="button" class="secondary" onClick={() => void edit()}>{t("Edit or send now")}</button>
        <button type="button" class="secondary" onClick={() => void remove(t("Scheduled message deleted."))}>{t("Delete")}</button>
      </footer>
    </li>
  );
}
