import assert from "node:assert/strict";
import test from "node:test";
import { decodePart, encodePart, narrowHash, parseHash } from "../src/store/address";
import { conversationOf, matches, narrowKey, topicNarrow, type Narrow } from "../src/store/narrow";
import { resolved, unresolved } from "../src/store/place";
import { addTerms, parseSearch, proposals, termLabel } from "../src/store/search";
import { placeInList, windowAround, Heights } from "../src/views/scroller";
import { Table } from "../src/store/table";
import { among, GENERAL, DESIGN, inTopic, SELF, world } from "./world";

const state = world();

test("a_part_of_an_address_has_dots_in_place_of_percent_signs", () => {
  assert.equal(encodePart("100% done."), "100.25.20done.2E");
  assert.equal(decodePart("100.25.20done.2E"), "100% done.");
  for (const text of ["", "a/b", "ü ✔", "(x)*!'", "..%%", "日本"]) assert.equal(decodePart(encodePart(text)), text);
  assert.equal(decodePart("100.2"), undefined);
});

test("a_narrow_has_the_address_that_other_clients_copy", () => {
  assert.equal(narrowHash(topicNarrow(DESIGN, "a b?"), state), `#narrow/channel/${DESIGN}-design-things/topic/a.20b.3F`);
  assert.equal(narrowHash([{ operator: "dm", operand: [12] }], state), "#narrow/dm/12-Sam-Porter");
  assert.equal(narrowHash([{ operator: "dm", operand: [12, 13] }], state), "#narrow/dm/12,13-group");
  assert.equal(narrowHash([{ operator: "is", operand: "starred", negated: true }], state), "#narrow/-is/starred");
});

test("addresses_of_older_and_newer_clients_are_read", () => {
  const narrow = (hash: string) => {
    const route = parseHash(hash, state);
    return route.view === "narrow" ? route.narrow : route.view;
  };
  const topic: Narrow = topicNarrow(GENERAL, "lunch");
  for (const channel of ["channel/20-general", "stream/20-other-name", "stream/general", "channel/20"]) {
    assert.deepEqual(narrow(`#narrow/${channel}/topic/lunch`), topic, channel);
  }
  assert.deepEqual(narrow("#narrow/stream/20-general/subject/lunch/near/7"), [...topic, { operator: "near", operand: 7 }]);
  assert.deepEqual(narrow("#narrow/pm-with/12,9-pm"), [{ operator: "dm", operand: [12] }]);
  assert.deepEqual(narrow("#narrow/dm/9-Ada"), [{ operator: "dm", operand: [SELF] }]);
  assert.deepEqual(narrow("#narrow/sender/user12.40example.2Eorg"), [{ operator: "sender", operand: 12 }]);
  assert.deepEqual(narrow("#narrow/-is/muted/search/a.20b"), [
    { operator: "is", operand: "muted", negated: true },
    { operator: "search", operand: "a b" },
  ]);
  for (const bad of ["#narrow/channel/nowhere", "#narrow/near/x", "#narrow/dm/x", "#narrow/topic", "#else", "#narrow/topic/100.2"]) {
    assert.equal(narrow(bad), "unknown", bad);
  }
  assert.deepEqual([narrow(""), narrow("#feed"), narrow("#all_messages"), narrow("#settings/bots")], ["inbox", "feed", "feed", "settings"]);
});

test("an_address_leads_back_to_its_narrow", () => {
  const narrows: Narrow[] = [
    topicNarrow(GENERAL, "✔ a/b.c"),
    [{ operator: "dm", operand: [12, 13] }],
    [{ operator: "sender", operand: 12 }, { operator: "has", operand: "link" }],
    [{ operator: "search", operand: "two words", negated: true }],
  ];
  for (const narrow of narrows) {
    const route = parseHash(narrowHash(narrow, state), state);
    assert.deepEqual(route.view === "narrow" && narrowKey(route.narrow), narrowKey(narrow));
  }
});

test("a_narrow_selects_messages_as_the_server_does_or_says_that_it_cannot_know", () => {
  const message = inTopic(5, "Lunch", { flags: ["mentioned"] });
  const holds = (operator: string, operand: any, one = message) => matches([{ operator, operand }], one, state);
  assert.deepEqual([holds("channel", GENERAL), holds("channel", DESIGN), holds("topic", "lunch")], [true, false, true]);
  assert.deepEqual([holds("is", "mentioned"), holds("is", "unread"), holds("is", "dm"), holds("sender", 12)], [true, true, false, true]);
  assert.deepEqual([holds("search", "x"), holds("has", "link"), holds("of", "later")], [undefined, undefined, undefined]);
  assert.deepEqual([holds("dm", [12], among(6, [12])), holds("dm", [12], among(6, [12, 13]))], [true, false]);
  assert.equal(matches([{ operator: "channel", operand: DESIGN }, { operator: "search", operand: "x" }], message, state), false);
  assert.equal(matches([{ operator: "is", operand: "unread", negated: true }], message, state), false);
});

test("a_conversation_is_known_from_its_narrow_with_and_without_an_anchor", () => {
  const near = { operator: "near", operand: 7 };
  assert.deepEqual(conversationOf([...topicNarrow(GENERAL, "x"), near], SELF), { kind: "topic", channelId: GENERAL, topic: "x" });
  assert.deepEqual(conversationOf([{ operator: "dm", operand: [12, SELF] }], SELF), { kind: "direct", userIds: [12] });
  assert.equal(conversationOf([...topicNarrow(GENERAL, "x"), { operator: "is", operand: "starred" }], SELF), undefined);
});

test("topics_are_resolved_once", () => {
  assert.equal(resolved("a"), "✔ a");
  assert.equal(resolved("✔ a"), "✔ a");
  assert.equal(unresolved("✔ ✔ a"), "a");
});

test("words_of_the_search_field_become_terms", () => {
  const terms = (typed: string) => parseSearch(typed, state);
  assert.deepEqual(terms('channel:"design things" -is:starred soup of'), [
    { operator: "channel", operand: DESIGN },
    { operator: "is", operand: "starred", negated: true },
    { operator: "search", operand: "soup of" },
  ]);
  assert.deepEqual(terms("stream:general from:me"), [{ operator: "channel", operand: GENERAL }, { operator: "sender", operand: SELF }]);
  assert.deepEqual(terms('dm:"sam porter,bea"'), [{ operator: "dm", operand: [12, 13] }]);
  assert.deepEqual(terms("https://example.org"), [{ operator: "search", operand: "https://example.org" }]);
  assert.deepEqual(terms('"exact words"'), [{ operator: "search", operand: '"exact words"' }]);
  assert.deepEqual(terms("channel:nowhere"), [{ operator: "search", operand: "channel:nowhere" }]);
});

test("a_search_proposes_channels_and_people", () => {
  const labels = proposals("sam", state).map((proposal) => proposal.label);
  assert.deepEqual(labels, ["Search for sam", "Sent by Sam Porter", "Direct messages with Sam Porter"]);
  assert.equal(termLabel({ operator: "channel", operand: GENERAL, negated: true }, state), "not #general");
  const narrow = addTerms(topicNarrow(GENERAL, "x"), [{ operator: "channel", operand: DESIGN }]);
  assert.deepEqual(narrow, [{ operator: "topic", operand: "x" }, { operator: "channel", operand: DESIGN }]);
});

test("the_window_of_rows_is_around_what_is_looked_at", () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => at * 3);
  assert.equal(placeInList(ids, 3 * 777), 777);
  const middle = windowAround(ids, 3 * 5_000, 800);
  assert.equal(middle.start < 5_000 && middle.end > 5_000 + 800 / 24 && middle.end - middle.start < 120, true);
  assert.deepEqual(windowAround(ids, 0, 800).start, 0);
  assert.deepEqual(windowAround(ids, 3 * 9_999, 800).end, 10_000);
  assert.deepEqual(windowAround([], 5, 800), { start: 0, end: 0 });
  const heights = new Heights();
  for (const id of ids) heights.set(id, 10);
  assert.deepEqual([heights.between(ids, 0, 500), heights.at(ids, 4_995)], [5_000, 499]);
});

test("a_table_changes_without_changing_the_one_before", () => {
  const before = Table.from([[1, "a"], [100, "b"]] as const);
  const after = before.set(1, "c").without([100, 7]);
  assert.deepEqual([[...before.entries()], [...after.entries()]], [[[1, "a"], [100, "b"]], [[1, "c"]]]);
  assert.deepEqual([before.size, after.size, after.without([5]) === after], [2, 1, true]);
});
