//! What comes with the matches of a search lies in what the caller reaches, to the last criterion.

use super::*;

told! {
    async fn what_is_included_meets_the_search_a_scope_is_limited_to(home) {
        let db = home.open().await;
        db.set_fhir_base_url(OWN).await.unwrap();
        let observation = |patient: &str, code: &str| json!({
            "status": "final", "subject": {"reference": format!("Patient/{patient}")},
            "category": [{"coding": [{"system": "http://lab.example", "code": code}]}],
        });
        transact(&db, vec![
            put("Patient/p", json!({})),
            put("Observation/lab", observation("p", "laboratory")),
            put("Observation/vital", observation("p", "vital-signs")),
            put("Observation/other", observation("q", "laboratory")),
        ])
        .await;
        let (of, to) = (kind("Observation"), kind("Patient"));
        let ids: Vec<fhir_resource::ResourceId> = ["lab", "other", "vital"].map(|id| id.parse().unwrap()).into();
        let patients = ["p".parse().unwrap(), "q".parse().unwrap()];
        let catalog = db.current_search_parameter_catalog().await.unwrap();
        let coded = AccessFilterCriterion::parse(&of, "category", "http://lab.example|laboratory").unwrap();
        let searched = GranularScopeSearch::parse(&catalog, &SearchParseContext::strict(&of, OWN, 0), ("category", "laboratory")).unwrap();
        let own = PatientCompartment::of_patient("p".parse().unwrap(), OWN);
        for criterion in [coded, AccessFilterCriterion::Search(searched)] {
            for (compartment, expected) in [(Some(own.clone()), vec!["lab"]), (None, vec!["lab", "other"])] {
                let within = AccessFilter::union_of_branches(vec![AccessFilterBranch { compartment, criteria: vec![criterion.clone()] }]);
                let shown = |found: Vec<StoredResource>| found.into_iter().map(|stored| stored.key.id.to_string()).collect::<Vec<_>>();
                let among = db.read_by_ids(&of, &ids, &within).await.unwrap().unwrap();
                assert_eq!(shown(among), expected, "{criterion:?}");
                let by = catalog.find_parameter_by_code(&of, "subject").map(AsRef::as_ref);
                let referring = RevincludeQuery { resource_type: &of, by, to: &to, ids: &patients };
                let referring = db.read_referring_resources(referring, &within, 10).await.unwrap().unwrap();
                assert_eq!(shown(referring), expected, "{criterion:?}");
            }
        }
        db.close().await;
    }

    async fn a_chain_may_ask_what_an_id_is_not(home) {
        let db = home.open().await;
        let of = |patient: &str| json!({"subject": {"reference": format!("Patient/{patient}")}});
        transact(&db, vec![put("Patient/p", json!({})), put("Patient/q", json!({}))]).await;
        transact(&db, vec![put("Observation/op", of("p")), put("Observation/oq", of("q"))]).await;
        assert_eq!(ids_of(&db, "Observation", "subject:Patient._id:not=p").await, ["oq"]);
        assert_eq!(ids_of(&db, "Patient", "_id:not=p").await, ["q"]);
        assert_eq!(ids_of(&db, "Patient", "_has:Observation:patient:_id:not=oq").await, ["p"]);
        db.close().await;
    }
}
