import { useEffect, useRef, useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { toggleReaction, type Emoji } from "../app/actions";
import { allEmoji, findEmoji, type NamedEmoji } from "../app/emoji";
import { Modal } from "../widgets/controls";
import { EmojiSign } from "./message_row";
import { t } from "../text/language";

/** Emoji shown at once; the others are found by their names. */
const SHOWN_MOST = 160;

/** A field to find emoji by name, and a grid of them that the arrow keys walk. */
export function EmojiGrid({ onPick }: { onPick: (emoji: Emoji) => void }) {
  const [all, setAll] = useState<NamedEmoji[]>();
  const [typed, setTyped] = useState("");
  const grid = useRef<HTMLDivElement>(null);
  useEffect(() => {
    allEmoji().then(setAll, () => app.toast(t("The list of emoji could not be loaded."), { isError: true }));
  }, []);
  const shown = typed === "" ? (all ?? []).slice(0, SHOWN_MOST) : findEmoji(all ?? [], typed, SHOWN_MOST);
  const keys = (event: KeyboardEvent) => {
    const buttons = [...(grid.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    if (at < 0) {
      if (event.key === "ArrowDown") buttons[0]?.focus();
      else if (event.key === "Enter" && shown[0]) onPick(shown[0]);
      else return;
      return event.preventDefault();
    }
    const [first, second] = [buttons[0], buttons.find((one) => one.offsetTop > (buttons[0]?.offsetTop ?? 0))];
    const columns = first && second ? buttons.indexOf(second) : buttons.length;
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + columns, ArrowUp: at - columns }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(buttons.length - 1, to))]?.focus();
  };
  return (
    <div class="emoji-grid" onKeyDown={keys}>
      <input
        type="search"
        aria-label={t("Find an emoji")}
        placeholder={t("Find an emoji")}
        data-focus
        value={typed}
        onInput={(event) => setTyped((event.target as HTMLInputElement).value)}
      />
      <div class="grid" ref={grid} role="group" aria-label={t("Emoji")}>
        {shown.map((emoji) => (
          <button
            key={`${emoji.type} ${emoji.code}`}
            type="button"
            aria-label={emoji.name.replaceAll("_", " ")}
            title={`:${emoji.name}:`}
            onClick={() => onPick(emoji)}
          >
            <EmojiSign emoji={emoji} />
          </button>
        ))}
      </div>
      {all && shown.length === 0 && <p class="muted">{t("No emoji has this name.")}</p>}
    </div>
  );
}

export function ReactionDialog({ messageId, close }: { messageId: number; close: () => void }) {
  const message = useStore((state) => state.messages.get(messageId));
  if (!message) return null;
  return (
    <Modal title={t("Add a reaction")} close={close} class="narrow">
      <EmojiGrid
        onPick={(emoji) => {
          close();
          void toggleReaction(message, { name: emoji.name, code: emoji.code, type: emoji.type });
        }}
      />
    </Modal>
  );
}
