// Several things that were picked, with a field that picks more.
import { useState } from "preact/hooks";
import { best } from "../app/complete";
import { IconButton } from "../widgets/controls";
import { Picker } from "../widgets/typeahead";
import { t } from "../text/language";

const OFFERED_MOST = 8;

interface Thing {
  readonly id: number;
  readonly name: string;
}

/** Picks some of many things by their names. `label` names the list, `add` the field below it. */
export function Pills(props: {
  label: string;
  add: string;
  all: readonly Thing[];
  picked: readonly number[];
  onChange: (picked: readonly number[]) => void;
}) {
  const { label, add, all, picked, onChange } = props;
  const [turn, setTurn] = useState(0);
  const nameOf = (id: number) => all.find((one) => one.id === id)?.name ?? t("unknown");
  const options = (typed: string) => {
    const open = all.filter(({ id }) => !picked.includes(id));
    return best(open, typed, ({ name }) => name, OFFERED_MOST).map(({ id, name }) => ({ key: String(id), id, label: name }));
  };
  const pick = (id: number) => {
    // What was typed is gone when it is in the list.
    setTurn(turn + 1);
    onChange([...picked, id]);
  };
  return (
    <div class="field" role="group" aria-label={label}>
      <span>{label}</span>
      <ul class="pills">
        {picked.map((id) => (
          <li class="pill" key={id}>
            <span dir="auto">{nameOf(id)}</span>
            <IconButton icon="close" label={t("Remove {0}", nameOf(id))} onClick={() => onChange(picked.filter((one) => one !== id))} />
          </li>
        ))}
      </ul>
      <Picker key={turn} label={add} value="" placeholder={add} options={options} onPick={(option) => pick(option.id ?? 0)} />
    </div>
  );
}
