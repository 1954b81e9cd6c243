// Editing a message where it stands.
import { useEffect, useRef, useState } from "preact/hooks";
import { app } from "../app/app";
import { attempt, editMessage, rawContent } from "../app/actions";
import type { Message } from "../store/types";
import { CompletingTextArea } from "../widgets/typeahead";
import { t } from "../text/language";

export function EditBox({ message }: { message: Message }) {
  const [content, setContent] = useState<string>();
  const [isSaving, setSaving] = useState(false);
  const host = useRef<HTMLFormElement>(null);
  const close = () => app.setUi({ editingId: undefined });
  useEffect(() => {
    rawContent(message.id).then(
      (raw) => {
        setContent(raw);
        requestAnimationFrame(() => {
          const field = host.current?.querySelector("textarea");
          field?.focus();
          field?.setSelectionRange(raw.length, raw.length);
        });
      },
      (error: Error) => {
        app.toast(error.message, { isError: true });
        close();
      },
    );
  }, [message.id]);
  const save = async (event?: Event) => {
    event?.preventDefault();
    if (content === undefined || isSaving) return;
    setSaving(true);
    // What was typed stays when the server refuses it.
    if (await attempt(editMessage(message.id, { content }))) close();
    setSaving(false);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save(event);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  };
  return (
    <form class="edit-box" ref={host} onSubmit={save} aria-label={t("Edit the message")}>
      <CompletingTextArea value={content ?? ""} label={t("Message text")} onInput={setContent} onKeyDown={keys} />
      <p>
        <button type="submit" class="primary" disabled={content === undefined || isSaving}>{t("Save")}</button>{" "}
        <button type="button" class="secondary" onClick={close}>{t("Cancel")}</button>
      </p>
    </form>
  );
}
