// Who may do what in the organization.
import { useStore } from "../app/app";
import { attempt } from "../app/actions";
import { request } from "../transport/api";
import { permissionOf, type GroupSetting } from "../store/permissions";
import { role } from "../store/select";
import { GroupChooser } from "./group_chooser";
import { t } from "../text/language";

interface Permission {
  readonly name: string;
  readonly label: string;
  readonly isOwners?: boolean;
}

const PERMISSIONS: readonly { readonly title: string; readonly hint?: string; readonly permissions: readonly Permission[] }[] = [
  {
    title: t("Joining"),
    permissions: [
      { name: "can_invite_users_group", label: t("Who may invite people"), isOwners: true },
      { name: "create_multiuse_invite_group", label: t("Who may make links for anyone"), isOwners: true },
    ],
  },
  {
    title: t("Channels"),
    permissions: [
      { name: "can_create_public_channel_group", label: t("Who may make public channels") },
      { name: "can_create_private_channel_group", label: t("Who may make private channels") },
      { name: "can_create_web_public_channel_group", label: t("Who may make channels for everyone on the web") },
      { name: "can_add_subscribers_group", label: t("Who may add others to channels") },
    ],
  },
  {
    title: t("Messages"),
    permissions: [
      { name: "can_move_messages_between_topics_group", label: t("Who may move messages to another topic") },
      { name: "can_move_messages_between_channels_group", label: t("Who may move messages to another channel") },
      { name: "can_resolve_topics_group", label: t("Who may mark topics as resolved") },
      { name: "can_delete_own_message_group", label: t("Who may delete their own messages") },
      { name: "can_delete_any_message_group", label: t("Who may delete any message") },
      { name: "can_mention_many_users_group", label: t("Who may call everyone in a large channel") },
      { name: "can_set_topics_policy_group", label: t("Who may choose whether a channel needs topics") },
      { name: "can_set_delete_message_policy_group", label: t("Who may choose who deletes messages in a channel") },
    ],
  },
  {
    title: t("Direct messages"),
    permissions: [
      { name: "direct_message_permission_group", label: t("Who may write direct messages") },
      { name: "direct_message_initiator_group", label: t("Who may begin a direct conversation") },
    ],
  },
  {
    title: t("Groups, bots and emoji"),
    permissions: [
      { name: "can_create_groups", label: t("Who may make groups"), isOwners: true },
      { name: "can_manage_all_groups", label: t("Who may change every group"), isOwners: true },
      { name: "can_create_bots_group", label: t("Who may make bots") },
      { name: "can_create_write_only_bots_group", label: t("Who may make bots that only send messages") },
      { name: "can_add_custom_emoji_group", label: t("Who may add emoji") },
    ],
  },
  {
    title: t("For other servers"),
    hint: t("This server has no summaries and no bills. Data that is moved to another server takes these choices along."),
    permissions: [
      { name: "can_summarize_topics_group", label: t("Who may have topics summarized") },
      { name: "can_manage_billing_group", label: t("Who may see bills"), isOwners: true },
    ],
  },
];

export function PermissionsSection() {
  return (
    <>
      <p class="muted">{t("Each permission belongs to a group, or to people and groups that you name.")}</p>
      {PERMISSIONS.map(({ title, hint, permissions }) => (
        <div key={title}>
          <h3>{title}</h3>
          {hint && <p class="muted">{hint}</p>}
          {permissions.map((permission) => (
            <PermissionField key={permission.name} permission={permission} />
          ))}
        </div>
      ))}
    </>
  );
}

function PermissionField({ permission: { name, label, isOwners } }: { permission: Permission }) {
  const value = useStore((state) => permissionOf(state, name));
  const rule = useStore((state) => state.permissionRules.realm[name]);
  const isLocked = useStore(role) > 100 && isOwners === true;
  if (value === undefined || !rule) return null;
  // With the value that was shown: of two people who change it at once, the second is told.
  const change = (next: GroupSetting) =>
    void attempt(request("PATCH", "realm", { [name]: { new: next, old: value } }), t("Saved."));
  return (
    <GroupChooser
      label={label}
      value={value}
      rule={rule}
      isLocked={isLocked}
      onChange={change}
      {...(isLocked ? { hint: t("Only owners change this.") } : {})}
    />
  );
}
