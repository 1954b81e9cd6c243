//! The languages people can choose.

/// Codes with the names their speakers give them, in the order of the codes.
///
/// Not specified; the server itself speaks one language, so these are those that existing clients are translated into.
const LANGUAGES: [(&str, &str); 40] = [
    ("ar", "العربيّة"),
    ("be", "беларуская"),
    ("bg", "български"),
    ("ca", "català"),
    ("cs", "čeština"),
    ("cy", "Cymraeg"),
    ("da", "dansk"),
    ("de", "Deutsch"),
    ("el", "Ελληνικά"),
    ("en", "English"),
    ("en-gb", "English (United Kingdom)"),
    ("es", "español"),
    ("fa", "فارسی"),
    ("fi", "suomi"),
    ("fr", "français"),
    ("gl", "galego"),
    ("gu", "ગુજરાતી"),
    ("hi", "हिन्दी"),
    ("hu", "magyar"),
    ("id", "Bahasa Indonesia"),
    ("it", "italiano"),
    ("ja", "日本語"),
    ("ko", "한국어"),
    ("lt", "lietuvių"),
    ("mn", "монгол"),
    ("nl", "Nederlands"),
    ("pl", "polski"),
    ("pt", "português"),
    ("pt-br", "português brasileiro"),
    ("ro", "română"),
    ("ru", "русский"),
    ("si", "සිංහල"),
    ("sr", "српски"),
    ("sv", "svenska"),
    ("ta", "தமிழ்"),
    ("tr", "Türkçe"),
    ("uk", "українська"),
    ("vi", "Tiếng Việt"),
    ("zh-hans", "简体中文"),
    ("zh-hant", "繁體中文"),
];

/// Returns the name of the language of that code.
pub(super) fn name(code: &str) -> Option<&'static str> {
    LANGUAGES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_stand_in_the_order_of_their_codes() {
        assert!(LANGUAGES.is_sorted_by(|(left, _), (right, _)| left < right));
        assert_eq!((name("de"), name("DE"), name("xx")), (Some("Deutsch"), None, None));
    }
}
