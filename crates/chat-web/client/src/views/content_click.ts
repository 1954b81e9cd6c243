// Clicks inside of rendered messages.
import { app } from "../app/app";
import { t } from "../text/language";

export function onContentClick(event: MouseEvent | KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!target.closest(".rendered")) return;
  const mention = target.closest<HTMLElement>(".user-mention[data-user-id]");
  if (mention && mention.dataset["userId"] !== "*") {
    app.setUi({ dialog: { is: "user", userId: Number(mention.dataset["userId"]) } });
    return;
  }
  const header = target.closest<HTMLElement>(".spoiler-header");
  if (header) return toggleSpoiler(header);
  const copy = target.closest<HTMLElement>(".copy-code");
  if (copy) return void copyCode(copy);
  const picture = target.closest<HTMLElement>(".message_inline_image a");
  if (picture && !target.closest("video") && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    app.setUi({ lightbox: picture.getAttribute("href") ?? undefined });
  }
}

/** Enter and space act on what is made a button. */
export function onContentKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if ((event.key === "Enter" || event.key === " ") && target.getAttribute("role") === "button") {
    event.preventDefault();
    onContentClick(event);
  }
}

function toggleSpoiler(header: HTMLElement): void {
  const body = header.parentElement?.querySelector<HTMLElement>(".spoiler-content");
  if (!body) return;
  body.hidden = !body.hidden;
  body.setAttribute("aria-hidden", String(body.hidden));
  header.setAttribute("aria-expanded", String(!body.hidden));
}

async function copyCode(button: HTMLElement): Promise<void> {
  await navigator.clipboard.writeText(button.parentElement?.querySelector("code")?.textContent ?? "");
  button.textContent = t("Copied");
  setTimeout(() => (button.textContent = t("Copy")), 2_000);
}
