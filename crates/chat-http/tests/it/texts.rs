//! Raw strings and words.

use chat_http::params::{
    EnumWordParam, EnumWordParamListingChoices, MaxCharsParam, NonBlankParam, ParamError, ParamReader,
    RawTextParamAllowingNul, TextParam, TrimmedTextParam, WordEnum,
};

use crate::request_parsing::{refusal, sent, urlencoded};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Remove,
}

impl WordEnum for Op {
    const WORDS: &'static [(&'static str, Self)] =
        &[("add", Self::Add), ("remove", Self::Remove), ("delete", Self::Remove)];
}

#[test]
fn a_raw_string_is_taken_as_it_is_quotes_and_blanks_too() {
    for text in ["", " a ", "\"add\"", "null", "[1]", "+%41&=", "\u{feff}é\n"] {
        assert_eq!(sent::<TextParam>(text).unwrap(), text);
        assert_eq!(sent::<RawTextParamAllowingNul>(text).unwrap(), text);
    }
}

#[test]
fn only_a_kind_with_its_own_answer_is_given_a_nul() {
    assert_eq!(sent::<RawTextParamAllowingNul>("a\0b").unwrap(), "a\0b");
    for fault in [
        sent::<TextParam>("a\0b"),
        sent::<TrimmedTextParam>("\0"),
        sent::<NonBlankParam<TextParam>>("\0"),
        sent::<MaxCharsParam<TextParam, 9>>("\0"),
    ] {
        assert!(matches!(fault, Err(ParamError::Unreadable { name: "value", .. })), "{fault:?}");
    }
    assert_eq!(sent::<MaxCharsParam<RawTextParamAllowingNul, 3>>("a\0b").unwrap(), "a\0b");
}

#[test]
fn a_refused_value_is_repeated_up_to_its_limit() {
    let Err(ParamError::Unreadable { shown, .. }) = sent::<TextParam>(&format!("\0{}", "é".repeat(500))) else {
        panic!("accepted");
    };
    assert_eq!(shown.chars().count(), 200);
}

#[test]
fn white_space_at_the_ends_is_stripped_where_the_kind_says_so() {
    assert_eq!(sent::<TrimmedTextParam>(" \t a  b\u{a0}\n").unwrap(), "a  b");
    assert_eq!(sent::<TrimmedTextParam>("  ").unwrap(), "");
}

#[test]
fn a_blank_string_is_refused_where_one_is_required() {
    for blank in ["", " ", "\n\t", "\u{2003}"] {
        assert_eq!(refusal::<NonBlankParam<TextParam>>(blank), "value cannot be blank");
    }
    assert_eq!(sent::<NonBlankParam<TextParam>>(" a ").unwrap(), " a ");
}

#[test]
fn length_is_counted_in_characters_after_stripping() {
    assert_eq!(sent::<MaxCharsParam<TrimmedTextParam, 3>>("  éàü  ").unwrap(), "éàü");
    assert_eq!(refusal::<MaxCharsParam<TextParam, 3>>("éàü "), "value is too long (limit: 3 characters)");
    assert_eq!(refusal::<NonBlankParam<MaxCharsParam<TrimmedTextParam, 3>>>("   "), "value cannot be blank");
}

#[test]
fn a_word_is_one_of_the_set_to_the_letter() {
    assert_eq!(sent::<EnumWordParam<Op>>("add").unwrap(), Op::Add);
    assert_eq!(sent::<EnumWordParam<Op>>("delete").unwrap(), Op::Remove);
    for other in ["", "Add", " add", "\"add\"", "move"] {
        assert_eq!(refusal::<EnumWordParam<Op>>(other), "Invalid value", "{other}");
        assert_eq!(
            refusal::<EnumWordParamListingChoices<Op>>(other),
            "Invalid value: Value error, Not in the list of possible values"
        );
    }
    assert_eq!(sent::<EnumWordParamListingChoices<Op>>("remove").unwrap(), Op::Remove);
}

#[test]
fn an_absent_parameter_is_none_or_its_default_or_missing() {
    let raw = urlencoded("x");
    let mut reader = ParamReader::new(&raw);
    assert_eq!(reader.optional::<TextParam>("other").unwrap(), None);
    assert_eq!(reader.optional_or::<TextParam>("other", "default".to_owned()).unwrap(), "default");
    assert_eq!(reader.optional_or::<TextParam>("value", "default".to_owned()).unwrap(), "x");
    assert_eq!(reader.required::<TextParam>("other").unwrap_err(), ParamError::Missing { name: "other" });
    assert_eq!(
        reader.required_with_alias::<TextParam>(["topic", "subject"]).unwrap_err(),
        ParamError::Missing { name: "topic" }
    );
    assert_eq!(reader.required_with_alias::<TextParam>(["topic", "value"]).unwrap(), "x");
}

#[test]
fn an_older_name_is_supported_and_not_reported() {
    let raw = urlencoded("x");
    let mut reader = ParamReader::new(&raw);
    assert_eq!(reader.optional_with_alias::<TextParam>(["new", "value"]).unwrap().as_deref(), Some("x"));
    assert!(reader.unread_names().is_empty());
    let mut other = ParamReader::new(&raw);
    assert_eq!(other.optional::<TextParam>("new").unwrap(), None);
    assert_eq!(other.unread_names(), ["value"]);
}
