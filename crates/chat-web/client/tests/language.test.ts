// Every text of the client has its words in every language.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { languageOf, t } from "../src/text/language";
import { WORDS } from "../src/text/words";

/** The sources, seen from where the tests are run. */
const SOURCES = "src";

function usedTexts(): Set<string> {
  const found = new Set<string>();
  for (const name of readdirSync(SOURCES, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(name)) continue;
    const source = readFileSync(join(SOURCES, name), "utf8");
    for (const [, text = ""] of source.matchAll(/\bt\(\s*("(?:[^"\\]|\\.)*")/g)) found.add(JSON.parse(text));
  }
  return found;
}

const places = (text: string) => (text.match(/\{\d\}/g) ?? []).sort().join();

test("every_text_that_is_shown_is_in_the_table_and_the_table_has_no_other", () => {
  const used = usedTexts();
  assert.ok(used.size > 500, `only ${used.size} texts were found`);
  assert.deepEqual([...used].sort(), WORDS.map(([english]) => english).sort());
});

test("a_translation_has_the_places_for_values_that_the_english_text_has", () => {
  for (const [english, ...others] of WORDS) {
    for (const other of others) {
      assert.ok(other.length > 0, `${english} has no words`);
      assert.equal(places(other), places(english), english);
    }
  }
});

test("values_stand_where_the_text_has_their_places", () => {
  assert.equal(t("{0} is in {1} now.", "Ada", "Crew"), "Ada is in Crew now.");
  assert.equal(t("a text of no table"), "a text of no table");
  assert.equal(t("{0} days", undefined), " days");
});

test("a_language_is_found_by_its_name_with_or_without_a_country_and_english_stands_for_every_other", () => {
  assert.deepEqual(["de", "DE-at", "es-MX", "fr", undefined].map(languageOf), ["de", "de", "es", "en", "en"]);
});
