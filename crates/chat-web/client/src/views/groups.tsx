// User groups: who is in them, and making and changing them.
import { useState } from "preact/hooks";
import { attempt } from "../app/actions";
import { app, useStore } from "../app/app";
import { request } from "../transport/api";
import { isGiven, may, type GroupSetting } from "../store/permissions";
import { byName, role, userName } from "../store/select";
import type { Group, State } from "../store/types";
import { Avatar, Field, IconButton } from "../widgets/controls";
import { Picker } from "../widgets/typeahead";
import { GroupChooser, groupName, groupOptions } from "./group_chooser";
import { PersonPicker } from "./person_picker";
import { t } from "../text/language";

/** Groups that people made, in the order of their names. */
function ownGroups(groups: Iterable<Group>): Group[] {
  return [...groups].filter((group) => !group.is_system_group && !group.deactivated).sort((a, b) => byName(a.name, b.name));
}

/** Returns the names of the groups that a user is in. */
export function groupNames(state: State, userId: number): string[] {
  return ownGroups(state.groups.values()).filter((group) => group.members.includes(userId)).map((group) => group.name);
}

export function GroupsSection() {
  const all = useStore((state) => state.groups);
  const mayCreate = useStore((state) => may(state, "can_create_groups"));
  const groups = ownGroups(all.values());
  return (
    <>
      <p class="muted">{t("A message with @*name* of a group calls everyone in it.")}</p>
      <ul class="cards-list">
        {groups.map((group) => (
          <GroupCard key={group.id} group={group} mayCreate={mayCreate} />
        ))}
      </ul>
      {groups.length === 0 && <p class="muted">{t("There are no groups yet.")}</p>}
      {mayCreate && <NewGroup />}
      <DeactivatedGroups mayCreate={mayCreate} />
    </>
  );
}

/** Some change every group; of those who make groups, moderators change all and others those that they are in. */
function mayChangeGroup(state: State, group: Group, mayCreate: boolean): boolean {
  if (may(state, "can_manage_all_groups")) return true;
  return mayCreate && (role(state) <= 300 || group.members.includes(state.selfId) || isGiven(state, group.id));
}

function GroupCard({ group, mayCreate }: { group: Group; mayCreate: boolean }) {
  const state = app.state as State;
  const [isEdited, setEdited] = useState(false);
  const mayChange = useStore((now) => mayChangeGroup(now, group, mayCreate));
  const members = [...group.members].sort((a, b) => byName(userName(state, a), userName(state, b)));
  const change = (changes: Record<string, readonly number[]>, done: string) =>
    void attempt(request("POST", `user_groups/${group.id}/members`, changes), done);
  const deactivate = () =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Deactivate the group {0}?", group.name),
        text: t("It can no longer be mentioned. Messages that mention it stay as they are."),
        label: t("Deactivate group"),
        run: () => void attempt(request("POST", `user_groups/${group.id}/deactivate`), t("Group deactivated.")),
      },
    });
  return (
    <li class="card" aria-label={group.name}>
      <header>
        <strong dir="auto">{group.name}</strong>
        <span class="muted">{members.length === 1 ? t("1 member") : t("{0} members", members.length)}</span>
      </header>
      {group.description && <p dir="auto">{group.description}</p>}
      {isEdited && <EditGroup group={group} close={() => setEdited(false)} />}
      <ul class="people-list">
        {members.map((id) => (
          <li key={id}>
            <Avatar userId={id} size={24} /> <span dir="auto">{userName(state, id)}</span>
            {mayChange && (
              <IconButton
                icon="close"
                label={t("Take {0} out of {1}", userName(state, id), group.name)}
                onClick={() => change({ delete: [id] }, t("{0} is no longer in {1}.", userName(state, id), group.name))}
              />
            )}
          </li>
        ))}
      </ul>
      {mayChange && (
        <PersonPicker
          label={t("Add to {0}", group.name)}
          except={group.members}
          onPick={(id) => change({ add: [id] }, t("{0} is in {1} now.", userName(state, id), group.name))}
        />
      )}
      <Subgroups group={group} mayChange={mayChange} />
      {mayChange && <WhoMentions group={group} />}
      {mayChange && (
        <footer>
          <button type="button" class="danger" aria-label={t("Deactivate {0}", group.name)} onClick={deactivate}>{t("Deactivate")}</button>
          <button type="button" class="secondary" aria-label={t("Change {0}", group.name)} aria-expanded={isEdited} onClick={() => setEdited(!isEdited)}>{t("Change")}</button>
        </footer>
      )}
    </li>
  );
}

/** The groups inside a group: who is in one of them is in the group. */
function Subgroups({ group, mayChange }: { group: Group; mayChange: boolean }) {
  const state = app.state as State;
  const { id, name, direct_subgroup_ids: inside } = group;
  const change = (changes: Record<string, readonly number[]>) =>
    void attempt(request("POST", `user_groups/${id}/subgroups`, changes), t("Group changed."));
  return (
    <>
      {inside.length > 0 && (
        <ul class="pills" aria-label={t("Groups in {0}", name)}>
          {inside.map((one) => (
            <li class="pill" key={one}>
              <span dir="auto">{groupName(state, one)}</span>
              {mayChange && (
                <IconButton icon="close" label={t("Take {0} out of {1}", groupName(state, one), name)} onClick={() => change({ delete: [one] })} />
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && (
        <Picker
          key={inside.length}
          label={t("Another group in {0}", name)}
          value=""
          placeholder={t("Another group in {0}", name)}
          options={(typed) => groupOptions(typed, [id, ...inside])}
          onPick={(option) => change({ add: [option.id ?? 0] })}
        />
      )}
    </>
  );
}

function WhoMentions({ group }: { group: Group }) {
  const rule = useStore((state) => state.permissionRules.group["can_mention_group"]);
  const { id, name, can_mention_group: value } = group;
  if (!rule || value === undefined) return null;
  const change = (next: GroupSetting) =>
    void attempt(request("PATCH", `user_groups/${id}`, { can_mention_group: { new: next, old: value } }), t("Saved."));
  return <GroupChooser label={t("Who may mention {0}", name)} value={value} rule={rule} onChange={change} />;
}

/** Groups out of use, for those who can take them back. */
function DeactivatedGroups({ mayCreate }: { mayCreate: boolean }) {
  const all = useStore((state) => state.groups);
  const state = app.state as State;
  const gone = [...all.values()].filter((group) => group.deactivated && mayChangeGroup(state, group, mayCreate));
  if (gone.length === 0) return null;
  const takeBack = (group: Group) =>
    void attempt(request("PATCH", `user_groups/${group.id}`, { deactivated: false }), t("{0} was reactivated.", group.name));
  const remove = (group: Group) =>
    app.setUi({
      dialog: {
        is: "confirm",
        title: t("Delete the group {0}?", group.name),
        text: t("It is deleted for good. Messages that mention it stay as they are."),
        label: t("Delete group"),
        run: () => void attempt(request("DELETE", `user_groups/${group.id}`), t("Group deleted.")),
      },
    });
  return (
    <>
      <h3>{t("Deactivated groups")}</h3>
      <ul class="people-list all">
        {gone.map((group) => (
          <li key={group.id}>
            <span dir="auto">{group.name}</span>
            <button type="button" class="secondary" aria-label={t("Reactivate {0}", group.name)} onClick={() => takeBack(group)}>{t("Reactivate")}</button>
            <button type="button" class="danger" aria-label={t("Delete {0}", group.name)} onClick={() => remove(group)}>{t("Delete")}</button>
          </li>
        ))}
      </ul>
    </>
  );
}

function EditGroup({ group, close }: { group: Group; close: () => void }) {
  const [name, setName] = useState(group.name);
  const [description, setDescription] = useState(group.description);
  const save = async (event: Event) => {
    event.preventDefault();
    const changes = {
      ...(name.trim() === group.name ? {} : { name: name.trim() }),
      ...(description.trim() === group.description ? {} : { description: description.trim() }),
    };
    if (Object.keys(changes).length === 0 || (await attempt(request("PATCH", `user_groups/${group.id}`, changes), t("Group changed.")))) close();
  };
  return (
    <form onSubmit={save}>
      <Texts name={name} setName={setName} description={description} setDescription={setDescription} />
      <footer>
        <button type="submit" class="primary">{t("Save changes")}</button>
      </footer>
    </form>
  );
}

function NewGroup() {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const create = async (event: Event) => {
    event.preventDefault();
    const params = { name: name.trim(), description: description.trim(), members: [app.state?.selfId] };
    if (!(await attempt(request("POST", "user_groups/create", params), t("The group {0} was made.", name.trim())))) return;
    setName("");
    setDescription("");
  };
  return (
    <>
      <h3>{t("New group")}</h3>
      <form onSubmit={create}>
        <Texts name={name} setName={setName} description={description} setDescription={setDescription} />
        <footer>
          <button type="submit" class="primary">{t("Create group")}</button>
        </footer>
      </form>
    </>
  );
}

function Texts(props: { name: string; setName: (text: string) => void; description: string; setDescription: (text: string) => void }) {
  return (
    <>
      <Field label={t("Group name")}>
        <input required maxLength={100} value={props.name} onInput={(event) => props.setName((event.target as HTMLInputElement).value)} />
      </Field>
      <Field label={t("What the group is for")}>
        <input maxLength={1024} value={props.description} onInput={(event) => props.setDescription((event.target as HTMLInputElement).value)} />
      </Field>
    </>
  );
}
