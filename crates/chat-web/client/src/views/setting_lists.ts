// The settings that people choose for themselves, and administrators for those who join later.
import { t } from "../text/language";

export interface SettingSwitch {
  readonly name: string;
  readonly label: string;
}

export interface SettingChoice extends SettingSwitch {
  readonly options: readonly (readonly [string | number, string])[];
}

export const DISPLAY_CHOICES: readonly SettingChoice[] = [
  { name: "color_scheme", label: t("Theme"), options: [[1, t("As the system")], [2, t("Dark")], [3, t("Light")]] },
  { name: "web_home_view", label: t("First view"), options: [["inbox", t("Inbox")], ["all_messages", t("Combined feed")]] },
  {
    name: "web_mark_read_on_scroll_policy",
    label: t("Mark messages as read when they are in sight"),
    options: [[1, t("Always")], [2, t("In conversations")], [3, t("Never")]],
  },
];

export const DISPLAY_SWITCHES: readonly SettingSwitch[] = [
  { name: "twenty_four_hour_time", label: t("24-hour times") },
  { name: "enter_sends", label: t("Enter sends the message") },
  { name: "display_emoji_reaction_users", label: t("Show the names of those who react") },
  { name: "web_left_sidebar_show_channel_folders", label: t("Channels in folders in the left bar") },
  { name: "web_escape_navigates_to_home_view", label: t("Escape leads to the inbox") },
];

export const NOTIFICATION_SWITCHES: readonly SettingSwitch[] = [
  { name: "enable_desktop_notifications", label: t("Direct messages and mentions: desktop notifications") },
  { name: "enable_sounds", label: t("Direct messages and mentions: sound") },
  { name: "enable_followed_topic_desktop_notifications", label: t("Followed topics: desktop notifications") },
  { name: "enable_followed_topic_audible_notifications", label: t("Followed topics: sound") },
  { name: "enable_stream_desktop_notifications", label: t("All channel messages: desktop notifications") },
  { name: "wildcard_mentions_notify", label: t("@all counts as a mention") },
  { name: "pm_content_in_desktop_notifications", label: t("Show the text of direct messages in notifications") },
];

export const OTHERS_SEE_SWITCHES: readonly SettingSwitch[] = [
  { name: "presence_enabled", label: t("When I am there") },
  { name: "send_read_receipts", label: t("What I have read") },
  { name: "send_private_typing_notifications", label: t("That I write a direct message") },
  { name: "send_stream_typing_notifications", label: t("That I write in a channel") },
];
