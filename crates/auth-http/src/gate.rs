//! Asking the rules whether a caller may do what it asks for.

use fhir_store::bundle::ReadRequest;
use fhir_store::{Operation, ResourceId, ResourceKey, ResourceType, Write};
use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use oauth_core::access::{self, AccessRequest, Allowed, Denied};
use serde_json::{Map, Value, json};
use smart_scopes::Interaction;

use crate::call::Call;
use crate::state::App;
use crate::surface::Dialect;

/// What is asked for: by a request of its own, or by an entry of a Bundle.
pub(crate) struct Act<'a> {
    kind: &'a ResourceType,
    id: Option<&'a ResourceId>,
    method: &'static str,
    operation: &'static str,
    interaction: Interaction,
    /// Whether a condition finds the target: then the caller has to be one who may search, because
    /// the answer tells what matches.
    searches: bool,
    /// Whether a policy has to spell it out.
    explicit: bool,
    body: Option<&'a Value>,
}

impl<'a> Act<'a> {
    /// Reading one resource.
    pub(crate) const fn read(key: &'a ResourceKey) -> Self {
        Self {
            kind: &key.kind,
            id: Some(&key.id),
            method: "get",
            operation: "FhirRead",
            interaction: Interaction::Read,
            searches: false,
            explicit: false,
            body: None,
        }
    }

    /// Looking into a registration, which says more than the resource.
    pub(crate) const fn diagnose(key: &'a ResourceKey) -> Self {
        Self { explicit: true, ..Self::read(key) }
    }

    /// Listing a type.
    pub(crate) const fn list(kind: &'a ResourceType) -> Self {
        Self {
            kind,
            id: None,
            method: "get",
            operation: "FhirSearch",
            interaction: Interaction::Search,
            searches: false,
            explicit: false,
            body: None,
        }
    }

    /// A write.
    pub(crate) fn write(write: &'a Write) -> Self {
        let searches = write.precondition.if_none_exist.is_some();
        let (method, operation, interaction, body) = match (&write.operation, searches) {
            (Operation::Create(body), false) => ("post", "FhirCreate", Interaction::Create, Some(body)),
            (Operation::Create(body), true) => ("post", "FhirConditionalCreate", Interaction::Create, Some(body)),
            (Operation::Put(body), false) => ("put", "FhirUpdate", Interaction::Update, Some(body)),
            (Operation::Put(body), true) => ("put", "FhirConditionalUpdate", Interaction::Update, Some(body)),
            (Operation::Patch(_), _) => ("patch", "FhirPatch", Interaction::Update, None),
            (Operation::Delete, _) => ("delete", "FhirDelete", Interaction::Delete, None),
        };
        let (kind, id) = (&write.kind, write.id.as_ref());
        Self { kind, id, method, operation, interaction, searches, explicit: access::registers(kind.as_str()), body }
    }

    /// A read that an entry of a Bundle asks for.
    pub(crate) const fn entry(read: &'a ReadRequest) -> Self {
        match read {
            ReadRequest::One(key) => Self::read(key),
            ReadRequest::List(query) => Self::list(&query.kind),
        }
    }

    fn path(&self, dialect: Dialect) -> String {
        let prefix = dialect.prefix();
        match self.id {
            Some(id) => format!("{prefix}/{}/{id}", self.kind),
            None => format!("{prefix}/{}", self.kind),
        }
    }
}

/// Whether the caller of `call` may do `act`.
///
/// # Errors
/// Why not.
pub(crate) async fn permit(app: &App, call: &Call, act: &Act<'_>) -> Result<Allowed, Denied> {
    if act.searches {
        ask(app, call, act, Interaction::Search).await?;
    }
    ask(app, call, act, act.interaction).await
}

async fn ask(app: &App, call: &Call, act: &Act<'_>, interaction: Interaction) -> Result<Allowed, Denied> {
    let kind = act.kind.as_str();
    let access = AccessRequest {
        target: Some((kind, interaction)),
        operation: act.operation,
        explicit: act.explicit,
        request: &|| describe(app, call, act),
    };
    access::authorize(&app.authority, &call.caller, access).await
}

/// The request object policies are matched against. Credentials are left out: no policy needs
/// them, and traces of policies show what they see.
fn describe(app: &App, call: &Call, act: &Act<'_>) -> Value {
    let mut params = Map::new();
    for (name, value) in &call.query {
        insert(&mut params, name, value);
    }
    params.insert("resource/type".to_owned(), act.kind.as_str().into());
    if let Some(id) = act.id {
        params.insert("resource/id".to_owned(), id.as_str().into());
    }
    let mut request = json!({
        "request-method": act.method,
        "uri": act.path(call.dialect),
        "scheme": app.settings.base_url.split(':').next(),
        "headers": headers(&call.headers),
        "params": params,
    });
    if let Some(members) = request.as_object_mut() {
        members.extend(call.uri.query().map(|query| ("query-string".to_owned(), query.into())));
        members.extend(call.address.map(|address| ("remote-addr".to_owned(), address.to_string().into())));
        members.extend(act.body.map(|body| ("body".to_owned(), body.clone())));
        members.extend(act.body.map(|body| ("resource".to_owned(), body.clone())));
    }
    request
}

/// A parameter that is sent again becomes a list.
fn insert(params: &mut Map<String, Value>, name: &str, value: &str) {
    match params.get_mut(name) {
        None => {
            params.insert(name.to_owned(), value.into());
        }
        Some(Value::Array(values)) => values.push(value.into()),
        Some(first) => *first = json!([first.take(), value]),
    }
}

fn headers(sent: &HeaderMap) -> Map<String, Value> {
    sent.iter()
        .filter(|(name, _)| ![AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION].contains(name))
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.into())))
        .collect()
}
