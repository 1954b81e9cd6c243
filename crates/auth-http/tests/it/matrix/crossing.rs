//! What crosses from one type to another: includes, chains, `_has`, `$everything` and the history of everything
//! show of each type what the token opens of that type.

use std::collections::BTreeSet;

use super::*;

/// A token with a scope for each of two types.
#[derive(Debug, Clone, Copy)]
struct Pair {
    observations: Token,
    patients: Token,
}

impl Pair {
    fn scope(self) -> String {
        let scopes = [(self.observations, "Observation"), (self.patients, "Patient")];
        let scopes = scopes.into_iter().filter(|(token, _)| token.context.is_some());
        let scopes: Vec<String> = scopes.map(|(token, kind)| token.scope(kind)).collect();
        if scopes.is_empty() { "openid".to_owned() } else { scopes.join(" ") }
    }

    fn of(self, kind: &str) -> Token {
        match kind {
            "Observation" => self.observations,
            "Patient" => self.patients,
            _ => Token { context: None, ..self.patients },
        }
    }

    /// What of a type the token opens for the interaction; `None` when nothing can be.
    fn reached(self, kind: &str, letter: char) -> Option<Vec<Target>> {
        let token = self.of(kind);
        let of_kind = TARGETS.into_iter().filter(|target| target.kind == kind);
        token.opens(kind, letter).then(|| of_kind.filter(|target| token.reaches(*target, letter)).collect())
    }
}

fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for bearer in [Bearer::Member, Bearer::Person, Bearer::Service] {
        let closed = Token { context: None, permissions: "", laboratory: false, bearer };
        for context in ["patient", "user", "system"] {
            let open = |permissions| Token { context: Some(context), permissions, ..closed };
            let laboratory = Token { laboratory: true, ..open("rs") };
            for observations in [closed, open("r"), open("s"), open("read"), open("cud"), laboratory] {
                for patients in [closed, open("r"), open("s"), open("rs")] {
                    pairs.push(Pair { observations, patients });
                }
            }
        }
    }
    pairs
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crossing {
    Include,
    RevInclude,
    Chain,
    Has,
    Everything(&'static str),
    HistoryOfSystem,
}

const CROSSINGS: [Crossing; 7] = [
    Crossing::Include,
    Crossing::RevInclude,
    Crossing::Chain,
    Crossing::Has,
    Crossing::Everything("me"),
    Crossing::Everything("you"),
    Crossing::HistoryOfSystem,
];

impl Crossing {
    fn path(self) -> String {
        match self {
            Self::Include => "Observation?_include=Observation:subject".to_owned(),
            Self::RevInclude => "Patient?_revinclude=Observation:patient".to_owned(),
            Self::Chain => "Observation?subject:Patient.active=true".to_owned(),
            Self::Has => "Patient?_has:Observation:patient:status=final".to_owned(),
            Self::Everything(patient) => format!("Patient/{patient}/$everything"),
            Self::HistoryOfSystem => "_history?_count=1000".to_owned(),
        }
    }

    /// Whether a Bundle can ask for it.
    fn is_search(self) -> bool {
        !matches!(self, Self::Everything(_) | Self::HistoryOfSystem)
    }

    /// The resources an answer has, and how many of them are counted; or the status of the refusal.
    fn expected(self, token: Pair) -> Result<(BTreeSet<String>, Option<usize>), u16> {
        let observations = token.reached("Observation", 's');
        let patients = token.reached("Patient", 's');
        let paths = |of: &[Target]| of.iter().map(|target| target.path()).collect::<BTreeSet<_>>();
        let counted = |of: Vec<Target>| Ok((paths(&of), Some(of.len())));
        let is_of = |one: &Target, all: &[Target]| all.iter().any(|other| one.patient == other.patient);
        match self {
            Self::Include | Self::RevInclude => {
                let (matches, others) =
                    if self == Self::Include { (observations, patients) } else { (patients, observations) };
                let matches = matches.ok_or(403_u16)?;
                let mut shown = paths(&matches);
                let included: Vec<Target> =
                    others.into_iter().flatten().filter(|other| is_of(other, &matches)).collect();
                shown.extend(paths(&included));
                Ok((shown, Some(matches.len())))
            }
            Self::Chain | Self::Has => {
                let (matches, others) =
                    if self == Self::Chain { (observations, patients) } else { (patients, observations) };
                let (matches, others) = (matches.ok_or(403_u16)?, others.ok_or(403_u16)?);
                counted(matches.into_iter().filter(|one| is_of(one, &others)).collect())
            }
            Self::Everything(patient) => {
                let readable = token.reached("Patient", 'r').ok_or(403_u16)?;
                let own = |target: &Target| target.patient == Some(patient);
                let mut shown: Vec<Target> = readable.into_iter().filter(own).collect();
                if shown.is_empty() {
                    return Err(404);
                }
                shown.extend(observations.into_iter().flatten().filter(own));
                Ok((paths(&shown), None))
            }
            Self::HistoryOfSystem => {
                if observations.is_none() && patients.is_none() {
                    return Err(403);
                }
                let all: Vec<Target> = observations.into_iter().chain(patients).flatten().collect();
                Ok((paths(&all), None))
            }
        }
    }
}

/// What an answer shows: each resource once, without what the search says of itself.
fn shown(set: &Value) -> BTreeSet<String> {
    let entries = set["entry"].as_array().unwrap().iter();
    let of_resources = entries.filter(|entry| entry["search"]["mode"] != "outcome");
    let url = |entry: &Value| {
        let path: Vec<&str> = entry["fullUrl"].as_str().unwrap().rsplit('/').take(2).collect();
        format!("{}/{}", path[1], path[0])
    };
    of_resources.map(url).collect()
}

#[tokio::test]
async fn what_crosses_types_is_shown_as_the_model_says() {
    on_every_engine(async |world| {
        populate(world).await;
        let stride = if world.is_on_postgres() { 5 } else { 1 };
        let mut shown_some = 0;
        for token in pairs().into_iter().step_by(stride) {
            let bearer = token.patients.bearer;
            let user = (bearer != Bearer::Service).then_some("ada");
            let text = world.mint(user, (bearer == Bearer::Member).then_some("me"), &token.scope());
            for crossing in CROSSINGS {
                let case = format!("{crossing:?} with {token:?}");
                let alone = world.get(&format!("/fhir/{}", crossing.path())).bearer(&text).send().await;
                let expected = crossing.expected(token);
                match &expected {
                    Ok((resources, total)) => {
                        assert_eq!((alone.status.as_u16(), &shown(&alone.body)), (200, resources), "{case}");
                        assert_eq!(alone.body["total"].as_u64(), total.map(|total| total as u64), "{case}");
                        shown_some += usize::from(!resources.is_empty());
                    }
                    Err(status) => assert_eq!(alone.outcome().0, *status, "{case}"),
                }
                if crossing.is_search() {
                    let entry = json!({"request": {"method": "GET", "url": crossing.path()}});
                    let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [entry]});
                    let answer = world.post("/fhir").bearer(&text).fhir(&bundle).send().await;
                    let entry = &answer.body["entry"][0];
                    match expected {
                        Ok((resources, _)) => assert_eq!(shown(&entry["resource"]), resources, "{case} in a batch"),
                        Err(status) => {
                            assert_eq!(entry["response"]["status"], status.to_string(), "{case} in a batch");
                        }
                    }
                }
            }
        }
        assert!(shown_some > 250 / stride, "{shown_some} cases show something");
    })
    .await;
}
