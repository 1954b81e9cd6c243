//! What a deployment may choose about the looks of its pages.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

/// Least contrast of text, here of everything the accent is used for.
///
/// # Source
/// WCAG 2.2, success criterion 1.4.3 (AA).
const CONTRAST_MIN: f64 = 4.5;
/// Contrast that a colour made for the dark scheme gets: more than it must, as dark pages are read in the
/// dark.
const CONTRAST_MADE: f64 = 6.5;
/// What the accent of the light scheme is read on or with: `--card` and `--paper` of the stylesheet.
const LIGHT: [(&str, SrgbColor); 2] = [("white", SrgbColor([255; 3])), ("the page", SrgbColor([0xf4, 0xf6, 0xf8]))];
/// The same of the dark scheme: `--card`, and `--paper`, which is also the text on a button.
const DARK: [(&str, SrgbColor); 2] =
    [("the dark card", SrgbColor([0x1a, 0x21, 0x29])), ("the dark page", SrgbColor([0x11, 0x16, 0x1c]))];
/// The accent where none is chosen: a quiet blue-green.
const ACCENT: SrgbColor = SrgbColor([0x0b, 0x5c, 0x6b]);
/// Steps from a colour to white in which one that is read on dark is looked for.
const STEPS: u8 = 50;
/// Longest name of an organization on its pages, in characters.
const TITLE_MAX: usize = 60;
/// The largest logo file that is served, in bytes.
pub const LOGO_MAX_BYTES: usize = 256 * 1024;

/// The look of the pages: title, logo, colors and help address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageTheme {
    /// The organization's name, on every page and in its title.
    pub title: PageTitle,
    /// The organization's logo; when `None`, its name is shown instead.
    pub logo: Option<PageLogo>,
    /// The colors of buttons and links.
    pub accents: AccentColors,
    /// The address where people get help: `https:` or `mailto:`.
    pub help: Option<String>,
}

impl Default for PageTheme {
    fn default() -> Self {
        Self { title: PageTitle("Health Account".to_owned()), logo: None, accents: AccentColors::default(), help: None }
    }
}

/// The title of the pages, at most `TITLE_MAX` characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageTitle(String);

impl PageTitle {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what stands where there is no logo.
    pub(crate) fn initial(&self) -> String {
        initial(&self.0)
    }
}

/// Returns the first letter of a name, as a picture of what has none.
pub(crate) fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).map_or_else(String::new, |c| c.to_uppercase().collect())
}

impl FromStr for PageTitle {
    type Err = PageThemeError;

    fn from_str(text: &str) -> Result<Self, PageThemeError> {
        let text = text.trim();
        let fits = !text.is_empty() && text.chars().count() <= TITLE_MAX && !text.chars().any(char::is_control);
        if fits { Ok(Self(text.to_owned())) } else { Err(PageThemeError::Title) }
    }
}

/// The logo of the pages: an https URL or a file that the server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageLogo {
    /// An address that begins with `https:`; browsers load no other into these pages.
    Url(String),
    /// A file that this server serves.
    File {
        /// The content, at most [`LOGO_MAX_BYTES`].
        bytes: Bytes,
        /// The image format.
        kind: LogoFormat,
    },
}

/// The image format of a logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoFormat {
    /// `image/svg+xml`
    Svg,
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/webp`
    Webp,
}

impl LogoFormat {
    /// Returns the format that a file extension names, in any case.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        let kinds = [("svg", Self::Svg), ("png", Self::Png), ("jpg", Self::Jpeg), ("jpeg", Self::Jpeg)];
        let mut kinds = kinds.into_iter().chain([("webp", Self::Webp)]);
        kinds.find(|(known, _)| known.eq_ignore_ascii_case(extension)).map(|(_, kind)| kind)
    }

    pub(crate) const fn media_type(self) -> &'static str {
        match self {
            Self::Svg => "image/svg+xml",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// The accent colors of the pages in the light and the dark color scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccentColors {
    pub(crate) on_light: SrgbColor,
    pub(crate) on_dark: SrgbColor,
}

impl Default for AccentColors {
    fn default() -> Self {
        Self { on_light: ACCENT, on_dark: lightened(ACCENT) }
    }
}

impl AccentColors {
    /// Creates accent colors; a missing dark one is a lighter shade of the light one.
    ///
    /// # Errors
    /// [`PageThemeError::Contrast`] when text in or on a color could not be read.
    pub fn new(on_light: Option<SrgbColor>, on_dark: Option<SrgbColor>) -> Result<Self, PageThemeError> {
        let on_light = on_light.unwrap_or(ACCENT);
        check(on_light, &LIGHT)?;
        if let Some(on_dark) = on_dark {
            check(on_dark, &DARK)?;
        }
        Ok(Self { on_light, on_dark: on_dark.unwrap_or_else(|| lightened(on_light)) })
    }
}

fn check(colour: SrgbColor, against: &[(&'static str, SrgbColor)]) -> Result<(), PageThemeError> {
    let unreadable =
        against.iter().map(|(with, other)| (*with, colour.contrast(*other))).find(|(_, it)| *it < CONTRAST_MIN);
    unreadable.map_or(Ok(()), |(with, contrast)| Err(PageThemeError::Contrast { contrast, with }))
}

fn lightened(colour: SrgbColor) -> SrgbColor {
    let mut candidates = (0..=STEPS).map(|step| colour.towards_white(step));
    let reads = |candidate: &SrgbColor| DARK.iter().all(|(_, other)| candidate.contrast(*other) >= CONTRAST_MADE);
    candidates.find(reads).unwrap_or(SrgbColor([255; 3]))
}

/// An sRGB color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SrgbColor([u8; 3]);

impl SrgbColor {
    /// 1 for equal colours, 21 for black and white.
    ///
    /// # Source
    /// WCAG 2.2, definitions of "contrast ratio" and "relative luminance".
    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        if a > b { a / b } else { b / a }
    }

    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = self.0.map(linear);
        0.2126f64.mul_add(red, 0.7152f64.mul_add(green, 0.0722 * blue))
    }

    fn towards_white(self, step: u8) -> Self {
        let mix = |channel: u8| {
            let way = u16::from(255 - channel) * u16::from(step) / u16::from(STEPS);
            channel.saturating_add(u8::try_from(way).unwrap_or(u8::MAX))
        };
        Self(self.0.map(mix))
    }
}

impl FromStr for SrgbColor {
    type Err = PageThemeError;

    fn from_str(text: &str) -> Result<Self, PageThemeError> {
        let digits = text
            .strip_prefix('#')
            .filter(|digits| digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let digits = digits.ok_or(PageThemeError::Colour)?;
        let number = u32::from_str_radix(digits, 16).map_err(|_| PageThemeError::Colour)?;
        let [_, red, green, blue] = number.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

impl fmt::Display for SrgbColor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// The reason why a page theme cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PageThemeError {
    /// A title that is empty or too long, or has control characters.
    #[error("must be a name of at most {TITLE_MAX} characters")]
    Title,
    /// A text that is not a color.
    #[error("must be a colour such as #0b5c6b")]
    Colour,
    /// A color in which, or on which, text cannot be read.
    #[error("must have a contrast of at least {CONTRAST_MIN}:1 with {with}, and has {contrast:.1}:1")]
    Contrast {
        /// The contrast that it has.
        contrast: f64,
        /// The color that it is compared with, in words.
        with: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(text: &str) -> SrgbColor {
        text.parse().unwrap()
    }

    #[test]
    fn contrast_is_what_the_guideline_computes() {
        for (a, b, expected) in
            [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#0000ff", "#ffffff", 8.59)]
        {
            let contrast = colour(a).contrast(colour(b));
            assert!((contrast - expected).abs() < 0.01, "{a} {b}: {contrast}");
            assert!((colour(b).contrast(colour(a)) - contrast).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn an_accent_that_cannot_be_read_is_refused_with_what_it_has() {
        let refused = |light: Option<&str>, dark: Option<&str>| {
            AccentColors::new(light.map(colour), dark.map(colour)).unwrap_err().to_string()
        };
        assert!(refused(Some("#ffcc00"), None).contains("white, and has 1.5:1"));
        assert!(refused(Some("#757575"), None).contains("the page"), "4.6 with white, less with the page");
        assert!(refused(None, Some("#0b5c6b")).contains("the dark card"));
    }

    #[test]
    fn whatever_the_accent_is_the_dark_one_made_of_it_can_be_read() {
        for light in ["#000000", "#0b5c6b", "#7a0019", "#1a2129", "#00539b", "#5b2d8e"] {
            let accents = AccentColors::new(Some(colour(light)), None).unwrap();
            assert_eq!(check(accents.on_dark, &DARK), Ok(()), "{light}");
        }
        assert_eq!(check(AccentColors::default().on_light, &LIGHT), Ok(()));
        assert_eq!(check(AccentColors::default().on_dark, &DARK), Ok(()));
    }

    #[test]
    fn the_colours_checked_against_are_those_of_the_stylesheet() {
        let css = include_str!("../../templates/style.css");
        let (light, dark) = css.split_once("prefers-color-scheme: dark").unwrap();
        for (scheme, colours) in [(light, LIGHT), (dark, DARK)] {
            for (name, variable) in colours.iter().zip(["--card", "--paper"]) {
                assert!(scheme.contains(&format!("{variable}: {}", name.1)), "{variable} {}", name.1);
            }
        }
        assert!(light.contains("--on-accent: #ffffff") && dark.contains("--on-accent: #11161c"));
    }

    #[test]
    fn only_six_digits_are_a_colour_and_only_a_short_line_a_name() {
        for text in ["", "#fff", "0b5c6b", "#0b5c6", "#0b5c6bb", "#+b5c6b", "#ééé", "red", "#0b5c6b;}"] {
            assert_eq!(text.parse::<SrgbColor>(), Err(PageThemeError::Colour), "{text}");
        }
        assert_eq!(colour("#0B5c6b").to_string(), "#0b5c6b");
        for text in ["", "  ", "a\nb", &"x".repeat(61)] {
            assert_eq!(text.parse::<PageTitle>(), Err(PageThemeError::Title), "{text}");
        }
        assert_eq!(" Acme Health ".parse::<PageTitle>().unwrap().initial(), "A");
    }

    #[test]
    fn a_logo_is_known_by_its_extension() {
        assert_eq!(LogoFormat::from_extension("SVG"), Some(LogoFormat::Svg));
        assert_eq!(LogoFormat::from_extension("jpeg"), LogoFormat::from_extension("jpg"));
        assert_eq!(LogoFormat::from_extension("html"), None);
    }
}
