// Who has a permission: groups, and people and groups that are named one by one.
import type { Group, State } from "./types";

/** The number of a group, or people and groups. */
export type GroupSetting = number | { readonly direct_members: readonly number[]; readonly direct_subgroups: readonly number[] };

/** Which of the groups of roles can have a permission, as the server says. */
export interface PermissionRule {
  readonly require_system_group: boolean;
  readonly allow_internet_group: boolean;
  readonly allow_nobody_group: boolean;
  readonly allow_everyone_group: boolean;
  readonly allow_owners_group: boolean;
  /** The only ones that can; all others may when it is empty. */
  readonly allowed_system_groups: readonly string[];
}

/** The lowest number of a role that is not in the group; roles with more rights have lower numbers. */
const ROLE_GROUPS: Readonly<Record<string, number>> = {
  "role:internet": Infinity,
  "role:everyone": Infinity,
  "role:members": 401,
  "role:fullmembers": 401,
  "role:moderators": 301,
  "role:administrators": 201,
  "role:owners": 101,
  "role:nobody": 0,
};

/** Groups are inside groups this deep at most; the server allows no circles. */
const DEPTH_MAX = 20;

/** Returns whether the reader is in a group, or in a group that is in it. */
function isInGroup(state: State, group: Group | undefined, depth = 0): boolean {
  if (!group || group.deactivated || depth > DEPTH_MAX) return false;
  const self = state.users.get(state.selfId);
  const bound = ROLE_GROUPS[group.name];
  if (group.is_system_group && bound !== undefined) {
    const isNew = group.name === "role:fullmembers" && !isFullMember(state);
    const role = self?.role ?? 400;
    return role < bound && (!isNew || role <= 300);
  }
  if (group.members.includes(state.selfId)) return true;
  return group.direct_subgroup_ids.some((id) => isInGroup(state, state.groups.get(id), depth + 1));
}

/** Returns whether the reader has what the setting gives. */
export function isGiven(state: State, setting: GroupSetting | undefined): boolean {
  if (setting === undefined) return false;
  if (typeof setting === "number") return isInGroup(state, state.groups.get(setting));
  if (setting.direct_members.includes(state.selfId)) return true;
  return setting.direct_subgroups.some((id) => isInGroup(state, state.groups.get(id)));
}

/** Returns whether the reader has a permission of the organization, by its name on the wire. */
export function may(state: State, permission: string): boolean {
  const isGuest = (state.users.get(state.selfId)?.role ?? 400) > 400;
  if (isGuest && state.permissionRules.realm[permission]?.allow_everyone_group !== true) return false;
  return isGiven(state, permissionOf(state, permission));
}

export function permissionOf(state: State, permission: string): GroupSetting | undefined {
  return state.realm[`realm_${permission}`] as GroupSetting | undefined;
}

/** Returns the groups of roles that can have a permission, those with the most people first. */
export function roleGroups(state: State, rule: PermissionRule): Group[] {
  const isOffered = ({ name, is_system_group }: Group) => {
    if (!is_system_group || !(name in ROLE_GROUPS)) return false;
    const { allowed_system_groups: only } = rule;
    if (only.length > 0 && !only.includes(name)) return false;
    if (name === "role:internet") return rule.allow_internet_group;
    if (name === "role:everyone") return rule.allow_everyone_group;
    if (name === "role:nobody") return rule.allow_nobody_group;
    return name !== "role:owners" || rule.allow_owners_group;
  };
  const width = (group: Group) => Object.keys(ROLE_GROUPS).indexOf(group.name);
  return [...state.groups.values()].filter(isOffered).sort((a, b) => width(a) - width(b));
}

export function isFullMember(state: State): boolean {
  const joined = Date.parse(state.users.get(state.selfId)?.date_joined ?? "");
  const days = Number(state.realm["realm_waiting_period_threshold"] ?? 0);
  return Number.isNaN(joined) || Date.now() - joined >= days * 86_400_000;
}
