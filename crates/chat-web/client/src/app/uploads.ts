// Files on their way into a message.
import { app } from "./app";
import { compose } from "./compose";
import { upload } from "../transport/api";
import { t } from "../text/language";

let count = 0;

/** Uploads files one after the other; where each will be linked, a placeholder stands in the text. */
export function uploadFiles(files: Iterable<File>): void {
  for (const file of files) void uploadOne(file);
}

async function uploadOne(file: File): Promise<void> {
  const most = Number(app.state?.realm["max_file_upload_size_mib"] ?? 25);
  if (file.size > most * 1024 * 1024) {
    return app.toast(t("{0} is larger than {1} MiB.", file.name, most), { isError: true });
  }
  count += 1;
  const id = count;
  const placeholder = `[Uploading ${file.name.replace(/[[\]]/g, "")}… (${id})]()`;
  insert(placeholder);
  const put = (part: number) =>
    compose.set({ uploads: compose.value.uploads.map((one) => (one.id === id ? { ...one, part } : one)) });
  const { done, cancel } = upload("user_uploads", file, put);
  compose.set({ uploads: [...compose.value.uploads, { id, name: file.name, part: 0, cancel }] });
  try {
    const answer = await done;
    const name = String(answer["filename"] ?? file.name).replace(/[[\]]/g, "");
    replace(placeholder, `[${name}](${String(answer["url"] ?? answer["uri"])})`);
  } catch (error) {
    replace(placeholder, "");
    app.toast(error instanceof Error ? error.message : String(error), { isError: true });
  } finally {
    compose.set({ uploads: compose.value.uploads.filter((one) => one.id !== id) });
  }
}

/** Puts a text on lines of its own at the caret. */
function insert(text: string): void {
  const field = document.querySelector<HTMLTextAreaElement>(".compose textarea");
  const { content } = compose.value;
  const at = field ? field.selectionStart : content.length;
  const before = content.slice(0, at);
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  compose.set({ isOpen: true, content: `${before}${gap}${text}\n${content.slice(at)}` });
}

function replace(placeholder: string, text: string): void {
  compose.set({ content: compose.value.content.replace(placeholder, () => text) });
}
