//! `/user_groups`: which groups there are, who is in them, and what is made of them.

mod form;

use chat_core::id::{UserGroupId, UserId};
use chat_core::limits::MAX_GROUP_DESCRIPTION_CHARS;
use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::groups::{self, GroupError, GroupUpdate, MembershipDepth, NewGroup};
use chat_core::permission::access;
use chat_core::wire;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{FromJson, Json, MaxChars, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, nothing, patch, post};
use crate::schema::{Member, Schema, has};

use form::{Setting, SettingWish};

type Description = MaxChars<Text, MAX_GROUP_DESCRIPTION_CHARS>;

pub(crate) fn routes() -> Routes {
    let one = patch(endpoint(update).says("Change a user group.", nothing))
        .delete(endpoint(remove).says("Remove a user group for good.", nothing));
    let members = get(endpoint(members).says("List who is in a user group.", members_told))
        .post(endpoint(change_members).says("Put users into a user group, and take users out.", nothing));
    let subgroups = get(endpoint(subgroups).says("List the groups inside a user group.", subgroups_told))
        .post(endpoint(change_subgroups).says("Put groups into a user group, and take groups out.", nothing));
    let is_member = endpoint(is_member).says("Tell whether somebody is in a user group.", is_member_told);
    let deactivate = endpoint(deactivate).says("Put a user group out of use.", nothing);
    Routes::of("user groups")
        .api("/user_groups", get(endpoint(list).says("List the user groups.", listed)))
        .api("/user_groups/create", post(endpoint(create).says("Make a user group.", made)))
        .api("/user_groups/{user_group_id}", one)
        .api("/user_groups/{user_group_id}/deactivate", post(deactivate))
        .api("/user_groups/{user_group_id}/members", members)
        .api("/user_groups/{user_group_id}/members/{user_id}", get(is_member))
        .api("/user_groups/{user_group_id}/subgroups", subgroups)
}

/// Whether groups out of use are wanted too.
struct Listing {
    with_deactivated: bool,
}

impl Params for Listing {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { with_deactivated: given.or::<Json<bool>>("include_deactivated_groups", false)? })
    }
}

/// All groups, those of the system first, in the order of their numbers.
async fn list(call: Call<Caller>, listing: Listing) -> Result<Answer, Fault> {
    access::require_human_member(&call.who.user)?;
    let realm = &call.who.realm;
    let mut groups: Vec<_> = realm.groups().filter(|group| listing.with_deactivated || !group.is_deactivated).collect();
    groups.sort_unstable_by_key(|group| group.id);
    let groups: Vec<Value> = groups.into_iter().map(|group| wire::group(realm, group, call.app.now_s())).collect();
    Answer::of(&json!({"user_groups": groups}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("user_groups", Schema::list(Schema::named("UserGroup")))]
}

impl Params for NewGroup {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.required::<Text>("name")?,
            description: given.required::<Description>("description")?,
            members: given.required::<Json<Vec<UserId>>>("members")?,
            can_mention: given.optional::<Setting>("can_mention_group")?,
        })
    }
}

/// Makes a group. Its number is told, which existing servers of this level do not do: a client would have to look for
/// the name.
async fn create(call: Call<Caller>, new: NewGroup) -> Result<Answer, Fault> {
    let group_id = decide(&call, |realm, caller, commit| groups::create(realm, caller, &new, commit)).await?;
    Answer::of(&json!({"group_id": group_id}))
}

/// Returns the members of the response.
fn made() -> Vec<Member> {
    vec![has("group_id", Schema::integer())]
}

impl Params for GroupUpdate {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.optional::<Text>("name")?,
            description: given.optional::<Description>("description")?,
            can_mention: given.optional::<SettingWish>("can_mention_group")?,
        })
    }
}

/// Changes a group.
async fn update(call: Call<Caller>, wish: GroupUpdate) -> Result<Answer, Fault> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::update(realm, caller, (id, &wish), commit)).await?;
    Ok(Answer::empty())
}

/// Removes a group for good.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::remove(realm, caller, id, commit)).await?;
    Ok(Answer::empty())
}

/// Puts a group out of use.
async fn deactivate(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::deactivate(realm, caller, id, commit)).await?;
    Ok(Answer::empty())
}

/// How far a question goes: `direct_member_only`, or `direct_subgroup_only` of subgroups.
struct Members(MembershipDepth);
struct Subgroups(MembershipDepth);

fn depth(given: &mut Reader<'_>, name: &'static str) -> Result<MembershipDepth, ParamFault> {
    let is_direct = given.or::<Json<bool>>(name, false)?;
    Ok(if is_direct { MembershipDepth::Direct } else { MembershipDepth::All })
}

impl Params for Members {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        depth(given, "direct_member_only").map(Self)
    }
}

impl Params for Subgroups {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        depth(given, "direct_subgroup_only").map(Self)
    }
}

/// Returns who is in a group.
async fn members(call: Call<Caller>, Members(depth): Members) -> Result<Answer, Fault> {
    access::require_human_member(&call.who.user)?;
    let realm = &call.who.realm;
    let group = groups::known(realm, in_path(&call)?)?;
    Answer::of(&json!({"members": groups::members_of(realm, group, depth, call.app.now_s())}))
}

/// Returns the members of the response.
fn members_told() -> Vec<Member> {
    vec![has("members", Schema::list(Schema::integer()))]
}

/// Returns whether somebody is in a group.
async fn is_member(call: Call<Caller>, Members(depth): Members) -> Result<Answer, Fault> {
    access::require_human_member(&call.who.user)?;
    let realm = &call.who.realm;
    let group = groups::known(realm, in_path(&call)?)?;
    let user = super::users::known(realm, UserId(call.path_id("user_id")?))?;
    let is_inside = match depth {
        MembershipDepth::Direct => {
            groups::members_of(realm, group, depth, call.app.now_s()).binary_search(&user.id).is_ok()
        }
        MembershipDepth::All => realm.is_in_group(user, group.id, call.app.now_s()),
    };
    Answer::of(&json!({"is_user_group_member": is_inside}))
}

/// Returns the members of the response.
fn is_member_told() -> Vec<Member> {
    vec![has("is_user_group_member", Schema::boolean())]
}

/// Returns which groups are inside a group.
async fn subgroups(call: Call<Caller>, Subgroups(depth): Subgroups) -> Result<Answer, Fault> {
    access::require_human_member(&call.who.user)?;
    let realm = &call.who.realm;
    let group = groups::known(realm, in_path(&call)?)?;
    Answer::of(&json!({"subgroups": groups::subgroups_of(realm, group, depth)}))
}

/// Returns the members of the response.
fn subgroups_told() -> Vec<Member> {
    vec![has("subgroups", Schema::list(Schema::integer()))]
}

/// What is put in and what is taken out; not neither.
struct Exchange<T> {
    add: Vec<T>,
    delete: Vec<T>,
}

impl<T: FromJson> Params for Exchange<T> {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let add = given.or::<Json<Vec<T>>>("add", Vec::new())?;
        let delete = given.or::<Json<Vec<T>>>("delete", Vec::new())?;
        if add.is_empty() && delete.is_empty() { Err(ParamFault::NothingToDo) } else { Ok(Self { add, delete }) }
    }
}

/// Puts users into a group and takes users out of it.
async fn change_members(call: Call<Caller>, wish: Exchange<UserId>) -> Result<Answer, Fault> {
    let id = in_path(&call)?;
    let change = (id, wish.add.as_slice(), wish.delete.as_slice());
    decide(&call, |realm, caller, commit| groups::change_members(realm, caller, change, commit)).await?;
    Ok(Answer::empty())
}

/// Puts groups into a group and takes groups out of it.
async fn change_subgroups(call: Call<Caller>, wish: Exchange<UserGroupId>) -> Result<Answer, Fault> {
    let id = in_path(&call)?;
    let change = (id, wish.add.as_slice(), wish.delete.as_slice());
    decide(&call, |realm, caller, commit| groups::change_subgroups(realm, caller, change, commit)).await?;
    Ok(Answer::empty())
}

/// Returns the group in the path.
fn in_path(call: &Call<Caller>) -> Result<UserGroupId, Fault> {
    call.path_id("user_group_id").map(UserGroupId)
}

/// Takes a decision about groups as the caller.
async fn decide<T>(
    call: &Call<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, GroupError> + Send + Sync,
) -> Result<T, Fault> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.who.again(realm)?, commit)?)).await
}
