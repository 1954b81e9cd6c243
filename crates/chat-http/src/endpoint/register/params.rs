//! What a client asks for when it registers a queue.

use std::collections::BTreeSet;

use chat_core::event_log::event::ClientCapability;
use chat_core::limits::MAX_NARROW_TERMS;
use serde_json::{Value, json};

use crate::endpoint::channels::IncludeSubscribersParam;
use crate::json_schema::JsonSchema;
use crate::params::{
    BoundedString, EndpointParams, ExpectedJsonType, FromJson, JsonObjectReader, JsonParam, ParamError, ParamReader,
    ParamValuePath,
};
use crate::user_agent::ParsedUserAgent;

/// Names of types that are kept with a queue; there are not half as many.
const TYPES_MAX: usize = 200;
/// Bytes of the longest name that is kept; those of types are shorter.
const TYPE_MAX_BYTES: usize = 64;

/// Characters of an operand; the longest that can select anything is an address.
const OPERAND_MAX_CHARS: usize = 500;

/// The parameters of `POST /register`.
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own on the wire")]
pub(crate) struct RegisterParams {
    /// The types of events; `None` for all.
    pub(super) event_types: Option<BTreeSet<String>>,
    /// The types whose state is wanted, where they differ.
    fetch_event_types: Option<BTreeSet<String>>,
    pub(super) apply_markdown: bool,
    pub(super) client_gravatar: bool,
    slim_presence: bool,
    include_subscribers: bool,
    pub(super) all_public_streams: bool,
    pub(super) narrow: Vec<NarrowPair>,
    client_capabilities: CapabilitiesObject,
    /// Seconds without its client after which the queue may go; 0 leaves it to the server.
    pub(super) lifespan_s: i64,
    /// Days after which a user who was not there is left out of the presences; `None` for two weeks.
    pub(super) presence_history_limit_days: Option<i64>,
}

impl EndpointParams for RegisterParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            event_types: reader
                .optional::<JsonParam<Option<EventTypes>>>("event_types")?
                .flatten()
                .map(|types| types.0),
            fetch_event_types: reader
                .optional::<JsonParam<Option<EventTypes>>>("fetch_event_types")?
                .flatten()
                .map(|types| types.0),
            apply_markdown: reader.optional_or::<JsonParam<bool>>("apply_markdown", false)?,
            client_gravatar: reader.optional_or::<JsonParam<bool>>("client_gravatar", true)?,
            slim_presence: reader.optional_or::<JsonParam<bool>>("slim_presence", false)?,
            include_subscribers: reader.optional_or::<IncludeSubscribersParam>("include_subscribers", false)?,
            all_public_streams: reader.optional_or::<JsonParam<bool>>("all_public_streams", false)?,
            narrow: reader.optional::<JsonParam<QueueNarrow>>("narrow")?.map(|narrow| narrow.0).unwrap_or_default(),
            client_capabilities: reader
                .optional::<JsonParam<CapabilitiesObject>>("client_capabilities")?
                .unwrap_or_default(),
            lifespan_s: reader.optional_or::<JsonParam<i64>>("queue_lifespan_secs", 0)?,
            presence_history_limit_days: reader
                .optional::<JsonParam<Option<i64>>>("presence_history_limit_days")?
                .flatten(),
        })
    }
}

impl RegisterParams {
    /// Returns the types whose state is wanted; `None` for all.
    pub(super) fn fetched(&self) -> Option<&BTreeSet<String>> {
        self.fetch_event_types.as_ref().or(self.event_types.as_ref())
    }

    /// Returns what decides, of two events, which one the queue gets.
    pub(super) fn capabilities(&self, program: &ParsedUserAgent) -> BTreeSet<ClientCapability> {
        let by_name = self.event_types.as_ref().is_some_and(|types| types.contains("user_topic"));
        let declared = &self.client_capabilities.0;
        let knows_null = declared.contains(&ClientCapability::NotificationSettingsNull);
        let asked = [
            (self.slim_presence, ClientCapability::SlimPresence),
            (self.include_subscribers, ClientCapability::IncludeSubscribers),
            (by_name, ClientCapability::UserTopic),
            (program.name == TERMINAL_CLIENT && !knows_null, ClientCapability::ChannelEmailAddress),
        ];
        let asked = asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, capability)| capability);
        declared.iter().copied().chain(asked).collect()
    }
}

/// Names of types. Not specified: unknown ones are not refused, because every client is older or newer than its
/// server; what cannot be a name is not kept.
struct EventTypes(BTreeSet<String>);

impl FromJson for EventTypes {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let names = Vec::<String>::from_json(value, path)?;
        Ok(Self(names.into_iter().filter(|name| name.len() <= TYPE_MAX_BYTES).take(TYPES_MAX).collect()))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::list(JsonSchema::string())
    }
}

/// The terms of a queue's narrow.
struct QueueNarrow(Vec<NarrowPair>);

impl FromJson for QueueNarrow {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let pairs = Vec::from_json(value, path)?;
        if pairs.len() > MAX_NARROW_TERMS {
            return Err(ParamError::TooLarge { path: path.to_string() });
        }
        Ok(Self(pairs))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::list(NarrowPair::json_schema()).with_keyword("maxItems", MAX_NARROW_TERMS)
    }
}

/// A term as this endpoint takes it: a list of two strings.
pub(super) struct NarrowPair {
    pub(super) operator: String,
    pub(super) operand: String,
}

impl FromJson for NarrowPair {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let Value::Array(elements) = value else { return Err(path.wrong_type_error(ExpectedJsonType::List)) };
        let not_a_pair = |_| ParamError::NotAPair { path: path.to_string() };
        let [operator, operand] = <[Value; 2]>::try_from(elements).map_err(not_a_pair)?;
        let operator = String::from_json(operator, &path.element(0))?;
        let BoundedString(operand) = BoundedString::<OPERAND_MAX_CHARS>::from_json(operand, &path.element(1))?;
        Ok(Self { operator, operand })
    }

    fn json_schema() -> JsonSchema {
        let pair = JsonSchema::list(JsonSchema::string().with_max_length(OPERAND_MAX_CHARS))
            .with_keyword("minItems", 2)
            .with_keyword("maxItems", 2);
        pair.with_description("An operator and its operand.").with_example(json!(["is", "starred"]))
    }
}

/// What a client says it understands. Unknown words are ignored: clients are newer than servers.
///
/// # Source
/// Specification, "POST /typing", has clients say `stream_typing_notifications` and names no other word. The original
/// server insists on `notification_settings_null` whenever any is said; here none has to be.
#[derive(Default)]
struct CapabilitiesObject(BTreeSet<ClientCapability>);

/// A client whose release 0.7.0 cannot show a channel without `email_address`, which is gone since level 226.
const TERMINAL_CLIENT: &str = "ZulipTerminal";

const CAPABILITIES: [(&str, ClientCapability); 10] = [
    ("notification_settings_null", ClientCapability::NotificationSettingsNull),
    ("bulk_message_deletion", ClientCapability::BulkMessageDeletion),
    ("user_avatar_url_field_optional", ClientCapability::UserAvatarUrlFieldOptional),
    ("stream_typing_notifications", ClientCapability::StreamTypingNotifications),
    ("user_settings_object", ClientCapability::UserSettingsObject),
    ("linkifier_url_template", ClientCapability::LinkifierUrlTemplate),
    ("user_list_incomplete", ClientCapability::UserListIncomplete),
    ("include_deactivated_groups", ClientCapability::IncludeDeactivatedGroups),
    ("archived_channels", ClientCapability::ArchivedChannels),
    ("simplified_presence_events", ClientCapability::SimplifiedPresenceEvents),
];

impl FromJson for CapabilitiesObject {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        understood(JsonObjectReader::from_value(value, path)?).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(understood)
    }
}

fn understood(mut object: JsonObjectReader<'_>) -> Result<BTreeSet<ClientCapability>, ParamError> {
    let mut understood = BTreeSet::new();
    for (key, capability) in CAPABILITIES {
        if object.optional_member::<bool>(key)?.unwrap_or(false) {
            understood.insert(capability);
        }
    }
    Ok(understood)
}
