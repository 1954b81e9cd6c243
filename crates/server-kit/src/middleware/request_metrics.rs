//! The metrics of requests.

use std::time::Duration;

use http::{Method, StatusCode};

/// Counts a response and records its duration, labelled by the route template, because one label per path would grow
/// without bound.
pub fn record_response_metrics(method: &Method, route: &str, status: StatusCode, elapsed: Duration) {
    let method = method_label(method);
    let status = status.as_u16().to_string();
    metrics::counter!("http_requests_total", "method" => method, "route" => route.to_owned(), "status" => status)
        .increment(1);
    metrics::histogram!("http_request_duration_seconds", "method" => method, "route" => route.to_owned())
        .record(elapsed.as_secs_f64());
}

/// Returns the label of a method. Clients can invent methods; those that the server does not know share one label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_methods_share_one_label() {
        assert_eq!(method_label(&Method::PATCH), "PATCH");
        for invented in ["BREW", "get"] {
            assert_eq!(method_label(&Method::from_bytes(invented.as_bytes()).unwrap()), "other", "{invented}");
        }
    }
}
