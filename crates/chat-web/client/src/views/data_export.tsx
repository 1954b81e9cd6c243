// Exports of the organization: which there are, and how one is started, downloaded and deleted.
import { useEffect, useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import { userName } from "../store/select";
import type { State } from "../store/types";
import { formatMoment } from "../widgets/time";
import { LOCALES, t } from "../text/language";

interface DataExport {
  readonly id: number;
  readonly acting_user_id: number;
  readonly export_time: number;
  readonly export_type: number;
  readonly export_url: string | null;
  readonly deleted_timestamp: number | null;
  readonly failed_timestamp: number | null;
  readonly pending: boolean;
}

const PUBLIC = 1;
const WITH_CONSENT = 2;

export function ExportSection() {
  const revision = useStore((state) => state.revisions.exports);
  const [exports, setExports] = useState<readonly DataExport[]>([]);
  const [consents, setConsents] = useState<readonly { consented: boolean }[]>([]);
  useEffect(() => {
    void attempt(request("GET", "export/realm").then((answer) => setExports(answer["exports"] as DataExport[])));
    void attempt(request("GET", "export/realm/consents").then((answer) => setConsents(answer["export_consents"])));
  }, [revision]);
  const start = (type: number) =>
    void attempt(request("POST", "export/realm", { export_type: type }), t("The export was started. This can take some minutes."));
  return (
    <>
      <p>{t("An export is one archive file with the data of the organization. Other servers can take it over.")}</p>
      <h3>{t("Public data")}</h3>
      <p class="muted">{t("Has public channels with their messages and files, members, groups and the settings of the organization. Has no private channels and no direct messages.")}</p>
      <footer>
        <button type="button" class="primary" onClick={() => start(PUBLIC)}>{t("Export public data")}</button>
      </footer>
      <h3>{t("With consent")}</h3>
      <p class="muted">{t("Also has what members can read who allow it: their private channels, direct messages and own settings.")}</p>
      <p>{t("{0} of {1} members allow it.", consents.filter((one) => one.consented).length, consents.length)}</p>
      <footer>
        <button type="button" class="primary" onClick={() => start(WITH_CONSENT)}>{t("Export with consent")}</button>
      </footer>
      <h3>{t("Exports")}</h3>
      <p class="muted">{t("An archive can be downloaded by administrators for a week. At most five exports can be started in a week.")}</p>
      {exports.length === 0 && <p class="muted">{t("There are no exports yet.")}</p>}
      <ul class="people-list all">
        {[...exports].reverse().map((one) => (
          <ExportRow key={one.id} one={one} />
        ))}
      </ul>
      <h3>{t("Everything")}</h3>
      <p>{t("Only those who run the server can export all that is private. They do it on the machine of the server, while it runs:")}</p>
      <pre class="notice">
        <code>chat-server export FOLDER</code>
      </pre>
    </>
  );
}

function ExportRow({ one }: { one: DataExport }) {
  const what = one.export_type === PUBLIC ? t("Public data") : t("With consent");
  const when = formatMoment(new Date(one.export_time * 1000));
  const remove = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Delete this export?"),
        text: t("Its archive can no longer be downloaded. Copies that were downloaded stay."),
        label: t("Delete export"),
        run: () => void attempt(request("DELETE", `export/realm/${one.id}`), t("Export deleted.")),
      },
    });
  return (
    <li>
      <span dir="auto">
        {what} <small class="muted">{`${userName(app.state as State, one.acting_user_id)}, ${when}`}</small>{" "}
        <small class="tag">{stateOf(one)}</small>{" "}
        {one.export_url !== null && <Size path={pathOf(one.export_url)} />}
      </span>
      {one.export_url !== null && (
        <a class="secondary as-button" href={pathOf(one.export_url)} download aria-label={t("Download the export of {0}", when)}>{t("Download")}</a>
      )}
      {one.export_url !== null && (
        <button type="button" class="danger" aria-label={t("Delete the export of {0}", when)} onClick={remove}>{t("Delete")}</button>
      )}
    </li>
  );
}

function stateOf(one: DataExport): string {
  if (one.pending) return t("in progress");
  if (one.failed_timestamp !== null) return t("failed");
  return one.deleted_timestamp !== null ? t("deleted") : t("ready");
}

/** The server may call itself by another name than the reader does. */
function pathOf(url: string): string {
  return new URL(url, location.href).pathname;
}

/** The size of an archive, which its address tells. */
function Size({ path }: { path: string }) {
  const [bytes, setBytes] = useState<number>();
  useEffect(() => {
    const asked = fetch(path, { method: "HEAD", credentials: "same-origin" });
    void asked.then((answer) => answer.ok && setBytes(Number(answer.headers.get("content-length")))).catch(() => undefined);
  }, [path]);
  if (bytes === undefined) return null;
  return <small class="muted">{formatSize(bytes)}</small>;
}

function formatSize(bytes: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const form = { style: "unit", unit: units[power], maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat([...LOCALES], form).format(bytes / 1000 ** power);
}
