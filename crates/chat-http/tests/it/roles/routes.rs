//! Which endpoints there are.

use std::collections::BTreeSet;

use crate::document;
use crate::test_app::TestApp;

/// `METHOD /path` of all endpoints below `/api/v1`, with `{}` for what differs: those the API describes, and none is
/// routed that it does not.
pub(crate) async fn served(app: &TestApp) -> BTreeSet<String> {
    document::of(app).await.operations.iter().map(|operation| plain(&operation.call)).collect()
}

/// The call with `{}` for every name in braces.
pub(crate) fn plain(call: &str) -> String {
    let mut parts = call.split(['{', '}']);
    let mut plain = parts.next().unwrap().to_owned();
    while let (Some(_), Some(after)) = (parts.next(), parts.next()) {
        plain.push_str("{}");
        plain.push_str(after);
    }
    plain
}
