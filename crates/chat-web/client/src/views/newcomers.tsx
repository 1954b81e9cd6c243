// The settings that new members begin with. Each changes their own later.
import { useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request } from "../transport/api";
import { Field, Switch } from "../widgets/controls";
import { DISPLAY_CHOICES, DISPLAY_SWITCHES, NOTIFICATION_SWITCHES, OTHERS_SEE_SWITCHES, type SettingChoice, type SettingSwitch } from "./setting_lists";
import { t } from "../text/language";

const change = (name: string, value: unknown) =>
  void attempt(request("PATCH", "realm/user_settings_defaults", { [name]: value }), t("Saved."));

export function NewcomersSection() {
  return (
    <>
      <p class="muted">{t("People who join later begin with these settings. Who is here already keeps theirs.")}</p>
      <h3>{t("Display")}</h3>
      {DISPLAY_CHOICES.map((choice) => (
        <DefaultChoice key={choice.name} choice={choice} />
      ))}
      <Switches switches={DISPLAY_SWITCHES} />
      <h3>{t("Notifications")}</h3>
      <Switches switches={NOTIFICATION_SWITCHES} />
      <h3>{t("What others see")}</h3>
      <Switches switches={OTHERS_SEE_SWITCHES} />
    </>
  );
}

function Switches({ switches }: { switches: readonly SettingSwitch[] }) {
  const settings = useStore((state) => state.newcomerSettings);
  return (
    <>
      {switches.map(({ name, label }) => (
        <Switch key={name} label={label} checked={settings[name] === true} onChange={(is) => change(name, is)} />
      ))}
    </>
  );
}

function DefaultChoice({ choice: { name, label, options } }: { choice: SettingChoice }) {
  const value = useStore((state) => state.newcomerSettings[name]) as string | number | undefined;
  if (value === undefined) return null;
  const pick = (picked: string) => change(name, typeof value === "number" ? Number(picked) : picked);
  return (
    <Field label={label}>
      <select value={value} onChange={(event) => pick((event.target as HTMLSelectElement).value)}>
        {options.map(([option, words]) => (
          <option key={option} value={option}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}
