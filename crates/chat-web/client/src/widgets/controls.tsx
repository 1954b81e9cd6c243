// Buttons, avatars, counts, menus and dialogs.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../app/app";
import { presenceOf } from "../store/select";
import { emojiFromCode } from "./emoji_text";
import { Icon, type IconName } from "./icons";
import { t } from "../text/language";

type ButtonProps = {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
  filled?: boolean;
  class?: string;
  disabled?: boolean;
  expanded?: boolean;
};

/** A button that shows an icon alone. */
export function IconButton({ icon, label, onClick, pressed, filled, class: name, disabled, expanded }: ButtonProps) {
  return (
    <button
      type="button"
      class={`icon-button ${name ?? ""}`}
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} filled={filled ?? false} />
    </button>
  );
}

/** A number beside a name; nothing when it is none. */
export function Count({ count, quiet = false, what = t("unread") }: { count: number; quiet?: boolean; what?: string }) {
  if (count === 0) return null;
  return (
    <span class={`count ${quiet ? "quiet" : ""}`} aria-label={`${count} ${what}`} role="img">
      {count > 999 ? "999+" : count}
    </span>
  );
}

/** Colors of drawn pictures: readable with white letters on them. */
const HUES = [212, 262, 292, 330, 8, 28, 152, 178, 196, 232];

/** The picture of a user: their own, else their initials on a color that follows from their number. */
export function Avatar({ userId, url, size = 36 }: { userId: number; url?: string | null | undefined; size?: number }) {
  const user = useStore((state) => state.users.get(userId));
  const [isBroken, setBroken] = useState(false);
  // What is elsewhere is not fetched: its server would learn who reads.
  const source = [user?.avatar_url, url].find((one) => one?.startsWith("/") && !one.startsWith("//"));
  const style = { width: `${size}px`, height: `${size}px`, fontSize: `${Math.round(size * 0.4)}px` };
  if (source && !isBroken) {
    return <img class="avatar" src={source} alt="" style={style} loading="lazy" onError={() => setBroken(true)} />;
  }
  const hue = HUES[userId % HUES.length];
  return (
    <span
      class="avatar drawn"
      aria-hidden="true"
      data-initials={initials(user?.full_name ?? "?")}
      style={{ ...style, background: `hsl(${hue} 45% 38%)` }}
    />
  );
}

function initials(name: string): string {
  const words = name.split(/[\s_.-]+/).filter(Boolean);
  const picked = words.length > 1 ? [words[0], words[words.length - 1]] : [words[0]];
  return picked.map((word) => [...(word ?? "?")][0]).join("").toUpperCase();
}

const PRESENCE_WORDS = { active: t("Active"), idle: t("Idle"), offline: t("Offline") } as const;

export function PresenceDot({ userId }: { userId: number }) {
  const presence = useStore((state) => presenceOf(state, userId, Date.now() / 1000));
  return <span class={`presence ${presence}`} role="img" aria-label={PRESENCE_WORDS[presence]} />;
}

export function StatusEmoji({ userId }: { userId: number }) {
  const status = useStore((state) => state.statuses.get(userId));
  const custom = useStore((state) => state.emoji[status?.emoji_code ?? ""]);
  if (!status?.emoji_name) return null;
  if (status.reaction_type !== "unicode_emoji") {
    return custom ? <img class="emoji" src={custom.source_url} alt={`:${custom.name}:`} /> : null;
  }
  return (
    <span class="status-emoji" role="img" aria-label={status.emoji_name.replaceAll("_", " ")}>
      {emojiFromCode(status.emoji_code ?? "")}
    </span>
  );
}

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly run: () => void;
  readonly checked?: boolean;
}

/** A button that opens a list of actions. */
export function MenuButton(props: { label: string; icon?: IconName; items: () => MenuItem[]; children?: ComponentChildren; class?: string }) {
  const [isOpen, setOpen] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const isInside = (target: EventTarget | null) => target instanceof Node && host.current?.contains(target);
    const close = (event: Event) => !isInside(event.target) && setOpen(false);
    const types = ["pointerdown", "wheel", "resize"] as const;
    for (const type of types) addEventListener(type, close, { passive: true });
    return () => {
      for (const type of types) removeEventListener(type, close);
    };
  }, [isOpen]);
  const { label, icon = "more", items, children, class: name } = props;
  const toggle = () => setOpen(!isOpen);
  return (
    <div class={`menu-host ${name ?? ""}`} ref={host}>
      {children ? (
        <button type="button" class="plain" aria-label={label} aria-haspopup="menu" aria-expanded={isOpen} onClick={toggle}>
          {children}
        </button>
      ) : (
        <IconButton icon={icon} label={label} expanded={isOpen} onClick={toggle} />
      )}
      {isOpen && <Menu items={items()} close={() => setOpen(false)} />}
    </div>
  );
}

/** Pixels between a menu and the edge of the window. */
const EDGE_PX = 8;

/** Puts a menu below its button, or above it where there is more room. */
function placeBeside(menu: HTMLElement, button: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const isRtl = getComputedStyle(menu).direction === "rtl";
  const left = isRtl ? button.left : button.right - width;
  const fitsBelow = button.bottom + height + EDGE_PX < innerHeight;
  const top = fitsBelow ? button.bottom + 2 : button.top - height - 2;
  menu.style.left = `${Math.max(EDGE_PX, Math.min(left, innerWidth - width - EDGE_PX))}px`;
  menu.style.top = `${Math.max(EDGE_PX, Math.min(top, innerHeight - height - EDGE_PX))}px`;
}

function Menu({ items, close }: { items: MenuItem[]; close: () => void }) {
  const host = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = host.current;
    const button = menu?.parentElement?.querySelector("button");
    if (!menu || !button) return;
    // Above everything else, so that no list that scrolls cuts it off.
    menu.showPopover();
    placeBeside(menu, button.getBoundingClientRect());
    menu.querySelector<HTMLElement>("[role^=menuitem]")?.focus({ preventScroll: true });
  }, []);
  const move = (event: KeyboardEvent) => {
    const all = [...(host.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close();
    if (event.key !== "Tab") event.stopPropagation();
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  };
  return (
    <div class="menu" role="menu" popover="manual" ref={host} onKeyDown={move}>
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role={item.checked === undefined ? "menuitem" : "menuitemradio"}
          aria-checked={item.checked}
          onClick={() => {
            close();
            item.run();
          }}
        >
          {item.icon && <Icon name={item.icon} />}
          <span>{item.label}</span>
          {item.checked && <Icon name="check" />}
        </button>
      ))}
    </div>
  );
}

/** A dialog in front of the page; Escape and the button close it, and the focus goes back to where it was. */
export function Modal(props: { title: string; close: () => void; children: ComponentChildren; class?: string }) {
  const host = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    host.current?.showModal();
    const field = host.current?.querySelector<HTMLElement>("[data-focus], input, textarea, select");
    field?.focus();
  }, []);
  const { title, close, children, class: name } = props;
  const onClick = (event: MouseEvent) => event.target === host.current && close();
  return (
    <dialog
      class={`modal ${name ?? ""}`}
      aria-label={title}
      ref={host}
      onClick={onClick}
      onCancel={(event: Event) => {
        event.preventDefault();
        close();
      }}
    >
      <header>
        <h2>{title}</h2>
        <IconButton icon="close" label={t("Close")} onClick={close} />
      </header>
      {/* Of a section, the feet of its forms are no landmarks of the page. */}
      <section class="modal-body">{children}</section>
    </dialog>
  );
}

/** A field with its name above it. */
export function Field(props: { label: string; hint?: string; children: JSX.Element }) {
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.hint && <small>{props.hint}</small>}
    </label>
  );
}

export function Switch(props: { label: string; checked: boolean; onChange: (checked: boolean) => void }) {
  return (
    <label class="switch">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange((event.target as HTMLInputElement).checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}
