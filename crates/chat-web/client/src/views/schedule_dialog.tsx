import { useState } from "preact/hooks";
import { Field, Modal } from "../widgets/controls";
import { t } from "../text/language";

/** Returns moments that people often mean, in unix seconds. */
function proposals(now: Date): { label: string; atS: number }[] {
  const at = (days: number, hour: number) => {
    const date = new Date(now);
    date.setDate(date.getDate() + days);
    date.setHours(hour, 0, 0, 0);
    return Math.floor(date.getTime() / 1000);
  };
  const toMonday = (8 - now.getDay()) % 7 || 7;
  const all = [
    { label: t("Today at 15:00"), atS: at(0, 15) },
    { label: t("Tomorrow at 9:00"), atS: at(1, 9) },
    { label: t("Monday at 9:00"), atS: at(toMonday, 9) },
  ];
  const soon = now.getTime() / 1000 + 300;
  return all.filter((one) => one.atS > soon);
}

function localValue(date: Date): string {
  const two = (number: number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function ScheduleDialog({ close, pick }: { close: () => void; pick: (atS: number) => void }) {
  const [moment, setMoment] = useState(localValue(new Date(Date.now() + 3_600_000)));
  const atS = Math.floor(new Date(moment).getTime() / 1000);
  return (
    <Modal title={t("Send later")} close={close}>
      <div class="choices">
        {proposals(new Date()).map((one) => (
          <button key={one.label} type="button" class="secondary" onClick={() => pick(one.atS)}>
            {one.label}
          </button>
        ))}
      </div>
      <Field label={t("Another time")}>
        <input
          type="datetime-local"
          value={moment}
          min={localValue(new Date())}
          onInput={(event) => setMoment((event.target as HTMLInputElement).value)}
        />
      </Field>
      <footer>
        <button type="button" class="primary" disabled={!(atS > Date.now() / 1000)} onClick={() => pick(atS)}>{t("Schedule")}</button>
      </footer>
    </Modal>
  );
}
