//! What a person refused an app, and how it comes back when the app asks again.
//!
//! *Lines* of the consent page are stored (see [`super::consent`]). The line of a scope that was shown split stands for
//! what its other lines leave: a person who unticks "Everything else" has refused none of the lines above it.
//!
//! Not specified. A refusal stays until the person allows the line, also when the person denies everything, and when
//! the grant is taken back: an app that asks again must not be let in to all of it by one click.

use smart_scopes::{Scope, ScopeSet};

use super::consent::{bounded, is_of_use, is_required, kept, lines, split};
use crate::ports::ConsentGrant;

/// The scopes of a decision, as they are stored.
#[derive(Debug)]
pub(super) struct DecidedScopes {
    /// What the person was asked for, now and before.
    pub(super) requested: ScopeSet,
    /// What the app may do.
    pub(super) granted: ScopeSet,
    /// The lines that the person did not tick.
    pub(super) refused: ScopeSet,
}

/// What the person decided about the same app and patient before.
#[derive(Default)]
pub(super) struct EarlierDecision {
    requested: ScopeSet,
    granted: ScopeSet,
    refused: ScopeSet,
}

/// How a line stands on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeDecision {
    /// Allowed before, or never decided about.
    Ticked,
    /// Never decided about itself, and of no use to the app without a line that was refused.
    Unticked,
    /// Refused before, or a part of it.
    Declined,
}

impl EarlierDecision {
    /// Reads what is stored.
    pub(super) fn of(before: Option<&ConsentGrant>) -> Self {
        // The texts were printed by a set; what no longer reads says nothing.
        let read = |text: &String| ScopeSet::parse(text).unwrap_or_default();
        before.map_or_else(Self::default, |grant| Self {
            requested: read(&grant.requested),
            granted: read(&grant.granted),
            refused: read(&grant.refused),
        })
    }

    /// Returns how a line of the page stands.
    pub(super) fn stand(&self, line: &Scope) -> ScopeDecision {
        if is_required(line) || self.granted.covers(line) {
            return ScopeDecision::Ticked;
        }
        // A grant of before refusals were stored has them as what was asked for and is not in it.
        if self.requested.covers(line) || self.refused.contains(line) {
            return ScopeDecision::Declined;
        }
        if !self.refused.iter().any(|refused| overlap(refused, line)) {
            return ScopeDecision::Ticked;
        }
        if split(line).is_empty() { ScopeDecision::Declined } else { ScopeDecision::Unticked }
    }
}

/// Returns whether a line has something of a refused one.
fn overlap(refused: &Scope, line: &Scope) -> bool {
    let (Scope::Clinical(one), Scope::Clinical(other)) = (refused, line) else { return false };
    let Some(common) = one.intersection(other).map(Scope::Clinical) else { return false };
    // A line that stands for the rest says nothing of what has a line.
    !split(refused).iter().any(|part| part.covers(&common))
}

/// Returns the lines of a request that stayed without a tick; `ticked` are values of the form.
pub(super) fn unticked(requested: &ScopeSet, ticked: &[String]) -> ScopeSet {
    let lines = requested.iter().flat_map(lines);
    lines.filter(|line| !is_required(line) && !ticked.contains(&line.to_string())).collect()
}

/// Returns what is refused after a decision: these lines, and those of before that the grant still does not give.
pub(super) fn refused_after(before: Option<&ConsentGrant>, unticked: &ScopeSet, granted: &ScopeSet) -> ScopeSet {
    let earlier = EarlierDecision::of(before).refused;
    let stays = earlier.iter().filter(|refused| !granted.covers(refused)).cloned().collect();
    bounded(unticked, &stays)
}

/// Returns what is stored of a denial: the grant stays as it is, and what it does not give of the request is refused.
pub(super) fn denied(before: Option<&ConsentGrant>, requested: &ScopeSet) -> DecidedScopes {
    let EarlierDecision { requested: was_requested, granted, .. } = EarlierDecision::of(before);
    let refused = unticked(requested, &[]).iter().filter(|line| !granted.covers(line)).cloned().collect();
    let refused = refused_after(before, &refused, &granted);
    DecidedScopes { requested: was_requested, granted, refused }
}

/// Returns what is stored when the person allows nothing of a request: of the grant only what is not about it stays.
pub(super) fn nothing_allowed(before: Option<&ConsentGrant>, requested: &ScopeSet, ticked: &[String]) -> DecidedScopes {
    let EarlierDecision { requested: was_requested, granted: was_granted, .. } = EarlierDecision::of(before);
    let left = kept(before, requested, &ScopeSet::default()).1;
    let granted = if is_of_use(&was_granted, &left) { left } else { ScopeSet::default() };
    let was_requested = was_requested.iter().filter(|scope| granted.covers(scope)).cloned().collect();
    let refused = refused_after(before, &unticked(requested, ticked), &granted);
    DecidedScopes { requested: was_requested, granted, refused }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    fn earlier((requested, granted, refused): (&str, &str, &str)) -> EarlierDecision {
        EarlierDecision { requested: set(requested), granted: set(granted), refused: set(refused) }
    }

    fn stand(earlier: &EarlierDecision, line: &str) -> ScopeDecision {
        earlier.stand(&line.parse().unwrap())
    }

    #[test]
    fn a_refused_line_is_unticked_however_the_app_spells_it() {
        let earlier = earlier(("", "patient/Patient.rs", "patient/Goal.rs offline_access"));
        for line in ["patient/Goal.rs", "patient/Goal.read", "patient/Goal.cruds", "offline_access"] {
            assert_eq!(stand(&earlier, line), ScopeDecision::Declined, "{line}");
        }
        for line in ["patient/Patient.rs", "patient/Coverage.rs", "user/Goal.rs", "patient/Goal.cud", "openid"] {
            assert_eq!(stand(&earlier, line), ScopeDecision::Ticked, "{line}");
        }
        assert_eq!(stand(&earlier, "patient/*.rs"), ScopeDecision::Unticked, "worth nothing without Goal");
    }

    #[test]
    fn who_refused_everything_else_refused_no_line_above_it() {
        let earlier = earlier(("", "", "patient/*.rs patient/Observation.rs"));
        let laboratory =
            "patient/Observation.rs?category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory";
        for line in ["patient/Goal.rs", "patient/Goal.read", laboratory] {
            assert_eq!(stand(&earlier, line), ScopeDecision::Ticked, "{line}");
        }
        for line in ["patient/*.rs", "patient/Basic.rs", "patient/Observation.rs"] {
            assert_eq!(stand(&earlier, line), ScopeDecision::Declined, "{line}");
        }
    }

    #[test]
    fn a_category_that_was_refused_unticks_the_type_where_it_is_asked_for_whole() {
        let laboratory = "category=http://terminology.hl7.org/CodeSystem/observation-category|laboratory";
        let earlier = earlier(("", "", &format!("patient/Observation.rs?{laboratory}")));
        assert_eq!(stand(&earlier, "patient/Observation.read"), ScopeDecision::Declined);
        assert_eq!(stand(&earlier, "patient/Observation.rs"), ScopeDecision::Unticked);
    }

    #[test]
    fn a_grant_of_before_refusals_were_stored_has_them_as_what_it_does_not_give() {
        let earlier = earlier(("patient/Patient.rs patient/Goal.rs", "patient/Patient.rs", ""));
        assert_eq!(stand(&earlier, "patient/Goal.rs"), ScopeDecision::Declined);
        assert_eq!(stand(&earlier, "patient/Coverage.rs"), ScopeDecision::Ticked);
    }

    #[test]
    fn what_is_allowed_in_the_end_is_no_longer_refused() {
        let before = ConsentGrant {
            id: "g".to_owned(),
            user_id: "ada".to_owned(),
            client_id: "app".to_owned(),
            patient_id: None,
            requested: String::new(),
            granted: String::new(),
            refused: "patient/Goal.rs patient/Coverage.rs".to_owned(),
            created_s: 0,
            used_s: None,
        };
        let after = refused_after(Some(&before), &set("patient/Claim.rs"), &set("patient/Goal.cruds"));
        assert_eq!(after.to_string(), "patient/Claim.rs patient/Coverage.rs");
    }
}
