//! Patterns of the realm that turn text (`#123`) into links.

use super::limits::{MAX_COMPILED_LINKIFIER_BYTES, MAX_LINKIFIER_MATCHES};
use super::url::SafeUrl;
use crate::text_processing::url_template::{self, UrlTemplateError};
use iri_string::spec::UriSpec;
use iri_string::template::UriTemplateString;
use iri_string::template::simple_context::SimpleContext;
use regex::{Captures, Regex, RegexBuilder};
use std::collections::BTreeSet;
use std::ops::Range;
use thiserror::Error;

/// A pattern and the template of the links it makes.
///
/// The pattern is of the RE2 family: no look-around, no back-references, so that matching takes time linear in
/// the text. `\d`, `\w` and `\s` mean ASCII. It matches whole words only. The template is of RFC 6570; its
/// variables are the named groups of the pattern.
///
/// ```
/// use chat_core::markdown::Linkifier;
/// let tickets = Linkifier::new(r"#(?P<id>[0-9]+)", "https://tickets.example/{id}")?;
/// # Ok::<(), chat_core::markdown::LinkifierError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Linkifier {
    pattern: Regex,
    template: UriTemplateString,
}

/// The reason why a linkifier is not valid.
#[derive(Debug, Error)]
pub enum LinkifierError {
    /// The pattern is not a regular expression of the family, or too large.
    #[error("Bad regular expression: {}", explained(.0))]
    Pattern(#[source] Box<regex::Error>),
    /// The template is not one of RFC 6570.
    #[error(transparent)]
    Template(UrlTemplateError),
    /// The pattern has a group that the template does not use.
    #[error("Group '{0}' in linkifier pattern is not present in URL template.")]
    GroupNotInTemplate(String),
    /// The template has a variable that the pattern does not set.
    #[error("Group '{0}' in URL template is not present in linkifier pattern.")]
    GroupNotInPattern(String),
}

/// Returns what is wrong with a pattern, in one line: the engine's text shows the pattern first.
fn explained(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "pattern too large".to_owned(),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

impl Linkifier {
    /// Compiles a linkifier.
    ///
    /// # Errors
    /// [`LinkifierError`] names what is wrong with the pattern or the template, or the first name (in
    /// alphabetical order) that only one of them has.
    pub fn new(pattern: &str, template: &str) -> Result<Self, LinkifierError> {
        let whole_words = format!(r"\b{{start-half}}(?:{})\b{{end-half}}", ascii_classes(pattern));
        // Compiled alone first: a pattern with a stray parenthesis must not pass because of those put around it.
        let compile = |text: &str| {
            RegexBuilder::new(text)
                .size_limit(MAX_COMPILED_LINKIFIER_BYTES)
                .build()
                .map_err(|error| LinkifierError::Pattern(Box::new(error)))
        };
        compile(pattern)?;
        let pattern = compile(&whole_words)?;
        let template = url_template::parse(template).map_err(LinkifierError::Template)?;
        let linkifier = Self { pattern, template };
        linkifier.check_names()?;
        Ok(linkifier)
    }

    fn check_names(&self) -> Result<(), LinkifierError> {
        let groups: BTreeSet<&str> = self.pattern.capture_names().flatten().collect();
        let variables = url_template::variables(&self.template);
        if let Some(&group) = groups.difference(&variables).next() {
            return Err(LinkifierError::GroupNotInTemplate(group.to_owned()));
        }
        match variables.difference(&groups).next() {
            Some(&variable) => Err(LinkifierError::GroupNotInPattern(variable.to_owned())),
            None => Ok(()),
        }
    }

    /// Returns what this linkifier matches in `text`, in order, not overlapping. Matches whose link would lead to a
    /// scheme that is not allowed are left out.
    pub(super) fn links_in(&self, text: &str) -> Vec<(Range<usize>, SafeUrl)> {
        self.pattern
            .captures_iter(text)
            .take(MAX_LINKIFIER_MATCHES)
            .filter_map(|captures| {
                let whole = captures.get(0).filter(|whole| !whole.is_empty())?;
                Some((whole.range(), self.target(&captures)?))
            })
            .collect()
    }

    /// Returns what the address of every link begins with.
    pub(crate) fn address_start(&self) -> &str {
        let template = self.template.as_str();
        template.split('{').next().unwrap_or(template)
    }

    fn target(&self, captures: &Captures<'_>) -> Option<SafeUrl> {
        let mut context = SimpleContext::new();
        for name in self.pattern.capture_names().flatten() {
            if let Some(value) = captures.name(name) {
                context.insert(name, value.as_str());
            }
        }
        let expanded = self.template.expand::<UriSpec, _>(&context).ok()?;
        SafeUrl::parse(&expanded.to_string())
    }
}

/// Returns the pattern with its Perl classes spelled out, since those of the engine would match all of Unicode.
fn ascii_classes(pattern: &str) -> String {
    let mut spelled = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            spelled.push(character);
            continue;
        }
        match characters.next() {
            Some('d') => spelled.push_str("[0-9]"),
            Some('D') => spelled.push_str("[^0-9]"),
            Some('w') => spelled.push_str("[0-9A-Za-z_]"),
            Some('W') => spelled.push_str("[^0-9A-Za-z_]"),
            Some('s') => spelled.push_str(r"[\t\n\f\r ]"),
            Some('S') => spelled.push_str(r"[^\t\n\f\r ]"),
            Some(other) => spelled.extend(['\\', other]),
            None => spelled.push('\\'),
        }
    }
    spelled
}

/// A link in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicLink {
    /// The words of the topic that make the link.
    pub text: String,
    /// Where it leads.
    pub url: SafeUrl,
}

/// Returns the links in a topic, in its order: matches of the linkifiers, the earlier one winning where two overlap,
/// and URLs.
#[must_use]
pub fn find_topic_links(topic: &str, linkifiers: &[Linkifier]) -> Vec<TopicLink> {
    let mut found: Vec<(Range<usize>, SafeUrl)> = Vec::new();
    let candidates = linkifiers.iter().flat_map(|linkifier| linkifier.links_in(topic)).chain(written_links(topic));
    for (range, url) in candidates {
        if !found.iter().any(|(taken, _)| taken.start < range.end && range.start < taken.end) {
            found.push((range, url));
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found.into_iter().filter_map(|(range, url)| Some(TopicLink { text: topic.get(range)?.to_owned(), url })).collect()
}

fn written_links(topic: &str) -> Vec<(Range<usize>, SafeUrl)> {
    topic
        .split_whitespace()
        .filter_map(|word| {
            // A piece of `topic` itself, so its address tells where it stands.
            let start = word.as_ptr().addr() - topic.as_ptr().addr();
            let (length, url) = super::autolink::leading(word).found?;
            Some((start..start + length, url))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(linkifier: &Linkifier, text: &str) -> Vec<String> {
        linkifier.links_in(text).into_iter().map(|(_, url)| url.as_str().to_owned()).collect()
    }

    #[test]
    fn a_match_stands_between_characters_that_are_not_of_words() -> Result<(), LinkifierError> {
        let tickets = Linkifier::new(r"#(?P<id>\d+)", "https://t.example/{id}")?;
        assert_eq!(
            links(&tickets, "#1 (#2),#3 x#4 #5x #٣"),
            ["https://t.example/1", "https://t.example/2", "https://t.example/3"]
        );
        Ok(())
    }

    #[test]
    fn a_value_is_encoded_as_the_template_says() -> Result<(), LinkifierError> {
        let plain = Linkifier::new(r"q:(?P<q>\S+)", "https://t.example/{?q}")?;
        assert_eq!(links(&plain, "q:a/b&c"), ["https://t.example/?q=a%2Fb%26c"]);
        let reserved = Linkifier::new(r"p:(?P<path>\S+)", "https://t.example/{+path}")?;
        assert_eq!(links(&reserved, "p:a/b"), ["https://t.example/a/b"]);
        Ok(())
    }

    #[test]
    fn a_template_of_another_scheme_makes_no_link() -> Result<(), LinkifierError> {
        let script = Linkifier::new(r"(?P<x>run\w+)", "javascript:{x}")?;
        assert!(links(&script, "runaway").is_empty());
        let whole = Linkifier::new(r"(?P<x>\S+)", "{+x}")?;
        assert!(links(&whole, "javascript:alert(1)").is_empty());
        Ok(())
    }

    #[test]
    fn names_of_pattern_and_template_must_agree() {
        let error = |pattern, template| Linkifier::new(pattern, template).err().map(|error| error.to_string());
        assert_eq!(
            error("#(?P<id>[0-9]+)", "https://t.example").as_deref(),
            Some("Group 'id' in linkifier pattern is not present in URL template.")
        );
        assert_eq!(
            error("#[0-9]+", "https://t.example/{id}").as_deref(),
            Some("Group 'id' in URL template is not present in linkifier pattern.")
        );
        let look_ahead = "look-around, including look-ahead and look-behind, is not supported";
        assert_eq!(error("(?=a)", "https://t.example"), Some(format!("Bad regular expression: {look_ahead}")));
        assert_eq!(error("a)|(b", "https://t.example").as_deref(), Some("Bad regular expression: unopened group"));
        assert_eq!(
            error("(a{1000}){1000}", "https://t.example").as_deref(),
            Some("Bad regular expression: pattern too large")
        );
        assert_eq!(error("a", "https://t.example/{").as_deref(), Some("Invalid URL template."));
    }

    #[test]
    fn a_topic_has_links_of_linkifiers_and_of_urls_in_its_order() -> Result<(), LinkifierError> {
        let linkifiers = [
            Linkifier::new(r"#(?P<id>\d+)", "https://t.example/{id}")?,
            Linkifier::new(r"z#(?P<id>\d+)", "https://z.example/{id}")?,
        ];
        let links: Vec<_> = find_topic_links("z#9 https://a.b/c and #7", &linkifiers)
            .into_iter()
            .map(|link| (link.text, link.url.as_str().to_owned()))
            .collect();
        let expected =
            [("z#9", "https://z.example/9"), ("https://a.b/c", "https://a.b/c"), ("#7", "https://t.example/7")];
        assert_eq!(links, expected.map(|(text, url)| (text.to_owned(), url.to_owned())));
        Ok(())
    }
}
