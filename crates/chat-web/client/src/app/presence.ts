// Signs of life: that the reader is there, and who else is.
import { app } from "./app";
import { ping } from "./actions";

/** Without a key or a movement for this long the reader is idle. */
const IDLE_AFTER_MS = 5 * 60_000;

let lastInputMs = Date.now();

export function startPresence(): void {
  for (const type of ["keydown", "pointermove", "pointerdown", "wheel"]) {
    addEventListener(type, () => (lastInputMs = Date.now()), { passive: true });
  }
  const tell = () => void ping(Date.now() - lastInputMs < IDLE_AFTER_MS && document.hasFocus()).catch(() => undefined);
  tell();
  const seconds = Number(app.state?.realm["server_presence_ping_interval_seconds"] ?? 60);
  setInterval(tell, seconds * 1000);
  addEventListener("focus", tell);
}
