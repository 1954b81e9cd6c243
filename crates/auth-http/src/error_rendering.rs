//! Gives an error the body of the API that it happened at.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, PRAGMA};

use crate::api::Api;
use crate::error::take_fault;
use crate::media;
use crate::page::{self, error_page};
use crate::page_frame::Pages;

/// The request that a fault answers.
pub(crate) struct ErrorContext<'a> {
    /// The API that was called.
    pub(crate) api: Api,
    /// The frame of pages.
    pub(crate) pages: &'a Pages,
    /// The server's public address.
    pub(crate) base_url: &'a str,
    /// The request's id.
    pub(crate) request_id: &'a str,
}

/// Gives a response that carries a fault its headers and body; any other passes through.
pub(crate) fn render(mut response: Response, place: &ErrorContext<'_>) -> Response {
    let Some(fault) = take_fault(&mut response) else { return response };
    fault.report();
    if place.api == Api::Page {
        fault.report_page();
    }
    let verdict = fault.verdict();
    let (media_type, body) = match place.api {
        Api::Page => {
            (HeaderValue::from_static(media::HTML), error_page::body(&fault, &verdict, (place.pages, place.request_id)))
        }
        Api::OAuth => (HeaderValue::from_static(media::JSON), verdict.oauth_body().to_string()),
        Api::Rpc => (HeaderValue::from_static(media::JSON), verdict.rpc_body().to_string()),
        Api::Resources(format) => (media::of_resources(format), verdict.outcome_body().to_string()),
    };
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, media_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    match place.api {
        Api::Page => page::add_security_headers(headers),
        Api::OAuth => drop(headers.insert(PRAGMA, HeaderValue::from_static("no-cache"))),
        Api::Rpc | Api::Resources(_) => {}
    }
    verdict.add_headers(headers, place.base_url);
    *response.body_mut() = Body::from(body);
    response
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use fhir_service::resource_format::ResourceFormat;
    use http::StatusCode;
    use http_body_util::BodyExt as _;
    use serde_json::Value;

    use super::*;
    use crate::error::ApiError;
    use crate::page_frame::PageTheme;

    async fn rendered(fault: ApiError, api: Api) -> (StatusCode, String, Value) {
        let base_url = "https://a.example";
        let pages = Pages::new(base_url, &PageTheme::default());
        let place = ErrorContext { api, pages: &pages, base_url, request_id: "r1" };
        let (parts, body) = render(fault.into_response(), &place).into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let media_type = parts.headers[CONTENT_TYPE].to_str().unwrap().to_owned();
        (parts.status, media_type, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_panic_is_500_in_the_form_of_each_face_and_its_text_stays_inside() {
        let faces = [
            (Api::OAuth, "application/json", "/error", "server_error"),
            (Api::Resources(ResourceFormat::Native), "application/json", "/resourceType", "OperationOutcome"),
            (Api::Resources(ResourceFormat::Fhir), "application/fhir+json", "/resourceType", "OperationOutcome"),
        ];
        for (api, media_type, pointer, expected) in faces {
            let (status, sent, body) = rendered(ApiError::Panicked("secret plan".to_owned()), api).await;
            assert_eq!((status, sent.as_str()), (StatusCode::INTERNAL_SERVER_ERROR, media_type));
            assert_eq!(body.pointer(pointer).unwrap(), expected);
            assert!(!body.to_string().contains("plan"), "{body}");
        }
    }
}
