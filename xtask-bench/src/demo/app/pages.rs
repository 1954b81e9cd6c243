//! The one page of the sample app.

use std::fmt::Write as _;

/// What the page shows.
pub(super) struct Home<'a> {
    pub(super) app: &'a str,
    /// Where the member takes it back.
    pub(super) apps: &'a str,
    pub(super) trouble: Option<&'a str>,
    /// What the member allowed.
    pub(super) scope: Option<&'a str>,
    /// What was read; `None` when the app is not connected.
    pub(super) reads: Option<&'a [Reading]>,
}

/// One answer of the server.
pub(super) struct Reading {
    pub(super) title: &'static str,
    pub(super) path: &'static str,
    /// 0 when there was none.
    pub(super) status: u16,
    pub(super) body: String,
}

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1rem 1.25rem 4rem;\
color:#1d2129;background:#fff}a.button,button{font:inherit;font-weight:600;padding:.6rem 1.1rem;border:0;\
border-radius:.5rem;background:#0b5c6b;color:#fff;text-decoration:none;cursor:pointer}\
.trouble{border-left:4px solid #a1241c;background:#fdecea;padding:.75rem 1rem}pre{background:#f4f6f8;padding:1rem;\
border-radius:.5rem;overflow:auto;max-height:22rem;font-size:.875rem}code{overflow-wrap:anywhere}h2{margin:2rem 0 0}\
.actions{display:flex;flex-wrap:wrap;gap:1rem;align-items:center;margin:1.5rem 0}";

/// The page.
pub(super) fn home(page: &Home<'_>) -> String {
    let Home { app, apps, trouble, scope, reads } = page;
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{app}</title><link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body><main><h1>{app}</h1>"
    );
    if let Some(trouble) = trouble {
        let _ = write!(html, "<p class=\"trouble\" role=\"alert\">{}</p>", escaped(trouble));
    }
    match reads {
        None => html.push_str(
            "<p>A sample app. It has nothing of yours yet: connect it to your health plan, sign in there, and choose \
             what it may see.</p><p class=\"actions\"><a class=\"button\" href=\"/connect\">Connect</a></p>",
        ),
        Some(reads) => {
            let _ = write!(
                html,
                "<p>You allowed: <code>{}</code></p><div class=\"actions\">\
                 <a href=\"{apps}\" target=\"_blank\" rel=\"noopener\">Take it back under Connected apps</a>\
                 <a href=\"/\">Reload</a><a href=\"/connect\">Connect again</a>\
                 <form method=\"post\" action=\"/disconnect\"><button>Disconnect</button></form></div>",
                escaped(scope.unwrap_or_default())
            );
            for Reading { title, path, status, body } in *reads {
                let _ = write!(
                    html,
                    "<h2>{title}</h2><p><code>GET {path}</code>: {status}{}</p><pre tabindex=\"0\">{}</pre>",
                    meaning(*status),
                    escaped(body)
                );
            }
        }
    }
    html.push_str("</main></body></html>");
    html
}

/// What a status means to the member.
fn meaning(status: u16) -> &'static str {
    match status {
        401 => ". The access was taken back, or its ten minutes are over.",
        403 => ". You did not allow this.",
        _ => "",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_allowed_and_what_was_taken_back_is_said() {
        let reading = |status, body: &str| Reading { title: "A", path: "/a", status, body: body.to_owned() };
        let reads = [reading(403, "<x>"), reading(401, "")];
        let page = Home { app: "App", apps: "/apps", trouble: None, scope: Some("openid"), reads: Some(&reads) };
        let html = home(&page);
        for part in ["You did not allow this", "taken back", "&lt;x&gt;", "<code>openid</code>", "/disconnect"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(home(&Home { reads: None, ..page }).contains("href=\"/connect\""));
    }
}
