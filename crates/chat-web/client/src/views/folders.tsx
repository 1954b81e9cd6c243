// Channel folders: headings under which channels stand in everyone's lists.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import type { Folder, State } from "../store/types";
import { Field, IconButton } from "../widgets/controls";
import { t } from "../text/language";

export function FoldersSection() {
  const folders = useStore((state) => state.folders);
  const open = folders.filter((folder) => !folder.is_archived);
  const archived = folders.filter((folder) => folder.is_archived);
  const up = (at: number) => {
    const ids = open.map((folder) => folder.id);
    const [moved] = ids.splice(at, 1);
    ids.splice(at - 1, 0, moved as number);
    // The order names archived folders too.
    const order = [...ids, ...archived.map((folder) => folder.id)];
    void attempt(request("PATCH", "channel_folders", { order }));
  };
  return (
    <>
      <p class="muted">{t("Channels stand under their folder in everyone's left bar. A channel is put into a folder where it is described.")}</p>
      <ul class="cards-list">
        {open.map((folder, at) => (
          <FolderCard key={folder.id} folder={folder} up={at > 0 ? () => up(at) : undefined} />
        ))}
      </ul>
      {open.length === 0 && <p class="muted">{t("There are no folders yet.")}</p>}
      <h3>{t("New folder")}</h3>
      <FolderForm
        label={t("Create folder")}
        save={(texts) => attempt(request("POST", "channel_folders/create", texts), t("The folder {0} was made.", texts.name))}
      />
      {archived.length > 0 && <ArchivedFolders folders={archived} />}
    </>
  );
}

function FolderCard({ folder, up }: { folder: Folder; up: (() => void) | undefined }) {
  const [isEdited, setEdited] = useState(false);
  const count = useStore((state) => inFolder(state, folder.id));
  const { id, name, description } = folder;
  const change = (changes: Record<string, unknown>, done: string) => attempt(request("PATCH", `channel_folders/${id}`, changes), done);
  const save = async (texts: { name: string; description: string }) => {
    const isDone = await change(texts, t("Folder changed."));
    if (isDone) setEdited(false);
    return isDone;
  };
  return (
    <li class="card" aria-label={name}>
      <header>
        <strong dir="auto">{name}</strong>
        <span class="muted">{count === 1 ? t("1 channel") : t("{0} channels", count)}</span>
      </header>
      {description && <p dir="auto">{description}</p>}
      {isEdited && <FolderForm label={t("Save changes")} name={name} description={description} save={save} />}
      <footer>
        {up && <IconButton icon="up" label={t("Move {0} up", name)} onClick={up} />}
        <button
          type="button"
          class="danger"
          aria-label={t("Archive {0}", name)}
          onClick={() => void change({ is_archived: true }, t("Folder archived."))}
        >{t("Archive")}</button>
        <button type="button" class="secondary" aria-label={t("Change {0}", name)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
      </footer>
    </li>
  );
}

function inFolder(state: State, id: number): number {
  return [...state.channels.values()].filter((channel) => channel.folder_id === id).length;
}

function FolderForm(props: {
  label: string;
  name?: string;
  description?: string;
  save: (texts: { name: string; description: string }) => Promise<boolean>;
}) {
  const [name, setName] = useState(props.name ?? "");
  const [description, setDescription] = useState(props.description ?? "");
  const { realm } = app.state as State;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!(await props.save({ name: name.trim(), description: description.trim() }))) return;
    setName("");
    setDescription("");
  };
  return (
    <form onSubmit={submit}>
      <Field label={t("Folder name")}>
        <input
          required
          maxLength={Number(realm["max_channel_folder_name_length"] ?? 60)}
          value={name}
          onInput={(event) => setName((event.target as HTMLInputElement).value)}
        />
      </Field>
      <Field label={t("What the folder is for")}>
        <input
          maxLength={Number(realm["max_channel_folder_description_length"] ?? 1024)}
          value={description}
          onInput={(event) => setDescription((event.target as HTMLInputElement).value)}
        />
      </Field>
      <footer>
        <button type="submit" class="primary">{props.label}</button>
      </footer>
    </form>
  );
}

function ArchivedFolders({ folders }: { folders: readonly Folder[] }) {
  const takeBack = (id: number) =>
    void attempt(request("PATCH", `channel_folders/${id}`, { is_archived: false }), t("The folder is back."));
  return (
    <>
      <h3>{t("Archived folders")}</h3>
      <ul class="people-list all">
        {folders.map(({ id, name }) => (
          <li key={id}>
            <span dir="auto">{name}</span>
            <button type="button" class="secondary" aria-label={t("Unarchive {0}", name)} onClick={() => takeBack(id)}>{t("Unarchive")}</button>
          </li>
        ))}
      </ul>
    </>
  );
}
