// The pictures of the organization: its icon, and its logo for light and for dark screens.
import { useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request, upload } from "../transport/api";
import { t } from "../text/language";

const IMAGES = [
  { name: "icon", label: t("Icon"), path: "realm/icon", params: {} },
  { name: "logo", label: t("Logo"), path: "realm/logo", params: { night: false } },
  { name: "night_logo", label: t("Logo for dark screens"), path: "realm/logo", params: { night: true } },
] as const;

export function OrganizationImages() {
  return (
    <>
      <h3>{t("Pictures")}</h3>
      <ul class="people-list all">
        {IMAGES.map((image) => (
          <ImageRow key={image.name} image={image} />
        ))}
      </ul>
    </>
  );
}

function ImageRow({ image: { name, label, path, params } }: { image: (typeof IMAGES)[number] }) {
  const url = useStore((state) => String(state.realm[`realm_${name}_url`] ?? ""));
  const isOwn = useStore((state) => state.realm[`realm_${name}_source`] === "U");
  const pick = (input: HTMLInputElement) => {
    const file = input.files?.[0];
    if (file) void attempt(upload(path, file, () => undefined, "POST", params).done, t("Picture changed."));
    input.value = "";
  };
  return (
    <li>
      {isOwn && <img class="organization-image" src={pathOf(url)} alt="" />}
      <span>{label}</span>
      <label class="secondary as-button">
        {t("Upload")}
        <input
          type="file"
          accept="image/*"
          class="hidden-input"
          aria-label={t("Upload: {0}", label)}
          onChange={(event) => pick(event.target as HTMLInputElement)}
        />
      </label>
      {isOwn && (
        <button
          type="button"
          class="danger"
          aria-label={t("Remove {0}", label)}
          onClick={() => void attempt(request("DELETE", path, params), t("Picture removed."))}
        >{t("Remove")}</button>
      )}
    </li>
  );
}

/** The server may call itself by another name than the reader does. */
function pathOf(url: string): string {
  const { pathname, search } = new URL(url, location.href);
  return pathname + search;
}
