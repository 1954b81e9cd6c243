// What else administrators keep: linkifiers and playgrounds.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { useStore } from "../app/app";
import { request } from "../transport/api";
import type { Linkifier } from "../store/types";
import { Field, IconButton } from "../widgets/controls";
import { t } from "../text/language";

export function LinkifiersSection() {
  const linkifiers = useStore((state) => state.linkifiers);
  const up = (at: number) => {
    const ids = linkifiers.map((one) => one.id);
    const [moved] = ids.splice(at, 1);
    ids.splice(at - 1, 0, moved as number);
    void attempt(request("PATCH", "realm/linkifiers", { ordered_linkifier_ids: ids }));
  };
  return (
    <>
      <p class="muted">{t("Text that matches a pattern becomes a link in messages. The first that matches wins.")}</p>
      <ul class="people-list all">
        {linkifiers.map((linkifier, at) => (
          <LinkifierRow key={linkifier.id} linkifier={linkifier} up={at > 0 ? () => up(at) : undefined} />
        ))}
      </ul>
      {linkifiers.length === 0 && <p class="muted">{t("There are no linkifiers yet.")}</p>}
      <h3>{t("New linkifier")}</h3>
      <LinkifierForm
        label={t("Add linkifier")}
        save={(params) => attempt(request("POST", "realm/filters", params), t("Linkifier added."))}
      />
    </>
  );
}

function LinkifierForm(props: {
  label: string;
  linkifier?: Linkifier;
  save: (params: { pattern: string; url_template: string }) => Promise<boolean>;
}) {
  const [pattern, setPattern] = useState(props.linkifier?.pattern ?? "");
  const [address, setAddress] = useState(props.linkifier?.url_template ?? "");
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!(await props.save({ pattern: pattern.trim(), url_template: address.trim() }))) return;
    setPattern("");
    setAddress("");
  };
  return (
    <form onSubmit={submit}>
      <Field label={t("Pattern")} hint={t("For example #(?P<id>[0-9]+)")}>
        <input required value={pattern} onInput={(event) => setPattern((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label={t("Address of the link")} hint={t("For example https://issues.example.org/{id}")}>
        <input required value={address} onInput={(event) => setAddress((event.target as HTMLInputElement).value)} />
      </Field>
      <footer>
        <button type="submit" class="primary">{props.label}</button>
      </footer>
    </form>
  );
}

function LinkifierRow({ linkifier, up }: { linkifier: Linkifier; up: (() => void) | undefined }) {
  const [isEdited, setEdited] = useState(false);
  const { id, pattern } = linkifier;
  const save = async (params: { pattern: string; url_template: string }) => {
    const isDone = await attempt(request("PATCH", `realm/filters/${id}`, params), t("Linkifier changed."));
    if (isDone) setEdited(false);
    return isDone;
  };
  return (
    <li>
      <span>
        <code>{pattern}</code> <small class="muted">{linkifier.url_template}</small>
      </span>
      {up && <IconButton icon="up" label={t("Move {0} up", pattern)} onClick={up} />}
      <button type="button" class="secondary" aria-label={t("Change {0}", pattern)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
      <button
        type="button"
        class="danger"
        aria-label={t("Delete {0}", pattern)}
        onClick={() => void attempt(request("DELETE", `realm/filters/${id}`), t("Linkifier deleted."))}
      >{t("Delete")}</button>
      {isEdited && (
        <div class="row-form">
          <LinkifierForm label={t("Save changes")} linkifier={linkifier} save={save} />
        </div>
      )}
    </li>
  );
}

export function PlaygroundsSection() {
  const playgrounds = useStore((state) => state.playgrounds);
  const [name, setName] = useState("");
  const [language, setLanguage] = useState("");
  const [address, setAddress] = useState("");
  const add = async (event: Event) => {
    event.preventDefault();
    const params = { name: name.trim(), pygments_language: language.trim(), url_template: address.trim() };
    if (!(await attempt(request("POST", "realm/playgrounds", params), t("Playground added.")))) return;
    setName("");
    setLanguage("");
    setAddress("");
  };
  return (
    <>
      <p class="muted">{t("A block of code in one of these languages has a link to the place that runs it.")}</p>
      <ul class="people-list all">
        {playgrounds.map((one) => (
          <li key={one.id}>
            <span>
              {one.name} <small class="tag">{one.pygments_language}</small> <small class="muted">{one.url_template}</small>
            </span>
            <button
              type="button"
              class="danger"
              aria-label={t("Delete {0}", one.name)}
              onClick={() => void attempt(request("DELETE", `realm/playgrounds/${one.id}`), t("Playground deleted."))}
            >{t("Delete")}</button>
          </li>
        ))}
      </ul>
      {playgrounds.length === 0 && <p class="muted">{t("There are no playgrounds yet.")}</p>}
      <h3>{t("New playground")}</h3>
      <form onSubmit={add}>
        <Field label={t("Name of the playground")}>
          <input required value={name} onInput={(event) => setName((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Code language")} hint={t("For example Python")}>
          <input required value={language} onInput={(event) => setLanguage((event.target as HTMLInputElement).value)} />
        </Field>
        <Field label={t("Address")} hint={t("For example https://play.example.org/?code={code}")}>
          <input required value={address} onInput={(event) => setAddress((event.target as HTMLInputElement).value)} />
        </Field>
        <footer>
          <button type="submit" class="primary">{t("Add playground")}</button>
        </footer>
      </form>
    </>
  );
}
