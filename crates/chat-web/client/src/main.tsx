// Starts the client in its page.
import { render } from "preact";
import { app } from "./app/app";
import { useApp } from "./app/app";
import { compose } from "./app/compose";
import { startNotifications } from "./app/notify";
import { startPresence } from "./app/presence";
import { onContentKey } from "./views/content_click";
import { listenToKeys } from "./views/keys";
import { Shell } from "./views/shell";
import { followLanguage, language, t } from "./text/language";

function Root() {
  const hasState = useApp((app) => app.state !== undefined);
  const connection = useApp((app) => app.ui.connection);
  if (hasState) return <Shell />;
  return (
    <p class="boot" role="status">
      {connection.is === "waiting" ? t("The server cannot be reached. Trying again…") : t("Loading…")}
    </p>
  );
}

/** Starts what needs to know who the reader is, once. */
function whenKnown(): void {
  const stop = app.subscribe(() => {
    if (!app.state) return;
    stop();
    compose.restore(app.state.selfId);
    startPresence();
  });
}

const host = document.getElementById("app");
if (host) {
  document.documentElement.lang = language;
  host.replaceChildren();
  render(<Root />, host);
  whenKnown();
  startNotifications();
  app.subscribe(() => app.state && followLanguage(app.state.settings["default_language"]));
  listenToKeys();
  addEventListener("keydown", onContentKey);
  app.start();
}
