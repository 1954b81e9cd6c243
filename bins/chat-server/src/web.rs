//! The client that browsers are served: the port of the wire, met by the files of the program.

use axum::response::Response;
use chat_http::BrowserClient;
use chat_web::WebClient;
use http::HeaderMap;

/// The client of `chat-web`.
pub(crate) struct EmbeddedClient(WebClient);

impl EmbeddedClient {
    pub(crate) fn new() -> Self {
        Self(WebClient::embedded())
    }
}

impl BrowserClient for EmbeddedClient {
    fn index(&self, headers: &HeaderMap) -> Response {
        self.0.index(headers)
    }

    fn file(&self, name: &str, headers: &HeaderMap) -> Option<Response> {
        self.0.file(name, headers)
    }
}
