// Times in words, in the reader's zone and language.
import { LOCALES, t } from "../text/language";

let hour12: boolean | undefined;

/** Says whether hours are shown to 12 or to 24; `undefined` leaves it to the language. */
export function setHourFormat(twentyFour: boolean): void {
  hour12 = twentyFour ? false : undefined;
}

function format(date: Date, options: Intl.DateTimeFormatOptions): string {
  const withHours = options.hour === undefined || hour12 === undefined ? options : { ...options, hour12 };
  return new Intl.DateTimeFormat([...LOCALES], withHours).format(date);
}

export function formatTime(seconds: number): string {
  return format(new Date(seconds * 1000), { hour: "2-digit", minute: "2-digit" });
}

export function formatMoment(date: Date): string {
  return format(date, { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

export function formatFull(seconds: number): string {
  return format(new Date(seconds * 1000), { dateStyle: "full", timeStyle: "medium" });
}

/** Returns the day of a moment as a number, by which days are told apart. */
export function dayOf(seconds: number): number {
  const date = new Date(seconds * 1000);
  return date.getFullYear() * 10_000 + date.getMonth() * 100 + date.getDate();
}

export function formatDay(seconds: number, now = new Date()): string {
  const date = new Date(seconds * 1000);
  const days = Math.round((new Date(now.toDateString()).getTime() - new Date(date.toDateString()).getTime()) / 86_400_000);
  if (days === 0) return t("Today");
  if (days === 1) return t("Yesterday");
  const year: Intl.DateTimeFormatOptions = date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  return format(date, { weekday: "long", day: "numeric", month: "long", ...year });
}

/** Returns how long ago a moment was, in the largest unit that fits. */
export function formatAgo(seconds: number, nowMs = Date.now()): string {
  const passed = Math.max(0, Math.round(nowMs / 1000 - seconds));
  if (passed < 60) return t("just now");
  const words = new Intl.RelativeTimeFormat([...LOCALES], { numeric: "auto" });
  if (passed < 3600) return words.format(-Math.floor(passed / 60), "minute");
  if (passed < 86_400) return words.format(-Math.floor(passed / 3600), "hour");
  return words.format(-Math.floor(passed / 86_400), "day");
}
