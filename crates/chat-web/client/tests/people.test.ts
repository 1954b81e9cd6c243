import assert from "node:assert/strict";
import test from "node:test";
import { apply, applyAll } from "../src/store/apply";
import { expireTyping } from "../src/store/apply_people";
import { EVENT_TYPES, initialState } from "../src/store/initial";
import { ownChannels, presenceOf, userName } from "../src/store/select";
import { narrowKey, FEED } from "../src/store/narrow";
import { applyPage } from "../src/store/lists";
import { arrived, DESIGN, GENERAL, inTopic, registration, SELF, world } from "./world";

const names = (state: ReturnType<typeof world>) => ownChannels(state).map((channel) => channel.name);

test("who_writes_is_known_until_they_stop_send_or_are_not_heard_of", () => {
  const start = { type: "typing", op: "start", sender: { user_id: 12 }, message_type: "stream", stream_id: GENERAL, topic: "lunch", arrived_ms: 50 };
  const writing = apply(world(), start);
  assert.deepEqual(writing.typing.map((one) => one.place), [`c/${GENERAL}/lunch`]);
  assert.equal(apply(writing, { ...start, op: "stop" }).typing.length, 0);
  assert.equal(apply(writing, arrived(inTopic(5, "Lunch"))).typing.length, 0);
  assert.equal(expireTyping(writing, 60).typing.length, 0);
  assert.equal(expireTyping(writing, 50), writing);
  assert.equal(apply(world(), { ...start, sender: { user_id: SELF } }).typing.length, 0);
});

test("presence_comes_one_by_one_and_all_at_once", () => {
  const one = { type: "presence", user_id: 13, presence: { website: { status: "active", timestamp: 2_000 } } };
  const state = apply(world(), one);
  assert.deepEqual([presenceOf(state, 13, 2_100), presenceOf(state, 13, 2_200), presenceOf(state, 12, 2_000)], ["active", "offline", "offline"]);
  const all = apply(state, { type: "presence", presences: [[12, { active: 1_000, idle: 2_000 }]], last_update_id: 8 });
  assert.deepEqual([presenceOf(all, 12, 2_100), all.presenceUpdateId], ["idle", 8]);
});

test("a_status_changes_by_what_is_told", () => {
  const told = (more: object) => ({ type: "user_status", user_id: 12, ...more });
  const state = applyAll(world(), [told({ status_text: "Out", emoji_name: "bus" }), told({ status_text: "" })]);
  assert.deepEqual(state.statuses.get(12), { status_text: "", emoji_name: "bus" });
  assert.equal(presenceOf(apply(state, told({ away: true })), 12, 1_000), "offline");
});

test("a_user_is_added_changed_and_deactivated", () => {
  const added = apply(world(), { type: "realm_user", op: "add", person: { user_id: 30, full_name: "New", role: 400 } });
  assert.equal(added.users.get(30)?.is_active, true);
  const state = applyAll(added, [
    arrived(inTopic(5, "lunch")),
    { type: "realm_user", op: "update", person: { user_id: 12, full_name: "Samuel" } },
    { type: "realm_user", op: "update", person: { user_id: 12, custom_profile_field: { id: 3, value: "she" } } },
    { type: "realm_user", op: "update", person: { user_id: 13, is_active: false } },
  ]);
  assert.deepEqual([state.users.get(12)?.full_name, state.messages.get(5)?.sender_full_name], ["Samuel", "Samuel"]);
  assert.equal(state.users.get(12)?.profile_data?.[3]?.value, "she");
  assert.equal(state.users.get(13)?.is_active, false);
  const without = apply(state, { type: "realm_user", op: "update", person: { user_id: 12, custom_profile_field: { id: 3, value: null } } });
  assert.equal(without.users.get(12)?.profile_data?.[3], undefined);
});

test("a_bot_of_the_server_is_known_as_one", () => {
  const bot = { user_id: 40, full_name: "Welcome Bot", is_bot: true, is_active: true, is_system_bot: true };
  const state = initialState({ ...registration(), cross_realm_bots: [bot] });
  assert.deepEqual([userName(state, 40), state.users.get(40)?.is_system_bot], ["Welcome Bot", true]);
});

test("groups_and_bots_follow_their_events", () => {
  const group = { id: 7, name: "cooks", description: "", members: [12], direct_subgroup_ids: [], is_system_group: false, deactivated: false };
  const state = applyAll(world(), [
    { type: "user_group", op: "add", group },
    { type: "user_group", op: "add_members", group_id: 7, user_ids: [13, 12] },
    { type: "user_group", op: "remove_members", group_id: 7, user_ids: [12] },
    { type: "user_group", op: "add_subgroups", group_id: 7, direct_subgroup_ids: [2] },
    { type: "user_group", op: "update", group_id: 7, data: { name: "chefs" } },
    { type: "realm_bot", op: "add", bot: { user_id: 40, full_name: "Bot", is_active: true } },
    { type: "realm_bot", op: "update", bot: { user_id: 40, full_name: "Robot" } },
    { type: "custom_profile_fields", fields: [{ id: 3, name: "Pronouns" }] },
  ]);
  assert.deepEqual([state.groups.get(7)?.members, state.groups.get(7)?.name, state.groups.get(7)?.direct_subgroup_ids], [[13], "chefs", [2]]);
  assert.deepEqual([state.bots.get(40)?.full_name, state.profileFields.length], ["Robot", 1]);
  assert.equal(apply(state, { type: "user_group", op: "remove", group_id: 7 }).groups.size, 0);
  assert.equal(apply(state, { type: "realm_bot", op: "delete", bot: { user_id: 40 } }).bots.get(40)?.is_active, false);
  const less = apply(state, { type: "user_group", op: "remove_subgroups", group_id: 7, direct_subgroup_ids: [2] });
  assert.deepEqual(less.groups.get(7)?.direct_subgroup_ids, []);
});

test("channels_are_made_renamed_joined_left_and_deleted", () => {
  const state = applyAll(world(), [
    { type: "stream", op: "create", streams: [{ stream_id: 30, name: "new" }] },
    { type: "subscription", op: "add", subscriptions: [{ stream_id: 30, name: "new", color: "#123456", is_muted: false, pin_to_top: true }] },
    arrived(inTopic(5, "lunch")),
    { type: "stream", op: "update", stream_id: GENERAL, property: "name", value: "plaza", name: "general" },
    { type: "subscription", op: "remove", subscriptions: [{ stream_id: DESIGN, name: "design things" }] },
  ]);
  assert.deepEqual(names(state), ["new", "plaza"]);
  assert.equal(state.messages.get(5)?.display_recipient, "plaza");
  assert.equal(state.channels.get(DESIGN)?.subscribed, false);
  const muted = apply(state, { type: "subscription", op: "update", stream_id: GENERAL, property: "in_home_view", value: false });
  assert.equal(muted.channels.get(GENERAL)?.is_muted, true);
  assert.deepEqual(names(apply(state, { type: "stream", op: "delete", streams: [{ stream_id: 30 }] })), ["plaza"]);
  assert.deepEqual(apply(state, { type: "default_streams", default_streams: [{ stream_id: 30 }] }).defaultChannels, [30]);
});

test("a_subscription_that_is_told_before_its_channel_keeps_what_it_says", () => {
  const joined = { stream_id: 30, name: "new", color: "#123456", is_muted: true, pin_to_top: false };
  const state = applyAll(world(), [
    { type: "subscription", op: "add", subscriptions: [joined] },
    { type: "stream", op: "create", streams: [{ stream_id: 30, name: "new" }] },
  ]);
  const { subscribed, color, is_muted } = state.channels.get(30) as NonNullable<ReturnType<typeof state.channels.get>>;
  assert.deepEqual([subscribed, color, is_muted], [true, "#123456", true]);
});

test("muting_a_channel_has_the_feed_loaded_again", () => {
  const page = { messages: [], anchor: 0, found_oldest: true, found_newest: true };
  const state = applyPage(world(), FEED, page, "replace");
  const muted = apply(state, { type: "subscription", op: "update", stream_id: GENERAL, property: "is_muted", value: true });
  assert.equal(muted.lists.get(narrowKey(FEED))?.stale, true);
});

test("what_the_reader_chose_follows_its_events", () => {
  const draft = { id: 1, type: "stream", to: [GENERAL], topic: "a", content: "x", timestamp: 1 };
  const later = { scheduled_message_id: 2, type: "private", to: [12], content: "y", failed: false };
  const state = applyAll(world(), [
    { type: "user_settings", op: "update", property: "color_scheme", value: 2 },
    { type: "alert_words", alert_words: ["fire"] },
    { type: "muted_users", muted_users: [{ id: 12 }] },
    { type: "drafts", op: "add", drafts: [draft] },
    { type: "drafts", op: "update", draft: { ...draft, content: "z" } },
    { type: "scheduled_messages", op: "add", scheduled_messages: [later] },
    { type: "scheduled_messages", op: "update", scheduled_message: { ...later, failed: true } },
    { type: "realm", op: "update", property: "name", value: "Beta" },
    { type: "realm", op: "update_dict", property: "default", data: { allow_message_editing: false } },
    { type: "realm_emoji", op: "update", realm_emoji: { "4": { id: "4", name: "x", source_url: "/x", deactivated: false } } },
    { type: "realm_linkifiers", realm_linkifiers: [{ id: 3, pattern: "x", url_template: "https://a.example" }] },
    { type: "realm_playgrounds", realm_playgrounds: [{ id: 5, name: "p", pygments_language: "Python", url_template: "y" }] },
    { type: "invites_changed" },
  ]);
  assert.deepEqual([state.linkifiers[0]?.pattern, state.playgrounds[0]?.name], ["x", "p"]);
  assert.deepEqual([state.settings["color_scheme"], state.alertWords, [...state.mutedUsers]], [2, ["fire"], [12]]);
  assert.deepEqual([state.drafts[0]?.content, state.scheduled[0]?.failed], ["z", true]);
  assert.deepEqual([state.realm["realm_name"], state.realm["realm_allow_message_editing"]], ["Beta", false]);
  assert.deepEqual([state.emoji["4"]?.name, state.revisions.invites], ["x", 1]);
  const less = applyAll(state, [
    { type: "drafts", op: "remove", draft_id: 1 },
    { type: "scheduled_messages", op: "remove", scheduled_message_id: 2 },
  ]);
  assert.deepEqual([less.drafts.length, less.scheduled.length], [0, 0]);
});

test("an_event_that_is_not_known_changes_nothing", () => {
  const state = world();
  assert.equal(apply(state, { type: "of_a_later_server", op: "x" }), state);
  assert.equal(apply(state, { type: "constructor" }), state);
  // A restart is registered for, so that the queue wakes up; it says nothing that is shown.
  assert.deepEqual(EVENT_TYPES.filter((type) => apply(state, { type: "restart" }) !== state && type === "restart"), []);
});
