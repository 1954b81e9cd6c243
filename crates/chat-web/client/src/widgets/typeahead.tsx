// A text field whose words can be completed.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { completionsFor, type Completions } from "../app/complete";
import { Avatar } from "./controls";
import { t } from "../text/language";

interface TextAreaProps {
  value: string;
  label: string;
  placeholder?: string;
  onInput: (value: string) => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  onPaste?: (event: ClipboardEvent) => void;
  maxRows?: number;
}

/** Replaces a stretch of a field, so that the browser can undo it, and puts the caret behind it. */
export function replaceIn(field: HTMLTextAreaElement, start: number, end: number, text: string): void {
  field.focus();
  field.setSelectionRange(start, end);
  // The one way to change a field that goes into its history.
  if (!document.execCommand("insertText", false, text)) {
    field.setRangeText(text, start, end, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** Closes suggestions a moment after their field lost the focus, unless it has it again by then. */
function useClosingOnBlur(close: () => void): { onBlur: () => void; onFocus: () => void } {
  const timer = useRef<ReturnType<typeof setTimeout>>();
  return {
    onBlur: () => void (timer.current = setTimeout(close, 150)),
    onFocus: () => clearTimeout(timer.current),
  };
}

export function CompletingTextArea(props: TextAreaProps) {
  const { value, label, placeholder, onInput, onKeyDown, onPaste } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const [found, setFound] = useState<Completions>();
  const [at, setAt] = useState(0);
  const asked = useRef(0);
  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, innerHeight * 0.4)}px`;
  }, [value]);
  useEffect(() => () => void (asked.current += 1), []);
  const look = async () => {
    const area = field.current;
    const turn = (asked.current += 1);
    if (!area || area.selectionStart !== area.selectionEnd) return setFound(undefined);
    const completions = await completionsFor(area.value.slice(0, area.selectionStart));
    if (turn !== asked.current) return;
    setFound(completions);
    setAt(0);
  };
  const close = () => {
    asked.current += 1;
    setFound(undefined);
  };
  const { onBlur, onFocus } = useClosingOnBlur(close);
  const pick = (place: number) => {
    const [area, item] = [field.current, found?.items[place]];
    if (!area || !item || !found) return;
    replaceIn(area, found.start, area.selectionStart, item.text);
    close();
    if (item.text.endsWith(">")) void look();
  };
  const keys = (event: KeyboardEvent) => {
    if (found && !event.isComposing) {
      const count = found.items.length;
      const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (move !== undefined) {
        event.preventDefault();
        return setAt((at + move + count) % count);
      }
      if (event.key === "Tab" || (event.key === "Enter" && !event.ctrlKey && !event.metaKey)) {
        event.preventDefault();
        return pick(at);
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        return close();
      }
    }
    onKeyDown?.(event);
  };
  return (
    <div class="completing">
      <textarea
        ref={field}
        value={value}
        aria-label={label}
        placeholder={placeholder}
        dir="auto"
        rows={1}
        aria-haspopup="listbox"
        aria-controls={found ? "completions" : undefined}
        aria-activedescendant={found ? `completion-${at}` : undefined}
        aria-autocomplete={found ? "list" : undefined}
        onInput={(event) => {
          onInput((event.target as HTMLTextAreaElement).value);
          void look();
        }}
        onKeyDown={keys}
        onPaste={onPaste}
        onBlur={onBlur}
        onFocus={onFocus}
      />
      {found && (
        <ul class="completions" id="completions" role="listbox" aria-label={t("Suggestions")}>
          {found.items.map((item, place) => (
            <li
              key={item.text}
              id={`completion-${place}`}
              role="option"
              aria-selected={place === at}
              onMouseDown={(event) => {
                event.preventDefault();
                pick(place);
              }}
            >
              {item.userId !== undefined ? (
                <Avatar userId={item.userId} size={22} />
              ) : (
                <span class="sign" aria-hidden="true">
                  {item.sign}
                </span>
              )}
              <span class="name">{item.label}</span>
              <span class="detail">{item.detail}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** One of several, found by its name: a field with a list below it. */
export function Picker(props: {
  label: string;
  value: string;
  placeholder: string;
  options: (typed: string) => Promise<readonly PickerOption[]> | readonly PickerOption[];
  onInput?: (typed: string) => void;
  onPick: (option: PickerOption) => void;
  onBackspace?: () => void;
  isMissing?: boolean;
  maxLength?: number;
}) {
  const { label, value, placeholder, options, onInput, onPick, onBackspace, isMissing, maxLength } = props;
  const [found, setFound] = useState<readonly PickerOption[]>([]);
  const [at, setAt] = useState(-1);
  const id = useRef(`picker-${Math.round(performance.now() * 1000)}`).current;
  const turn = useRef(0);
  const look = async (typed: string) => {
    const now = (turn.current += 1);
    const all = await options(typed);
    if (now !== turn.current) return;
    setFound(all);
    setAt(onInput ? -1 : 0);
  };
  const close = () => {
    turn.current += 1;
    setFound([]);
  };
  const { onBlur, onFocus } = useClosingOnBlur(close);
  const pick = (option: PickerOption | undefined) => {
    if (!option) return;
    close();
    onPick(option);
  };
  const keys = (event: KeyboardEvent) => {
    const field = event.target as HTMLInputElement;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((at + move + found.length) % found.length);
    } else if ((event.key === "Enter" || event.key === "Tab") && found[at]) {
      event.preventDefault();
      pick(found[at]);
      if (!onInput) field.value = "";
    } else if (event.key === "Escape" && found.length > 0) {
      event.stopPropagation();
      close();
    } else if (event.key === "Backspace" && field.value === "") onBackspace?.();
  };
  const isOpen = found.length > 0;
  return (
    <div class="picker">
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen && at >= 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        maxLength={maxLength}
        dir="auto"
        value={value}
        placeholder={placeholder}
        data-missing={isMissing || undefined}
        onInput={(event) => {
          const typed = (event.target as HTMLInputElement).value;
          onInput?.(typed);
          void look(typed);
        }}
        onFocus={(event) => {
          onFocus();
          void look((event.target as HTMLInputElement).value);
        }}
        onKeyDown={keys}
        onBlur={onBlur}
      />
      {isOpen && (
        <ul class="completions" id={id} role="listbox" aria-label={label}>
          {found.map((option, place) => (
            <li
              key={option.key}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === at}
              onMouseDown={(event) => {
                event.preventDefault();
                pick(option);
              }}
            >
              {option.userId !== undefined && <Avatar userId={option.userId} size={22} />}
              <span class="name" dir="auto">
                {option.label}
              </span>
              <span class="detail">{option.detail}</span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export interface PickerOption {
  readonly key: string;
  readonly label: string;
  readonly detail?: string;
  readonly userId?: number;
  readonly id?: number;
}
