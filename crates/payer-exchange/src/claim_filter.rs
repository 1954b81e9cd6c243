//! Which claims are part of a Da Vinci export, and what of claims and coverages is left in it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::elements::{each, has_code, text};

/// The code system whose `pharmacy` marks what is about drugs.
const CLAIM_TYPE: &str = "http://terminology.hl7.org/CodeSystem/claim-type";
/// Types that are about claims.
const CLAIMS: [&str; 3] = ["Claim", "ClaimResponse", "ExplanationOfBenefit"];
/// Elements of these types, and of Coverage, that are amounts of money or made of them.
///
/// # Source
/// FHIR R4: elements of type Money in Claim, `ClaimResponse`, `ExplanationOfBenefit` and Coverage.
const MONEY: [&str; 9] = [
    "allowedMoney",
    "amount",
    "benefitBalance",
    "costToBeneficiary",
    "net",
    "payment",
    "total",
    "unitPrice",
    "usedMoney",
];

/// Returns whether a document belongs in a Da Vinci export. Not in it are prior authorizations of drugs and, when
/// `since_us` is given, each `ExplanationOfBenefit` without a date of service since then. Claims about drugs are in it.
///
/// # Source
/// 42 CFR 422.121(a)(2), (b)(4)(ii); `docs/decisions.md`, "Exports".
#[must_use]
pub fn is_in_davinci_export(document: &Value, since_us: Option<i64>) -> bool {
    let resource_type = text(document, "resourceType").unwrap_or_default();
    if !CLAIMS.contains(&resource_type) {
        return true;
    }
    let is_prior_authorization = text(document, "use") == Some("preauthorization");
    if is_prior_authorization && has_code(document.get("type"), Some(CLAIM_TYPE), "pharmacy") {
        return false;
    }
    match since_us.filter(|_| resource_type == "ExplanationOfBenefit").and_then(day) {
        None => true,
        Some(since) => served(document).any(|date| is_since(date, &since)),
    }
}

/// Returns a claim or coverage without amounts of money, and any other document unchanged.
#[must_use]
pub fn strip_money_amounts(document: Value) -> Value {
    match text(&document, "resourceType") {
        Some(resource_type) if resource_type == "Coverage" || CLAIMS.contains(&resource_type) => stripped(document),
        _ => document,
    }
}

fn stripped(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(stripped).collect(),
        Value::Object(members) => {
            let left = members.into_iter().filter(|(name, value)| !MONEY.contains(&name.as_str()) && !is_money(value));
            Value::Object(left.map(|(name, value)| (name, stripped(value))).collect::<Map<_, _>>())
        }
        scalar => scalar,
    }
}

/// An amount wherever else it stands, as in an extension.
fn is_money(value: &Value) -> bool {
    value.get("currency").is_some() && value.get("value").is_some()
}

/// When what is claimed was done.
fn served(document: &Value) -> impl Iterator<Item = &str> {
    let items = each(document, "item").iter();
    let of_items = items.flat_map(|item| {
        let period = item.get("servicedPeriod");
        [text(item, "servicedDate"), period.and_then(|period| text(period, "end").or_else(|| text(period, "start")))]
    });
    let period = document.get("billablePeriod");
    let whole = period.and_then(|period| text(period, "end").or_else(|| text(period, "start")));
    of_items.chain([whole]).flatten()
}

/// Returns whether a FHIR date is not before a day; a coarse one is compared as far as it goes.
fn is_since(date: &str, since: &str) -> bool {
    let known = date.len().min(since.len());
    match (date.get(..known), since.get(..known)) {
        (Some(date), Some(since)) => date >= since,
        _ => false,
    }
}

fn day(unix_us: i64) -> Option<String> {
    Some(Timestamp::from_microsecond(unix_us).ok()?.to_zoned(TimeZone::UTC).date().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// 2026-01-01T00:00:00Z.
    const SINCE_US: i64 = 1_767_225_600_000_000;

    #[test]
    fn prior_authorizations_of_drugs_and_old_claims_are_left_out_and_drug_claims_are_not() {
        let pharmacy = json!({"coding": [{"system": CLAIM_TYPE, "code": "pharmacy"}]});
        let professional = json!({"coding": [{"system": CLAIM_TYPE, "code": "professional"}]});
        for (document, shared) in [
            (json!({"resourceType": "Claim", "type": pharmacy, "use": "claim"}), true),
            (json!({"resourceType": "ClaimResponse", "type": pharmacy, "use": "claim"}), true),
            (
                json!({"resourceType": "ExplanationOfBenefit", "type": pharmacy, "use": "claim",
                    "item": [{"servicedDate": "2026-02-01"}]}),
                true,
            ),
            (
                json!({"resourceType": "ExplanationOfBenefit", "type": pharmacy, "use": "claim",
                    "item": [{"servicedDate": "2020-02-01"}]}),
                false,
            ),
            (json!({"resourceType": "Claim", "type": pharmacy, "use": "preauthorization"}), false),
            (json!({"resourceType": "ClaimResponse", "type": pharmacy, "use": "preauthorization"}), false),
            (
                json!({"resourceType": "ExplanationOfBenefit", "type": pharmacy, "use": "preauthorization",
                    "item": [{"servicedDate": "2026-02-01"}]}),
                false,
            ),
            (json!({"resourceType": "Claim", "type": professional, "use": "preauthorization"}), true),
            (json!({"resourceType": "Claim", "type": professional}), true),
            (json!({"resourceType": "MedicationRequest", "type": pharmacy}), true),
            (json!({"resourceType": "ExplanationOfBenefit", "billablePeriod": {"end": "2025-12-31"}}), false),
            (
                json!({"resourceType": "ExplanationOfBenefit", "billablePeriod": {"start": "2026-01-01T05:00:00Z"}}),
                true,
            ),
            (json!({"resourceType": "ExplanationOfBenefit", "billablePeriod": {"end": "2026"}}), true),
            (json!({"resourceType": "ExplanationOfBenefit", "item": [{"servicedDate": "2025-12-31"}]}), false),
            (
                json!({"resourceType": "ExplanationOfBenefit", "item": [{"servicedPeriod": {"end": "2026-02-01"}}]}),
                true,
            ),
            (json!({"resourceType": "ExplanationOfBenefit"}), false),
        ] {
            assert_eq!(is_in_davinci_export(&document, Some(SINCE_US)), shared, "{document}");
        }
        assert!(is_in_davinci_export(&json!({"resourceType": "ExplanationOfBenefit"}), None));
    }

    #[test]
    fn no_amount_is_left_wherever_it_stands() {
        let amount = json!({"value": 1.5, "currency": "USD"});
        let document = json!({
            "resourceType": "ExplanationOfBenefit", "total": [{"amount": amount}], "payment": {"amount": amount},
            "item": [{"sequence": 1, "net": amount, "adjudication": [{"category": {"text": "c"}, "amount": amount}],
                "extension": [{"url": "u", "valueMoney": amount}], "quantity": {"value": 2}}],
        });
        let left = json!({
            "resourceType": "ExplanationOfBenefit",
            "item": [{"sequence": 1, "adjudication": [{"category": {"text": "c"}}], "extension": [{"url": "u"}],
                "quantity": {"value": 2}}],
        });
        assert_eq!(strip_money_amounts(document), left);
        let coverage =
            json!({"resourceType": "Coverage", "costToBeneficiary": [{"valueMoney": amount}], "status": "active"});
        assert_eq!(strip_money_amounts(coverage), json!({"resourceType": "Coverage", "status": "active"}));
        let other = json!({"resourceType": "Observation", "total": 1});
        assert_eq!(strip_money_amounts(other.clone()), other);
    }
}
