// What administrators do: the sections of the settings that are about the organization.
import { may } from "../store/permissions";
import { isAdmin, role } from "../store/select";
import type { State } from "../store/types";
import { CustomEmoji } from "./custom_emoji";
import { ExportSection } from "./data_export";
import { FoldersSection } from "./folders";
import { GroupsSection } from "./groups";
import { Invitations } from "./invitations";
import { JoiningSection } from "./joining";
import { Members } from "./members";
import { NewcomersSection } from "./newcomers";
import { Organization } from "./organization_profile";
import { PermissionsSection } from "./permissions";
import { ProfileFieldsSection } from "./profile_fields";
import { ActiveBotsSection } from "./active_bots";
import { LinkifiersSection, PlaygroundsSection } from "./tools";
import { t } from "../text/language";

const mayInvite = (state: State) => may(state, "can_invite_users_group") || may(state, "create_multiuse_invite_group");

/** The sections of the settings that are about the organization, each for those who may use it. */
export const ORGANIZATION_SECTIONS = [
  { name: "members", label: t("Members"), view: Members, isFor: isAdmin },
  { name: "invitations", label: t("Invitations"), view: Invitations, isFor: mayInvite },
  { name: "joining", label: t("Who can join"), view: JoiningSection, isFor: isAdmin },
  { name: "newcomers", label: t("New members' settings"), view: NewcomersSection, isFor: isAdmin },
  { name: "organization", label: t("Organization"), view: Organization, isFor: isAdmin },
  { name: "permissions", label: t("Permissions"), view: PermissionsSection, isFor: isAdmin },
  { name: "folders", label: t("Channel folders"), view: FoldersSection, isFor: isAdmin },
  { name: "groups", label: t("Groups"), view: GroupsSection, isFor: (state: State) => role(state) <= 400 },
  { name: "fields", label: t("Profile fields"), view: ProfileFieldsSection, isFor: isAdmin },
  { name: "linkifiers", label: t("Linkifiers"), view: LinkifiersSection, isFor: isAdmin },
  { name: "playgrounds", label: t("Playgrounds"), view: PlaygroundsSection, isFor: isAdmin },
  { name: "active-bots", label: t("Everyone's bots"), view: ActiveBotsSection, isFor: isAdmin },
  { name: "export", label: t("Data export"), view: ExportSection, isFor: isAdmin },
  { name: "emoji", label: t("Emoji"), view: CustomEmoji, isFor: (state: State) => may(state, "can_add_custom_emoji_group") },
] as const;
