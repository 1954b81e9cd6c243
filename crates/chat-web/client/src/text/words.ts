// All words of the client in its languages.
import { ADMINISTRATION } from "./words_administration";
import { CONVERSATIONS } from "./words_conversations";
import { PLACES } from "./words_places";
import { SETTINGS } from "./words_settings";

/** A text in English, by which it is found, in German, and in Spanish. */
export type Words = readonly [english: string, german: string, spanish: string];

export const WORDS: readonly Words[] = [...ADMINISTRATION, ...CONVERSATIONS, ...PLACES, ...SETTINGS];
