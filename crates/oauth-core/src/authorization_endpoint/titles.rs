//! Data types in the words of the people whose data it is.

use super::pages::ConsentCheckboxGroup;

/// A resource type as the consent page shows it.
pub(super) struct TitledScope {
    /// The FHIR type.
    pub(super) resource_type: &'static str,
    /// In plain words.
    pub(super) title: &'static str,
    /// One sentence more.
    pub(super) detail: &'static str,
    /// What it stands with.
    pub(super) group: ConsentCheckboxGroup,
}

const fn record(resource_type: &'static str, title: &'static str, detail: &'static str) -> TitledScope {
    TitledScope { resource_type, title, detail, group: ConsentCheckboxGroup::Record }
}

const fn directory(resource_type: &'static str, title: &'static str, detail: &'static str) -> TitledScope {
    TitledScope { resource_type, title, detail, group: ConsentCheckboxGroup::Directory }
}

/// The types a wildcard is shown as, in the order of the page.
///
/// # Source
/// The profiles of US Core 6.1 and 7.0, CARIN Blue Button 2.0 and Da Vinci `PDex` 2.0.
pub(super) const TITLES: [TitledScope; 37] = [
    record("Patient", "Name and contact details", "Name, date of birth, address, telephone, language."),
    record("AllergyIntolerance", "Allergies", "Allergies and what the body does not tolerate."),
    record("Condition", "Health problems", "Diagnoses, problems and concerns."),
    record("Procedure", "Operations and treatments", "What was done, and when."),
    record(
        "Observation",
        "Test results and measurements",
        "Laboratory results, vital signs, answers about daily life.",
    ),
    record("DiagnosticReport", "Reports of tests", "Reports of laboratories, imaging and specialists."),
    record("MedicationRequest", "Prescriptions", "Medicines that were prescribed."),
    record("MedicationDispense", "Dispensed medicines", "Medicines that a pharmacy handed out."),
    record("MedicationStatement", "Medicines taken", "Medicines as they are said to be taken."),
    record("Immunization", "Vaccinations", "Vaccines that were given, and when."),
    record("Encounter", "Visits", "Appointments, visits and stays in hospital."),
    record("CarePlan", "Care plans", "What is planned for the care."),
    record("CareTeam", "Care team", "Who takes part in the care."),
    record("Goal", "Goals", "What the care is meant to achieve."),
    record("ServiceRequest", "Orders and referrals", "What was ordered, and referrals to others."),
    record("NutritionOrder", "Diets", "Diets that were ordered."),
    record("DocumentReference", "Documents", "Letters, notes and other documents."),
    record("QuestionnaireResponse", "Answered questionnaires", "Questions and the answers that were given."),
    record("FamilyMemberHistory", "Illnesses in the family", "What is known of the health of relatives."),
    record("Device", "Implants and devices", "Implanted and other medical devices."),
    record("Specimen", "Samples", "Blood and other samples that were taken."),
    record("Media", "Pictures", "Photographs and other recordings."),
    record("Coverage", "Insurance", "Plans, member numbers and when they are valid."),
    record(
        "Claim",
        "Claims, diagnoses, treatments and medicines",
        "What was charged to the insurance, and for which diagnoses, treatments and medicines.",
    ),
    record(
        "ClaimResponse",
        "Decisions on claims",
        "What the insurance decided about treatments and medicines, also on requests made beforehand.",
    ),
    record(
        "ExplanationOfBenefit",
        "Costs, diagnoses, treatments and medicines",
        "What was charged, what the insurance paid and what is left to pay. It also names diagnoses, treatments and \
         medicines.",
    ),
    record("Consent", "Consents", "What was agreed to about the use of the record."),
    record("RelatedPerson", "Relatives and helpers", "People who are close or act for the patient."),
    record("Provenance", "Where entries come from", "Who wrote an entry, and when."),
    directory("Medication", "Details of medicines", "Names and ingredients of the medicines the record speaks of."),
    directory("Practitioner", "Doctors and other professionals", "Names of the people who gave care."),
    directory("PractitionerRole", "What professionals do where", "Their specialties and workplaces."),
    directory("Organization", "Hospitals, practices and insurers", "Names and addresses of organizations."),
    directory("Location", "Places of care", "Names and addresses of places."),
    directory("HealthcareService", "Services", "What an organization offers."),
    directory("InsurancePlan", "Insurance plans", "What a plan covers."),
    directory("Endpoint", "Technical addresses", "Where other systems can be reached."),
];

/// Returns the title of a type; `None` for one that nobody described.
pub(super) fn title_of(resource_type: &str) -> Option<&'static TitledScope> {
    TITLES.iter().find(|title| title.resource_type == resource_type)
}

/// A category of Condition or Observation.
pub(super) struct CategoryTitle {
    /// The FHIR type.
    pub(super) resource_type: &'static str,
    /// The code system.
    system: &'static str,
    /// The code.
    code: &'static str,
    /// In plain words.
    pub(super) title: &'static str,
}

const CONDITION: &str = "http://terminology.hl7.org/CodeSystem/condition-category";
const US_CORE_CONDITION: &str = "http://hl7.org/fhir/us/core/CodeSystem/condition-category";
const OBSERVATION: &str = "http://terminology.hl7.org/CodeSystem/observation-category";
const US_CORE: &str = "http://hl7.org/fhir/us/core/CodeSystem/us-core-category";

const fn category(
    resource_type: &'static str,
    system: &'static str,
    code: &'static str,
    title: &'static str,
) -> CategoryTitle {
    CategoryTitle { resource_type, system, code, title }
}

/// The categories by which a person can split the two types that hold most of a record.
///
/// # Source
/// US Core 6.1, "SMART on FHIR scopes": the granular scopes that servers support.
pub(super) const CATEGORIES: [CategoryTitle; 8] = [
    category("Condition", CONDITION, "problem-list-item", "Health problems: problem list"),
    category("Condition", CONDITION, "encounter-diagnosis", "Health problems: diagnoses of visits"),
    category("Condition", US_CORE_CONDITION, "health-concern", "Health problems: concerns"),
    category("Observation", OBSERVATION, "laboratory", "Laboratory results"),
    category("Observation", OBSERVATION, "vital-signs", "Vital signs"),
    category("Observation", OBSERVATION, "social-history", "Smoking and other habits"),
    category("Observation", OBSERVATION, "survey", "Answers to surveys and screenings"),
    category("Observation", US_CORE, "sdoh", "Living conditions, such as housing and food"),
];

impl CategoryTitle {
    /// Returns the query of its scope.
    pub(super) fn query(&self) -> String {
        format!("category={}|{}", self.system, self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_and_their_explanations_are_titled_by_the_diagnoses_and_drugs_they_carry() {
        for resource_type in ["Claim", "ExplanationOfBenefit"] {
            let described = title_of(resource_type).unwrap();
            for word in ["diagnoses", "treatments", "medicines"] {
                assert!(described.title.contains(word), "{resource_type}: {}", described.title);
                assert!(described.detail.contains(word), "{resource_type}: {}", described.detail);
            }
        }
    }
}
