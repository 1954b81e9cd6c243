//! How the pages look that members see.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use auth_http::{AccentColors, LOGO_MAX_BYTES, LogoFormat, PageLogo, PageTheme, PageTitle, SrgbColor};
use clap::Args;
use url::Url;

/// What the pages are called and coloured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pages")]
pub(crate) struct PageConfig {
    /// Name of the organization on the pages members see, 60 characters at most
    /// [default: Health Account]
    #[arg(long = "page-title", env = "BOX_PAGE_TITLE", value_name = "NAME", value_parser = title)]
    title: Option<Given<PageTitle>>,
    /// Logo of the organization: an https:// address, or a file (.svg, .png, .jpg, .webp; 256 KiB at
    /// most) [default: the name]
    #[arg(long = "page-logo", env = "BOX_PAGE_LOGO", value_name = "URL|FILE", value_parser = logo)]
    logo: Option<Given<PageLogo>>,
    /// Colour of buttons and links; its contrast with white and with #f4f6f8 must be 4.5:1 at least
    /// [default: #0b5c6b]
    #[arg(long = "page-accent", env = "BOX_PAGE_ACCENT", value_name = "COLOUR", value_parser = accent)]
    accent: Option<Given<SrgbColor>>,
    /// The same where the browser asks for dark pages; its contrast with #1a2129 and #11161c must be
    /// 4.5:1 at least [default: --page-accent, as much lighter as it needs]
    #[arg(long = "page-accent-dark", env = "BOX_PAGE_ACCENT_DARK", value_name = "COLOUR", value_parser = accent_on_dark)]
    accent_dark: Option<Given<SrgbColor>>,
    /// Where members get help: an https: or mailto: address [default: no link]
    #[arg(long = "page-help", env = "BOX_PAGE_HELP", value_name = "URL", value_parser = help)]
    help_url: Option<Given<String>>,
}

impl PageConfig {
    /// Returns the looks, each colour checked when it was read.
    pub(crate) fn look(&self) -> PageTheme {
        let plain = PageTheme::default();
        PageTheme {
            title: given(self.title.as_ref()).unwrap_or(plain.title),
            logo: given(self.logo.as_ref()),
            accents: AccentColors::new(given(self.accent.as_ref()), given(self.accent_dark.as_ref()))
                .unwrap_or(plain.accents),
            help: given(self.help_url.as_ref()),
        }
    }
}

/// A value; an empty text counts as absent.
#[derive(Debug, Clone)]
struct Given<T>(Option<T>);

fn given<T: Clone>(value: Option<&Given<T>>) -> Option<T> {
    value.and_then(|given| given.0.clone())
}

fn unless_empty<T>(text: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<Given<T>, String> {
    if text.is_empty() { Ok(Given(None)) } else { read(text).map(|value| Given(Some(value))) }
}

fn title(text: &str) -> Result<Given<PageTitle>, String> {
    unless_empty(text, |text| text.parse().map_err(|fault: auth_http::PageThemeError| fault.to_string()))
}

fn accent(text: &str) -> Result<Given<SrgbColor>, String> {
    colour(text, |colour| AccentColors::new(Some(colour), None))
}

fn accent_on_dark(text: &str) -> Result<Given<SrgbColor>, String> {
    colour(text, |colour| AccentColors::new(None, Some(colour)))
}

fn colour(
    text: &str,
    check: impl FnOnce(SrgbColor) -> Result<AccentColors, auth_http::PageThemeError>,
) -> Result<Given<SrgbColor>, String> {
    unless_empty(text, |text| {
        let colour: SrgbColor = text.parse().map_err(|fault: auth_http::PageThemeError| fault.to_string())?;
        check(colour).map(|_| colour).map_err(|fault| fault.to_string())
    })
}

fn help(text: &str) -> Result<Given<String>, String> {
    unless_empty(text, |text| {
        let fits = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "mailto"));
        if fits { Ok(text.to_owned()) } else { Err("must be an https: or mailto: address".to_owned()) }
    })
}

fn logo(text: &str) -> Result<Given<PageLogo>, String> {
    unless_empty(text, |text| match text.split_once("://") {
        Some(("https", _)) if Url::parse(text).is_ok() => Ok(PageLogo::Url(text.to_owned())),
        Some(_) => Err("must be an https:// address or a file: browsers load nothing else into the pages".to_owned()),
        None => logo_file(Path::new(text)),
    })
}

fn logo_file(path: &Path) -> Result<PageLogo, String> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let kind = LogoFormat::from_extension(extension).ok_or("must be a .svg, .png, .jpg or .webp file")?;
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let most = u64::try_from(LOGO_MAX_BYTES).unwrap_or(u64::MAX);
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() > LOGO_MAX_BYTES {
        return Err(format!("must be a file of at most {LOGO_MAX_BYTES} bytes"));
    }
    Ok(PageLogo::File { bytes: bytes.into(), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_is_a_small_picture_or_an_address_by_https() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, size: usize| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![b'x'; size]).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let read = |text: &str| logo(text).map(|given| given.0);
        let bytes = vec![b'x'; 3].into();
        assert_eq!(read(&write("a.PNG", 3)), Ok(Some(PageLogo::File { bytes, kind: LogoFormat::Png })));
        assert!(read(&write("b.svg", LOGO_MAX_BYTES)).is_ok());
        assert!(read(&write("c.svg", LOGO_MAX_BYTES + 1)).unwrap_err().contains("at most 262144 bytes"));
        assert!(read(&write("d.html", 3)).unwrap_err().contains(".svg"));
        assert!(read("nowhere.svg").unwrap_err().contains("cannot be read"));
        assert_eq!(read("https://a.example/l.svg"), Ok(Some(PageLogo::Url("https://a.example/l.svg".to_owned()))));
        assert!(read("http://a.example/l.svg").unwrap_err().contains("https://"));
        assert_eq!(read(""), Ok(None));
    }
}
