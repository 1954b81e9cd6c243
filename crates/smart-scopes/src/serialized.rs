//! Scopes in serialized data, with the feature `serde`: a scope is a string, and a set the space-separated list that
//! `scope` of a token and of a request holds.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Scope, ScopeSet};

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl Serialize for ScopeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ScopeSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_the_string_of_a_token() {
        let set: ScopeSet = serde_json::from_str(r#""openid patient/*.read""#).unwrap();
        assert_eq!(set.len(), 2);
        assert_eq!(serde_json::to_string(&set).unwrap(), r#""openid patient/*.read""#);
        assert!(serde_json::from_str::<ScopeSet>(r#""patient/*.""#).is_err());
    }

    #[test]
    fn a_scope_is_a_string() {
        let scopes: Vec<Scope> = serde_json::from_str(r#"["openid", "system/Patient.rs"]"#).unwrap();
        assert_eq!(serde_json::to_string(&scopes).unwrap(), r#"["openid","system/Patient.rs"]"#);
        assert!(serde_json::from_str::<Scope>("7").is_err());
    }
}
