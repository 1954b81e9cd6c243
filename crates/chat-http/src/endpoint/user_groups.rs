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

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{FromJson, Json, MaxChars, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch, post};
use crate::schema::{Member, Schema, has};

use form::{GroupSettingChangeParam, GroupSettingParam};

type GroupDescription = MaxChars<TextParam, MAX_GROUP_DESCRIPTION_CHARS>;

pub(crate) fn routes() -> Routes {
    let one = patch(endpoint(update).documented("Change a user group.", no_members))
        .delete(endpoint(remove).documented("Remove a user group for good.", no_members));
    let members = get(endpoint(members).documented("List who is in a user group.", members_schema))
        .post(endpoint(change_members).documented("Put users into a user group, and take users out.", no_members));
    let subgroups = get(endpoint(subgroups).documented("List the groups inside a user group.", subgroups_schema))
        .post(endpoint(change_subgroups).documented("Put groups into a user group, and take groups out.", no_members));
    let is_member = endpoint(is_member).documented("Tell whether somebody is in a user group.", is_member_schema);
    let deactivate = endpoint(deactivate).documented("Put a user group out of use.", no_members);
    Routes::of("user groups")
        .api("/user_groups", get(endpoint(list).documented("List the user groups.", listed)))
        .api("/user_groups/create", post(endpoint(create).documented("Make a user group.", made)))
        .api("/user_groups/{user_group_id}", one)
        .api("/user_groups/{user_group_id}/deactivate", post(deactivate))
        .api("/user_groups/{user_group_id}/members", members)
        .api("/user_groups/{user_group_id}/members/{user_id}", get(is_member))
        .api("/user_groups/{user_group_id}/subgroups", subgroups)
}

/// The parameters of `GET /user_groups`.
struct ListGroupsParams {
    with_deactivated: bool,
}

impl Params for ListGroupsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { with_deactivated: reader.or::<Json<bool>>("include_deactivated_groups", false)? })
    }
}

/// All groups, those of the system first, in the order of their numbers.
async fn list(call: ApiCall<Caller>, listing: ListGroupsParams) -> Result<ApiResponse, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let mut groups: Vec<_> = realm.groups().filter(|group| listing.with_deactivated || !group.is_deactivated).collect();
    groups.sort_unstable_by_key(|group| group.id);
    let groups: Vec<Value> = groups.into_iter().map(|group| wire::group(realm, group, call.app.now_s())).collect();
    ApiResponse::from_payload(&json!({"user_groups": groups}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("user_groups", Schema::list(Schema::named("UserGroup")))]
}

impl Params for NewGroup {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.required::<TextParam>("name")?,
            description: reader.required::<GroupDescription>("description")?,
            members: reader.required::<Json<Vec<UserId>>>("members")?,
            can_mention: reader.optional::<GroupSettingParam>("can_mention_group")?,
            subgroups: reader.or::<Json<Vec<UserGroupId>>>("subgroups", Vec::new())?,
        })
    }
}

/// Creates a group. The response has its number.
async fn create(call: ApiCall<Caller>, new: NewGroup) -> Result<ApiResponse, ApiError> {
    let group_id = decide(&call, |realm, caller, commit| groups::create(realm, caller, &new, commit)).await?;
    ApiResponse::from_payload(&json!({"group_id": group_id}))
}

/// Returns the members of the response.
fn made() -> Vec<Member> {
    vec![has("group_id", Schema::integer())]
}

impl Params for GroupUpdate {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional::<TextParam>("name")?,
            description: reader.optional::<GroupDescription>("description")?,
            can_mention: reader.optional::<GroupSettingChangeParam>("can_mention_group")?,
            // A group is put out of use by its own endpoint alone.
            reactivates: reader.optional::<Json<bool>>("deactivated")? == Some(false),
        })
    }
}

/// Changes a group.
async fn update(call: ApiCall<Caller>, params: GroupUpdate) -> Result<ApiResponse, ApiError> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::update(realm, caller, (id, &params), commit)).await?;
    Ok(ApiResponse::empty())
}

/// Removes a group for good.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::remove(realm, caller, id, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Puts a group out of use.
async fn deactivate(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::deactivate(realm, caller, id, commit)).await?;
    Ok(ApiResponse::empty())
}

/// The depth of a membership query: `direct_member_only`, or `direct_subgroup_only` of subgroups.
struct MembersParams(MembershipDepth);
struct SubgroupsParams(MembershipDepth);

fn depth(reader: &mut ParamReader<'_>, name: &'static str) -> Result<MembershipDepth, ParamError> {
    let is_direct = reader.or::<Json<bool>>(name, false)?;
    Ok(if is_direct { MembershipDepth::Direct } else { MembershipDepth::All })
}

impl Params for MembersParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        depth(reader, "direct_member_only").map(Self)
    }
}

impl Params for SubgroupsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        depth(reader, "direct_subgroup_only").map(Self)
    }
}

/// Returns who is in a group.
async fn members(call: ApiCall<Caller>, MembersParams(depth): MembersParams) -> Result<ApiResponse, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let group = groups::known(realm, in_path(&call)?)?;
    ApiResponse::from_payload(&json!({"members": groups::members_of(realm, group, depth, call.app.now_s())}))
}

/// Returns the members of the response.
fn members_schema() -> Vec<Member> {
    vec![has("members", Schema::list(Schema::integer()))]
}

/// Returns whether a user is in a group.
async fn is_member(call: ApiCall<Caller>, MembersParams(depth): MembersParams) -> Result<ApiResponse, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let group = groups::known(realm, in_path(&call)?)?;
    let user = super::users::known(realm, UserId(call.path_id("user_id")?))?;
    let is_inside = match depth {
        MembershipDepth::Direct => {
            groups::members_of(realm, group, depth, call.app.now_s()).binary_search(&user.id).is_ok()
        }
        MembershipDepth::All => realm.is_in_group(user, group.id, call.app.now_s()),
    };
    ApiResponse::from_payload(&json!({"is_user_group_member": is_inside}))
}

/// Returns the members of the response.
fn is_member_schema() -> Vec<Member> {
    vec![has("is_user_group_member", Schema::boolean())]
}

/// Returns which groups are inside a group.
async fn subgroups(call: ApiCall<Caller>, SubgroupsParams(depth): SubgroupsParams) -> Result<ApiResponse, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let group = groups::known(realm, in_path(&call)?)?;
    ApiResponse::from_payload(&json!({"subgroups": groups::subgroups_of(realm, group, depth)}))
}

/// Returns the members of the response.
fn subgroups_schema() -> Vec<Member> {
    vec![has("subgroups", Schema::list(Schema::integer()))]
}

/// The parameters that add members or subgroups, and delete some; one of both is needed.
struct AddDeleteParams<T> {
    add: Vec<T>,
    delete: Vec<T>,
}

impl<T: FromJson> AddDeleteParams<T> {
    fn read(reader: &mut ParamReader<'_>, [add, delete]: [&'static str; 2]) -> Result<Self, ParamError> {
        let add = reader.or::<Json<Vec<T>>>(add, Vec::new())?;
        Ok(Self { add, delete: reader.or::<Json<Vec<T>>>(delete, Vec::new())? })
    }

    fn is_empty(&self) -> bool {
        self.add.is_empty() && self.delete.is_empty()
    }
}

impl<T: FromJson> Params for AddDeleteParams<T> {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let params = Self::read(reader, ["add", "delete"])?;
        if params.is_empty() { Err(ParamError::NothingToDo) } else { Ok(params) }
    }
}

/// The parameters of `POST /user_groups/{user_group_id}/members`; one of the four is needed.
struct ChangeMembersParams {
    users: AddDeleteParams<UserId>,
    subgroups: AddDeleteParams<UserGroupId>,
}

impl Params for ChangeMembersParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let users = AddDeleteParams::read(reader, ["add", "delete"])?;
        let subgroups = AddDeleteParams::read(reader, ["add_subgroups", "delete_subgroups"])?;
        if users.is_empty() && subgroups.is_empty() {
            return Err(ParamError::NothingToDo);
        }
        Ok(Self { users, subgroups })
    }
}

/// Puts users and groups into a group and takes users and groups out of it: all of it or nothing.
async fn change_members(call: ApiCall<Caller>, params: ChangeMembersParams) -> Result<ApiResponse, ApiError> {
    let id = in_path(&call)?;
    let users = (id, params.users.add.as_slice(), params.users.delete.as_slice());
    let subgroups = (id, params.subgroups.add.as_slice(), params.subgroups.delete.as_slice());
    decide(&call, |realm, caller, commit| {
        groups::change_members(realm, caller, users, commit)?;
        if params.subgroups.is_empty() {
            return Ok(());
        }
        let with_users = realm.after(&commit.changes);
        groups::change_subgroups(&with_users, caller, subgroups, commit)
    })
    .await?;
    Ok(ApiResponse::empty())
}

/// Puts groups into a group and takes groups out of it.
async fn change_subgroups(
    call: ApiCall<Caller>,
    params: AddDeleteParams<UserGroupId>,
) -> Result<ApiResponse, ApiError> {
    let id = in_path(&call)?;
    let change = (id, params.add.as_slice(), params.delete.as_slice());
    decide(&call, |realm, caller, commit| groups::change_subgroups(realm, caller, change, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Returns the group in the path.
fn in_path(call: &ApiCall<Caller>) -> Result<UserGroupId, ApiError> {
    call.path_id("user_group_id").map(UserGroupId)
}

/// Takes a decision about groups as the caller.
async fn decide<T>(
    call: &ApiCall<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, GroupError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in(realm)?, commit)?)).await
}
