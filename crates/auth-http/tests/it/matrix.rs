//! Every interaction with every kind of token: what it is answered, and what it changed.
//!
//! The expected outcome comes from a model that knows nothing of the server: it looks at each scope by
//! itself, letter by letter, at the one resource in question. Data and interactions are few, their
//! combinations are all tried.

mod crossing;

use serde_json::{Value, json};

use crate::world::{World, on_every_engine};

/// A kind of access token.
#[derive(Debug, Clone, Copy)]
struct Token {
    /// `patient/`, `user/` or `system/`; nothing for a token without a scope for data.
    context: Option<&'static str>,
    permissions: &'static str,
    /// Whether it limits the scope to laboratory.
    laboratory: bool,
    bearer: Bearer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bearer {
    /// A person, for the patient `me`.
    Member,
    /// A person, for no patient.
    Person,
    /// A client on its own.
    Service,
}

/// A resource of the world.
#[derive(Debug, Clone, Copy)]
struct Target {
    kind: &'static str,
    id: &'static str,
    /// Whose it is.
    patient: Option<&'static str>,
    category: &'static str,
}

const TARGETS: [Target; 7] = [
    Target { kind: "Observation", id: "mine-lab", patient: Some("me"), category: "laboratory" },
    Target { kind: "Observation", id: "mine-vital", patient: Some("me"), category: "vital-signs" },
    Target { kind: "Observation", id: "your-lab", patient: Some("you"), category: "laboratory" },
    Target { kind: "Patient", id: "me", patient: Some("me"), category: "" },
    Target { kind: "Patient", id: "you", patient: Some("you"), category: "" },
    Target { kind: "Practitioner", id: "doctor", patient: None, category: "" },
    Target { kind: "Linkage", id: "link", patient: None, category: "" },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interaction {
    Read,
    Vread,
    History,
    HistoryOfType,
    Search,
    SearchByForm,
    SearchById,
    Create,
    Update,
    Patch,
    Delete,
    ConditionalCreate,
    ConditionalUpdate,
    ConditionalPatch,
    ConditionalDelete,
}

const INTERACTIONS: [Interaction; 15] = [
    Interaction::Read,
    Interaction::Vread,
    Interaction::History,
    Interaction::HistoryOfType,
    Interaction::Search,
    Interaction::SearchByForm,
    Interaction::SearchById,
    Interaction::Create,
    Interaction::Update,
    Interaction::Patch,
    Interaction::Delete,
    Interaction::ConditionalCreate,
    Interaction::ConditionalUpdate,
    Interaction::ConditionalPatch,
    Interaction::ConditionalDelete,
];

impl Interaction {
    fn writes(self) -> bool {
        !matches!(
            self,
            Self::Read
                | Self::Vread
                | Self::History
                | Self::HistoryOfType
                | Self::Search
                | Self::SearchByForm
                | Self::SearchById
        )
    }
}

/// How an interaction is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Fhir,
    Native,
    Batch,
    Transaction,
}

const WAYS: [Way; 4] = [Way::Fhir, Way::Native, Way::Batch, Way::Transaction];

fn tokens() -> Vec<Token> {
    let mut tokens = Vec::new();
    for bearer in [Bearer::Member, Bearer::Person, Bearer::Service] {
        tokens.push(Token { context: None, permissions: "", laboratory: false, bearer });
        for context in ["patient", "user", "system"] {
            let mut add = |permissions, laboratory| {
                tokens.push(Token { context: Some(context), permissions, laboratory, bearer });
            };
            for permissions in ["read", "write", "*", "r", "s", "cs", "us", "ds", "cruds"] {
                add(permissions, false);
            }
            add("rs", true);
        }
    }
    tokens
}

impl Token {
    fn scope(self, kind: &str) -> String {
        let query = if self.laboratory { "?category=http://lab.example|laboratory" } else { "" };
        match self.context {
            Some(context) => format!("openid {context}/{kind}.{}{query}", self.permissions),
            None => "openid fhirUser".to_owned(),
        }
    }

    /// Whether the scope is one for this interaction with anything of the type.
    fn opens(self, kind: &str, letter: char) -> bool {
        let letters = match self.permissions {
            "read" => "rs",
            "write" => "cud",
            "*" => "cruds",
            letters => letters,
        };
        let by_context = match self.context {
            None => false,
            Some("patient") => {
                self.bearer == Bearer::Member
                    && match kind {
                        "Observation" => true,
                        "Patient" => letter != 'c',
                        "Practitioner" => matches!(letter, 'r' | 's'),
                        _ => false,
                    }
            }
            Some("user") => self.bearer != Bearer::Service,
            Some(_) => self.bearer == Bearer::Service,
        };
        by_context && letters.contains(letter)
    }

    fn reaches(self, target: Target, letter: char) -> bool {
        let confined = self.context == Some("patient") && target.kind != "Practitioner";
        self.opens(target.kind, letter)
            && (!confined || target.patient == Some("me"))
            && (!self.laboratory || target.category == "laboratory")
    }
}

impl Target {
    fn body(self) -> Value {
        let mut body = json!({"resourceType": self.kind});
        self.set(&mut body, "final", true);
        if self.kind == "Observation" {
            body["code"] = json!({"text": "Glucose"});
            body["subject"] = json!({"reference": format!("Patient/{}", self.patient.unwrap())});
            body["category"] = json!([{"coding": [{"system": "http://lab.example", "code": self.category}]}]);
        }
        if self.kind != "Linkage" {
            body["identifier"] = json!([{"system": "http://id.example", "value": self.id}]);
        }
        if self.kind == "Linkage" {
            body["item"] = json!([{"type": "source", "resource": {"display": "somebody"}}]);
        }
        body
    }

    /// Gives a document the element that writes change.
    fn set(self, document: &mut Value, status: &str, active: bool) {
        match self.kind {
            "Observation" => document["status"] = status.into(),
            _ => document["active"] = active.into(),
        }
    }

    fn path(self) -> String {
        format!("{}/{}", self.kind, self.id)
    }

    /// What finds it and nothing else: a search parameter, where its type has one for that.
    fn criteria(self) -> String {
        format!("{}={}", if self.kind == "Linkage" { "_id" } else { "identifier" }, self.id)
    }
}

/// What a case has to be answered, and whether it writes.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    status: u16,
    /// How many resources a search tells of.
    total: Option<u64>,
}

fn expected(token: Token, interaction: Interaction, target: Target) -> Outcome {
    let status = |status| Outcome { status, total: None };
    let listed = |total: usize| Outcome { status: 200, total: Some(u64::try_from(total).unwrap()) };
    let needs = match interaction {
        Interaction::Read | Interaction::Vread | Interaction::History => "r",
        Interaction::HistoryOfType | Interaction::Search | Interaction::SearchByForm | Interaction::SearchById => "s",
        Interaction::Create => "c",
        Interaction::Update | Interaction::Patch => "u",
        Interaction::Delete => "d",
        Interaction::ConditionalCreate => "sc",
        Interaction::ConditionalUpdate | Interaction::ConditionalPatch => "su",
        Interaction::ConditionalDelete => "sd",
    };
    if !needs.chars().all(|letter| token.opens(target.kind, letter)) {
        return status(403);
    }
    let deleted = if token.reaches(target, 'r') { 200 } else { 204 };
    let found = token.reaches(target, 's');
    match interaction {
        Interaction::Read | Interaction::Vread | Interaction::History => {
            status(if token.reaches(target, 'r') { 200 } else { 404 })
        }
        Interaction::HistoryOfType => status(200),
        Interaction::Search => {
            listed(TARGETS.iter().filter(|other| other.kind == target.kind && token.reaches(**other, 's')).count())
        }
        Interaction::SearchById | Interaction::SearchByForm => listed(usize::from(found)),
        Interaction::Update | Interaction::Patch => status(if token.reaches(target, 'u') { 200 } else { 404 }),
        Interaction::Delete => status(if token.reaches(target, 'd') { deleted } else { 204 }),
        Interaction::ConditionalCreate if found => status(200),
        // What is made is what the target is, so it may be made where the target may be touched.
        Interaction::Create | Interaction::ConditionalCreate => {
            status(if token.reaches(target, 'c') { 201 } else { 403 })
        }
        // The body of the update names the target as well, so what the condition does not find is not there.
        Interaction::ConditionalUpdate | Interaction::ConditionalPatch => status(if found { 200 } else { 404 }),
        Interaction::ConditionalDelete => status(if found { deleted } else { 204 }),
    }
}

/// A request as it stands alone or in an entry.
struct Request {
    method: &'static str,
    path: String,
    condition: Option<String>,
    body: Option<Value>,
}

fn request(interaction: Interaction, target: Target, version: &str) -> Request {
    let by_id = format!("{}?_id={}", target.kind, target.id);
    let by_criteria = format!("{}?{}", target.kind, target.criteria());
    let mut changed = json!({});
    target.set(&mut changed, "amended", false);
    let with_id = |id: &str| {
        let mut body = target.body();
        body["resourceType"] = target.kind.into();
        body["id"] = id.into();
        target.set(&mut body, "amended", false);
        body
    };
    let (method, path, body) = match interaction {
        Interaction::Read => ("GET", target.path(), None),
        Interaction::Vread => ("GET", format!("{}/_history/{version}", target.path()), None),
        Interaction::History => ("GET", format!("{}/_history", target.path()), None),
        Interaction::HistoryOfType => ("GET", format!("{}/_history", target.kind), None),
        Interaction::Search => ("GET", format!("{}?_count=2", target.kind), None),
        Interaction::SearchById => ("GET", by_id, None),
        Interaction::SearchByForm => ("POST", format!("{}/_search?{}", target.kind, target.criteria()), None),
        Interaction::Create | Interaction::ConditionalCreate => ("POST", target.kind.to_owned(), Some(with_id("made"))),
        Interaction::Update => ("PUT", target.path(), Some(with_id(target.id))),
        Interaction::Patch => ("PATCH", target.path(), Some(changed)),
        Interaction::Delete => ("DELETE", target.path(), None),
        Interaction::ConditionalUpdate => ("PUT", by_criteria, Some(with_id(target.id))),
        Interaction::ConditionalPatch => ("PATCH", by_criteria, Some(changed)),
        Interaction::ConditionalDelete => ("DELETE", by_criteria, None),
    };
    let condition = (interaction == Interaction::ConditionalCreate).then(|| target.criteria());
    Request { method, path, condition, body }
}

impl Request {
    async fn alone(self, world: &World, prefix: &str, token: &str) -> (Outcome, Option<String>) {
        let mut call = world.call(self.method, &format!("{prefix}/{}", self.path)).bearer(token);
        if let Some(condition) = &self.condition {
            call = call.header("if-none-exist", condition);
        }
        if let Some(body) = &self.body {
            call = call.fhir(body);
        }
        let answer = call.send().await;
        if answer.status.is_client_error() {
            answer.outcome();
        }
        let told = |status: u16| status == 403 && answer.header("www-authenticate").contains("insufficient_scope");
        let outside = answer.body["issue"][0]["diagnostics"].as_str().is_some_and(|text| text.contains("patient"));
        assert!(answer.status != 403 || told(403) || outside, "{answer:?}");
        let made = (answer.status == 201).then(|| id_in(answer.header("location")));
        (Outcome { status: answer.status.as_u16(), total: answer.body["total"].as_u64() }, made)
    }

    async fn in_bundle(self, world: &World, kind: &str, token: &str) -> (Outcome, Option<String>) {
        let mut entry = json!({"request": {"method": self.method, "url": self.path}});
        if let Some(condition) = self.condition {
            entry["request"]["ifNoneExist"] = condition.into();
        }
        if let Some(body) = self.body {
            entry["resource"] = body;
        }
        let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
        let answer = world.post("/fhir").bearer(token).fhir(&bundle).send().await;
        if answer.status != 200 {
            assert_eq!(kind, "transaction", "a batch answers each entry in its place: {answer:?}");
            return (Outcome { status: answer.outcome().0, total: None }, None);
        }
        let entry = &answer.body["entry"][0];
        let status = entry["response"]["status"].as_str().unwrap().parse().unwrap();
        assert_eq!(status >= 400, entry["response"]["outcome"].is_object(), "{entry}");
        let made = (status == 201).then(|| id_in(entry["response"]["location"].as_str().unwrap()));
        (Outcome { status, total: entry["resource"]["total"].as_u64() }, made)
    }
}

/// The id in the location of a version.
fn id_in(location: &str) -> String {
    location.rsplit('/').nth(2).unwrap().to_owned()
}

/// Everything as it was before a case, which made this.
async fn restore(world: &World, target: Target, made: Option<&str>) -> String {
    let answer = world.call("PUT", &format!("/fhir/{}", target.path())).by_root().fhir(&target.body()).send().await;
    assert!(answer.status.is_success(), "{answer:?}");
    if let Some(id) = made {
        world.call("DELETE", &format!("/fhir/{}/{id}", target.kind)).by_root().send().await;
    }
    answer.body["meta"]["versionId"].as_str().unwrap().to_owned()
}

async fn try_every_interaction(world: &World, token: Token, target: Target, ways: &[Way]) -> u32 {
    let mut version = restore(world, target, None).await;
    let text = mint(world, token, target.kind);
    let mut tried = 0;
    for interaction in INTERACTIONS {
        for way in ways {
            if interaction == Interaction::SearchByForm && matches!(way, Way::Batch | Way::Transaction) {
                continue;
            }
            let request = request(interaction, target, &version);
            let (outcome, made) = match way {
                Way::Fhir => request.alone(world, "/fhir", &text).await,
                Way::Native => request.alone(world, "", &text).await,
                Way::Batch => request.in_bundle(world, "batch", &text).await,
                Way::Transaction => request.in_bundle(world, "transaction", &text).await,
            };
            let case = format!("{interaction:?} {} {way:?} with {token:?}", target.path());
            let mut expected = expected(token, interaction, target);
            if way == &Way::Batch || way == &Way::Transaction {
                // An entry that deletes is 200 with or without the resource.
                let nothing = interaction == Interaction::Delete && !token.reaches(target, 'd')
                    || interaction == Interaction::ConditionalDelete && !token.reaches(target, 's');
                if expected.status == 204 && !nothing {
                    expected.status = 200;
                }
            }
            assert_eq!(outcome, expected, "{case}");
            if interaction.writes() {
                let wrote = expected.status < 300 && !is_moot(token, interaction, target);
                // Who reaches a part of a type chooses no id: else it would be told whether one is taken.
                let chooses = token.context != Some("patient");
                assert!(made.as_ref().is_none_or(|id| (id == "made") == chooses), "{case}: {made:?}");
                assert_eq!(
                    has_changed(world, target, &version, made.as_deref()).await,
                    wrote,
                    "{case}: what was written"
                );
                if wrote {
                    version = restore(world, target, made.as_deref()).await;
                }
            }
            tried += 1;
        }
    }
    tried
}

/// Whether anything was written since the target was in this version.
async fn has_changed(world: &World, target: Target, version: &str, made: Option<&str>) -> bool {
    let now = world.get(&format!("/fhir/{}", target.path())).by_root().send().await;
    let made = world.get(&format!("/fhir/{}/{}", target.kind, made.unwrap_or("made"))).by_root().send().await;
    now.status != 200 || now.body["meta"]["versionId"] != *version || made.status == 200
}

/// Whether a write that is answered well does nothing: there is nothing it reaches, or already something.
fn is_moot(token: Token, interaction: Interaction, target: Target) -> bool {
    match interaction {
        Interaction::Delete => !token.reaches(target, 'd'),
        Interaction::ConditionalDelete => !token.reaches(target, 's'),
        Interaction::ConditionalCreate => token.reaches(target, 's'),
        _ => false,
    }
}

/// A token as the grants of this server issue them.
fn mint(world: &World, token: Token, kind: &str) -> String {
    let user = (token.bearer != Bearer::Service).then_some("ada");
    let patient = (token.bearer == Bearer::Member).then_some("me");
    world.mint(user, patient, &token.scope(kind))
}

async fn populate(world: &World) {
    world.app().await;
    for target in TARGETS {
        restore(world, target, None).await;
    }
}

#[tokio::test]
async fn every_interaction_is_answered_as_the_model_says() {
    on_every_engine(async |world| {
        populate(world).await;
        let mut tried = 0;
        // What is engines' own, the conditions of lists and writes, is compared in their own suite.
        let stride = if world.is_on_postgres() { 4 } else { 1 };
        for (number, token) in tokens().into_iter().enumerate().step_by(stride) {
            for target in TARGETS {
                if token.laboratory && target.kind != "Observation" {
                    continue;
                }
                // Tokens take turns with the ways to send a request; the richest take all.
                let turn = [WAYS[number % WAYS.len()]];
                let ways = if matches!(token.permissions, "cruds" | "rs") { &WAYS[..] } else { &turn[..] };
                tried += try_every_interaction(world, token, target, ways).await;
            }
        }
        assert!(tried > 10_000 / u32::try_from(stride).unwrap(), "{tried} cases");
    })
    .await;
}
