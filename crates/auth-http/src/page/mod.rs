//! The pages people see: their frame and their looks.
//!
//! A page is a struct of plain strings ([`view`]) and a template beside it. Every page works without
//! script and loads nothing but the stylesheet and pictures.

mod look;
mod style;
pub(crate) mod view;

pub use look::{Accents, Colour, LOGO_MAX_BYTES, Logo, LogoKind, Look, LookFault, Title};

pub(crate) use style::{Asset, Assets};

use view::Frame;

/// Everything the pages of a deployment have in common.
pub(crate) struct Pages {
    frame: Frame,
    assets: Assets,
}

impl Pages {
    pub(crate) fn new(base_url: &str, look: &Look) -> Self {
        let parsed = url::Url::parse(base_url).ok();
        let root = parsed.as_ref().map_or("", |url| url.path().trim_end_matches('/'));
        let assets = Assets::new(look);
        Self { frame: Frame::new(look, &assets, root), assets }
    }

    /// What every page begins with.
    pub(crate) const fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The file of this name.
    pub(crate) fn asset(&self, name: &str) -> Option<&Asset> {
        self.assets.find(name)
    }
}
