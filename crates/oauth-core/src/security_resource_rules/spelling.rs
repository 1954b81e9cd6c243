//! Names of elements that are nearly right.
//!
//! An element that is not described is kept, because documents of the platform have more elements than the
//! specification shows. One whose name is nearly that of a described element is refused: `grant_type` would be stored,
//! and do nothing.

use serde_json::Value;

use super::{ResourceIssue, ResourceIssueCode};

/// Fewest letters of a name within which one slip is recognized, and two slips.
const ONE_SLIP: usize = 4;
const TWO_SLIPS: usize = 9;

/// An issue for each member of `object` that is not among `known` and nearly is.
pub(crate) fn misspelt(known: &[&str], at: &str, object: &Value) -> Vec<ResourceIssue> {
    let given = object.as_object().into_iter().flat_map(|members| members.keys());
    let unknown = given.filter(|name| !known.contains(&name.as_str()));
    let misspelt = unknown.filter_map(|name| Some((name, known.iter().find(|known| is_near(name, known))?)));
    misspelt
        .map(|(name, meant)| {
            let text = format!("is not known and would have no effect: is {meant} meant?");
            ResourceIssue::new(ResourceIssueCode::Structure, format!("{at}.{name}"), text)
        })
        .collect()
}

/// Returns whether `name` is `known` but for case, for what separates its words, or for a slip or two.
fn is_near(name: &str, known: &str) -> bool {
    let (name, known) = (letters(name), letters(known));
    let slips = match known.len() {
        TWO_SLIPS.. => 2,
        ONE_SLIP.. => 1,
        _ => 0,
    };
    name.len().abs_diff(known.len()) <= slips && distance(&name, &known) <= slips
}

fn letters(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns how many letters to add, leave out, change or swap with the next one make one text of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
    for (row, letter) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, against) in other.iter().enumerate() {
            let changed = at(&last, column) + usize::from(letter != against);
            let fewest = changed.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let is_swapped =
                row > 0 && column > 0 && one.get(row - 1) == Some(against) && other.get(column - 1) == Some(letter);
            next.push(if is_swapped { fewest.min(at(&before, column - 1) + 1) } else { fewest });
        }
        before = std::mem::replace(&mut last, next);
    }
    at(&last, other.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_is_nearly_known_is_refused_with_the_one_that_is_meant() {
        for (name, meant) in [
            ("grant_type", "grant_types"),
            ("grantTypes", "grant_types"),
            ("jwksUri", "jwks_uri"),
            ("jwks_url", "jwks_uri"),
            ("redirect_uris", "redirect_uri"),
            ("username", "userName"),
            ("pasword", "password"),
            ("psasword", "password"),
            ("links", "link"),
            ("rolename", "roleName"),
            ("access_token_expires", "access_token_expiration"),
        ] {
            let found = misspelt(&[meant], "Client", &json!({ name: 1 }));
            if name == "access_token_expires" {
                assert!(found.is_empty(), "three slips and more may be another name");
                continue;
            }
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].expression, format!("Client.{name}"));
            assert!(found[0].diagnostics.contains(meant), "{}", found[0].diagnostics);
        }
    }

    #[test]
    fn a_name_that_is_known_or_altogether_another_is_kept() {
        let known = ["scope", "scopes", "auth", "name", "jwks", "jwks_uri", "or", "and", "type"];
        let given =
            json!({"scope": 1, "scopes": 1, "jwks": 1, "jwks_uri": 1, "meta": 1, "of": 1, "ant": 1, "contact": 1});
        assert_eq!(misspelt(&known, "Client", &given), []);
    }
}
