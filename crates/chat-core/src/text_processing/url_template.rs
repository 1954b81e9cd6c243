//! Templates of URLs (RFC 6570) that administrators write: of linkifiers and of code playgrounds.

use iri_string::template::{UriTemplateStr, UriTemplateString};
use percent_encoding::{AsciiSet, utf8_percent_encode};
use std::collections::BTreeSet;
use thiserror::Error;

/// The text is not a valid URL template of RFC 6570.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("Invalid URL template.")]
pub struct UrlTemplateError;

/// Takes a template as it was written.
///
/// The library behind it knows ASCII, and any number of five digits as a length. So what is not ASCII is encoded
/// first, which expanding a literal does anyway (RFC 6570, section 3.1), and lengths are looked at here (section
/// 2.4.1: 1 to 9999, no zero in front).
///
/// # Errors
/// [`UrlTemplateError`].
pub(crate) fn parse(written: &str) -> Result<UriTemplateString, UrlTemplateError> {
    let encoded = utf8_percent_encode(written, &AsciiSet::EMPTY).to_string();
    let mut variables = written.split('{').skip(1).flat_map(|rest| {
        let (expression, _) = rest.split_once('}').unwrap_or((rest, ""));
        expression.split(',')
    });
    if !variables.all(|variable| variable.is_ascii() && has_length_in_bounds(variable)) {
        return Err(UrlTemplateError);
    }
    UriTemplateString::try_from(encoded).map_err(|_| UrlTemplateError)
}

/// Returns the names of its variables, each once.
pub(crate) fn variables(template: &UriTemplateStr) -> BTreeSet<&str> {
    template.variables().map(|variable| variable.as_str()).collect()
}

/// Returns whether the scheme of what the template expands to is decided before its first variable, and is one that
/// links may have: what is put into it can never make a `javascript:` or `data:` URL of it. A template without a scheme
/// leads to a host or a path.
pub(crate) fn is_of_allowed_scheme(written: &str) -> bool {
    let literal = written.split('{').next().unwrap_or_default();
    match literal.find([':', '/', '?', '#']) {
        Some(end) if literal.get(end..).is_some_and(|rest| rest.starts_with(':')) => {
            literal.get(..end).is_some_and(crate::text_processing::url_scheme::is_allowed_scheme)
        }
        Some(_) => true,
        // Without a variable it is what it is: a name.
        None => !written.contains('{'),
    }
}

fn has_length_in_bounds(variable: &str) -> bool {
    let Some((_, length)) = variable.split_once(':') else { return true };
    let digits = (1..=4).contains(&length.len()) && length.bytes().all(|byte| byte.is_ascii_digit());
    digits && !length.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use iri_string::spec::UriSpec;
    use iri_string::template::simple_context::SimpleContext;
    use proptest::prelude::*;

    fn expanded(template: &str, code: &str) -> Option<String> {
        let mut context = SimpleContext::new();
        context.insert("code", code);
        let template = parse(template).ok()?;
        Some(template.expand::<UriSpec, _>(&context).ok()?.to_string())
    }

    #[test]
    fn a_literal_of_any_alphabet_is_expanded_encoded() {
        assert_eq!(expanded("https://x.example/é{code}", "a b").as_deref(), Some("https://x.example/%C3%A9a%20b"));
        assert_eq!(expanded("https://x.example/%C3%A9/{code}", "1").as_deref(), Some("https://x.example/%C3%A9/1"));
    }

    #[test]
    fn a_length_is_1_to_9999_and_has_no_zero_in_front() {
        assert_eq!(expanded("https://x/{code:1}", "abc").as_deref(), Some("https://x/a"));
        assert_eq!(expanded("https://x/{code:9999}", "abc").as_deref(), Some("https://x/abc"));
        for length in ["0", "01", "10000", "65536", "99999", "100000", "", "a", "1*", "é"] {
            assert_eq!(parse(&format!("https://x/{{code:{length}}}")), Err(UrlTemplateError), "{length}");
        }
    }

    #[test]
    fn the_scheme_stands_before_the_variables_and_is_one_of_links() {
        for allowed in [
            "https://x/{code}",
            "HTTP://{host}/",
            "ftp://x/{a}",
            "mailto:{who}",
            "x.example/{id}",
            "/x{?q}",
            "#x{id}",
            "x",
        ] {
            assert!(is_of_allowed_scheme(allowed), "{allowed}");
        }
        for refused in [
            "javascript:{code}",
            "JavaScript:alert(1)//{code}",
            "data:text/html,{code}",
            "vbscript:{code}",
            "file:///{code}",
            "{+code}",
            "java{+code}",
            " javascript:{code}",
            "\u{1}javascript:{code}",
        ] {
            assert!(!is_of_allowed_scheme(refused), "{refused:?}");
        }
    }

    #[test]
    fn what_is_not_a_template_is_refused() {
        for written in
            ["{", "https://x/%é{code}", "https://x/%", "https://x/%4", "https://x/%zz", "{é}", "{=code}", "{}"]
        {
            assert_eq!(parse(written), Err(UrlTemplateError), "{written}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_judged(written in "[a-c{}:%,*?+/#é€0-9 ]{0,24}", code in ".{0,8}") {
            if let Ok(template) = parse(&written) {
                let _ = variables(&template);
                let _ = expanded(&written, &code);
            }
        }
    }
}
