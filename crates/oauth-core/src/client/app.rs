//! How a Client presents itself to the people who let it in.

use serde_json::Value;

/// The description of a Client for pages: name, publisher and addresses.
#[derive(Debug, Clone, Default)]
pub struct ClientAppDescription {
    /// `smart.name`, else `name`.
    pub name: Option<String>,
    /// `smart.description`, else `description`.
    pub description: Option<String>,
    /// `details.policy_uri`: what the app does with the data. Not specified where that is kept; `details` is the
    /// member without a shape, and the names in it are those of RFC 7591, section 2.
    pub policy_uri: Option<String>,
    /// `details.tos_uri`.
    pub terms_uri: Option<String>,
    /// `smart.launch_uri`: where an EHR opens it.
    pub launch_uri: Option<String>,
}

impl ClientAppDescription {
    pub(super) fn read(resource: &Value) -> Self {
        let text = |pointer: &str| {
            let text = resource.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        Self {
            name: text("/smart/name").or_else(|| text("/name")),
            description: text("/smart/description").or_else(|| text("/description")),
            policy_uri: web_address(text("/details/policy_uri")),
            terms_uri: web_address(text("/details/tos_uri")),
            launch_uri: web_address(text("/smart/launch_uri")),
        }
    }
}

/// A link on a page is http or https, whatever SQL wrote past registration.
fn web_address(text: Option<String>) -> Option<String> {
    text.filter(|text| crate::security_resource_rules::is_web_address(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_app_is_read_with_everything_pages_need() {
        let app = ClientAppDescription::read(&json!({
            "name": "client name", "description": "about",
            "smart": {"name": "Heart", "launch_uri": "https://app.example/launch"},
            "details": {"tos_uri": "https://app.example/terms"},
        }));
        assert_eq!((app.name.as_deref(), app.description.as_deref()), (Some("Heart"), Some("about")));
        assert_eq!((app.policy_uri, app.terms_uri.as_deref()), (None, Some("https://app.example/terms")));
        assert_eq!(app.launch_uri.as_deref(), Some("https://app.example/launch"));
    }

    #[test]
    fn an_address_that_runs_in_the_page_is_no_address() {
        let script = "javascript:alert(1)";
        let app = ClientAppDescription::read(
            &json!({"details": {"policy_uri": script, "tos_uri": "/x"}, "smart": {"launch_uri": script}}),
        );
        assert_eq!((app.policy_uri, app.terms_uri, app.launch_uri), (None, None, None));
    }
}
