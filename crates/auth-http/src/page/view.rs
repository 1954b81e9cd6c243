//! What the templates are given: one struct of plain strings per page.

use askama::Template;

use super::look::{Logo, Look};
use super::style::Assets;

/// What every page begins with.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
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

impl Frame {
    pub(super) fn new(look: &Look, assets: &Assets, root: &str) -> Self {
        let served = assets.logo.as_ref().map(|asset| format!("{root}{}", asset.path()));
        Self {
            title: look.title.as_str().to_owned(),
            initial: look.title.initial(),
            stylesheet: format!("{root}{}", assets.stylesheet.path()),
            logo: match &look.logo {
                Some(Logo::Url(url)) => Some(url.clone()),
                Some(Logo::File { .. }) | None => served,
            },
            help: look.help.clone(),
        }
    }
}

/// A refusal that ends the visit.
#[derive(Debug, Template)]
#[template(path = "trouble.html")]
pub(crate) struct Trouble<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) heading: &'static str,
    pub(crate) text: &'static str,
    pub(crate) advice: &'static str,
    /// The request's id, which the server's log has.
    pub(crate) reference: &'a str,
    pub(crate) status: u16,
    pub(crate) error: &'static str,
    pub(crate) cause: &'a str,
}
