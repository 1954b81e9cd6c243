import assert from "node:assert/strict";
import test from "node:test";
import { needsRegistration } from "../src/store/access";
import { apply, applyAll } from "../src/store/apply";
import { initialState } from "../src/store/initial";
import type { Event, State } from "../src/store/types";
import { arrived, DESIGN, GENERAL, inTopic, registration, SELF, world } from "./world";

const ELSEWHERE = 22;
const SECRET = 23;

/** User 9 sees the private channel 23 as an administrator does, without being in it. */
function administered(): State {
  const from = registration();
  const secret = { stream_id: SECRET, name: "secret", invite_only: true, history_public_to_subscribers: true };
  return initialState({ ...from, never_subscribed: [...from["never_subscribed"], secret] });
}

function moved(ids: number[], from: number, to: number): Event {
  return {
    type: "update_message",
    message_id: ids[0],
    message_ids: ids,
    stream_id: from,
    new_stream_id: to,
    orig_subject: "lunch",
    propagate_mode: "change_all",
  };
}

test("what_moves_to_a_channel_that_the_reader_is_not_in_is_not_unread_any_more", () => {
  const before = applyAll(world(), [
    arrived(inTopic(5, "lunch", { flags: ["mentioned"] })),
    arrived(inTopic(6, "lunch")),
    arrived(inTopic(7, "dinner")),
  ]);
  const { unread } = apply(before, moved([5, 6], GENERAL, ELSEWHERE));
  assert.deepEqual([...unread.places.entries()].map(([id]) => id), [7]);
  assert.equal(unread.mentions.size, 0);
  assert.equal(apply(before, moved([5, 6], GENERAL, DESIGN)).unread.places.size, 3);
});

test("what_the_reader_may_have_received_in_one_channel_alone_asks_for_a_registration", () => {
  const read = inTopic(5, "lunch", { flags: ["read"] });
  const early = inTopic(6, "lunch", { flags: ["read", "historical"] });
  const state = applyAll(administered(), [arrived(read), arrived(early), arrived(inTopic(7, "lunch"))]);
  const needed = (ids: number[], from: number, to: number) => needsRegistration(state, moved(ids, from, to));
  assert.equal(needed([5], GENERAL, DESIGN), false, "it was received and read");
  assert.equal(needed([5, 6], GENERAL, DESIGN), true, "it was not received where it was");
  assert.equal(needed([7], GENERAL, DESIGN), true, "it may not be received where it is");
  assert.equal(needed([8], GENERAL, DESIGN), true, "nothing is known of it");
  assert.equal(needed([7, 8], GENERAL, ELSEWHERE), false, "everything counts as read there");
  assert.equal(needed([8], SECRET, ELSEWHERE), true, "it may have a star");
  assert.equal(needsRegistration(state, { ...moved([7], GENERAL, GENERAL), new_stream_id: undefined }), false, "no channel changes");
});

test("what_opens_or_closes_a_channel_to_the_reader_asks_for_a_registration", () => {
  const state = world();
  const channel = (first_message_id: number | null) => ({ stream_id: ELSEWHERE, name: "elsewhere", first_message_id });
  const update = (property: string) => ({ type: "stream", op: "update", stream_id: ELSEWHERE, property, value: true });
  const needed: Event[] = [
    { type: "stream", op: "create", streams: [channel(3)] },
    { type: "stream", op: "delete", streams: [channel(null)] },
    update("invite_only"),
    update("history_public_to_subscribers"),
    { type: "subscription", op: "add", subscriptions: [channel(3)] },
    { type: "subscription", op: "remove", subscriptions: [channel(3)] },
    { type: "muted_users", muted_users: [{ id: 12, timestamp: 1 }] },
    { type: "realm_user", op: "update", person: { user_id: SELF, role: 600 } },
  ];
  const enough: Event[] = [
    { type: "stream", op: "create", streams: [channel(null)] },
    update("description"),
    { type: "subscription", op: "add", subscriptions: [channel(null)] },
    { type: "subscription", op: "update", stream_id: GENERAL, property: "color", value: "#000000" },
    { type: "realm_user", op: "update", person: { user_id: SELF, full_name: "Ada L." } },
    { type: "realm_user", op: "update", person: { user_id: 12, role: 600 } },
    arrived(inTopic(5, "lunch")),
  ];
  assert.deepEqual(needed.map((event) => needsRegistration(state, event)), needed.map(() => true));
  assert.deepEqual(enough.map((event) => needsRegistration(state, event)), enough.map(() => false));
});
