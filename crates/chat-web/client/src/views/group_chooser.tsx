// Who has a permission, chosen: a group, or people and groups one by one.
import { useState } from "preact/hooks";
import { app, useStore } from "../app/app";
import { best } from "../app/complete";
import { roleGroups, type GroupSetting, type PermissionRule } from "../store/permissions";
import { byName, userName } from "../store/select";
import type { Group, State } from "../store/types";
import { Field, IconButton } from "../widgets/controls";
import { Picker, type PickerOption } from "../widgets/typeahead";
import { personOptions } from "./person_picker";
import { t } from "../text/language";

const ROLE_NAMES: Readonly<Record<string, string>> = {
  "role:internet": t("Everyone on the web"),
  "role:everyone": t("Everyone"),
  "role:members": t("Members"),
  "role:fullmembers": t("Full members"),
  "role:moderators": t("Moderators"),
  "role:administrators": t("Administrators"),
  "role:owners": t("Owners"),
  "role:nobody": t("Nobody"),
};

const GROUPS_OFFERED = 8;

type Named = Exclude<GroupSetting, number>;

export function groupName(state: State, id: number): string {
  const name = state.groups.get(id)?.name ?? t("unknown");
  return ROLE_NAMES[name] ?? name;
}

/** Groups that people made and that are in use, by name. */
export function madeGroups(state: State): Group[] {
  const made = [...state.groups.values()].filter((group) => !group.is_system_group && !group.deactivated);
  return made.sort((a, b) => byName(a.name, b.name));
}

/** The choice that opens the list of people and groups. */
const SOME = "some";

/** A field that gives a permission to a group, or to people and groups. `rule` says which groups of roles it offers. */
export function GroupChooser(props: {
  label: string;
  hint?: string;
  value: GroupSetting;
  rule: PermissionRule;
  isLocked?: boolean;
  onChange: (value: GroupSetting) => void;
}) {
  const { label, hint, value, rule, isLocked, onChange } = props;
  const [isNaming, setNaming] = useState(false);
  useStore((state) => state.groups);
  const state = app.state as State;
  const ids = [...roleGroups(state, rule), ...(rule.require_system_group ? [] : madeGroups(state))].map(({ id }) => id);
  const isListed = typeof value !== "number" || ids.includes(value);
  const isNamed = typeof value !== "number" || isNaming;
  const pick = (picked: string) => {
    setNaming(picked === SOME);
    if (picked !== SOME) onChange(Number(picked));
  };
  return (
    <>
      <Field label={label} {...(hint ? { hint } : {})}>
        <select
          value={isNamed ? SOME : String(value)}
          disabled={isLocked}
          onChange={(event) => pick((event.target as HTMLSelectElement).value)}
        >
          {(isListed ? ids : [...ids, value as number]).map((id) => (
            <option key={id} value={String(id)}>
              {groupName(state, id)}
            </option>
          ))}
          {!rule.require_system_group && <option value={SOME}>{t("Some people and groups…")}</option>}
        </select>
      </Field>
      {isNamed && <NamedSetting label={label} value={namedOf(state, value)} isLocked={isLocked === true} onChange={onChange} />}
    </>
  );
}

/** Whom a group is opened up from: itself, but for the group of nobody. */
function namedOf(state: State, value: GroupSetting): Named {
  if (typeof value !== "number") return value;
  const isNobody = state.groups.get(value)?.name === "role:nobody";
  return { direct_members: [], direct_subgroups: isNobody ? [] : [value] };
}

function NamedSetting(props: { label: string; value: Named; isLocked: boolean; onChange: (value: Named) => void }) {
  const { label, value, isLocked, onChange } = props;
  const { direct_members: people, direct_subgroups: groups } = value;
  const state = app.state as State;
  const without = (ids: readonly number[], id: number) => ids.filter((one) => one !== id);
  const add = ({ key, id = 0 }: PickerOption) =>
    onChange(key.startsWith("group") ? { ...value, direct_subgroups: [...groups, id] } : { ...value, direct_members: [...people, id] });
  const pill = (key: string, name: string, remove: () => void) => (
    <li class="pill" key={key}>
      <span dir="auto">{name}</span>
      {!isLocked && <IconButton icon="close" label={t("Remove {0}", name)} onClick={remove} />}
    </li>
  );
  return (
    <div class="named-setting" role="group" aria-label={label}>
      <ul class="pills">
        {groups.map((id) => pill(`group ${id}`, groupName(state, id), () => onChange({ ...value, direct_subgroups: without(groups, id) })))}
        {people.map((id) => pill(String(id), userName(state, id), () => onChange({ ...value, direct_members: without(people, id) })))}
      </ul>
      {!isLocked && (
        <Picker
          // What was typed is gone when it is in the list.
          key={people.length + groups.length}
          label={t("Person or group: {0}", label)}
          value=""
          placeholder={t("Person or group")}
          options={(typed) => [...groupOptions(typed, groups), ...personOptions(typed, people)]}
          onPick={add}
        />
      )}
    </div>
  );
}

/** Returns groups whose names fit what was typed, those of roles too. */
export function groupOptions(typed: string, except: readonly number[]): PickerOption[] {
  const state = app.state as State;
  const isRole = ({ name }: Group) => name in ROLE_NAMES && name !== "role:nobody" && name !== "role:internet";
  const all = [...madeGroups(state), ...[...state.groups.values()].filter((group) => group.is_system_group && isRole(group))];
  const open = all.filter((group) => !except.includes(group.id));
  return best(open, typed, ({ id }) => groupName(state, id), GROUPS_OFFERED).map(({ id }) => ({
    key: `group ${id}`,
    id,
    label: groupName(state, id),
    detail: t("group"),
  }));
}
