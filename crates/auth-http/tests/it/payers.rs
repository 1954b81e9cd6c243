//! Exports and member matches over HTTP: who may, what comes, and what is not told.

use payer_exchange::jobs::{JobState, JobStore as _};
use serde_json::{Value, json};

use crate::world::{Answer, NOW_S, Partner, World, assertion_form, on_every_engine};

const NPI: &str = "http://hl7.org/fhir/sid/us-npi";
const PDEX: &str = "hl7.fhir.us.davinci-pdex#";

/// A partner payer whose token carries the claim.
pub(crate) async fn partner(world: &World, id: &str, npi: &str) -> String {
    let organization = json!({"name": id, "identifier": [{"system": NPI, "value": npi}]});
    world.put(&format!("/fhir/Organization/org-{id}"), &organization).await;
    let partner = Partner::new();
    world.put(&format!("/Client/{id}"), &partner.client(&format!("Organization/org-{id}"))).await;
    let policy = json!({"engine": "allow", "link": [{"reference": format!("Client/{id}")}]});
    world.put(&format!("/AccessPolicy/{id}"), &policy).await;
    let assertion = partner.assertion(id, &format!("jti-{id}"), NOW_S);
    let answer = world.post("/auth/token").form(&assertion_form(&assertion)).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body["access_token"].as_str().unwrap().to_owned()
}

pub(crate) fn person(family: &str) -> Value {
    json!({
        "resourceType": "Patient", "name": [{"family": family, "given": ["Ann"]}], "birthDate": "1980-01-01",
        "gender": "female", "identifier": [{"system": "urn:members", "value": number(family)}],
    })
}

/// The number of a member.
fn number(family: &str) -> String {
    format!("nr-{}", family.to_lowercase())
}

pub(crate) async fn members(world: &World) {
    for (id, family) in [("a", "Adler"), ("b", "Berg"), ("c", "Curie")] {
        world.put(&format!("/fhir/Patient/{id}"), &person(family)).await;
        let observation = json!({"resourceType": "Observation", "status": "final", "code": {"text": "t"},
            "subject": {"reference": format!("Patient/{id}")}});
        world.put(&format!("/fhir/Observation/of-{id}"), &observation).await;
    }
}

pub(crate) fn bundle(family: &str, recipient: &str) -> Value {
    let sensitive = "http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#sensitive";
    let role =
        json!({"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationType", "code": "IRCP"}]});
    let consent = json!({
        "resourceType": "Consent", "status": "active", "policy": [{"uri": sensitive}],
        "provision": {
            "type": "permit", "period": {"start": "2025-01-01", "end": "2027-01-01"},
            "actor": [{"role": role, "reference": {"identifier": {"system": NPI, "value": recipient}}}],
        },
    });
    json!({"name": "MemberBundle", "part": [
        {"name": "MemberPatient", "resource": person(family)},
        {"name": "CoverageToMatch", "resource": {"resourceType": "Coverage",
            "payor": [{"identifier": {"system": NPI, "value": "1000000001"}}]}},
        {"name": "Consent", "resource": consent},
    ]})
}

pub(crate) fn parameters(parameters: &[Value]) -> Value {
    json!({"resourceType": "Parameters", "parameter": parameters})
}

pub(crate) fn davinci(export_type: &str) -> Value {
    parameters(&[json!({"name": "exportType", "valueCanonical": format!("{PDEX}{export_type}")})])
}

pub(crate) async fn post(world: &World, token: &str, path: &str, body: &Value) -> Answer {
    world.post(path).bearer(token).header("prefer", "respond-async").fhir(body).send().await
}

async fn export(world: &World, token: &str, path: &str) -> Answer {
    world.get(path).bearer(token).header("prefer", "respond-async").send().await
}

/// The path of a job that was accepted.
pub(crate) fn accepted(answer: &Answer) -> String {
    assert_eq!((answer.status.as_u16(), answer.length), (202, 0), "{answer:?}");
    answer.header("content-location").strip_prefix("https://payer.example").unwrap().to_owned()
}

/// The manifest of a job, once it is complete.
pub(crate) async fn manifest(world: &World, token: &str, owner: &str, job: &str) -> Value {
    let id = job.rsplit('/').next().unwrap().parse().unwrap();
    while world.jobs().find_job(&id, owner).await.unwrap().unwrap().state != JobState::Completed {
        tokio::task::yield_now().await;
    }
    let answer = world.get(job).bearer(token).send().await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"), "{answer:?}");
    assert_eq!(answer.body["requiresAccessToken"], true);
    answer.body
}

/// The file of a type, as lines.
pub(crate) async fn file(world: &World, token: &str, manifest: &Value, kind: &str) -> Vec<Value> {
    let outputs = manifest["output"].as_array().unwrap();
    let Some(output) = outputs.iter().find(|output| output["type"] == kind) else { return Vec::new() };
    let path = output["url"].as_str().unwrap().strip_prefix("https://payer.example").unwrap();
    let answer = world.get(path).bearer(token).send().await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/fhir+ndjson"));
    assert_eq!(answer.header("content-length"), answer.length.to_string());
    let lines: Vec<Value> = answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(lines.len()), output["count"]);
    assert_eq!(world.get(path).send().await.status, 401, "a file needs the token");
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_matches_members_and_exports_what_they_allow() {
    on_every_engine(async |world| {
        members(world).await;
        let token = partner(world, "payer-b", "1000000001").await;
        let sent =
            parameters(&[bundle("ADLER", "1000000001"), bundle("Berg", "1000000002"), bundle("Nobody", "1000000001")]);
        let answer = post(world, &token, "/fhir/Group/$bulk-member-match", &sent).await;
        let job = accepted(&answer);
        assert!(job.starts_with("/fhir/Group/$bulk-member-match-status/"), "{job}");
        let told = manifest(world, &token, "payer-b", &job).await;
        let [found] = file(world, &token, &told, "Parameters").await.try_into().unwrap();
        let group = |index: usize| &found["parameter"][index]["resource"];
        assert_eq!(group(0)["member"][0]["entity"]["reference"], "Patient/a");
        assert_eq!(group(0)["characteristic"][0]["valueReference"]["identifier"]["value"], "1000000001");
        assert_eq!((&group(1)["quantity"], &group(2)["quantity"]), (&json!(1), &json!(1)));

        let matched = group(0)["id"].as_str().unwrap();
        let path = format!("/fhir/Group/{matched}/$davinci-data-export");
        let exported = accepted(&post(world, &token, &path, &davinci("payertopayer")).await);
        let told = manifest(world, &token, "payer-b", &exported).await;
        let [patient] = file(world, &token, &told, "Patient").await.try_into().unwrap();
        let [observation] = file(world, &token, &told, "Observation").await.try_into().unwrap();
        assert_eq!((&patient["id"], &observation["id"]), (&json!("a"), &json!("of-a")));
        assert_eq!(observation["subject"], json!({"reference": "Patient/a"}));

        // To another payer there is neither the Group nor the jobs.
        let other = partner(world, "payer-c", "1000000003").await;
        let answer = post(world, &other, &path, &davinci("payertopayer")).await;
        assert_eq!(answer.outcome(), (404, "not-found"));
        assert_eq!(answer.body["issue"][0]["diagnostics"], format!("Resource Group/{matched} not found"));
        for path in [
            job.clone(),
            exported.clone(),
            format!("/fhir/$export-output/{}/Patient.ndjson", exported.rsplit('/').next().unwrap()),
        ] {
            assert_eq!(world.get(&path).bearer(&other).send().await.outcome(), (404, "not-found"), "{path}");
        }
        assert_eq!(world.call("DELETE", &job).bearer(&other).send().await.status, 404);
        let plain = export(world, &token, &format!("/fhir/Group/{matched}/$export")).await;
        assert_eq!(plain.outcome(), (422, "invalid"), "consent is not gone round");

        assert_eq!(world.call("DELETE", &job).bearer(&token).send().await.status, 202);
        assert_eq!(world.get(&job).bearer(&token).send().await.status, 404);
        let answer = post(world, &token, &path, &davinci("payertopayer")).await;
        assert_eq!(answer.outcome(), (404, "not-found"), "the Group went with the job: {answer:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_claim_only_the_administrator_is_served() {
    let world = World::new().await;
    members(&world).await;
    world.put("/fhir/Organization/us", &json!({"identifier": [{"system": NPI, "value": "1000000001"}]})).await;
    let token = world.token_with_scope("no-claim", "system/*.read").await;
    let sent = parameters(&[bundle("Adler", "1000000001")]);
    for path in ["/fhir/Group/$bulk-member-match", "/fhir/Group/$provider-member-match", "/fhir/Patient/$member-match"]
    {
        assert_eq!(post(&world, &token, path, &sent).await.outcome(), (403, "forbidden"), "{path}");
        assert_eq!(world.post(path).fhir(&sent).send().await.outcome(), (401, "login"), "{path}");
    }
    for export_type in ["payertopayer", "provider-download"] {
        let answer = post(&world, &token, "/fhir/Group/g/$davinci-data-export", &davinci(export_type)).await;
        assert_eq!(answer.outcome(), (401, "login"));
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    let by_root = world.post("/fhir/Group/$bulk-member-match").by_root().header("prefer", "respond-async").fhir(&sent);
    accepted(&by_root.send().await);
    let mut unknown = sent.clone();
    unknown["parameter"][0]["part"][1]["resource"]["payor"] = json!([{"reference": "Organization/nobody"}]);
    let by_root =
        world.post("/fhir/Group/$bulk-member-match").by_root().header("prefer", "respond-async").fhir(&unknown);
    assert_eq!(by_root.send().await.outcome(), (422, "invalid"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_cannot_be_served_says_why_and_leaves_no_job() {
    let world = World::new().await;
    members(&world).await;
    let token = partner(&world, "payer-b", "1000000001").await;
    let told = |answer: &Answer| answer.body["issue"][0]["diagnostics"].as_str().unwrap_or_default().to_owned();
    let sync = world.post("/fhir/Group/$bulk-member-match").bearer(&token).fhir(&parameters(&[])).send().await;
    assert_eq!(sync.outcome(), (400, "processing"));
    assert_eq!(told(&sync), "This operation requires Prefer: respond-async header");
    for (path, body, status, text) in [
        ("/fhir/Group/$bulk-member-match", parameters(&[]), 422, "at least one MemberBundle"),
        ("/fhir/Group/$bulk-member-match", json!({"resourceType": "Bundle"}), 422, "must be a FHIR Parameters"),
        (
            "/fhir/Group/g/$davinci-data-export",
            json!({"resourceType": "Bundle"}),
            400,
            "Request body must be a FHIR Parameters resource",
        ),
        ("/fhir/Group/g/$davinci-data-export", parameters(&[]), 400, "Parameter exportType is required"),
        (
            "/fhir/Group/g/$davinci-data-export",
            davinci("nothing"),
            400,
            "Unsupported exportType: hl7.fhir.us.davinci-pdex#nothing",
        ),
        ("/fhir/Group/g/$davinci-data-export", davinci("provider-delta"), 422, "is not supported by this server"),
        ("/fhir/Group/g/$davinci-data-export", davinci("provider-snapshot"), 422, "is not supported by this server"),
        ("/fhir/Group/g/$davinci-data-export", davinci("payertopayer"), 404, "Resource Group/g not found"),
    ] {
        let answer = post(&world, &token, path, &body).await;
        assert_eq!(answer.status.as_u16(), status, "{path} {answer:?}");
        assert!(told(&answer).contains(text), "{} of {path}", told(&answer));
    }
    for (path, text) in [
        ("/fhir/$export?_summary=true", "Unsupported parameter(s): _summary"),
        ("/fhir/$export?_elements=id,%20", "_elements must be names such as birthDate"),
        ("/fhir/$export?_type=Client", "_type names a type that is not exported here: Client"),
        ("/fhir/Patient/$export?_type=Organization", "_type names a type that is not exported here: Organization"),
        ("/fhir/Patient/$export?_typeFilter=Observation%3Fno-such%3Dx", "_typeFilter: the parameter no-such of Obs"),
        (
            "/fhir/Patient/$export?_typeFilter=Observation%3Fdate%3Dsoon",
            "_typeFilter: the parameter date of Observation",
        ),
        (
            "/fhir/Patient/$export?_typeFilter=Observation%3Fsubject.name%3Dx",
            "the parameter subject.name of Observation",
        ),
    ] {
        let answer = export(&world, &token, path).await;
        assert_eq!(answer.status, 400, "{path} {answer:?}");
        assert!(told(&answer).contains(text), "{} of {path}", told(&answer));
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_decide_which_types_are_exported() {
    on_every_engine(async |world| {
        members(world).await;
        let some = world.token_with_scope("some", "system/Observation.rs system/Patient.r").await;
        let job = accepted(&export(world, &some, "/fhir/Patient/$export").await);
        let told = manifest(world, &some, "some", &job).await;
        let types: Vec<_> = told["output"].as_array().unwrap().iter().map(|output| output["type"].clone()).collect();
        assert_eq!(types, ["Observation"], "Patients may be read and not searched");
        let named = export(world, &some, "/fhir/Patient/$export?_type=Observation,Patient").await;
        assert_eq!(named.outcome(), (403, "forbidden"));
        assert!(named.header("www-authenticate").contains("insufficient_scope"), "{named:?}");
        let none = world.token_with_scope("none", "system/Observation.s").await;
        assert_eq!(export(world, &none, "/fhir/$export").await.outcome(), (403, "forbidden"));

        let filtered = world.token_with_scope("filtered", "system/Observation.rs?category=laboratory").await;
        world
            .put(
                "/fhir/Observation/lab",
                &json!({"resourceType": "Observation", "status": "final", "code": {"text": "t"},
            "category": [{"coding": [{"code": "laboratory"}]}]}),
            )
            .await;
        let job = accepted(&export(world, &filtered, "/fhir/$export").await);
        let told = manifest(world, &filtered, "filtered", &job).await;
        let [lab] = file(world, &filtered, &told, "Observation").await.try_into().unwrap();
        assert_eq!(lab["id"], "lab");
    })
    .await;
}

/// The lines of the one type that an export makes.
async fn exported(world: &World, token: &str, owner: &str, (path, kind): (&str, &str)) -> Vec<Value> {
    let job = accepted(&export(world, token, path).await);
    let told = manifest(world, token, owner, &job).await;
    file(world, token, &told, kind).await
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_is_narrowed_by_filters_and_by_the_queries_of_scopes() {
    on_every_engine(async |world| {
        members(world).await;
        for (id, code, date) in
            [("x1", "718-7", "2026-03-04"), ("x2", "718-7", "2025-03-04"), ("x3", "4548-4", "2026-03-04")]
        {
            let coding = json!({"coding": [{"system": "http://loinc.org", "code": code}]});
            let observation = json!({"resourceType": "Observation", "status": "final", "code": coding,
                "effectiveDateTime": date, "subject": {"reference": "Patient/a"}, "note": [{"text": "n"}]});
            world.put(&format!("/fhir/Observation/{id}"), &observation).await;
        }
        let all = world.token_with_scope("app", "system/*.rs").await;
        let filter = "_typeFilter=Observation%3Fcode%3Dhttp%3A%2F%2Floinc.org%7C718-7%26date%3Dge2026";
        let path = format!("/fhir/Patient/$export?_type=Observation&{filter}");
        assert_eq!(ids(&exported(world, &all, "app", (&path, "Observation")).await), ["x1"]);
        let path = format!("{path}&_typeFilter=Observation%3Fcode%3D4548-4&_elements=code");
        let either = exported(world, &all, "app", (&path, "Observation")).await;
        assert_eq!(ids(&either), ["x1", "x3"], "either filter");
        assert_eq!((&either[0]["note"], &either[0]["meta"]["tag"][0]["code"]), (&Value::Null, &json!("SUBSETTED")));
        assert_eq!(either[0]["code"]["coding"][0]["code"], "718-7");

        let some = world.token_with_scope("some", "system/Observation.rs?code=http://loinc.org|718-7").await;
        assert_eq!(ids(&exported(world, &some, "some", ("/fhir/$export", "Observation")).await), ["x1", "x2"]);
        let both = format!("/fhir/$export?{filter}&_type=Observation");
        assert_eq!(
            ids(&exported(world, &some, "some", (&both, "Observation")).await),
            ["x1"],
            "never more than the scope"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_sent_as_its_lines_whatever_its_client_takes() {
    let world = World::new().await;
    members(&world).await;
    let token = world.token_with_scope("app", "system/*.rs").await;
    let job = accepted(&export(&world, &token, "/fhir/$export?_type=Patient").await);
    let told = manifest(&world, &token, "app", &job).await;
    let path = told["output"][0]["url"].as_str().unwrap().strip_prefix("https://payer.example").unwrap();
    for takes in ["gzip", "identity", ""] {
        let plain = world.get(path).bearer(&token).header("accept-encoding", takes).send().await;
        assert_eq!((plain.status.as_u16(), plain.text.lines().count()), (200, 3), "{takes}");
        assert_eq!(plain.header("content-encoding"), "", "{takes}");
        assert_eq!(plain.header("content-length"), plain.length.to_string());
    }
    world.end().await;
}

/// The audit events of a kind of operation, once there are so many: they are written by and by.
async fn audited(world: &World, code: &str, count: usize) -> Vec<Value> {
    loop {
        let answer = world.get("/fhir/AuditEvent?_count=1000").by_root().send().await;
        let entries = answer.body["entry"].as_array().cloned().unwrap_or_default();
        let mut events: Vec<Value> = entries.into_iter().map(|entry| entry["resource"].clone()).collect();
        events.retain(|event| event["type"]["code"] == code);
        if events.len() >= count {
            assert_eq!(events.len(), count, "{events:?}");
            events.sort_by_key(|event| event["outcome"].to_string());
            return events;
        }
        tokio::task::yield_now().await;
    }
}

fn detail<'a>(event: &'a Value, name: &str) -> Option<&'a str> {
    let entities = event["entity"].as_array().into_iter().flatten();
    let mut details = entities.flat_map(|entity| entity["detail"].as_array().into_iter().flatten());
    details.find(|detail| detail["type"] == name)?["valueString"].as_str()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_is_told_who_asked_for_whom_and_what_came_of_it() {
    on_every_engine(async |world| {
        members(world).await;
        let token = partner(world, "payer-b", "1000000001").await;
        let sent =
            parameters(&[bundle("Adler", "1000000001"), bundle("Berg", "1000000002"), bundle("No", "1000000001")]);
        let job = accepted(&post(world, &token, "/fhir/Group/$bulk-member-match", &sent).await);
        let told = manifest(world, &token, "payer-b", &job).await;
        let [found] = file(world, &token, &told, "Parameters").await.try_into().unwrap();
        let group = found["parameter"][0]["resource"]["id"].as_str().unwrap();
        let unclaimed = world.token_with_scope("no-claim", "system/*.read").await;
        assert_eq!(post(world, &unclaimed, "/fhir/Group/$bulk-member-match", &sent).await.status, 403);

        let id = job.rsplit('/').next().unwrap();
        let ended = world.get(&format!("/fhir/AuditEvent/{id}")).by_root().send().await.body;
        let counts = ["matched", "not matched", "constrained by consent"].map(|name| detail(&ended, name));
        assert_eq!(counts, [Some("1"); 3], "{ended}");
        let events = audited(world, "110112", 3).await;
        let begun = events.iter().find(|event| event["purposeOfEvent"].is_array()).unwrap();
        assert_eq!((begun["outcome"].as_str(), detail(begun, "job")), (Some("0"), Some(id)));
        assert_eq!(begun["agent"][0]["who"]["reference"], "Client/payer-b");
        assert_eq!(begun["agent"][1]["who"]["identifier"], json!({"system": NPI, "value": "1000000001"}));
        let refused = events.last().unwrap();
        assert_eq!(
            (refused["outcome"].as_str(), refused["outcomeDesc"].as_str()),
            (Some("4"), Some("no hl7-b2b claim"))
        );
        assert_eq!(refused["agent"][0]["who"]["reference"], "Client/no-claim");

        let path = format!("/fhir/Group/{group}/$davinci-data-export");
        let exported = accepted(&post(world, &token, &path, &davinci("payertopayer")).await);
        manifest(world, &token, "payer-b", &exported).await;
        let other = partner(world, "payer-c", "1000000003").await;
        assert_eq!(post(world, &other, &path, &davinci("payertopayer")).await.status, 404);
        let events = audited(world, "110106", 3).await;
        assert!(
            events.iter().any(|event| detail(event, "resources") == Some("3")),
            "with the Consent that the match kept: {events:?}"
        );
        let refused = events.last().unwrap();
        assert_eq!(refused["outcomeDesc"], "no such Group, or another organization's");
        assert_eq!(refused["entity"][0]["what"]["reference"], format!("Group/{group}"));
        assert_eq!(refused["agent"][1]["who"]["identifier"]["value"], "1000000003");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_exported_with_what_is_of_its_members_alone() {
    let world = World::new().await;
    members(&world).await;
    let group = json!({"resourceType": "Group", "type": "person", "actual": true, "member": [
        {"entity": {"reference": "Patient/a"}}, {"entity": {"reference": "Patient/b"}}, {"entity": {"reference": "Patient/c"}, "inactive": true},
    ]});
    world.put("/fhir/Group/g", &group).await;
    let token = world.token_with_scope("app", "system/*.read").await;
    let job = accepted(&export(&world, &token, "/fhir/Group/g/$export?_type=Patient").await);
    let told = manifest(&world, &token, "app", &job).await;
    assert_eq!(file(&world, &token, &told, "Patient").await.len(), 2);
    let job =
        accepted(&export(&world, &token, "/fhir/Group/g/$export?patient=Patient/b&_type=Patient,Observation").await);
    let told = manifest(&world, &token, "app", &job).await;
    let [observation] = file(&world, &token, &told, "Observation").await.try_into().unwrap();
    assert_eq!(observation["id"], "of-b");
    let stranger = export(&world, &token, "/fhir/Group/g/$export?patient=Patient/c").await;
    assert_eq!(stranger.outcome(), (422, "invalid"));
    assert_eq!(export(&world, &token, "/fhir/Group/none/$export").await.status, 404);
    // Whose members they are is told by the Group, so one who may not read it is not told by its export.
    for scope in
        ["system/Patient.rs", "system/Patient.rs system/Group.s", "system/Patient.rs system/Group.r?type=animal"]
    {
        let blind = world.token_with_scope("blind", scope).await;
        let wanted = if scope.contains('?') { 404 } else { 403 };
        for id in ["g", "none"] {
            let answer = export(&world, &blind, &format!("/fhir/Group/{id}/$export?_type=Patient")).await;
            assert_eq!(answer.status, wanted, "{scope} {id}: {answer:?}");
        }
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_again_and_again_is_told_to_wait() {
    let world = World::new().await;
    let token = world.token_with_scope("app", "system/*.read").await;
    let job = accepted(&export(&world, &token, "/fhir/$export").await);
    let mut statuses = Vec::new();
    for _ in 0..11 {
        statuses.push(world.get(&job).bearer(&token).send().await);
    }
    let last = statuses.pop().unwrap();
    assert_eq!(last.outcome(), (429, "throttled"));
    assert_eq!(last.header("retry-after"), "1");
    assert!(statuses.iter().all(|answer| matches!(answer.status.as_u16(), 200 | 202)), "{statuses:?}");
    world.wait_s(1);
    assert_ne!(world.get(&job).bearer(&token).send().await.status, 429);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_member_is_told_or_not_and_never_why_not() {
    on_every_engine(async |world| {
        members(world).await;
        let token = partner(world, "payer-b", "1000000001").await;
        let sent = |family: &str, recipient: &str| parameters(bundle(family, recipient)["part"].as_array().unwrap());
        let ask = async |body: &Value| world.post("/fhir/Patient/$member-match").bearer(&token).fhir(body).send().await;
        let found = ask(&sent("Adler", "1000000001")).await;
        assert_eq!(found.status, 200, "{found:?}");
        assert_eq!(found.body["parameter"][1]["valueReference"]["reference"], "Patient/a");
        assert_eq!(found.body["parameter"][0]["valueIdentifier"]["type"]["coding"][0]["code"], "UMB");
        let [nobody, constrained] = [ask(&sent("Nobody", "1000000001")).await, ask(&sent("Adler", "1000000009")).await];
        assert_eq!((nobody.outcome(), constrained.outcome()), ((422, "invalid"), (422, "invalid")));
        assert_eq!(nobody.body, constrained.body);
        for _ in 0..57 {
            ask(&sent("Nobody", "1000000001")).await;
        }
        assert_eq!(ask(&sent("Adler", "1000000001")).await.outcome(), (429, "throttled"));
    })
    .await;
}
