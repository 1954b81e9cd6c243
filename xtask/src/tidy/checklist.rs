//! The chat's specification: every endpoint has its file of tests, and every test that such a file names is there.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::Finding;

/// Where the files are.
const FOLDER: &str = "crates/chat-http/tests/it/spec";

/// The endpoints of the specification, each with its file. What holds for all of them has one too.
const FILES: [(&str, &str); 22] = [
    ("`POST /typing`", "post_typing"),
    ("`PATCH /realm/user_settings_defaults`", "patch_realm_user_settings_defaults"),
    ("`PATCH /scheduled_messages/{scheduled_message_id}`", "patch_scheduled_messages"),
    ("`PATCH /users/me/subscriptions/muted_topics`", "patch_users_me_subscriptions_muted_topics"),
    ("`GET /messages/matches_narrow`", "get_messages_matches_narrow"),
    ("`POST /fetch_api_key`", "post_fetch_api_key"),
    ("`POST /invites`", "post_invites"),
    ("`POST /users/me/status`", "post_users_me_status"),
    ("`POST /realm/profile_fields`", "post_realm_profile_fields"),
    ("`GET /realm/profile_fields`", "get_realm_profile_fields"),
    ("`GET /streams`", "get_streams"),
    ("`DELETE /messages/{message_id}/reactions`", "delete_messages_reactions"),
    ("`POST /user_groups/create`", "post_user_groups_create"),
    ("`POST /realm/playgrounds`", "post_realm_playgrounds"),
    ("`POST /mark_topic_as_read`", "post_mark_topic_as_read"),
    ("`GET /realm/linkifiers`", "get_realm_linkifiers"),
    ("`DELETE /events`", "delete_events"),
    ("`POST /mobile_push/test_notification`", "post_mobile_push_test_notification"),
    ("`DELETE /users/me/muted_users/{muted_user_id}`", "delete_users_me_muted_users"),
    ("`DELETE /realm/emoji/{emoji_name}`", "delete_realm_emoji"),
    ("`GET /server_settings`", "get_server_settings"),
    ("What holds for every endpoint", "every_endpoint"),
];

/// What the path of a test begins with, and the folder of the modules that follow. Else they are beside the checklist.
const ROOTS: [(&str, &str); 3] = [
    ("chat_core", "crates/chat-core/src"),
    ("chat_http", "crates/chat-http/src"),
    ("chat_storage", "crates/chat-storage/tests/it"),
];
const BESIDE: &str = "crates/chat-http/tests/it";

/// Reads the files and the modules of the tests they name. A file that is missing is a finding, and no error.
///
/// # Errors
/// When the folder cannot be listed.
pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (heading, name) in FILES {
        let place = format!("{FOLDER}/{name}.rs");
        match fs::read_to_string(root.join(&place)) {
            Ok(text) => {
                let read = |path: &str| fs::read_to_string(root.join(path)).ok();
                findings.extend(file(&place, heading, &text, read));
            }
            Err(_) => findings.push(Finding::error(place, format!("is missing: the tests of {heading}"))),
        }
    }
    for entry in fs::read_dir(root.join(FOLDER)).context("cannot list the checklist of the chat")? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !FILES.iter().any(|(_, known)| name == format!("{known}.rs")) {
            findings.push(Finding::error(format!("{FOLDER}/{name}"), "is no endpoint's of the specification"));
        }
    }
    Ok(findings)
}

/// What is wrong with one file. `read` gives the text of a file of the checkout, if there is one.
fn file(place: &str, heading: &str, text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let docs: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let mut findings = Vec::new();
    if docs.first() != Some(&heading) {
        findings.push(Finding::error(place, format!("should begin with {heading}")));
    }
    let names: Vec<&str> =
        docs.iter().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(|name| is_test(name)).collect();
    if names.is_empty() && !text.contains("#[tokio::test]") {
        findings.push(Finding::error(place, "neither names a test nor has one"));
    }
    let missing = names.into_iter().filter(|name| !is_there(name, &read));
    findings.extend(missing.map(|name| Finding::error(place, format!("there is no test {name}"))));
    findings
}

/// Whether it is the path of a function: names with `::` between them.
fn is_test(name: &str) -> bool {
    let is_name =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    name.contains("::") && name.split("::").all(is_name)
}

/// Whether that function is in a file of its module, or in the one that module stands in.
fn is_there(name: &str, read: impl Fn(&str) -> Option<String>) -> bool {
    let mut parts: Vec<&str> = name.split("::").collect();
    let root = parts.first().and_then(|first| ROOTS.iter().find(|(known, _)| known == first));
    if root.is_some() {
        parts.remove(0);
    }
    let Some(function) = parts.pop() else { return false };
    let folder = root.map_or(BESIDE, |(_, folder)| folder);
    let module = parts.join("/");
    let outer = module.rsplit_once('/').map(|(outer, _)| outer);
    let paths =
        [Some(format!("{module}.rs")), Some(format!("{module}/mod.rs")), outer.map(|outer| format!("{outer}.rs"))];
    let found = paths.into_iter().flatten().find_map(|path| read(&format!("{folder}/{path}")));
    found.is_some_and(|text| text.contains(&format!("fn {function}(")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<String> {
        let text = match path {
            "crates/chat-http/tests/it/a/b.rs" => "async fn one() {}",
            "crates/chat-core/src/typing.rs" => "fn two() {}",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn texts(text: &str) -> Vec<String> {
        file("x.rs", "`GET /x`", text, read).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn the_tests_a_file_names_are_there() {
        let text =
            "//! `GET /x`\n//!\n//! - a `word`: `a::b::one`,\n//!   `chat_core::typing::tests::two`\n\nfn x() {}";
        assert_eq!(texts(text), Vec::<String>::new());
        assert_eq!(texts("//! `GET /x`\n//! `a::b::on`"), ["there is no test a::b::on"]);
        assert_eq!(texts("//! `GET /x`\n//! `c::d::one`"), ["there is no test c::d::one"]);
    }

    #[test]
    fn a_file_says_which_endpoint_it_is_about_and_shows_something() {
        assert_eq!(texts("//! `GET /y`\n//! `a::b::one`"), ["should begin with `GET /x`"]);
        assert_eq!(texts("//! `GET /x`"), ["neither names a test nor has one"]);
        assert_eq!(texts("//! `GET /x`\n#[tokio::test]\nasync fn y() {}"), Vec::<String>::new());
    }
}
