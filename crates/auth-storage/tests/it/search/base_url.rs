//! A change of the base URL: what it concerns is indexed again, and nothing else.

use super::*;

const NEW: &str = "https://new.example/fhir";

told! {
    async fn another_base_url_concerns_types_with_absolute_references_alone(home) {
        let db = home.open().await;
        db.set_fhir_base_url(OWN).await.unwrap();
        let about = |base: &str| json!({"status": "finished", "subject": {"reference": format!("{base}Patient/p")}});
        transact(&db, vec![
            put("Patient/p", json!({"active": true})),
            put("Observation/o", about("")),
            put("Condition/c", about(&format!("{OWN}/"))),
            put("Encounter/e", about(&format!("{NEW}/"))),
            put("Procedure/elsewhere", about("https://elsewhere.example/fhir/")),
        ]).await;
        db.rebuild_search_index().await.unwrap();
        for (of, found) in [("Condition", 1), ("Encounter", 0), ("Observation", 1)] {
            assert_eq!(ids_of(&db, of, "subject=Patient/p").await.len(), found, "{of} before");
        }
        db.set_fhir_base_url(NEW).await.unwrap();
        let again = home.ask("SELECT kind FROM search_type WHERE state = 'building' ORDER BY kind").await;
        assert_eq!(again, ["Condition", "Encounter"]);
        db.rebuild_search_index().await.unwrap();
        for (of, found) in [("Condition", 0), ("Encounter", 1), ("Observation", 1), ("Procedure", 0)] {
            assert_eq!(ids_of(&db, of, "subject=Patient/p").await.len(), found, "{of} after");
        }
        db.set_fhir_base_url(NEW).await.unwrap();
        let again = home.ask("SELECT kind FROM search_type WHERE state = 'building'").await;
        assert!(again.is_empty(), "the same base URL changes nothing: {again:?}");
        db.close().await;
    }
}
