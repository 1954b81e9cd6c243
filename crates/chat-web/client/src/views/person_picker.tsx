// A field that finds a person by what is typed of their name.
import { app } from "../app/app";
import { best } from "../app/complete";
import { activeUsers } from "../store/select";
import type { State } from "../store/types";
import { Picker, type PickerOption } from "../widgets/typeahead";

const OFFERED_MOST = 8;

/** Returns those whose names fit what was typed, in the order of the names, without some. */
export function personOptions(typed: string, except: readonly number[]): PickerOption[] {
  const known = new Set(except);
  const others = activeUsers(app.state as State).filter((user) => !known.has(user.user_id));
  return best(others, typed, (user) => user.full_name, OFFERED_MOST).map((user) => ({
    key: String(user.user_id),
    id: user.user_id,
    userId: user.user_id,
    label: user.full_name,
    detail: user.delivery_email ?? "",
  }));
}

export function PersonPicker(props: { label: string; except: readonly number[]; onPick: (id: number) => void }) {
  const { label, except, onPick } = props;
  return (
    <Picker
      // What was typed is gone when the person is in the list.
      key={except.length}
      label={label}
      value=""
      placeholder={label}
      options={(typed) => personOptions(typed, except)}
      onPick={(option) => onPick(option.id ?? 0)}
    />
  );
}
