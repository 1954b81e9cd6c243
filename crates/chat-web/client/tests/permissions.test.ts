import assert from "node:assert/strict";
import test from "node:test";
import { apply, applyAll } from "../src/store/apply";
import { initialState } from "../src/store/initial";
import { isGiven, may, roleGroups, type PermissionRule } from "../src/store/permissions";
import { allChannels, archivedChannels, channelSections, mayDelete, mayPost, ownChannels } from "../src/store/select";
import type { State } from "../src/store/types";
import { DESIGN, GENERAL, SELF, inTopic, registration } from "./world";

const RULE: PermissionRule = {
  require_system_group: false,
  allow_internet_group: false,
  allow_nobody_group: true,
  allow_everyone_group: false,
  allow_owners_group: true,
  allowed_system_groups: [],
};

const group = (id: number, name: string, more: object = {}) => ({
  id,
  name,
  description: "",
  members: [],
  direct_subgroup_ids: [],
  is_system_group: name.startsWith("role:"),
  deactivated: false,
  can_mention_group: 1,
  ...more,
});

const ROLES = ["nobody", "owners", "administrators", "moderators", "fullmembers", "members", "everyone", "internet"];

/** Groups of roles from 1 on, the group 20 with the reader in it, and 21 with the group 20 in it. */
function world(more: object = {}): State {
  const roles = ROLES.map((role, at) => group(at + 1, `role:${role}`));
  return initialState({
    ...registration(),
    realm_user_groups: [...roles, group(20, "crew", { members: [SELF] }), group(21, "fleet", { direct_subgroup_ids: [20] })],
    server_supported_permission_settings: {
      realm: { can_create_groups: RULE, can_delete_any_message_group: RULE, can_delete_own_message_group: { ...RULE, allow_everyone_group: true } },
      stream: {},
      group: {},
    },
    realm_can_create_groups: 4,
    ...more,
  });
}

test("a_member_has_what_their_role_their_groups_and_their_name_give", () => {
  const state = world();
  for (const given of [6, 7, 8, 20, 21, { direct_members: [SELF], direct_subgroups: [] }, { direct_members: [], direct_subgroups: [21] }]) {
    assert.ok(isGiven(state, given), JSON.stringify(given));
  }
  for (const other of [1, 2, 3, 4, 99, undefined, { direct_members: [12], direct_subgroups: [4] }]) {
    assert.ok(!isGiven(state, other), JSON.stringify(other));
  }
});

test("a_new_member_is_no_full_member", () => {
  const state = world({ realm_waiting_period_threshold: 1_000_000 });
  assert.deepEqual([isGiven(state, 5), isGiven(state, 6)], [false, true]);
  assert.ok(isGiven(world(), 5));
});

test("a_group_out_of_use_gives_nothing", () => {
  const gone = apply(world(), { type: "user_group", op: "update", group_id: 20, data: { deactivated: true } });
  assert.deepEqual([isGiven(gone, 20), isGiven(gone, 21)], [false, false]);
});

test("a_permission_follows_its_event_and_guests_have_none_that_not_everyone_can_have", () => {
  const event = (value: unknown) => ({ type: "realm", op: "update_dict", property: "default", data: { can_create_groups: value } });
  assert.ok(!may(world(), "can_create_groups"));
  const named = apply(world(), event({ direct_members: [SELF], direct_subgroups: [] }));
  assert.ok(may(named, "can_create_groups"));
  const guest = apply(named, { type: "realm_user", op: "update", person: { user_id: SELF, role: 600 } });
  assert.ok(!may(guest, "can_create_groups"));
});

test("groups_of_roles_are_offered_as_the_rule_of_the_permission_says", () => {
  const names = (rule: Partial<PermissionRule>) => roleGroups(world(), { ...RULE, ...rule }).map(({ name }) => name.slice(5));
  assert.deepEqual(names({}), ["members", "fullmembers", "moderators", "administrators", "owners", "nobody"]);
  assert.deepEqual(names({ allow_everyone_group: true, allow_nobody_group: false }).slice(0, 2), ["everyone", "members"]);
  assert.deepEqual(names({ allowed_system_groups: ["role:owners", "role:nobody"] }), ["owners", "nobody"]);
});

test("channels_stand_in_the_folders_they_are_put_into", () => {
  const folder = (id: number, name: string) => ({ id, name, description: "", order: id, is_archived: false });
  const put = (folder_id: number | null) => ({ type: "stream", op: "update", stream_id: DESIGN, property: "folder_id", value: folder_id });
  const sections = (state: State) => channelSections(state).map(({ name, channels }) => [name, ...channels.map((one) => one.name)].join(": "));
  const state = applyAll(world({ channel_folders: [folder(2, "Ships"), folder(1, "Land")] }), [
    put(2),
    { type: "channel_folder", op: "add", channel_folder: folder(3, "Sky") },
  ]);
  assert.deepEqual(state.folders.map(({ name }) => name), ["Land", "Ships", "Sky"]);
  assert.deepEqual(sections(state), ["Ships: design things", "Other channels: general"]);
  const renamed = applyAll(state, [
    { type: "channel_folder", op: "update", channel_folder_id: 2, data: { name: "Boats" } },
    { type: "channel_folder", op: "reorder", order: [3, 2, 1] },
  ]);
  assert.deepEqual(renamed.folders.map(({ name }) => name), ["Sky", "Boats", "Land"]);
  assert.deepEqual(sections(apply(renamed, put(null))), ["Other channels: design things: general"]);
});

test("an_archived_channel_is_read_and_nothing_in_it_changes", () => {
  const archive = (value: boolean) => ({ type: "stream", op: "update", stream_id: GENERAL, property: "is_archived", value });
  const message = { ...inTopic(5, "lunch"), sender_id: SELF };
  const before = world({ realm_can_delete_own_message_group: 7 });
  const archived = apply(before, archive(true));
  const names = (channels: readonly { name: string }[]) => channels.map(({ name }) => name);
  assert.deepEqual(names(ownChannels(archived)), ["design things"]);
  assert.deepEqual(names(allChannels(archived)), ["design things", "elsewhere"]);
  assert.deepEqual(names(archivedChannels(archived)), ["general"]);
  const channel = (state: State) => state.channels.get(GENERAL)!;
  assert.deepEqual([mayPost(before, channel(before)), mayPost(archived, channel(archived))], [true, false]);
  assert.deepEqual([mayDelete(before, message), mayDelete(archived, message)], [true, false]);
  assert.deepEqual(names(ownChannels(apply(archived, archive(false)))), ["design things", "general"]);
});

test("domains_and_the_settings_of_new_members_follow_their_events", () => {
  const state = applyAll(world({ realm_domains: [], realm_user_settings_defaults: { enter_sends: false } }), [
    { type: "realm_domains", op: "add", realm_domain: { domain: "example.org", allow_subdomains: false } },
    { type: "realm_domains", op: "change", realm_domain: { domain: "example.org", allow_subdomains: true } },
    { type: "realm_user_settings_defaults", op: "update", property: "enter_sends", value: true },
  ]);
  assert.deepEqual(state.domains, [{ domain: "example.org", allow_subdomains: true }]);
  assert.equal(state.newcomerSettings["enter_sends"], true);
  assert.deepEqual(apply(state, { type: "realm_domains", op: "remove", domain: "example.org" }).domains, []);
});
