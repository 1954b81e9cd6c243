import assert from "node:assert/strict";
import test from "node:test";
import { apply, applyAll } from "../src/store/apply";
import { applyPage } from "../src/store/lists";
import { FEED, narrowKey, topicNarrow, type Narrow } from "../src/store/narrow";
import { inbox, unreadCounts } from "../src/store/select";
import type { Event, Message, State } from "../src/store/types";
import { among, arrived, DESIGN, flagged, GENERAL, inTopic, SELF, world } from "./world";

const LUNCH = topicNarrow(GENERAL, "lunch");
const STARRED: Narrow = [{ operator: "is", operand: "starred" }];

function loaded(state: State, narrow: Narrow, messages: Message[], ends = { oldest: true, newest: true }): State {
  const page = { messages, anchor: messages[0]?.id ?? 0, found_oldest: ends.oldest, found_newest: ends.newest };
  return applyPage(state, narrow, page, "replace");
}

const ids = (state: State, narrow: Narrow) => state.lists.get(narrowKey(narrow))?.ids;

test("a_message_is_stored_counted_and_appended_to_the_lists_that_select_it", () => {
  const before = loaded(loaded(world(), LUNCH, []), topicNarrow(GENERAL, "dinner"), []);
  const after = apply(before, arrived(inTopic(5, "Lunch")));
  assert.equal(after.messages.get(5)?.subject, "Lunch");
  assert.deepEqual(ids(after, LUNCH), [5]);
  assert.deepEqual(ids(after, topicNarrow(GENERAL, "dinner")), []);
  assert.equal(unreadCounts(after).total, 1);
  assert.equal(before.messages.get(5), undefined, "the state before is as it was");
});

test("a_message_that_comes_twice_is_there_once", () => {
  const state = applyAll(loaded(world(), LUNCH, []), [arrived(inTopic(5, "lunch")), arrived(inTopic(5, "lunch"))]);
  assert.deepEqual(ids(state, LUNCH), [5]);
  assert.equal(unreadCounts(state).total, 1);
});

test("a_message_that_a_page_had_before_its_event_is_counted", () => {
  const before = loaded(world(), LUNCH, [inTopic(5, "lunch"), inTopic(6, "lunch", { flags: ["read"], content: "newer" })]);
  const state = applyAll(before, [arrived(inTopic(5, "lunch")), arrived(inTopic(6, "lunch"))]);
  assert.deepEqual([unreadCounts(state).total, ids(state, LUNCH), state.messages.get(6)?.content], [1, [5, 6], "newer"]);
});

test("a_message_does_not_go_behind_a_gap", () => {
  const before = loaded(world(), LUNCH, [inTopic(1, "lunch")], { oldest: true, newest: false });
  assert.deepEqual(ids(apply(before, arrived(inTopic(9, "lunch"))), LUNCH), [1]);
});

test("a_search_does_not_know_its_end_after_a_message", () => {
  const search: Narrow = [{ operator: "search", operand: "soup" }];
  const after = apply(loaded(world(), search, []), arrived(inTopic(5, "lunch")));
  assert.equal(after.lists.get(narrowKey(search))?.foundNewest, false);
});

test("direct_messages_are_unread_and_recent_by_their_people", () => {
  const state = applyAll(world(), [arrived(among(5, [12])), arrived(among(6, [13, 12])), arrived(among(7, []))]);
  assert.deepEqual([...state.directs.keys()].sort(), ["d/12", "d/12,13", `d/${SELF}`]);
  assert.deepEqual(
    inbox(state).directs.map(({ ids }) => ids),
    [[7], [6], [5]],
  );
});

test("a_mention_is_counted_until_it_is_read", () => {
  const state = apply(world(), arrived(inTopic(5, "lunch", { flags: ["mentioned"] })));
  assert.equal(unreadCounts(state).mentions, 1);
  assert.equal(unreadCounts(apply(state, flagged("read", "add", [5]))).mentions, 0);
});

test("reading_and_unreading_go_both_ways_for_messages_that_are_not_loaded", () => {
  const details = { message_details: { "8": { type: "stream", stream_id: DESIGN, topic: "colors", mentioned: true } } };
  const state = apply(world(), flagged("read", "remove", [8], details));
  assert.equal(unreadCounts(state).channels.get(DESIGN)?.heard, 1);
  assert.equal(unreadCounts(state).mentions, 1);
  const direct = apply(state, flagged("read", "remove", [9], { message_details: { "9": { type: "private", user_ids: [12] } } }));
  assert.equal(unreadCounts(direct).directs, 1);
  assert.equal(unreadCounts(apply(direct, flagged("read", "add", [8, 9]))).total, 0);
});

test("everything_is_read_at_once", () => {
  const state = applyAll(world(), [arrived(inTopic(5, "a")), arrived(inTopic(6, "b"))]);
  assert.equal(unreadCounts(apply(state, flagged("read", "add", [], { all: true }))).total, 0);
});

test("what_was_read_stays_in_a_list_of_unread_messages", () => {
  const unread: Narrow = [{ operator: "is", operand: "unread" }];
  const state = apply(loaded(world(), unread, [inTopic(5, "lunch")]), flagged("read", "add", [5]));
  assert.deepEqual(ids(state, unread), [5]);
});

test("a_star_comes_and_goes_with_its_list", () => {
  const before = loaded(loaded(world(), STARRED, []), LUNCH, [inTopic(5, "lunch")]);
  const starred = apply(before, flagged("starred", "add", [5]));
  assert.deepEqual([ids(starred, STARRED), [...starred.starred]], [[5], [5]]);
  const without = apply(starred, flagged("starred", "remove", [5]));
  assert.deepEqual([ids(without, STARRED), without.starred.size], [[], 0]);
});

test("an_edit_changes_the_text_and_says_when", () => {
  const before = apply(world(), arrived(inTopic(5, "lunch")));
  const edit: Event = {
    type: "update_message",
    message_id: 5,
    message_ids: [5],
    edit_timestamp: 77,
    rendering_only: false,
    rendered_content: "<p>new</p>",
    flags: ["mentioned"],
    is_me_message: false,
  };
  const after = apply(before, edit);
  const { content, last_edit_timestamp } = after.messages.get(5) as Message;
  assert.deepEqual([content, last_edit_timestamp], ["<p>new</p>", 77]);
  assert.equal(unreadCounts(after).mentions, 1);
  assert.equal(apply(world(), edit).messages.size, 0, "of a message that is not loaded nothing is known");
});

const move = (more: object): Event => ({
  type: "update_message",
  message_id: 5,
  message_ids: [5, 6],
  edit_timestamp: 80,
  rendering_only: false,
  stream_id: GENERAL,
  orig_subject: "lunch",
  propagate_mode: "change_all",
  flags: [],
  ...more,
});

test("moved_messages_leave_their_topic_and_their_unread_counts_go_with_them", () => {
  const state = applyAll(loaded(loaded(world(), LUNCH, []), topicNarrow(DESIGN, "dinner"), []), [
    arrived(inTopic(5, "lunch")),
    arrived(inTopic(6, "lunch")),
  ]);
  const after = apply(state, move({ subject: "dinner", new_stream_id: DESIGN }));
  assert.deepEqual([ids(after, LUNCH), ids(after, topicNarrow(DESIGN, "dinner"))], [[], [5, 6]]);
  assert.equal(after.messages.get(6)?.display_recipient, "design things");
  assert.equal(unreadCounts(after).channels.get(DESIGN)?.heard, 2);
  assert.equal(unreadCounts(after).channels.get(GENERAL), undefined);
});

test("a_move_of_messages_that_are_not_loaded_has_lists_loaded_again", () => {
  const dinner = topicNarrow(GENERAL, "dinner");
  const after = apply(loaded(world(), dinner, []), move({ subject: "dinner" }));
  assert.equal(after.lists.get(narrowKey(dinner))?.stale, true);
});

test("deleted_messages_are_nowhere", () => {
  const before = applyAll(loaded(world(), LUNCH, []), [
    arrived(inTopic(5, "lunch", { flags: ["mentioned"] })),
    flagged("starred", "add", [5]),
  ]);
  for (const event of [{ type: "delete_message", message_ids: [5] }, { type: "delete_message", message_id: 5 }]) {
    const after = apply(before, event);
    const { total, mentions } = unreadCounts(after);
    assert.deepEqual([after.messages.size, ids(after, LUNCH), total, mentions, after.starred.size], [0, [], 0, 0, 0]);
  }
});

test("a_reaction_is_added_once_and_removed", () => {
  const reaction = { type: "reaction", message_id: 5, user_id: 12, emoji_name: "tada", emoji_code: "1f389", reaction_type: "unicode_emoji" };
  const state = applyAll(world(), [arrived(inTopic(5, "lunch")), { ...reaction, op: "add" }, { ...reaction, op: "add" }]);
  assert.equal(state.messages.get(5)?.reactions.length, 1);
  assert.equal(apply(state, { ...reaction, op: "remove" }).messages.get(5)?.reactions.length, 0);
});

test("a_submessage_is_added_once", () => {
  const event = { type: "submessage", message_id: 5, submessage_id: 70, sender_id: 12, msg_type: "widget", content: "{}" };
  const state = applyAll(world(), [arrived(inTopic(5, "lunch")), event, event]);
  assert.equal(state.messages.get(5)?.submessages.length, 1);
});

test("what_is_muted_is_not_in_the_feed_and_not_counted", () => {
  const muted = apply(world(), { type: "user_topic", stream_id: GENERAL, topic_name: "Lunch", visibility_policy: 1 });
  const after = apply(loaded(muted, FEED, []), arrived(inTopic(5, "lunch")));
  assert.deepEqual([ids(after, FEED), unreadCounts(after).total], [[], 0]);
  assert.equal(unreadCounts(after).channels.get(GENERAL)?.muted, 1);
  const heard = apply(after, { type: "user_topic", stream_id: GENERAL, topic_name: "lunch", visibility_policy: 0 });
  assert.deepEqual([heard.lists.get(narrowKey(FEED))?.stale, unreadCounts(heard).total], [true, 1]);
});

test("pages_at_both_ends_make_one_list", () => {
  let state = loaded(world(), LUNCH, [inTopic(5, "lunch")], { oldest: false, newest: false });
  const page = (messages: Message[]) => ({ messages, anchor: 5, found_oldest: true, found_newest: true });
  state = applyPage(state, LUNCH, page([inTopic(3, "lunch"), inTopic(5, "lunch")]), "older");
  state = applyPage(state, LUNCH, page([inTopic(5, "lunch"), inTopic(8, "lunch")]), "newer");
  const list = state.lists.get(narrowKey(LUNCH));
  assert.deepEqual([list?.ids, list?.foundOldest, list?.foundNewest], [[3, 5, 8], true, true]);
});

test("events_that_are_applied_again_to_a_late_page_make_it_right", () => {
  const late = [flagged("read", "add", [5]), { type: "delete_message", message_ids: [6] }, arrived(inTopic(7, "lunch"))];
  const state = applyAll(world(), [arrived(inTopic(5, "lunch")), arrived(inTopic(6, "lunch")), ...late]);
  const after = applyAll(loaded(state, LUNCH, [inTopic(5, "lunch"), inTopic(6, "lunch")]), late);
  assert.deepEqual(ids(after, LUNCH), [5, 7]);
  assert.deepEqual(after.messages.get(5)?.flags, ["read"]);
  assert.equal(unreadCounts(after).total, 1);
});

/** A generator of numbers that is the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test("after_a_thousand_random_events_lists_and_counts_are_what_the_messages_say", () => {
  const topics = ["a", "b", "c"];
  const narrows: Narrow[] = [...topics.map((topic) => topicNarrow(GENERAL, topic)), STARRED, FEED];
  for (let seed = 1; seed <= 10; seed += 1) {
    const random = generator(seed);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const model = new Map<number, { topic: string; read: boolean; starred: boolean }>();
    let state = narrows.reduce((state, narrow) => loaded(state, narrow, []), world());
    for (let id = 1; id <= 1_000; id += 1) {
      const known = [...model.keys()];
      const some = known.filter(() => random() < 3 / (known.length + 1));
      const topic = pick(topics);
      const kind = random();
      if (kind < 0.45 || some.length === 0) {
        state = apply(state, arrived(inTopic(id, topic)));
        model.set(id, { topic, read: false, starred: false });
      } else if (kind < 0.6) {
        const from = model.get(some[0] ?? 0)?.topic ?? "";
        const moved = some.filter((one) => model.get(one)?.topic === from);
        state = apply(state, move({ message_id: moved[0], message_ids: moved, orig_subject: from, subject: topic }));
        for (const one of moved) Object.assign(model.get(one) ?? {}, { topic });
      } else if (kind < 0.8) {
        const is = random() < 0.6;
        state = apply(state, flagged("read", is ? "add" : "remove", some));
        for (const one of some) Object.assign(model.get(one) ?? {}, { read: is });
      } else if (kind < 0.9) {
        const is = random() < 0.6;
        state = apply(state, flagged("starred", is ? "add" : "remove", some));
        for (const one of some) Object.assign(model.get(one) ?? {}, { starred: is });
      } else {
        state = apply(state, { type: "delete_message", message_ids: some });
        for (const one of some) model.delete(one);
      }
    }
    const expected = (holds: (one: { topic: string; starred: boolean }) => boolean) =>
      [...model].filter(([, one]) => holds(one)).map(([id]) => id);
    for (const topic of topics) assert.deepEqual(ids(state, topicNarrow(GENERAL, topic)), expected((one) => one.topic === topic));
    assert.deepEqual(ids(state, STARRED), expected((one) => one.starred));
    assert.deepEqual(ids(state, FEED), expected(() => true));
    assert.equal(unreadCounts(state).total, [...model.values()].filter((one) => !one.read).length);
  }
});
