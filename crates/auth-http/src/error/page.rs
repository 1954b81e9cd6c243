//! A fault as a page: what happened in words of people, what to do, and the cause for developers.

use askama::Template as _;
use http::StatusCode;

use super::{Place, Verdict};
use crate::page::view::Trouble;

/// The words of a page.
struct Words {
    heading: &'static str,
    text: &'static str,
    advice: &'static str,
}

/// The page.
pub(super) fn body(verdict: &Verdict, place: &Place<'_>) -> String {
    let Words { heading, text, advice } = words(verdict.status);
    let page = Trouble {
        frame: place.pages.frame(),
        heading,
        text,
        advice,
        reference: place.request_id,
        status: verdict.status.as_u16(),
        error: verdict.error(),
        cause: verdict.text(),
    };
    page.render().unwrap_or_else(|error| {
        tracing::error!(%error, "a page cannot be written");
        format!("{heading}. {text} {advice}")
    })
}

fn words(status: StatusCode) -> Words {
    match status {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Words {
            heading: "There is nothing here",
            text: "The address is not one of a page.",
            advice: "If a link brought you here, it is wrong or too old.",
        },
        StatusCode::TOO_MANY_REQUESTS => Words {
            heading: "Too many attempts",
            text: "To protect your account, we have to make a pause.",
            advice: "Wait a little, then try again.",
        },
        StatusCode::SERVICE_UNAVAILABLE => Words {
            heading: "We are very busy",
            text: "Your request could not be answered just now. Nothing was changed.",
            advice: "Try again in a minute.",
        },
        status if status.is_server_error() => Words {
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
