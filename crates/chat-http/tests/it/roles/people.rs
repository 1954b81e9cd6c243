//! People, what they choose, and what the organization has.
//!
//! # Source
//! Specification, "Endpoints"; where it is silent about a role, what existing servers answer.

use super::rows::{Enclosed, ErrorResponse, Row, row, with_file};
use ErrorResponse::{
    Administrators, AdministratorsAmongMembersElse, AdministratorsElse, AdministratorsWhoArePeople,
    AdministratorsWhoArePeopleElse, All, Everybody, Members, MembersWhoArePeople, NoPushService, Off, Owners,
    OwnersWhoArePeople, People,
};

const INSUFFICIENT: &str = "Insufficient permission";
const NEW_USER: [(&str, &str); 3] =
    [("email", "u{number}@example.org"), ("password", "long enough"), ("full_name", "User {number}")];
const LINKIFIER: [(&str, &str); 2] =
    [("pattern", "K{number}-(?P<id>[0-9]+)"), ("url_template", "https://example.org/{id}")];
const PLAYGROUND: [(&str, &str); 3] =
    [("name", "p {number}"), ("pygments_language", "Rust"), ("url_template", "https://example.org/{code}")];
const GROUP: [(&str, &str); 3] = [("name", "g {number}"), ("description", ""), ("members", "[{me}]")];
const DEVICE: [(&str, &str); 2] = [("token", "{token}"), ("appid", "org.example.chat")];
const INVITE: [(&str, &str); 2] = [("invitee_emails", "i{number}@example.com"), ("stream_ids", "[]")];

pub(crate) const ROWS: &[Row] = &[
    // Signing in: whose key is asked for is in the call.
    row("POST /fetch_api_key", &[("username", "ada@example.org"), ("password", "ada's")], Everybody),
    // Oneself.
    row("GET /users/me", &[], All),
    row("DELETE /users/me", &[], People),
    row("POST /users/me/api_key/regenerate", &[], All),
    row("PATCH /settings", &[("twenty_four_hour_time", "true")], People),
    row("PATCH /settings/display", &[("twenty_four_hour_time", "true")], People),
    row("PATCH /settings/notifications", &[("enable_sounds", "false")], People),
    row("POST /users/me/presence", &[("status", "active")], People),
    row("POST /users/me/status", &[("status_text", "x")], All),
    row("POST /users/me/muted_users/{person}", &[], All),
    row("DELETE /users/me/muted_users/{muted}", &[], All),
    row("GET /users/me/alert_words", &[], All),
    row("POST /users/me/alert_words", &[("alert_words", r#"["x"]"#)], All),
    row("DELETE /users/me/alert_words", &[("alert_words", r#"["x"]"#)], All),
    row("PATCH /users/me/profile_data", &[("data", r#"[{"id": {field}, "value": "x"}]"#)], People),
    row("DELETE /users/me/profile_data", &[("data", "[{field}]")], People),
    with_file("POST /users/me/avatar", Enclosed::Picture, All),
    row("DELETE /users/me/avatar", &[], All),
    row("POST /users/me/apns_device_token", &DEVICE, People),
    row("DELETE /users/me/apns_device_token", &[("token", "{apple}")], People),
    row("POST /users/me/android_gcm_reg_id", &DEVICE, People),
    row("DELETE /users/me/android_gcm_reg_id", &[("token", "{google}")], People),
    row("POST /mobile_push/test_notification", &[], People),
    row("POST /mobile_push/register", &[], NoPushService),
    row("POST /mobile_push/e2ee/test_notification", &[], NoPushService),
    // Others.
    row("GET /users", &[], All),
    row("GET /users/{person}", &[], All),
    row("GET /users/{person}/status", &[], All),
    row("POST /users/{person}/status", &[("status_text", "x")], AdministratorsElse(INSUFFICIENT)),
    row("GET /users/{present}/presence", &[], All),
    row("GET /realm/presence", &[], All),
    row("POST /users", &NEW_USER, Administrators),
    row("PATCH /users/{person}", &[("full_name", "New {number}")], AdministratorsElse(INSUFFICIENT)),
    row("PATCH /users/{person}", &[("role", "300")], AdministratorsElse(INSUFFICIENT)),
    row("DELETE /users/{person}", &[], Administrators),
    row("POST /users/{gone}/reactivate", &[], Administrators),
    // Bots, and what they keep.
    row("GET /bots", &[], Members),
    row("POST /bots", &[("full_name", "Bot {number}"), ("short_name", "bot-{number}")], MembersWhoArePeople),
    row("PATCH /bots/{bot}", &[("full_name", "Bot {number}")], AdministratorsAmongMembersElse(INSUFFICIENT)),
    row("DELETE /bots/{bot}", &[], AdministratorsAmongMembersElse(INSUFFICIENT)),
    row("POST /bots/{bot}/api_key/regenerate", &[], AdministratorsAmongMembersElse(INSUFFICIENT)),
    row("GET /bot_storage", &[], All),
    row("PUT /bot_storage", &[("storage", r#"{"a": "b"}"#)], All),
    row("DELETE /bot_storage", &[], All),
    // Groups. Their members change them, and moderators, administrators and owners.
    row("GET /user_groups", &[], MembersWhoArePeople),
    row("POST /user_groups/create", &GROUP, Members),
    row("PATCH /user_groups/{mygroup}", &[("description", "x")], Members),
    row("DELETE /user_groups/{mygroup}", &[], Members),
    row("POST /user_groups/{mygroup}/deactivate", &[], Members),
    row("GET /user_groups/{group}/members", &[], MembersWhoArePeople),
    row("POST /user_groups/{mygroup}/members", &[("add", "[{person}]")], Members),
    row("GET /user_groups/{group}/members/{me}", &[], MembersWhoArePeople),
    row("GET /user_groups/{group}/subgroups", &[], MembersWhoArePeople),
    row("POST /user_groups/{mygroup}/subgroups", &[("add", "[{group}]")], Members),
    // Invitations.
    row("GET /invites", &[], MembersWhoArePeople),
    row("POST /invites", &INVITE, MembersWhoArePeople),
    row("POST /invites", &[INVITE[0], INVITE[1], ("invite_as", "100")], OwnersWhoArePeople),
    row("DELETE /invites/{invitation}", &[], AdministratorsWhoArePeople),
    row("POST /invites/{invitation}/resend", &[], AdministratorsWhoArePeople),
    row("POST /invites/multiuse", &[], AdministratorsWhoArePeopleElse(INSUFFICIENT)),
    row("DELETE /invites/multiuse/{link}", &[], AdministratorsWhoArePeople),
    // The organization.
    row("PATCH /realm", &[("description", "x {number}")], Administrators),
    row("PATCH /realm/user_settings_defaults", &[("emojiset", "text")], Administrators),
    row("GET /realm/linkifiers", &[], All),
    row("PATCH /realm/linkifiers", &[("ordered_linkifier_ids", "{linkifiers}")], Administrators),
    row("POST /realm/filters", &LINKIFIER, Administrators),
    row("PATCH /realm/filters/{linkifier}", &LINKIFIER, Administrators),
    row("DELETE /realm/filters/{linkifier}", &[], Administrators),
    row("POST /realm/playgrounds", &PLAYGROUND, Administrators),
    row("DELETE /realm/playgrounds/{playground}", &[], Administrators),
    row("GET /realm/profile_fields", &[], All),
    row("POST /realm/profile_fields", &[("name", "f {number}"), ("field_type", "1")], Administrators),
    row("PATCH /realm/profile_fields", &[("order", "{fields}")], Administrators),
    row("PATCH /realm/profile_fields/{field}", &[("name", "f {number}")], Administrators),
    row("DELETE /realm/profile_fields/{field}", &[], Administrators),
    row("GET /realm/domains", &[], All),
    row("POST /realm/domains", &[("domain", "e{number}.example.org"), ("allow_subdomains", "false")], Owners),
    row("PATCH /realm/domains/{domain}", &[("allow_subdomains", "true")], Owners),
    row("DELETE /realm/domains/{domain}", &[], Owners),
    row("GET /export/realm", &[], Administrators),
    row("POST /export/realm", &[("export_type", "1")], Administrators),
    row("DELETE /export/realm/{export}", &[], Administrators),
    row("GET /export/realm/consents", &[], Administrators),
    row("GET /realm/emoji", &[], All),
    with_file("POST /realm/emoji/{new_emoji}", Enclosed::Picture, Members),
    row(
        "DELETE /realm/emoji/{emoji}",
        &[],
        AdministratorsElse("Must be an organization administrator or emoji author"),
    ),
    with_file("POST /realm/icon", Enclosed::Picture, Administrators),
    row("DELETE /realm/icon", &[], Administrators),
    with_file("POST /realm/logo", Enclosed::Picture, Administrators).and(&[("night", "false")]),
    with_file("POST /realm/logo", Enclosed::Picture, Administrators).and(&[("night", "true")]),
    row("DELETE /realm/logo", &[("night", "false")], Administrators),
    row("POST /dev_fetch_api_key", &[("username", "ada@example.org")], Off("Endpoint not available in production.")),
];
