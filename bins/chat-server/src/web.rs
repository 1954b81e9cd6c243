//! The client that browsers are served: the port of the wire, met by the files of the program.

use axum::response::Response;
use chat_http::WebClientFiles;
use chat_web::EmbeddedWebClient;
use http::HeaderMap;

/// The client of `chat-web`.
pub(crate) struct EmbeddedClient(EmbeddedWebClient);

impl EmbeddedClient {
    pub(crate) fn new() -> Self {
        Self(EmbeddedWebClient::load_and_compress())
    }
}

impl WebClientFiles for EmbeddedClient {
    fn serve_start_page(&self, headers: &HeaderMap) -> Response {
        self.0.serve_start_page(headers)
    }

    fn serve_file(&self, name: &str, headers: &HeaderMap) -> Option<Response> {
        self.0.serve_file(name, headers)
    }
}
