// The emoji of the organization.
import { useState } from "preact/hooks";
import { useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request, upload } from "../transport/api";
import { Field } from "../widgets/controls";
import { t } from "../text/language";

export function CustomEmoji() {
  const emoji = useStore((state) => state.emoji);
  const [name, setName] = useState("");
  const [file, setFile] = useState<File>();
  const shown = Object.values(emoji).filter((one) => !one.deactivated);
  const add = async (event: Event) => {
    event.preventDefault();
    if (!file) return;
    const path = `realm/emoji/${encodeURIComponent(name.trim())}`;
    if (!(await attempt(upload(path, file, () => undefined).done, t("Added.")))) return;
    setName("");
    setFile(undefined);
    (event.target as HTMLFormElement).reset();
  };
  return (
    <>
      <ul class="people-list">
        {shown.map((one) => (
          <li key={one.id}>
            <img class="emoji" src={one.source_url} alt="" />
            <span>:{one.name}:</span>
            <button
              type="button"
              class="danger"
              aria-label={t("Remove {0}", one.name)}
              onClick={() => void attempt(request("DELETE", `realm/emoji/${encodeURIComponent(one.name)}`), t("Removed."))}
            >{t("Remove")}</button>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p class="muted">{t("No emoji of your own yet.")}</p>}
      <form onSubmit={add}>
        <Field label={t("Name")} hint={t("Small letters, digits, and underscores.")}>
          <input required pattern="[a-z0-9_\-]+" value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Picture")}>
          <input type="file" required accept="image/*" onChange={(event) => setFile((event.target as HTMLInputElement).files?.[0])} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Add emoji")}</button>
        </footer>
      </form>
    </>
  );
}
