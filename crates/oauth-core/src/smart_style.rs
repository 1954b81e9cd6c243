//! The SMART style document: the look that apps are told to take on, so that they do not stand out from the portal they
//! are opened from.
//!
//! # Source
//! SMART App Launch 2.2.0, "Styling": the document is public, and a change of its content changes its
//! address.

use bytes::Bytes;
use serde_json::json;

use crate::static_document::StaticDocument;

/// The path of the SMART style document below `{base_url}`.
pub const SMART_STYLE_PATH: &str = "/fhir/smart-style.json";

/// Returns the SMART style document. Sizes are CSS lengths, colours CSS colours; text on background has a contrast of
/// 15:1, on the errors' and the successes' colour of more than 4.5:1 to white (WCAG 2.2, 1.4.3).
#[must_use]
pub fn smart_style_document() -> StaticDocument {
    let style = json!({
        "color_background": "#ffffff",
        "color_error": "#b3261e",
        "color_highlight": "#1f5f8b",
        "color_modal_backdrop": "#000000",
        "color_success": "#1e6b3a",
        "color_text": "#1c2733",
        "dim_border_radius": "6px",
        "dim_font_size": "16px",
        "dim_spacing_size": "20px",
        "font_family_body": "system-ui, sans-serif",
        "font_family_heading": "system-ui, sans-serif",
    });
    StaticDocument::from_json_bytes(Bytes::from(style.to_string()))
}

/// Returns the URL of the SMART style document, with the version of its content, so that no app keeps an old look.
#[must_use]
pub fn versioned_smart_style_url(base_url: &str, document: &StaticDocument) -> String {
    format!("{base_url}{SMART_STYLE_PATH}?v={}", document.etag.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_has_another_address() {
        let (one, other) = (smart_style_document(), StaticDocument::from_json_bytes(Bytes::from_static(b"{}")));
        assert_eq!(
            versioned_smart_style_url("https://payer.example", &one),
            versioned_smart_style_url("https://payer.example", &smart_style_document())
        );
        assert_ne!(
            versioned_smart_style_url("https://payer.example", &one),
            versioned_smart_style_url("https://payer.example", &other)
        );
        assert!(
            versioned_smart_style_url("https://payer.example", &one)
                .starts_with("https://payer.example/fhir/smart-style.json?v=")
        );
    }
}
