// Messages that are on their way, and those that could not be sent.
import { app, useApp, useStore, shallow, type Outgoing } from "../app/app";
import { deliver, discard } from "../app/actions";
import { openCompose } from "../app/compose";
import { conversationOf, type Narrow } from "../store/narrow";
import { placeKey } from "../store/place";
import type { State } from "../store/types";
import { Avatar } from "../widgets/controls";
import { targetOf } from "../app/compose";
import { t } from "../text/language";

export function OutgoingRows({ narrow }: { narrow: Narrow }) {
  const selfId = useStore((state) => state.selfId);
  const place = conversationOf(narrow, selfId);
  const key = place && placeKey(place);
  // A page of messages can have it before its event comes.
  const outgoing = useApp(({ ui, state }) => {
    const isWaiting = (one: Outgoing) => one.sentId === undefined || !state?.messages.has(one.sentId);
    return ui.outgoing.filter((one) => (key === undefined || one.placeKey === key) && isWaiting(one));
  }, shallow);
  const edit = (localId: string, content: string) => {
    discard(localId);
    void openCompose(targetOf(narrow, selfId), content);
  };
  return (
    <>
      {outgoing.map((one) => (
        <div class="row outgoing" key={one.localId}>
          <div class="message with-sender">
            <div class="gutter">
              <Avatar userId={selfId} />
            </div>
            <div class="body">
              <p class="sender-line">
                <span class="sender">{(app.state as State).users.get(selfId)?.full_name}</span>
                {one.error === undefined && <span class="muted">{t("Sending…")}</span>}
              </p>
              <div class="rendered typed" dir="auto">
                {one.content}
              </div>
              {one.error !== undefined && (
                <p class="send-error" role="alert">{t("Not sent: {0}", one.error)}{" "}
                  <button type="button" class="link" onClick={() => void deliver(one)}>{t("Try again")}</button>{" "}
                  <button type="button" class="link" onClick={() => edit(one.localId, one.content)}>{t("Edit")}</button>{" "}
                  <button type="button" class="link" onClick={() => discard(one.localId)}>{t("Discard")}</button>
                </p>
              )}
            </div>
          </div>
        </div>
      ))}
    </>
  );
}
