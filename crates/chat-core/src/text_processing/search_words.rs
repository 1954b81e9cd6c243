//! Full-text search: the words of a message, and what someone looks for among them.
//!
//! Both engines store and look up the stems that are found here, so a search finds the same on each, and what it
//! marks in a message is what found it.
//!
//! ```
//! use chat_core::text_processing::search_words::SearchWords;
//!
//! let sought = SearchWords::parse("meeting \"next week\"");
//! let html = "<p>Two <em>meetings</em> next week</p>";
//! assert!(sought.matches_message("plans", "Two *meetings* next week", html));
//! assert_eq!(
//!     sought.highlight_html(html),
//!     "<p>Two <em><span class=\"highlight\">meetings</span></em> <span class=\"highlight\">next</span> \
//!      <span class=\"highlight\">week</span></p>"
//! );
//! ```
//!
//! # Source
//! Not specified but for the answer's shape (specification, `GET /messages/matches_narrow`). As existing clients know
//! it: English stems in any case, all of them wanted at once, quoted parts literally too. Where we differ: the words of
//! a link's text are words, because people look for addresses, and each ideograph is one, because nothing stands
//! between the words of such a text.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::OnceLock;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// Stop words, which are too common to be searched, in alphabetical order. Single letters are not searched either.
pub const STOP_WORDS: [&str; 113] = [
    "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "did", "do", "does",
    "doing", "down", "during", "each", "few", "for", "from", "further", "had", "has", "have", "having", "he", "her",
    "here", "him", "his", "how", "if", "in", "into", "is", "it", "its", "just", "me", "more", "most", "my", "no",
    "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "same", "she",
    "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "through", "to", "too", "under", "until", "up", "very", "was", "we", "were", "what", "when", "where",
    "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your",
];
/// Letters of a word that count.
const WORD_MAX: usize = 64;
/// Words and quoted parts of one search that count.
const SOUGHT_MAX: usize = 64;

/// Returns the stems of a message's topic and text for the search index, each once, separated by blanks.
///
/// They consist of letters and digits alone.
#[must_use]
pub fn extract_index_stems(topic: &str, html: &str) -> String {
    stems_of(topic, html).into_iter().collect::<Vec<_>>().join(" ")
}

fn stems_of(topic: &str, html: &str) -> BTreeSet<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut stems = BTreeSet::new();
    for text in [escape_html(topic).as_str(), html] {
        stems.extend(places(text).into_iter().filter_map(|place| stem(&stemmer, text.get(place)?)));
    }
    stems
}

/// A cache of one message's stems and folded text: computed for the first search that compares them, kept for further
/// searches of the same narrow.
#[derive(Debug, Clone, Default)]
pub struct MessageSearchCache {
    stems: OnceLock<BTreeSet<String>>,
    /// Topic and text.
    folded: OnceLock<[String; 2]>,
}

/// A message with its search matches highlighted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HighlightedMessage {
    /// Its HTML.
    pub html: String,
    /// Its topic, as HTML.
    pub topic: String,
}

/// What stands before and after a word that was looked for.
const MARK: &str = "<span class=\"highlight\">";
const MARK_END: &str = "</span>";

/// The words and phrases of a search query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchWords {
    stems: BTreeSet<String>,
    /// Quoted parts without regard to case.
    phrases: Vec<String>,
}

impl SearchWords {
    /// Parses a search query; an unclosed quote is ignored. A quote that nothing ends is none.
    #[must_use]
    pub fn parse(typed: &str) -> Self {
        let typed = escape_html(typed);
        let stemmer = Stemmer::create(Algorithm::English);
        let stems = places(&typed).into_iter().filter_map(|place| stem(&stemmer, typed.get(place)?));
        let stems = stems.take(SOUGHT_MAX).collect();
        let mut phrases = Vec::new();
        let mut rest = typed.as_str();
        while let Some((phrase, after)) = rest.split_once(QUOTE).and_then(|(_, inside)| inside.split_once(QUOTE)) {
            if !phrase.trim().is_empty() && phrases.len() < SOUGHT_MAX {
                phrases.push(phrase.to_lowercase());
            }
            rest = after;
        }
        Self { stems, phrases }
    }

    /// Combines two searches: both must match.
    #[must_use]
    pub fn combined_with(mut self, other: &Self) -> Self {
        self.stems.extend(other.stems.iter().cloned());
        self.phrases.extend(other.phrases.iter().cloned());
        self
    }

    /// Returns the stems that a message must have, all of them. Without stems nothing is found: words that are too
    /// common, and signs, are not searched.
    pub fn stems(&self) -> impl Iterator<Item = &str> {
        self.stems.iter().map(String::as_str)
    }

    /// Returns whether the search has phrases, which stems alone cannot decide.
    #[must_use]
    pub fn has_phrases(&self) -> bool {
        !self.phrases.is_empty()
    }

    /// Returns whether a message, by topic, content and HTML, matches the search.
    #[must_use]
    pub fn matches_message(&self, topic: &str, content: &str, html: &str) -> bool {
        self.matches_message_cached(&MessageSearchCache::default(), topic, content, html)
    }

    /// Like [`SearchWords::matches_message`], for one of several searches of the same message. The cache is of that
    /// message alone.
    #[must_use]
    pub fn matches_message_cached(&self, cache: &MessageSearchCache, topic: &str, content: &str, html: &str) -> bool {
        if self.stems.is_empty() {
            return false;
        }
        let folded = || cache.folded.get_or_init(|| [topic, content].map(|text| escape_html(text).to_lowercase()));
        if !self.phrases.iter().all(|phrase| folded().iter().any(|text| text.contains(phrase))) {
            return false;
        }
        let found = cache.stems.get_or_init(|| stems_of(topic, html));
        self.stems.is_subset(found)
    }

    /// Returns the number of words and phrases of the search.
    #[must_use]
    pub fn count_words_and_phrases(&self) -> usize {
        self.stems.len() + self.phrases.len()
    }

    /// Highlights every searched word in a message's topic and HTML.
    #[must_use]
    pub fn highlight_message(&self, topic: &str, html: &str) -> HighlightedMessage {
        HighlightedMessage { html: self.highlight_html(html), topic: self.highlight_html(&escape_html(topic)) }
    }

    /// Highlights every searched word in HTML.
    #[must_use]
    pub fn highlight_html(&self, html: &str) -> String {
        // One word is marked in most of what was found.
        let mut marked = String::with_capacity(html.len() + MARK.len() + MARK_END.len());
        let stemmer = Stemmer::create(Algorithm::English);
        let mut from = 0;
        for place in places(html) {
            let Some(word) = html.get(place.clone()).filter(|word| self.may_find(word)) else { continue };
            if stem(&stemmer, word).is_some_and(|stem| self.stems.contains(&stem)) {
                let before = html.get(from..place.start).unwrap_or_default();
                marked.extend([before, MARK, word, MARK_END]);
                from = place.end;
            }
        }
        marked.push_str(html.get(from..).unwrap_or_default());
        marked
    }

    /// Returns whether a word may have one of the stems: a stem begins as its words do and is no longer than they are.
    /// Of other alphabets nothing is said.
    fn may_find(&self, word: &str) -> bool {
        let first = |text: &str| text.bytes().next().map(|byte| byte.to_ascii_lowercase());
        let begins = first(word);
        if !begins.is_some_and(|byte| byte.is_ascii()) {
            return true;
        }
        // A letter of another alphabet may be longer in lower case.
        let is_ascii = word.is_ascii();
        self.stems().any(|stem| first(stem) == begins && (!is_ascii || stem.len() <= word.len()))
    }
}

/// Escapes a text for HTML.
#[must_use]
pub fn escape_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str(QUOTE),
            '\'' => html.push_str("&#x27;"),
            other => html.push(other),
        }
    }
    html
}

/// A quotation mark in [`escape_html`] text.
const QUOTE: &str = "&quot;";

/// Returns where words are in HTML that [`crate::markdown`] or [`escape_html`] made: not in its tags, nor in references
/// to characters.
fn places(html: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut characters = html.char_indices().peekable();
    while let Some((start, character)) = characters.next() {
        let mut end = start + character.len_utf8();
        match character {
            '<' => while characters.next().is_some_and(|(_, inside)| inside != '>') {},
            '&' => while characters.next().is_some_and(|(_, inside)| inside != ';') {},
            _ if is_ideograph(character) => places.push(start..end),
            _ if character.is_alphanumeric() => {
                while let Some((at, next)) = characters.next_if(|(_, next)| is_inside(*next)) {
                    end = at + next.len_utf8();
                }
                places.push(start..end);
            }
            _ => {}
        }
    }
    places
}

fn is_inside(character: char) -> bool {
    character.is_alphanumeric() && !is_ideograph(character)
}

/// Returns whether it stands for a word or a syllable in a text without blanks: Chinese and Japanese.
fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns what the forms of a word share; `None` for a word that is not looked for.
fn stem(stemmer: &Stemmer, word: &str) -> Option<String> {
    let word: String =
        word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).take(WORD_MAX).collect();
    let is_letter = word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if word.is_empty() || is_letter || STOP_WORDS.binary_search(&word.as_str()).is_ok() {
        return None;
    }
    Some(stemmer.stem(&word).into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finds(typed: &str, content: &str) -> bool {
        SearchWords::parse(typed).matches_message("", content, &format!("<p>{}</p>", escape_html(content)))
    }

    #[test]
    fn words_are_found_in_any_form_and_case_and_all_of_them_are_wanted() {
        assert!(finds("MEETING", "two meetings"));
        assert!(finds("invoices paid", "I paid the invoice."));
        assert!(!finds("invoices paid", "The invoice is open."));
        assert!(!finds("meet", "meter"));
    }

    #[test]
    fn words_that_are_too_common_are_not_looked_for() {
        assert!(STOP_WORDS.is_sorted());
        assert!(finds("where is the invoice", "invoice"));
        for nothing in ["the", "a", "?!", "", "\"the\""] {
            assert!(!finds(nothing, "the a ?!"), "{nothing}");
        }
    }

    #[test]
    fn quoted_parts_stand_in_the_text_or_the_topic_as_they_are() {
        assert!(finds("\"next week\"", "Next Week it is"));
        assert!(!finds("\"next week\"", "the week next to it"));
        assert!(finds("\"a < b\" week", "next week a < b"));
        assert!(SearchWords::parse("\"Road map\"").matches_message("road map 2", "x", "<p>x</p>"));
        // Nothing ends the quote.
        assert!(finds("\"next week", "week next"));
    }

    #[test]
    fn ideographs_are_found_one_by_one() {
        assert!(finds("会議", "明日の会議です"));
        assert!(!finds("会議", "明日の会です"));
        assert!(finds("\"会議\"", "会議"));
        assert!(!finds("\"会議\"", "議会"));
        assert!(finds("встречи", "встречи завтра"));
    }

    #[test]
    fn what_is_looked_for_is_marked_in_text_and_nowhere_else() {
        let sought = SearchWords::parse("example quot");
        assert_eq!(
            sought.highlight_html("<a href=\"https://example.org\" title=\"example\">examples &quot; x</a>"),
            "<a href=\"https://example.org\" title=\"example\"><span class=\"highlight\">examples</span> &quot; x</a>"
        );
    }

    #[test]
    fn searches_of_one_message_stem_it_once() {
        let cache = MessageSearchCache::default();
        let finds =
            |typed: &str, html: &str| SearchWords::parse(typed).matches_message_cached(&cache, "plans", "two", html);
        assert!(finds("meeting", "<p>two meetings</p>"));
        // The stems are those that the first search made.
        assert!(finds("meeting", "<p>nothing</p>") && !finds("nothing", "<p>nothing</p>"));
        assert!(finds("meeting \"two\"", "") && !finds("meeting \"three\"", ""));
    }

    #[test]
    fn two_searches_are_one() {
        let both = SearchWords::parse("meeting").combined_with(&SearchWords::parse("\"next week\""));
        assert_eq!(both, SearchWords::parse("meeting \"next week\""));
        assert_eq!(both.stems().collect::<Vec<_>>(), ["meet", "next", "week"]);
    }

    #[test]
    fn words_with_another_form_of_their_own_are_marked() {
        for (typed, word) in [("die", "Dying"), ("sky", "skies"), ("Yield", "yielding"), ("étude", "ÉTUDES")] {
            assert_eq!(
                SearchWords::parse(typed).highlight_html(word),
                format!("<span class=\"highlight\">{word}</span>")
            );
        }
    }

    proptest! {
        #[test]
        fn a_stem_begins_as_its_word_does(word in "[a-zA-Z0-9][a-zA-Z0-9é]{1,12}") {
            let stemmer = Stemmer::create(Algorithm::English);
            let begins = stem(&stemmer, &word).map(|stem| stem.bytes().next());
            prop_assert!(begins.is_none_or(|first| first == word.to_ascii_lowercase().bytes().next()), "{}", word);
        }

        #[test]
        fn a_stem_is_no_longer_than_its_word(word in "[a-z0-9]{1,12}(ies|ied|ing|ed|eed|ly|y|bli|anci|enci|izer|ational)?") {
            let stemmer = Stemmer::create(Algorithm::English);
            prop_assert!(stem(&stemmer, &word).is_none_or(|stem| stem.len() <= word.len()), "{}", word);
        }

        #[test]
        fn what_is_marked_is_what_was_there(typed in ".{0,20}", content in ".{0,60}") {
            let html = format!("<p>{}</p>", escape_html(&content));
            let marked = SearchWords::parse(&typed).highlight_html(&html);
            let plain = marked.replace("<span class=\"highlight\">", "").replace("</span>", "");
            prop_assert_eq!(plain, html);
        }

        #[test]
        fn a_message_is_found_by_each_of_its_words(words in proptest::collection::vec("[a-zé0-9会]{2,9}", 1..6)) {
            let content = words.join(" ");
            for word in words {
                let sought = SearchWords::parse(&word);
                prop_assert!(sought.stems().next().is_none() || finds(&word, &content), "{} in {}", word, content);
            }
        }

        #[test]
        fn an_index_holds_letters_and_digits_alone(topic in ".{0,30}", html in ".{0,60}") {
            let stems = extract_index_stems(&topic, &html);
            prop_assert!(stems.chars().all(|c| c == ' ' || c.is_alphanumeric()), "{}", stems);
            prop_assert!(!stems.contains("  ") && stems.trim() == stems);
        }
    }
}
