//! `to` in all its shapes.

use chat_core::id::{ChannelId, UserId};
use chat_http::params::{ChannelNameOrId, DirectMessageRecipients, RawRecipients, RecipientsError, RecipientsParam};

use crate::request_parsing::sent;

fn to(text: &str) -> RawRecipients {
    sent::<RecipientsParam>(text).unwrap()
}

#[test]
fn a_channel_is_a_name_a_number_or_a_list_of_one() {
    let name = |name: &str| Ok(ChannelNameOrId::Name(name.to_owned()));
    let id = Ok(ChannelNameOrId::Id(ChannelId(5)));
    for (text, channel) in [
        ("general", name("general")),
        ("\"general\"", name("general")),
        ("[\"general\"]", name("general")),
        ("two words, one comma", name("two words, one comma")),
        ("", name("")),
        ("\"\"", name("")),
        ("[x", name("[x")),
        ("5", id.clone()),
        ("[5]", id),
        ("\"5\"", name("5")),
    ] {
        assert_eq!(to(text).parse_channel(), channel, "{text}");
    }
    for text in ["[]", "[1, 2]", "[\"a\", \"b\"]"] {
        assert_eq!(to(text).parse_channel(), Err(RecipientsError::NotOneChannel), "{text}");
    }
    for text in ["null", "true", "{}", "5.5", "[[5]]", "[null]", "99999999999999999999", r#""\u0000""#] {
        assert_eq!(to(text).parse_channel(), Err(RecipientsError::NotAChannel), "{text}");
    }
}

#[test]
fn people_are_a_list_of_numbers_or_of_addresses() {
    let ids = |ids: &[i64]| Ok(DirectMessageRecipients::Ids(ids.iter().copied().map(UserId).collect()));
    let emails =
        |emails: &[&str]| Ok(DirectMessageRecipients::Emails(emails.iter().map(ToString::to_string).collect()));
    for (text, people) in [
        ("[9, 10, 9]", ids(&[9, 10])),
        ("[]", ids(&[])),
        ("[\"a@x\", \" b@x \", \"a@x\", \"\"]", emails(&["a@x", "b@x"])),
        ("a@x, b@x,,a@x", emails(&["a@x", "b@x"])),
        ("\"a@x,b@x\"", emails(&["a@x", "b@x"])),
        ("a@x", emails(&["a@x"])),
        ("", emails(&[])),
    ] {
        assert_eq!(to(text).parse_direct_recipients(), people, "{text}");
    }
    for text in ["[1, \"a@x\"]", "[\"a@x\", 1]", "[1, null]", "[1, 1.5]"] {
        assert_eq!(to(text).parse_direct_recipients(), Err(RecipientsError::Mixed), "{text}");
    }
    for text in ["5", "null", "true", "{}", "[null]", "[[1]]", "[1.5]", "[true]", r#"["\u0000"]"#, r#""\u0000""#] {
        assert_eq!(to(text).parse_direct_recipients(), Err(RecipientsError::NotPeople), "{text}");
    }
}

#[test]
fn where_only_numbers_will_do_nothing_else_does() {
    assert_eq!(to("5").parse_channel_id(), Ok(ChannelId(5)));
    for text in ["general", "[5]", "\"5\"", "5.0", "null", "true"] {
        assert_eq!(to(text).parse_channel_id(), Err(RecipientsError::NotAChannelId), "{text}");
    }
    assert_eq!(to("[3, 1, 3]").parse_user_ids(), Ok(vec![UserId(1), UserId(3)]));
    assert_eq!(to("[]").parse_user_ids(), Ok(vec![]));
    for text in ["5", "a@x", "\"5\"", "null"] {
        assert_eq!(to(text).parse_user_ids(), Err(RecipientsError::NotPeople), "{text}");
    }
    for text in ["[\"a@x\"]", "[1, null]", "[1.5]"] {
        assert_eq!(to(text).parse_user_ids(), Err(RecipientsError::NotIds), "{text}");
    }
}

#[test]
fn each_refusal_is_in_the_words_clients_know() {
    let texts = [
        (RecipientsError::NotOneChannel, "Expected exactly one channel"),
        (RecipientsError::NotAChannel, "Invalid data type for channel"),
        (RecipientsError::NotAChannelId, "Invalid data type for channel ID"),
        (RecipientsError::NotPeople, "Invalid data type for recipients"),
        (RecipientsError::Mixed, "Recipient lists may contain emails or user IDs, but not both."),
        (RecipientsError::NotIds, "Recipient list may only contain user IDs"),
    ];
    for (fault, text) in texts {
        assert_eq!(fault.to_string(), text);
    }
}
