//! Composites that have the rows of the parameters they are made of.

use fhir_store::{ResourceWrite, WriteOperation};
use serde_json::json;

use super::{ids_of, put, transact};
use crate::home::told;

told! {
    async fn a_composite_about_the_whole_resource_is_found_by_the_rows_of_its_parts(home) {
        let db = home.open().await;
        let of = |code: &str, number: i64| json!({
            "code": {"coding": [{"system": "http://loinc.org", "code": code}], "text": "Weight"},
            "subject": {"reference": "Patient/a"},
            "valueQuantity": {"value": number, "unit": "kg"},
        });
        let words = json!({"code": {"text": "Weight"}, "valueQuantity": {"value": 70}});
        transact(&db, vec![
            put("Patient/a", json!({"gender": "female"})), put("Patient/b", json!({"gender": "male"})),
            put("Observation/a", of("w", 70)), put("Observation/b", of("w", 80)), put("Observation/c", of("h", 70)),
            put("Observation/d", words), put("Observation/e", json!({"code": {"coding": [{"code": "w"}]}})),
        ]).await;
        let rows = home.ask("SELECT id FROM search_token WHERE id LIKE '% %' UNION ALL SELECT id FROM search_quantity WHERE id LIKE '% %'").await;
        assert!(rows.is_empty(), "nothing repeats what its parts have: {rows:?}");
        for (query, expected) in [
            ("code-value-quantity=w$70", &["a"][..]),
            ("code-value-quantity=w$gt60", &["a", "b"]),
            ("code-value-quantity=http://loinc.org|w$70||kg", &["a"]),
            ("combo-code-value-quantity=h$70", &["c"]),
            ("code-value-quantity=w$70,h$70", &["a", "c"]),
            ("code-value-quantity:missing=false", &["a", "b", "c"]),
            ("code-value-quantity:missing=true", &["d", "e"]),
            ("subject=Patient/a&combo-code-value-quantity:missing=false", &["a", "b", "c"]),
            ("code-value-quantity=w$70&subject.gender=female", &["a"]),
        ] {
            assert_eq!(ids_of(&db, "Observation", query).await, expected, "{query}");
        }
        let by = "_has:Observation:subject:code-value-quantity=w$70";
        assert_eq!(ids_of(&db, "Patient", by).await, ["a"]);
        transact(&db, vec![put("Observation/a", of("w", 90)), ResourceWrite::unconditional("Observation/c".parse().unwrap(), WriteOperation::Delete)]).await;
        assert!(ids_of(&db, "Observation", "combo-code-value-quantity=w$70,h$70").await.is_empty());
        assert_eq!(ids_of(&db, "Observation", "code-value-quantity=w$90").await, ["a"]);
        assert_eq!(ids_of(&db, "Observation", "code-value-quantity:missing=false").await, ["a", "b"]);
        assert!(ids_of(&db, "Patient", by).await.is_empty());
        db.close().await;
    }
}
