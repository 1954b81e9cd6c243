//! Patients as pages show them, and whom a person is related to.

use auth_storage::AuthDatabase;
use fhir_store::{ResourceStore as _, ResourceWrite, WriteOperation};
use oauth_core::ports::{PatientIdentifier, PatientStore as _, PatientSummary};
use serde_json::{Value, json};

use crate::home::{NOW_US, told};

async fn put(db: &AuthDatabase, key: &str, body: Value) {
    let write = ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Put(body));
    db.transact_writes(vec![write], NOW_US).await.unwrap().unwrap();
}

/// The name shown for a Patient with these names.
async fn shown(db: &AuthDatabase, names: Value) -> String {
    put(db, "Patient/shown", json!({"name": names})).await;
    db.patient_by_id("shown").await.unwrap().unwrap().name
}

async fn found(db: &AuthDatabase, text: &str, limit: u32) -> Vec<String> {
    db.search_patients_by_words(text, limit).await.unwrap().into_iter().map(|patient| patient.id).collect()
}

told! {
    async fn before_the_first_patient_there_is_nobody(home) {
        let db = home.open().await;
        assert_eq!(db.patient_by_id("p").await.unwrap(), None);
        assert_eq!(found(&db, "a", 5).await, [""; 0]);
        for kind in ["RelatedPerson", "Person", "no type"] {
            assert_eq!(db.related_person_or_person(kind, "x").await.unwrap(), None, "{kind}");
        }
    }

    async fn a_patient_is_shown_by_its_best_name(home) {
        let db = home.open().await;
        let (official, usual) = (
            json!({"use": "official", "given": ["Ada", "M."], "family": "Lovelace"}),
            json!({"use": "usual", "given": ["Addie"]}),
        );
        let nick = json!({"use": "nickname", "text": " Countess "});
        assert_eq!(shown(&db, json!([nick, usual, official])).await, "Ada M. Lovelace");
        assert_eq!(shown(&db, json!([nick, usual])).await, "Addie");
        assert_eq!(shown(&db, json!([{"use": "official"}, nick])).await, "Countess");
        for without in [json!([]), json!(null), json!([{"given": [7], "family": ""}]), json!("Ada")] {
            assert_eq!(shown(&db, without).await, "shown");
        }
        let identifier = |code: &str, value: &str| json!({"type": {"coding": [{"code": code}]}, "value": value});
        let patient = json!({
            "birthDate": "1815-12-10", "name": [usual], "gender": "female",
            "identifier": [{"value": "first"}, identifier("MR", "r7"), identifier("MB", "m7")],
            "address": [{"use": "old", "line": ["Old"]}, {"line": ["1 Main St", "Apt 2"], "city": "Springfield"}],
        });
        put(&db, "Patient/p", patient).await;
        let summary = PatientSummary {
            id: "p".to_owned(),
            name: "Addie".to_owned(),
            birth_date: Some("1815-12-10".to_owned()),
            gender: Some("female".to_owned()),
            number: Some(PatientIdentifier { is_members: true, value: "m7".to_owned() }),
            address: Some("1 Main St, Springfield".to_owned()),
        };
        assert_eq!(db.patient_by_id("p").await.unwrap(), Some(summary));
        let plain = json!({"identifier": [{"value": " "}, {"value": "first"}], "address": [{"text": "A\nB"}]});
        put(&db, "Patient/plain", plain).await;
        let shown = db.patient_by_id("plain").await.unwrap().unwrap();
        assert_eq!(shown.number, Some(PatientIdentifier { is_members: false, value: "first".to_owned() }));
        assert_eq!((shown.gender, shown.address.as_deref()), (None, Some("A")));
        for nobody in ["q", "p\0", ""] {
            assert_eq!(db.patient_by_id(nobody).await.unwrap(), None);
        }
    }

    async fn a_search_finds_by_words_of_name_id_and_identifier(home) {
        let db = home.open().await;
        let patient = |given: &str, family: &str, member: &str| {
            json!({"name": [{"given": [given], "family": family}], "identifier": [{"value": member}]})
        };
        put(&db, "Patient/p1", patient("Élodie", "de Bruyn", "M-100")).await;
        put(&db, "Patient/p2", patient("Bruno", "Smith", "M-200")).await;
        put(&db, "Patient/X9", patient("Anna", "Smith", "77")).await;
        for (text, ids) in [
            ("smith", &["X9", "p2"][..]),
            ("élo", &["p1"]),
            ("elodie", &["p1"]),
            ("de bruyn", &["p1"]),
            ("ÉLODIE BRU", &["p1"]),
            ("bru", &["p2", "p1"]),
            ("  smith  anna ", &["X9"]),
            ("m-2", &["p2"]),
            ("P", &["p2", "p1"]),
            ("x9", &["X9"]),
            ("anna bruno", &[]),
            ("mith", &[]),
            ("%", &[]),
            ("", &[]),
            ("  ", &[]),
            ("a\0", &[]),
        ] {
            assert_eq!(found(&db, text, 10).await, ids, "{text:?}");
        }
        assert_eq!(found(&db, "smith", 1).await, ["X9"], "the first by name");
        assert_eq!(found(&db, "smith", 0).await, [""; 0]);
    }

    async fn a_search_finds_among_many_and_shows_the_first_by_name(home) {
        let db = home.open().await;
        put(&db, "Patient/zz", json!({"name": [{"family": "Last"}]})).await;
        let many = "INSERT INTO patient (id, resource)
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1700)
            SELECT 'p' || n, CAST('{\"name\": [{\"family\": \"N' || (10000 - n) || '\", \"given\": [\"G' || n || '\"]}]}' AS JSONB)
            FROM n";
        let many = if home.is_postgres() { many.to_owned() } else { many.replace("AS JSONB", "AS TEXT") };
        db.run_user_sql(&many).await.unwrap().unwrap();
        db.rebuild_search_index().await.unwrap();
        assert_eq!(found(&db, "last", 5).await, ["zz"]);
        assert_eq!(found(&db, "n83", 3).await, ["p1601", "p1602", "p1603"]);
        assert_eq!(found(&db, "N83 g17", 3).await, ["p1700"]);
        assert_eq!(found(&db, "n", 50).await.len(), 50);
    }

    async fn a_search_follows_what_is_written(home) {
        let db = home.open().await;
        put(&db, "Patient/p", json!({"name": [{"family": "Smith"}]})).await;
        assert_eq!(found(&db, "smith", 5).await, ["p"]);
        put(&db, "Patient/p", json!({"name": [{"family": "Jones"}]})).await;
        assert_eq!(found(&db, "smith", 5).await, [""; 0]);
        assert_eq!(found(&db, "jones", 5).await, ["p"]);
        let gone = ResourceWrite::unconditional("Patient/p".parse().unwrap(), WriteOperation::Delete);
        db.transact_writes(vec![gone], NOW_US).await.unwrap().unwrap();
        assert_eq!(found(&db, "jones", 5).await, [""; 0]);
    }

    async fn a_patient_that_cannot_be_read_hides_no_other(home) {
        let db = home.open().await;
        put(&db, "Patient/p", json!({"name": [{"family": "Ada"}]})).await;
        if !home.is_postgres() {
            let broken = "INSERT INTO patient (id, resource) VALUES ('broken', '{no json')";
            db.run_user_sql(broken).await.unwrap().unwrap();
            assert_eq!(db.patient_by_id("broken").await.unwrap(), None);
        }
        assert_eq!(found(&db, "ada", 5).await, ["p"]);
    }

    async fn a_relation_is_told_as_it_is_stored(home) {
        let db = home.open().await;
        let related = json!({"patient": {"resourceType": "Patient", "id": "p1"}, "period": {"end": "2030"}});
        put(&db, "RelatedPerson/r", related.clone()).await;
        assert_eq!(db.related_person_or_person("RelatedPerson", "r").await.unwrap(), Some(related));
        for (kind, id) in [("Person", "r"), ("RelatedPerson", "q"), ("RelatedPerson", "r\0"), ("no type", "r")] {
            assert_eq!(db.related_person_or_person(kind, id).await.unwrap(), None, "{kind}/{id}");
        }
    }
}
