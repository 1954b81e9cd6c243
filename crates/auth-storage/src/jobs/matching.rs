//! A member match, step by step: a batch of members, then the Groups of all of them.
//!
//! The verdicts of a batch are kept with the job until the Groups are made, and the Consents of those who were found
//! are stored in the transaction that keeps their verdicts.

use aws_lc_rs::digest;
use fhir_resource::{ResourceId, ResourceType, format_conversion};
use fhir_store::{AccessFilter, StoreError};
use payer_exchange::bulk_export::{ExportQueryContext, access_filter_of_queries};
use payer_exchange::consent::ConsentContext;
use payer_exchange::member_match::{
    MatchWork, MatchedMembers, MemberMatchOutcome, PatientMatchRules, RequiredDemographics, SubmittedMember,
    match_group,
};
use payer_exchange::{MemberMatchStore as _, RequestingOrganization};
use serde_json::{Value, json};

use super::packing::{self, Lines};
use super::rows::{self, Held, Part};
use super::worker::{Pause, Turn};
use super::{JobQueueConfig, job_audit};
use crate::db::AuthDatabase;
use crate::dialect::hex;
use crate::engine::Tx;
use crate::fault::fhir;
use crate::resources::upsert;

/// Members of one step.
pub(super) const BATCH: usize = 500;
/// What a job keeps for itself until it is complete: a verdict a line, in the order of the members.
const VERDICTS: &str = "~verdicts";
/// What of it stays as long as the job: the ids of the Consents it kept, a line each.
const CONSENTS: &str = "~consents";
/// The file of the answer.
const ANSWER: &str = "Parameters";

/// A match under way.
struct Match<'a> {
    db: &'a AuthDatabase,
    settings: &'a JobQueueConfig,
    held: &'a Held,
    work: &'a MatchWork,
    /// `{base_url}/fhir/`.
    base_url: String,
}

/// Works on a match until it is complete or its turn is over.
pub(super) async fn run(
    db: &AuthDatabase,
    settings: &JobQueueConfig,
    (held, work): (&Held, &MatchWork),
    turn: &Turn,
) -> Result<(), Pause> {
    let one = Match { db, settings, held, work, base_url: format!("{}/", settings.fhir_base) };
    let batches = work.members.chunks(BATCH).enumerate();
    let begun = usize::try_from(held.done).unwrap_or(usize::MAX) / BATCH;
    for (number, members) in batches.skip(begun).skip_while(|_| held.done >= one.count()) {
        turn.check()?;
        one.step(number, members).await?;
    }
    one.conclude().await
}

impl Match<'_> {
    fn count(&self) -> i64 {
        i64::try_from(self.work.members.len()).unwrap_or(i64::MAX)
    }

    fn now_us(&self) -> i64 {
        (self.settings.now_us)()
    }

    /// Decides on a batch of members and keeps what comes of it.
    async fn step(&self, number: usize, members: &[SubmittedMember]) -> Result<(), Pause> {
        let work = self.work;
        let asked: Vec<Option<RequiredDemographics>> = members.iter().map(RequiredDemographics::from_member).collect();
        let known = self.db.load_member_records(&asked.iter().flatten().collect::<Vec<_>>()).await.map_err(failed)?;
        let terms = PatientMatchRules { kind: work.kind, base_url: &self.base_url, identifier: work.identifier };
        let found = MatchedMembers::find_patients(members, &asked, &known, terms, &self.within()?);
        let stored =
            self.db.consents_of_patients(&found.patient_ids(), &self.settings.fhir_base).await.map_err(failed)?;
        let judge = ConsentContext { requester: &work.requester, now_us: self.now_us(), base_url: &self.base_url };
        let (verdicts, kept) =
            found.into_outcomes_and_consents(&judge, work.kind, &stored, |patient| pair_id(&work.requester, patient));

        let before = number * BATCH;
        let done = i64::try_from(before + members.len()).unwrap_or(i64::MAX);
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let consents: Vec<(String, Value)> = kept
            .into_iter()
            .filter_map(|kept| Some((pair_id(&work.requester, &kept.patient)?, self.stored("Consent", kept.consent))))
            .collect();
        let parts = [
            lines(VERDICTS, number, verdicts.iter().map(|verdict| json!(verdict)))?,
            lines(CONSENTS, number, consents.iter().map(|(id, _)| json!(id)))?,
        ];
        let mut tx = self.db.begin().await?;
        self.held.advance(&mut tx, "", done, parts).await??;
        upsert(self.db, &mut tx, &kind("Consent")?, &consents, self.now_us()).await?;
        Ok(tx.commit().await?)
    }

    /// Makes the Groups and the answer of all verdicts.
    async fn conclude(&self) -> Result<(), Pause> {
        let verdicts: Vec<MemberMatchOutcome> = all_lines(self.db, &self.held.id, VERDICTS).await?;
        let groups = match_group::build_match_groups(&self.held.id, self.work, &verdicts, self.held.created_us);
        let answer = lines(ANSWER, 0, std::iter::once(match_group::build_match_response(self.work.kind, &groups)))?;
        let stored: Vec<(String, Value)> =
            groups.into_iter().map(|group| (group.id, self.stored("Group", group.resource))).collect();
        let mut tx = self.db.begin().await?;
        self.held.advance(&mut tx, "", self.count(), [answer]).await??;
        upsert(self.db, &mut tx, &kind("Group")?, &stored, self.now_us()).await?;
        self.finish(tx, &verdicts).await
    }

    async fn finish(&self, mut tx: Tx, verdicts: &[MemberMatchOutcome]) -> Result<(), Pause> {
        let now_us = self.now_us();
        self.held.drop_file(&mut tx, VERDICTS).await?;
        self.held.end(&mut tx, None, now_us).await??;
        job_audit::ended(self.db, &mut tx, self.held, (job_audit::counted(verdicts), now_us), false).await?;
        Ok(tx.commit().await?)
    }

    /// Returns what the caller reaches of Patients.
    fn within(&self) -> Result<Vec<AccessFilter>, Pause> {
        let kind = kind("Patient")?;
        let terms = ExportQueryContext { base_url: &self.settings.fhir_base, now_us: self.held.created_us };
        let all = self.work.within.iter().map(|any| access_filter_of_queries(&kind, any, terms));
        all.collect::<Result<_, _>>().map_err(|unsupported| Pause::Impossible(unsupported.to_string()))
    }

    /// A resource as it is stored, without what names it.
    fn stored(&self, kind: &str, mut resource: Value) -> Value {
        if let Some(members) = resource.as_object_mut() {
            members.insert("resourceType".to_owned(), kind.into());
        }
        let mut resource =
            if self.settings.correct_format { format_conversion::convert_to_native(resource) } else { resource };
        if let Some(members) = resource.as_object_mut() {
            members.remove("resourceType");
        }
        resource
    }
}

/// Returns the ids of the Consents that a completed match kept.
pub(super) async fn consents_of(db: &AuthDatabase, id: &ResourceId) -> Result<Vec<String>, StoreError> {
    all_lines(db, id, CONSENTS).await.map_err(fhir)
}

/// Every line of a file that a job keeps for itself.
async fn all_lines<T: serde::de::DeserializeOwned>(
    db: &AuthDatabase,
    id: &ResourceId,
    file: &str,
) -> Result<Vec<T>, sqlx::Error> {
    let mut all = Vec::new();
    let mut number = 0;
    while let Some(part) = rows::part(db, id.as_str(), file, number).await? {
        let part = packing::unpacked(part).await?;
        for line in part.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            all.push(rows::line(line)?);
        }
        number += 1;
    }
    Ok(all)
}

fn lines(file: &str, number: i64, values: impl Iterator<Item = Value>) -> Result<Part, sqlx::Error> {
    let (mut content, mut resources) = (Vec::new(), 0);
    for value in values {
        rows::push_line(&mut content, &value);
        resources += 1;
    }
    Ok(Lines { file: file.to_owned(), number, resources, content }.packed()?)
}

/// Returns the id of the Consent that is kept of a patient for a payer.
///
/// # Source
/// `docs/decisions.md`, "Member match".
fn pair_id(requester: &RequestingOrganization, patient: &str) -> Option<String> {
    let organization = requester.organization.as_deref()?;
    let pair = format!("{organization}|{patient}");
    Some(hex(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, pair.as_bytes()).as_ref()))
}

fn kind(name: &str) -> Result<ResourceType, sqlx::Error> {
    name.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

fn failed(error: StoreError) -> Pause {
    Pause::Failed(sqlx::Error::AnyDriverError(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consent_is_kept_under_the_digest_of_the_pair() {
        let organization = Some("payer-b".to_owned());
        let requester = RequestingOrganization { system: "s".to_owned(), value: "v".to_owned(), organization };
        // printf 'payer-b|p1' | sha1sum
        assert_eq!(pair_id(&requester, "p1").as_deref(), Some("a611a009192db0c56dae19c7c61d5eace1622030"));
        assert_eq!(pair_id(&RequestingOrganization { organization: None, ..requester }, "p1"), None);
    }
}
