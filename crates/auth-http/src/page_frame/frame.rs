//! The beginning of every page.

use super::assets::StaticAssets;
use super::theme::{PageLogo, PageTheme};

/// The strings that every page begins with.
#[derive(Debug, Clone)]
pub(crate) struct PageFrame {
    /// The organization's name.
    pub(crate) title: String,
    /// The first letter of it.
    pub(crate) initial: String,
    /// Address of the stylesheet.
    pub(crate) stylesheet: String,
    /// Address of the logo.
    pub(crate) logo: Option<String>,
    /// Address of help.
    pub(crate) help: Option<String>,
}

impl PageFrame {
    pub(super) fn new(look: &PageTheme, assets: &StaticAssets, root: &str) -> Self {
        let served = assets.logo.as_ref().map(|asset| format!("{root}{}", asset.path()));
        Self {
            title: look.title.as_str().to_owned(),
            initial: look.title.initial(),
            stylesheet: format!("{root}{}", assets.stylesheet.path()),
            logo: match &look.logo {
                Some(PageLogo::Url(url)) => Some(url.clone()),
                Some(PageLogo::File { .. }) | None => served,
            },
            help: look.help.clone(),
        }
    }
}
