//! What a caller reaches, as parts of a statement.

use std::slice;

use fhir_resource::ResourceType;
use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_search::COMPARTMENT_PARAMETER_NUMBER;
use fhir_store::access_filter::AccessFilterCriterion;
use fhir_store::{AccessFilter, AccessFilterBranch, ElementEqualityFilter};

use super::statement::{Bound, Statement, Unanswerable, Written, any_of};
use crate::resources::Conditions;

impl Statement<'_> {
    /// Returns whether the resource with this id lies in what a caller reaches; `id` as in [`Statement::test`].
    pub(super) fn within(&mut self, kind: &ResourceType, within: &AccessFilter, id: &str) -> Written {
        let AccessFilter::Within(regions) = within else { return Ok("TRUE".to_owned()) };
        let regions: Result<Vec<String>, Unanswerable> =
            regions.iter().map(|region| self.region(kind, region, id)).collect();
        Ok(any_of(&regions?))
    }

    fn region(&mut self, kind: &ResourceType, region: &AccessFilterBranch, id: &str) -> Written {
        let mut all = vec!["TRUE".to_owned()];
        if let Some(compartment) = &region.compartment {
            all.push(match patient_compartment_membership(kind) {
                CompartmentMembership::Itself => format!("{id} = {}", self.bind(compartment.patient_id().as_str())),
                CompartmentMembership::Reference(_) => {
                    let condition = self.in_compartment(kind, compartment.patient_id().as_str())?;
                    format!("EXISTS (SELECT 1 FROM search_reference i {{by:NOT INDEXED}} WHERE {condition} AND i.id = {id} {{fence}})")
                }
                CompartmentMembership::Shared | CompartmentMembership::Closed => "FALSE".to_owned(),
            });
        }
        for criterion in &region.criteria {
            all.push(self.criterion(kind, criterion, id)?);
        }
        Ok(format!("({})", all.join(" AND ")))
    }

    fn criterion(&mut self, kind: &ResourceType, criterion: &AccessFilterCriterion, id: &str) -> Written {
        match criterion {
            AccessFilterCriterion::Coded(_) | AccessFilterCriterion::Ownership(_) => {
                let criteria = Conditions::criteria(self.dialect(), slice::from_ref(criterion), self.bound.len() + 1);
                self.bound.extend(criteria.bound.into_iter().map(Bound::from));
                let set = self.of_table(kind, &format!("{} AND t.id = {id}", criteria.sql));
                Ok(format!("EXISTS ({set})"))
            }
            AccessFilterCriterion::Search(scoped) if scoped.resource_type() == kind => {
                let mut tests = vec!["TRUE".to_owned()];
                for clause in scoped.clauses() {
                    tests.push(self.test(kind, clause, id)?);
                }
                Ok(format!("({})", tests.join(" AND ")))
            }
            // It was read for another type, of which it says nothing.
            AccessFilterCriterion::Search(_) => Ok("FALSE".to_owned()),
        }
    }

    fn in_compartment(&mut self, kind: &ResourceType, patient: &str) -> Written {
        let number = self.index.number(kind, COMPARTMENT_PARAMETER_NUMBER);
        let number = number.ok_or_else(|| Unanswerable::Indexing(format!("{kind}.patient")))?;
        let (number, patient) = (self.bind(number), self.bind(patient));
        Ok(format!("i.parameter = {number} AND i.target = {patient} AND i.kind = 'Patient'"))
    }

    /// Returns the ids in what a caller reaches, where that is one patient's compartment.
    pub(super) fn compartment(
        &mut self,
        kind: &ResourceType,
        within: &AccessFilter,
    ) -> Result<Option<String>, Unanswerable> {
        let AccessFilter::Within(regions) = within else { return Ok(None) };
        let mut patients = regions.iter().map(|region| Some(region.compartment.as_ref()?.patient_id().as_str()));
        // Several regions are those of several scopes, all for the same patient.
        let Some(patient) = patients.next().flatten().filter(|first| patients.all(|other| other == Some(*first)))
        else {
            return Ok(None);
        };
        match patient_compartment_membership(kind) {
            CompartmentMembership::Reference(_) => {
                let condition = self.in_compartment(kind, patient)?;
                Ok(Some(format!("SELECT i.id FROM search_reference i WHERE {condition}")))
            }
            CompartmentMembership::Itself => {
                let patient = self.bind(patient);
                Ok(Some(self.of_table(kind, &format!("t.id = {patient}"))))
            }
            CompartmentMembership::Shared | CompartmentMembership::Closed => Ok(None),
        }
    }

    /// Returns whether the resource with this id meets conditions on its elements; `None` when none can.
    pub(super) fn filtered(
        &mut self,
        kind: &ResourceType,
        filters: &[ElementEqualityFilter],
        id: &str,
    ) -> Option<String> {
        let filters = Conditions::filters(self.dialect(), filters, self.bound.len() + 1)?;
        self.bound.extend(filters.bound.into_iter().map(Bound::from));
        Some(format!("EXISTS ({})", self.of_table(kind, &format!("{} AND t.id = {id}", filters.sql))))
    }
}
