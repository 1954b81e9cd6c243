//! What the pages of a deployment share: theme, stylesheet and pictures, cookies, frame, and the policy for browsers.

mod assets;
mod cookie;
mod frame;
mod theme;

use http::HeaderValue;

use assets::{StaticAsset, StaticAssets};
pub(crate) use cookie::{CookieKind, RequestCookies};
pub(crate) use frame::PageFrame;
pub(crate) use theme::initial;
pub use theme::{AccentColors, LOGO_MAX_BYTES, LogoFormat, PageLogo, PageTheme, PageThemeError, PageTitle, SrgbColor};

/// The Content-Security-Policy of pages. No `form-action`: browsers apply it to the redirect that answers
/// a form, and that one leads to the app.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Returns [`POLICY`], extended by the host of the organization's logo where there is one.
fn policy(look: &PageTheme) -> HeaderValue {
    let host = match &look.logo {
        Some(PageLogo::Url(address)) => {
            url::Url::parse(address).ok().map(|address| address.origin().ascii_serialization())
        }
        Some(PageLogo::File { .. }) | None => None,
    };
    let of_host = |host: String| POLICY.replace("img-src 'self'", &format!("img-src 'self' {host}"));
    let policy = host.and_then(|host| HeaderValue::try_from(of_host(host)).ok());
    policy.unwrap_or(HeaderValue::from_static(POLICY))
}

/// The frame, assets and policy of the pages.
pub(crate) struct Pages {
    frame: PageFrame,
    assets: StaticAssets,
    cookies: RequestCookies,
    origin: String,
    root: String,
    policy: HeaderValue,
}

impl Pages {
    /// Returns the pages of the server at a public address.
    pub(crate) fn new(base_url: &str, look: &PageTheme) -> Self {
        let parsed = url::Url::parse(base_url).ok();
        let root = parsed.as_ref().map_or("", |url| url.path().trim_end_matches('/')).to_owned();
        let assets = StaticAssets::new(look);
        Self {
            frame: PageFrame::new(look, &assets, &root),
            assets,
            cookies: RequestCookies::new(base_url),
            origin: parsed.map_or_else(String::new, |url| url.origin().ascii_serialization()),
            root,
            policy: policy(look),
        }
    }

    /// Returns what every page begins with.
    pub(crate) const fn frame(&self) -> &PageFrame {
        &self.frame
    }

    /// Returns the file of this name.
    pub(crate) fn asset(&self, name: &str) -> Option<&StaticAsset> {
        self.assets.find(name)
    }

    pub(crate) const fn cookies(&self) -> RequestCookies {
        self.cookies
    }

    /// Returns the origin browsers know this server by.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the Content-Security-Policy of the deployment.
    pub(crate) fn policy(&self) -> HeaderValue {
        self.policy.clone()
    }

    /// Returns the address of a page of ours, as links on pages name it.
    pub(crate) fn link(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// Returns the address of the page at `path` for a pending authorization.
    pub(crate) fn link_with(&self, path: &str, transaction: &str) -> String {
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("transaction", transaction).finish();
        format!("{}{path}?{query}", self.root)
    }
}
