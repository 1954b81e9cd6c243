// The roles of people, by number.
import { t } from "../text/language";

export const ROLES: readonly (readonly [number, string])[] = [
  [100, t("Owner")],
  [200, t("Administrator")],
  [300, t("Moderator")],
  [400, t("Member")],
  [600, t("Guest")],
];
