//! What the pages with a form share: the field that proves where the form came from, refusals above the form, and the
//! way to the next page.

use axum::response::Response;
use http::header::LOCATION;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode};

use super::join::finish;
use crate::browser::{self, FormToken};
use crate::error::{Failure, Fault, OnPage};
use crate::rate::address;
use crate::state::Site;

/// The largest form of these pages, in bytes.
pub(super) const FORM_MAX_BYTES: usize = 16 * 1024;
/// The longest password, in bytes, as on the page of an invitation.
pub(super) const PASSWORD_MAX_BYTES: usize = 1024;

/// Returns a page with a form, and gives its token to the browser. `make` writes the page with that token.
pub(super) fn form_page(app: &Site, headers: &HeaderMap, make: impl FnOnce(&str) -> Result<String, Fault>) -> Response {
    let token = match FormToken::of(app, headers) {
        Ok(token) => token,
        Err(fault) => return finish(app, Err(fault)),
    };
    let mut response = finish(app, make(&token.value));
    token.add_cookie(app, response.headers_mut());
    response
}

/// Returns the form again with what is wrong above it, where another form would do; else a page that says what is wrong.
pub(super) fn refused(
    app: &Site,
    headers: &HeaderMap,
    fault: Fault,
    make: impl FnOnce(&str, &str) -> Result<String, Fault>,
) -> Response {
    if !OnPage::concerns_form(&fault) {
        return finish(app, Err(fault));
    }
    let mut said = OnPage::of(&fault);
    let mut response = form_page(app, headers, |token| make(token, &said.text));
    *response.status_mut() = said.status;
    said.add_headers(response.headers_mut());
    response
}

/// Checks that a form came from a page of this server. Sending forms counts by address, as everything does that needs no
/// account.
pub(super) fn check(app: &Site, (headers, extensions): (&HeaderMap, &Extensions), field: &str) -> Result<(), Fault> {
    app.frame.by_address.check(&address(extensions))?;
    browser::check_form(app, headers, field)
}

/// Sends the browser to a path of this server, with these headers besides.
pub(super) fn redirect(app: &Site, path: &str, more: HeaderMap) -> Response {
    let base_url = app.settings.base_url.as_str();
    let host = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let before = host.find('/').and_then(|at| host.get(at..)).unwrap_or_default();
    let Ok(location) = HeaderValue::try_from(format!("{before}{path}")) else {
        return finish(app, Err(Failure::said("a path does not fit into a header").into()));
    };
    let mut response = finish(app, Ok(String::new()));
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().extend(more);
    response.headers_mut().insert(LOCATION, location);
    response
}
