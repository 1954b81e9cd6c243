//! Secrets on their way in: only their hashes are stored.

use serde_json::Value;

use super::shape::{one, structure};
use super::{ResourceIssue, ResourceIssueCode};
use crate::password_rules::check_new_password;
use crate::secret_hash::{Pepper, SecretHash, hash_client_secret, hash_password};
use crate::time_and_randomness::TimeAndRandomness;

/// A type with secrets. Of a `TokenIntrospector` they are kept as they are, because they verify tokens.
#[derive(Clone, Copy)]
enum Sealed {
    ClientSecret,
    UserPassword,
    IntrospectorKeys,
}

impl Sealed {
    fn of(kind: &str) -> Option<Self> {
        match kind {
            "Client" => Some(Self::ClientSecret),
            "User" => Some(Self::UserPassword),
            "TokenIntrospector" => Some(Self::IntrospectorKeys),
            _ => None,
        }
    }

    /// Returns the top-level element that is stored as a hash.
    fn key(self) -> Option<&'static str> {
        match self {
            Self::ClientSecret => Some("secret"),
            Self::UserPassword => Some("password"),
            Self::IntrospectorKeys => None,
        }
    }

    /// Returns the top-level elements that a person signs in by.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::UserPassword => &["userName", "email"],
            Self::ClientSecret | Self::IntrospectorKeys => &[],
        }
    }

    fn expression(self) -> &'static str {
        match self {
            Self::ClientSecret => "Client.secret",
            Self::UserPassword => "User.password",
            Self::IntrospectorKeys => "TokenIntrospector.jwt",
        }
    }

    /// Returns the places, as JSON Pointers, whose stored content nobody may learn or copy.
    fn guarded(self) -> &'static [&'static str] {
        match self {
            Self::ClientSecret => &["/secret"],
            Self::UserPassword => &["/password", "/twoFactor/secretKey"],
            Self::IntrospectorKeys => &["/jwt/secret", "/jwt/keys", "/introspection_endpoint/authorization"],
        }
    }
}

/// The rules and the hasher for secrets in resources that are written.
pub struct ResourceSecretHashing<'a> {
    /// Time and randomness.
    pub env: &'a TimeAndRandomness<'a>,
    /// The pepper of the deployment.
    pub pepper: &'a Pepper,
    /// Fewest characters of a new password.
    pub password_min_chars: usize,
    /// The resource as it is stored, where there is one: a secret that it has already keeps its hash, so that writing
    /// it again changes nothing and ends no token.
    pub held: Option<&'a Value>,
}

/// Returns whether a document, or a merge patch, has what [`hash_resource_secrets`] replaces, so that it needs
/// [`ResourceSecretHashing::held`].
#[must_use]
pub fn needs_secret_hashing(kind: &str, resource: &Value) -> bool {
    let key = Sealed::of(kind).and_then(Sealed::key);
    key.and_then(|key| resource.get(key)).is_some_and(Value::is_string)
}

/// Replaces the secret in a document, or in a merge patch (RFC 7396), by its hash, and trims the names a User signs in
/// with, because blanks at their ends cannot be seen.
///
/// For what came from outside only: sealing a stored document would hash the hash. A text that looks like a hash is
/// hashed like any other, so nobody can choose what is stored. A null stays: in a merge patch it removes the secret, in
/// a document [`find_storage_obstacles`](super::find_storage_obstacles) refuses it.
///
/// A new password must be what [`check_new_password`] demands; one that is stored already is taken as it is.
///
/// Costs about 15 ms when there is a password or a short secret (see [`crate::secret_hash`]); an async
/// caller runs it in a bounded blocking pool.
///
/// # Errors
/// What is wrong with the secret; the document is then as it was.
pub fn hash_resource_secrets(
    by: &ResourceSecretHashing<'_>,
    kind: &str,
    resource: &mut Value,
) -> Result<(), Vec<ResourceIssue>> {
    let Some(sealed) = Sealed::of(kind) else { return Ok(()) };
    for name in sealed.names() {
        resource.get_mut(*name).into_iter().for_each(trim);
    }
    match sealed.key().and_then(|key| resource.get_mut(key)) {
        None | Some(Value::Null) => Ok(()),
        Some(value) => hash(by, sealed, value),
    }
}

/// Replaces secrets in a JSON Patch (RFC 6902), the array of its operations, by their hashes.
///
/// An operation that would learn a stored hash (`test`), copy it to where it can be read, or bring
/// a value to the place of a secret without naming it (`copy`, `move`) is refused. What is no
/// operation at all is left for the reader of the patch to refuse. Cost as [`hash_resource_secrets`], per operation.
///
/// # Errors
/// What is wrong; the patch may then be partly sealed and must be dropped.
pub fn hash_json_patch_secrets(
    by: &ResourceSecretHashing<'_>,
    kind: &str,
    patch: &mut Value,
) -> Result<(), Vec<ResourceIssue>> {
    let Some(sealed) = Sealed::of(kind) else { return Ok(()) };
    let operations = patch.as_array_mut().into_iter().flatten();
    operations.into_iter().try_for_each(|operation| seal_operation(by, sealed, operation))
}

fn seal_operation(
    by: &ResourceSecretHashing<'_>,
    sealed: Sealed,
    operation: &mut Value,
) -> Result<(), Vec<ResourceIssue>> {
    let text = |key| operation.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (op, path, from) = (text("op"), text("path"), text("from"));
    let is_guarded = |pointer: &str| sealed.guarded().iter().any(|place| is_related(pointer, place));
    let is_refused = match op.as_str() {
        "test" => is_guarded(&path),
        "copy" | "move" => is_guarded(&path) || is_guarded(&from),
        _ => false,
    };
    if is_refused {
        let text = format!("a patch must not {op} a secret, or anything that holds one");
        return Err(one(ResourceIssueCode::Security, sealed.expression(), text));
    }
    let Some(value) = operation.get_mut("value") else { return Ok(()) };
    match path.strip_prefix('/') {
        None if path.is_empty() => match sealed.key().and_then(|key| value.get_mut(key)) {
            Some(secret) => hash(by, sealed, secret),
            None => Ok(()),
        },
        Some(key) if sealed.key() == Some(key) => hash(by, sealed, value),
        Some(key) if sealed.names().contains(&key) => {
            trim(value);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns whether one of two JSON Pointers leads to the other's value or into it. The guarded names have no character
/// that a pointer could spell in two ways.
fn is_related(a: &str, b: &str) -> bool {
    let leads_to =
        |short: &str, long: &str| long.strip_prefix(short).is_some_and(|r| r.is_empty() || r.starts_with('/'));
    leads_to(a, b) || leads_to(b, a)
}

fn trim(name: &mut Value) {
    if let Value::String(name) = name {
        *name = name.trim().to_owned();
    }
}

fn hash(by: &ResourceSecretHashing<'_>, sealed: Sealed, value: &mut Value) -> Result<(), Vec<ResourceIssue>> {
    let Some(secret) = value.as_str() else { return Err(structure(sealed.expression(), "a string")) };
    if let Some(held) = sealed.key().and_then(|key| by.held?.get(key)?.as_str())
        && SecretHash::parse(held).is_ok_and(|hash| hash.verify(by.pepper, secret.as_bytes()))
    {
        *value = Value::from(held);
        return Ok(());
    }
    let hashed = match sealed {
        Sealed::ClientSecret => hash_client_secret(by.env, by.pepper, secret.as_bytes()),
        Sealed::UserPassword => {
            // An empty one is refused for being empty, below.
            if !secret.is_empty() {
                let checked = check_new_password(secret, by.password_min_chars);
                checked.map_err(|fault| one(ResourceIssueCode::Value, sealed.expression(), fault.to_string()))?;
            }
            hash_password(by.env, secret.as_bytes())
        }
        Sealed::IntrospectorKeys => return Ok(()),
    };
    let hashed = hashed.map_err(|error| one(ResourceIssueCode::Value, sealed.expression(), error.to_string()))?;
    *value = Value::from(hashed.to_text());
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::password_rules::PASSWORD_MIN_CHARS;
    use crate::time_and_randomness::RandomSource;

    struct Fixed;

    impl RandomSource for Fixed {
        fn fill_bytes(&self, bytes: &mut [u8]) {
            bytes.fill(0x5a);
        }
    }

    struct Other;

    impl RandomSource for Other {
        fn fill_bytes(&self, bytes: &mut [u8]) {
            bytes.fill(0x11);
        }
    }

    const ENV: TimeAndRandomness<'static> = TimeAndRandomness { now_us: 0, random: &Fixed };
    const GENERATED: &str = "9f86d081884c7d659a2feaa0c55ad015";

    fn pepper() -> Pepper {
        Pepper::new([3; 32])
    }

    fn opens(stored: &Value, secret: &str) -> bool {
        SecretHash::parse(stored.as_str().unwrap()).unwrap().verify(&pepper(), secret.as_bytes())
    }

    fn sealed_by(held: Option<&Value>, kind: &str, mut resource: Value) -> Result<Value, Vec<ResourceIssue>> {
        let (pepper, password_min_chars) = (pepper(), PASSWORD_MIN_CHARS);
        let by = ResourceSecretHashing { env: &ENV, pepper: &pepper, password_min_chars, held };
        hash_resource_secrets(&by, kind, &mut resource).map(|()| resource)
    }

    fn sealed(kind: &str, resource: Value) -> Value {
        sealed_by(None, kind, resource).unwrap()
    }

    #[test]
    fn a_secret_that_is_stored_already_keeps_its_hash() {
        for (kind, key, secret) in [("Client", "secret", GENERATED), ("User", "password", "correct horse")] {
            let mut first = json!({key: secret});
            let (pepper, env) = (pepper(), TimeAndRandomness { now_us: 0, random: &Other });
            let by = ResourceSecretHashing { env: &env, pepper: &pepper, password_min_chars: 8, held: None };
            hash_resource_secrets(&by, kind, &mut first).unwrap();
            assert_eq!(sealed_by(Some(&first), kind, json!({key: secret})).unwrap(), first);
            let changed = sealed_by(Some(&first), kind, json!({key: "another secret of them"})).unwrap();
            assert!(opens(&changed[key], "another secret of them") && !opens(&changed[key], secret));
            // The hash itself is no secret that opens anything.
            let hash = first[key].clone();
            assert_ne!(sealed_by(Some(&first), kind, json!({key: hash})).unwrap(), first);
        }
    }

    #[test]
    fn a_new_password_is_held_to_the_rule_and_an_old_one_is_not() {
        for (password, expected) in [("seven 7", "at least 8 characters"), ("Password123", "most common passwords")] {
            let issues = sealed_by(None, "User", json!({"password": password})).unwrap_err();
            assert!(issues[0].diagnostics.contains(expected), "{issues:?}");
            assert!(!issues[0].diagnostics.contains(password));
        }
        let stored = json!({"password": hash_password(&ENV, b"short").unwrap().to_text()});
        assert_eq!(sealed_by(Some(&stored), "User", json!({"password": "short"})).unwrap(), stored);
        assert!(sealed_by(None, "Client", json!({"secret": "short"})).is_ok(), "the rule is for people");
    }

    #[test]
    fn names_to_sign_in_with_lose_the_blanks_around_them_and_a_password_does_not() {
        let user = json!({"userName": " ada ", "email": "ada@example.org\n", "password": " correct horse "});
        let stored = sealed("User", user);
        assert_eq!((&stored["userName"], &stored["email"]), (&json!("ada"), &json!("ada@example.org")));
        assert!(opens(&stored["password"], " correct horse "));
        let patch = json!([{"op": "replace", "path": "/userName", "value": "ada "}]);
        assert_eq!(sealed_patch("User", patch).unwrap()[0]["value"], "ada");
        assert_eq!(sealed("Client", json!({"name": " n "}))["name"], " n ");
    }

    fn sealed_patch(kind: &str, mut patch: Value) -> Result<Value, Vec<ResourceIssue>> {
        let (pepper, password_min_chars) = (pepper(), PASSWORD_MIN_CHARS);
        let by = ResourceSecretHashing { env: &ENV, pepper: &pepper, password_min_chars, held: None };
        hash_json_patch_secrets(&by, kind, &mut patch).map(|()| patch)
    }

    #[test]
    fn a_secret_and_a_password_are_replaced_by_their_hashes() {
        let client = sealed("Client", json!({"secret": GENERATED, "name": "n"}));
        assert!(opens(&client["secret"], GENERATED));
        assert_eq!(client["name"], "n");
        let user = sealed("User", json!({"password": "correct horse"}));
        assert!(opens(&user["password"], "correct horse"));
    }

    #[test]
    fn a_text_that_looks_like_a_hash_is_hashed_too() {
        let once = sealed("Client", json!({"secret": GENERATED}));
        let twice = sealed("Client", once.clone());
        assert_ne!(once["secret"], twice["secret"]);
        assert!(opens(&twice["secret"], once["secret"].as_str().unwrap()));
        assert!(!opens(&twice["secret"], GENERATED));
    }

    #[test]
    fn what_has_no_secret_is_left_as_it_is() {
        for (kind, resource) in [
            ("Client", json!({"name": "n", "password": "kept"})),
            ("Client", json!({"secret": null})),
            ("User", json!({"secret": "kept"})),
            ("Patient", json!({"secret": "kept", "password": "kept"})),
            ("Client", json!([])),
        ] {
            assert_eq!(sealed(kind, resource.clone()), resource);
        }
    }

    #[test]
    fn a_secret_that_cannot_be_hashed_is_refused_and_kept_out_of_the_text() {
        for secret in [json!(5), json!(["s3cr3t"]), json!(""), json!("s3cr3t".repeat(200))] {
            let issues = sealed_by(None, "Client", json!({"secret": secret})).unwrap_err();
            assert_eq!(issues[0].expression, "Client.secret");
            assert!(!issues[0].diagnostics.contains("s3cr3t"));
        }
    }

    #[test]
    fn a_patch_is_sealed_wherever_it_sets_a_secret() {
        let patch = json!([
            {"op": "add", "path": "/secret", "value": GENERATED},
            {"op": "replace", "path": "/secret", "value": GENERATED},
            {"op": "replace", "path": "", "value": {"secret": GENERATED, "name": "n"}},
            {"op": "add", "path": "/name", "value": "kept"},
            {"op": "add", "path": "/auth/secret", "value": "kept"},
            {"op": "remove", "path": "/secret"},
        ]);
        let patch = sealed_patch("Client", patch).unwrap();
        assert!(opens(&patch[0]["value"], GENERATED));
        assert!(opens(&patch[1]["value"], GENERATED));
        assert!(opens(&patch[2]["value"]["secret"], GENERATED));
        assert_eq!(patch[3]["value"], "kept");
        assert_eq!(patch[4]["value"], "kept");
        let user = sealed_patch("User", json!([{"op": "add", "path": "/password", "value": "correct horse"}])).unwrap();
        assert!(opens(&user[0]["value"], "correct horse"));
    }

    #[test]
    fn a_patch_cannot_learn_copy_or_plant_a_stored_secret() {
        for (kind, operation) in [
            ("Client", json!({"op": "test", "path": "/secret", "value": "$hmac-sha256$v=1$x"})),
            ("Client", json!({"op": "test", "path": "", "value": {}})),
            ("Client", json!({"op": "copy", "from": "/secret", "path": "/name"})),
            ("Client", json!({"op": "move", "from": "/secret", "path": "/name"})),
            ("Client", json!({"op": "copy", "from": "", "path": "/details"})),
            ("Client", json!({"op": "move", "from": "/name", "path": "/secret"})),
            ("Client", json!({"op": "copy", "from": "/details", "path": ""})),
            ("User", json!({"op": "copy", "from": "/password", "path": "/email"})),
            ("User", json!({"op": "copy", "from": "/twoFactor/secretKey", "path": "/email"})),
            ("User", json!({"op": "copy", "from": "/twoFactor", "path": "/data"})),
            ("User", json!({"op": "test", "path": "/twoFactor", "value": {}})),
            ("TokenIntrospector", json!({"op": "test", "path": "/jwt/secret", "value": "x"})),
            ("TokenIntrospector", json!({"op": "copy", "from": "/jwt/secret", "path": "/title"})),
            ("TokenIntrospector", json!({"op": "move", "from": "/jwt/keys/0/k", "path": "/title"})),
            ("TokenIntrospector", json!({"op": "copy", "from": "/jwt", "path": "/details"})),
        ] {
            let issues = sealed_patch(kind, json!([operation])).unwrap_err();
            assert_eq!(issues[0].code, ResourceIssueCode::Security, "{operation}");
        }
    }

    #[test]
    fn a_patch_of_other_places_is_left_as_it_is() {
        let patch = json!([
            {"op": "test", "path": "/secrets", "value": 1},
            {"op": "copy", "from": "/name", "path": "/description"},
            {"op": "move", "from": "/auth/password", "path": "/auth/secret"},
            {"op": "unknown", "path": 7},
            "no operation",
        ]);
        assert_eq!(sealed_patch("Client", patch.clone()), Ok(patch));
        let patient = json!([{"op": "copy", "from": "/secret", "path": "/name"}]);
        assert_eq!(sealed_patch("Patient", patient.clone()), Ok(patient));
    }

    #[test]
    fn a_patch_cannot_set_a_secret_that_is_no_text() {
        for value in [json!(null), json!(1), json!({})] {
            let issues = sealed_patch("Client", json!([{"op": "add", "path": "/secret", "value": value}]));
            assert_eq!(issues.unwrap_err()[0].code, ResourceIssueCode::Structure);
        }
    }
}
