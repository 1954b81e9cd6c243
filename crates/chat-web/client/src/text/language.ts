// The client's own words in the language that the reader chose.
//
// Words are looked up when a view is made or a module is loaded, so the language stays for as long as the page is open;
// another choice loads the page again.
import { WORDS } from "./words";

/** Languages that the client has, by their own names. */
export const LANGUAGES = { en: "English", de: "Deutsch", es: "Español" } as const;

export type Language = keyof typeof LANGUAGES;

const KEPT = "language";

/** Returns the language of the client that is meant; English where it has none of that name. */
export function languageOf(chosen: unknown): Language {
  const name = String(chosen).toLowerCase().split("-")[0] ?? "";
  return Object.hasOwn(LANGUAGES, name) ? (name as Language) : "en";
}

function kept(): Language {
  // Tests of the store run without a browser.
  return typeof localStorage === "undefined" ? "en" : languageOf(localStorage.getItem(KEPT));
}

export const language = kept();

/** What dates and times are written for: that of the browser in English, which people write dates in differently. */
export const LOCALES: readonly string[] = language === "en" ? [] : [language];

const COLUMNS = { de: 1, es: 2 } as const;
const dictionary = new Map(language === "en" ? [] : WORDS.map((row) => [row[0], row[COLUMNS[language]]] as const));

type Value = string | number | boolean | null | undefined;

/** Returns a text in the reader's language, with values in the places of `{0}`, `{1}` and so on. */
export function t(english: string, ...values: readonly Value[]): string {
  const text = dictionary.get(english) ?? english;
  if (values.length === 0) return text;
  const shown = values.map((value) => (value === false || value == null ? "" : String(value)));
  return text.replace(/\{(\d)\}/g, (place, at: string) => shown[Number(at)] ?? place);
}

/** Loads the page again in the language that was chosen, if it is shown in another one. */
export function followLanguage(chosen: unknown): void {
  const wanted = languageOf(chosen);
  if (wanted === language) return;
  localStorage.setItem(KEPT, wanted);
  // A browser that keeps nothing would load the page for ever.
  if (localStorage.getItem(KEPT) === wanted) location.reload();
}
