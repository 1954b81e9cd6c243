//! `/user_groups`: which groups there are, who is in them, and what is made of them.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::{UserGroupId, UserId};
use chat_core::limits::MAX_USER_GROUP_DESCRIPTION_CHARS;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::groups::{self, MembershipDepth, NewUserGroup, UserGroupError, UserGroupUpdate};
use chat_core::permission::access;
use chat_core::wire_format;
use serde_json::{Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::endpoint::group_setting::{GroupSettingChangeParam, GroupSettingParam};
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, FromJson, JsonParam, MaxCharsParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, patch, post};

type GroupDescription = MaxCharsParam<TextParam, MAX_USER_GROUP_DESCRIPTION_CHARS>;

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

impl EndpointParams for ListGroupsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { with_deactivated: reader.optional_or::<JsonParam<bool>>("include_deactivated_groups", false)? })
    }
}

/// All groups, those of the system first, in the order of their numbers.
async fn list(call: ApiCall<AuthenticatedCaller>, listing: ListGroupsParams) -> Result<ApiResponsePayload, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let mut groups: Vec<_> = realm.groups().filter(|group| listing.with_deactivated || !group.is_deactivated).collect();
    groups.sort_unstable_by_key(|group| group.id);
    let groups: Vec<Value> =
        groups.into_iter().map(|group| wire_format::user_group_object(realm, group, call.app.now_s())).collect();
    ApiResponsePayload::from_payload(&json!({"user_groups": groups}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("user_groups", JsonSchema::list(JsonSchema::reference_to("UserGroup")))]
}

impl EndpointParams for NewUserGroup {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.required::<TextParam>("name")?,
            description: reader.required::<GroupDescription>("description")?,
            members: reader.required::<JsonParam<Vec<UserId>>>("members")?,
            can_mention: reader.optional::<GroupSettingParam>("can_mention_group")?,
            subgroups: reader.optional_or::<JsonParam<Vec<UserGroupId>>>("subgroups", Vec::new())?,
        })
    }
}

/// Creates a group. The response has its number.
async fn create(call: ApiCall<AuthenticatedCaller>, new: NewUserGroup) -> Result<ApiResponsePayload, ApiError> {
    let group_id =
        decide(&call, |realm, caller, commit| groups::create_user_group(realm, caller, &new, commit)).await?;
    ApiResponsePayload::from_payload(&json!({"group_id": group_id}))
}

/// Returns the members of the response.
fn made() -> Vec<SchemaMember> {
    vec![required_schema_member("group_id", JsonSchema::integer())]
}

impl EndpointParams for UserGroupUpdate {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional::<TextParam>("name")?,
            description: reader.optional::<GroupDescription>("description")?,
            can_mention: reader.optional::<GroupSettingChangeParam>("can_mention_group")?,
            // A group is put out of use by its own endpoint alone.
            reactivates: reader.optional::<JsonParam<bool>>("deactivated")? == Some(false),
        })
    }
}

/// Changes a group.
async fn update(call: ApiCall<AuthenticatedCaller>, params: UserGroupUpdate) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::update_user_group(realm, caller, (id, &params), commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Removes a group for good.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::remove_user_group(realm, caller, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Puts a group out of use.
async fn deactivate(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    decide(&call, |realm, caller, commit| groups::deactivate_user_group(realm, caller, id, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// The depth of a membership query: `direct_member_only`, or `direct_subgroup_only` of subgroups.
struct MembersParams(MembershipDepth);
struct SubgroupsParams(MembershipDepth);

fn depth(reader: &mut ParamReader<'_>, name: &'static str) -> Result<MembershipDepth, ParamError> {
    let is_direct = reader.optional_or::<JsonParam<bool>>(name, false)?;
    Ok(if is_direct { MembershipDepth::Direct } else { MembershipDepth::All })
}

impl EndpointParams for MembersParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        depth(reader, "direct_member_only").map(Self)
    }
}

impl EndpointParams for SubgroupsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        depth(reader, "direct_subgroup_only").map(Self)
    }
}

/// Returns who is in a group.
async fn members(
    call: ApiCall<AuthenticatedCaller>,
    MembersParams(depth): MembersParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let group = groups::find_user_group(realm, in_path(&call)?)?;
    ApiResponsePayload::from_payload(
        &json!({"members": groups::user_group_members(realm, group, depth, call.app.now_s())}),
    )
}

/// Returns the members of the response.
fn members_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("members", JsonSchema::list(JsonSchema::integer()))]
}

/// Returns whether a user is in a group.
async fn is_member(
    call: ApiCall<AuthenticatedCaller>,
    MembersParams(depth): MembersParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let group = groups::find_user_group(realm, in_path(&call)?)?;
    let user = super::users::known(realm, UserId(call.path_id("user_id")?))?;
    let is_inside = match depth {
        MembershipDepth::Direct => {
            groups::user_group_members(realm, group, depth, call.app.now_s()).binary_search(&user.id).is_ok()
        }
        MembershipDepth::All => realm.is_in_group(user, group.id, call.app.now_s()),
    };
    ApiResponsePayload::from_payload(&json!({"is_user_group_member": is_inside}))
}

/// Returns the members of the response.
fn is_member_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("is_user_group_member", JsonSchema::boolean())]
}

/// Returns which groups are inside a group.
async fn subgroups(
    call: ApiCall<AuthenticatedCaller>,
    SubgroupsParams(depth): SubgroupsParams,
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human_member(&call.caller.user)?;
    let realm = &call.caller.realm;
    let group = groups::find_user_group(realm, in_path(&call)?)?;
    ApiResponsePayload::from_payload(&json!({"subgroups": groups::user_group_subgroups(realm, group, depth)}))
}

/// Returns the members of the response.
fn subgroups_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("subgroups", JsonSchema::list(JsonSchema::integer()))]
}

/// The parameters that add members or subgroups, and delete some; one of both is needed.
struct AddDeleteParams<T> {
    add: Vec<T>,
    delete: Vec<T>,
}

impl<T: FromJson> AddDeleteParams<T> {
    fn read(reader: &mut ParamReader<'_>, [add, delete]: [&'static str; 2]) -> Result<Self, ParamError> {
        let add = reader.optional_or::<JsonParam<Vec<T>>>(add, Vec::new())?;
        Ok(Self { add, delete: reader.optional_or::<JsonParam<Vec<T>>>(delete, Vec::new())? })
    }

    fn is_empty(&self) -> bool {
        self.add.is_empty() && self.delete.is_empty()
    }
}

impl<T: FromJson> EndpointParams for AddDeleteParams<T> {
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

impl EndpointParams for ChangeMembersParams {
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
async fn change_members(
    call: ApiCall<AuthenticatedCaller>,
    params: ChangeMembersParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    let users = (id, params.users.add.as_slice(), params.users.delete.as_slice());
    let subgroups = (id, params.subgroups.add.as_slice(), params.subgroups.delete.as_slice());
    decide(&call, |realm, caller, commit| {
        groups::change_group_members(realm, caller, users, commit)?;
        if params.subgroups.is_empty() {
            return Ok(());
        }
        let with_users = realm.preview_changes(&commit.changes);
        groups::change_group_subgroups(&with_users, caller, subgroups, commit)
    })
    .await?;
    Ok(ApiResponsePayload::empty())
}

/// Puts groups into a group and takes groups out of it.
async fn change_subgroups(
    call: ApiCall<AuthenticatedCaller>,
    params: AddDeleteParams<UserGroupId>,
) -> Result<ApiResponsePayload, ApiError> {
    let id = in_path(&call)?;
    let change = (id, params.add.as_slice(), params.delete.as_slice());
    decide(&call, |realm, caller, commit| groups::change_group_subgroups(realm, caller, change, commit)).await?;
    Ok(ApiResponsePayload::empty())
}

/// Returns the group in the path.
fn in_path(call: &ApiCall<AuthenticatedCaller>) -> Result<UserGroupId, ApiError> {
    call.path_id("user_group_id").map(UserGroupId)
}

/// Takes a decision about groups as the caller.
async fn decide<T>(
    call: &ApiCall<AuthenticatedCaller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, UserGroupError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in_realm(realm)?, commit)?)).await
}
