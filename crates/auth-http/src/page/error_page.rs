//! An error as a page: what happened in words of people, what to do, and the cause for developers.

use askama::Template as _;
use http::StatusCode;
use oauth_core::authorization_endpoint::AuthorizationPageError;

use super::view::ErrorPage;
use crate::error::{ApiError, CsrfError, ErrorResponse};
use crate::page_frame::Pages;

/// The words of a page.
struct Words {
    heading: &'static str,
    text: &'static str,
    advice: &'static str,
}

/// Returns the page; `reference` is the id of the request.
pub(crate) fn body(fault: &ApiError, verdict: &ErrorResponse, (pages, reference): (&Pages, &str)) -> String {
    let Words { heading, text, advice } = words(fault, verdict.status);
    let page = ErrorPage {
        frame: pages.frame(),
        heading,
        text,
        advice,
        reference,
        status: verdict.status.as_u16(),
        error: verdict.error(),
        cause: verdict.text(),
    };
    page.render().unwrap_or_else(|error| {
        tracing::error!(%error, "a page cannot be written");
        format!("{heading}. {text} {advice}")
    })
}

fn words(fault: &ApiError, status: StatusCode) -> Words {
    match (fault, status) {
        (ApiError::Authorize(cause), _) => unauthorized(*cause),
        (ApiError::Form(CsrfError::CrossSite | CsrfError::Invalid), _) => Words {
            heading: "This page is out of date",
            text: "Nothing was changed. You may have signed in or out in another window since the page was opened.",
            advice: "Go back to the app and start again, or reload the page you came from.",
        },
        (_, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) => Words {
            heading: "There is nothing here",
            text: "The address is not one of a page.",
            advice: "If a link brought you here, it is wrong or too old.",
        },
        (_, StatusCode::TOO_MANY_REQUESTS) => Words {
            heading: "Too many attempts",
            text: "To protect your account, we have to make a pause.",
            advice: "Wait a little, then try again.",
        },
        (_, StatusCode::SERVICE_UNAVAILABLE) => Words {
            heading: "We are very busy",
            text: "Your request could not be answered just now.",
            advice: "Try again in a minute.",
        },
        (_, status) if status.is_server_error() => Words {
            heading: "Something went wrong on our side",
            text: "Your request could not be finished.",
            advice: "Try again in a minute. If it happens again, tell us the reference below.",
        },
        _ => Words {
            heading: "This request cannot be read",
            text: "What your browser sent is not what this page expects. Nothing was changed.",
            advice: "Go back and try again.",
        },
    }
}

/// An authorization that cannot go on, and that the app must not learn of.
fn unauthorized(cause: AuthorizationPageError) -> Words {
    match cause {
        AuthorizationPageError::UnknownApp | AuthorizationPageError::InactiveApp => Words {
            heading: "This app cannot be connected",
            text: "The app that brought you here is not registered with us, or not any more. Nothing was shared with it.",
            advice: "Ask whoever makes the app.",
        },
        AuthorizationPageError::RedirectUri => Words {
            heading: "This app cannot be connected",
            text: "The app wants our answer sent to a place that is not known to be its own. To protect you, nothing was \
                   shared with it.",
            advice: "Ask whoever makes the app.",
        },
        AuthorizationPageError::Transaction => Words {
            heading: "This page cannot be opened",
            text: "A part of its address is missing or was changed. Nothing was changed or shared by opening it.",
            advice: "Go back to the app and start again.",
        },
        AuthorizationPageError::TransactionExpired => Words {
            heading: "This took too long",
            text: "For your safety a request has to be finished within a quarter of an hour. Nothing was shared.",
            advice: "Go back to the app and start again.",
        },
        AuthorizationPageError::Patient => Words {
            heading: "This record cannot be chosen",
            text: "You may not use this record, or not any more. Nothing was shared.",
            advice: "Go back and choose another one.",
        },
    }
}
