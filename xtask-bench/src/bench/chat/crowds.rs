//! What one request does to thousands of users: into a channel and out of it, into a group and out of it.
//!
//! Each row is the cost of one user. It has to be the same with 1,000 and with 10,000 of them.

use std::cell::RefCell;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::super::{
    Row, Target,
    load::{self, Callers, Wire},
    slices::{self, SLICES},
};
use super::deployment::{Deployment, Member};
use super::everyday::slice_us;

/// Users of one request.
const SIZES: [i64; 2] = [1_000, 10_000];
/// Accounts that the bare statements add, with numbers after the first of these.
pub(super) const CROWD: usize = 10_000;
const BEFORE_CROWD: i64 = 2_000_000_000;
/// What one user may cost, in microseconds.
const TARGET: Target = Target::alone(20.0);

/// A row for each size and direction.
///
/// # Errors
/// When the server refuses a request.
pub(super) fn rows(deployment: &Deployment<'_>) -> Result<Vec<Row>> {
    let owner = deployment.owner()?;
    let group = group(deployment, &owner)?;
    let mut rows = Vec::new();
    for size in SIZES {
        let users = json!((1..=size).map(|number| BEFORE_CROWD + number).collect::<Vec<_>>()).to_string();
        let form =
            |path: &str, fields: &[(&str, &str)]| owner.signed(load::post_form(deployment.address(), path, fields));
        let subscriptions = "/api/v1/users/me/subscriptions";
        // Users are rarely in the same channel twice, so each slice has a new channel, which is there before it begins.
        let channels = |slice: usize| {
            let name = format!("crowd of {size}, {slice}");
            let (made, left) = (json!([{ "name": &name }]).to_string(), json!([name]).to_string());
            load::ask(deployment.address(), &form(subscriptions, &[("subscriptions", &made)]))?;
            let into = form(subscriptions, &[("subscriptions", &made), ("principals", &users)]);
            let out = form(subscriptions, &[("subscriptions", &left), ("principals", &users)]);
            Ok([into, as_delete(&out)?])
        };
        rows.extend(pair(deployment, ("subscribe", "unsubscribe"), size, channels)?);
        let members = format!("/api/v1/user_groups/{group}/members");
        let groups = |_| Ok([form(&members, &[("add", &users)]), form(&members, &[("delete", &users)])]);
        rows.extend(pair(deployment, ("put into a group", "take out of a group"), size, groups)?);
    }
    Ok(rows)
}

/// The number of a group without members.
fn group(deployment: &Deployment<'_>, owner: &Member) -> Result<i64> {
    let fields = [("name", "crowd"), ("description", ""), ("members", "[]")];
    deployment.call(owner, load::post_form(deployment.address(), "/api/v1/user_groups/create", &fields))?;
    let answer = deployment.call(owner, load::get(deployment.address(), "/api/v1/user_groups"))?;
    let groups = answer.get("user_groups").and_then(Value::as_array).context("no groups were answered")?;
    let made = groups.iter().find(|group| group.get("name").and_then(Value::as_str) == Some("crowd"));
    made.and_then(|group| group.get("id")?.as_i64()).context("the group is not there")
}

/// What there and back cost for each user, by the two requests of each slice.
fn pair(
    deployment: &Deployment<'_>,
    (there, back): (&str, &str),
    size: i64,
    requests: impl Fn(usize) -> Result<[Wire; 2]>,
) -> Result<[Row; 2]> {
    for request in requests(SLICES)? {
        load::ask(deployment.address(), &request)?;
    }
    let there_and_back: Vec<[Wire; 2]> = (0..SLICES).map(requests).collect::<Result<_>>()?;
    let processes = deployment.processes();
    let callers = RefCell::new(Callers::open(deployment.address())?);
    let each = f64::from(u32::try_from(size)?);
    let cost = |request: Option<&Wire>| {
        let request = request.cloned().context("there are no more requests")?;
        Ok(slice_us(&processes, &mut callers.borrow_mut(), &[request], 1)? / each)
    };
    let mut into = there_and_back.iter().map(|[into, _]| into);
    let medians = slices::alternate(|slice| cost(there_and_back.get(slice).map(|[_, out]| out)), || cost(into.next()))?;
    let row = |work: &str, ours: f64| Row {
        engine: deployment.engine(),
        ours: Some(ours),
        target: Some(TARGET),
        ..Row::cpu(&format!("{work}: one of {size} users"))
    };
    Ok([row(there, medians.limit), row(back, medians.ours)])
}

/// The same request with the method that takes away.
fn as_delete(request: &[u8]) -> Result<Wire> {
    let rest = request.strip_prefix(b"POST").context("the request is no POST")?;
    Ok([b"DELETE".as_slice(), rest].concat())
}
