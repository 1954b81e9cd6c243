//! The shapes of searches that clients send, page by page: every way to go about them finds what the model finds.

use super::*;

/// Few matches are looked at one by one, so with none of them few a search walks as it does where there are many.
const FEW: [i64; 3] = [1_000, 10, 0];

const SHAPES: [(&str, &str); 40] = [
    ("Observation", "patient=p1"),
    ("Observation", "subject=Patient/p1"),
    ("Observation", "patient=p1&code=a"),
    ("Observation", "code=a&patient=p1"),
    ("Observation", "patient=p1&date=ge2020"),
    ("Observation", "patient=p1&code=a,1234-5&date=le2020-06"),
    ("Observation", "patient=p1&status=final"),
    ("Observation", "patient=p1&_sort=-date"),
    ("Observation", "patient=p1&_sort=date"),
    ("Observation", "patient=p1&date=ge2000&_sort=-date"),
    ("Observation", "patient=p1&_sort=_lastUpdated"),
    ("Observation", "_sort=-date"),
    ("Observation", "_sort=date"),
    ("Observation", "date=ge2020"),
    ("Observation", "date=lt2020-06"),
    ("Observation", "date=2020-05-17"),
    ("Observation", "date=ne2020-05-17"),
    ("Observation", "date=sa2020&status=final"),
    ("Observation", "date=ge2020&_sort=-date"),
    ("Observation", "date=ge2020&_sort=date"),
    ("Observation", "date=le2020-06&_sort=-date"),
    ("Observation", "status=final&_sort=-date"),
    ("Observation", "status=final&code=a"),
    ("Observation", "code=a&status=final"),
    ("Observation", "code=a,8480-6&status=final"),
    ("Observation", "status=final,amended"),
    ("Observation", "_lastUpdated=ge2000"),
    ("Observation", "_sort=-_lastUpdated"),
    ("Observation", "value-quantity=gt1"),
    ("Observation", "value-quantity=lt100&_sort=-value-quantity"),
    ("Observation", "subject:Patient.active=true"),
    ("Observation", "patient.name=mul&_sort=-date"),
    ("Observation", "combo-code=a&_sort=-date"),
    ("Observation", "value-date=ge2000&_sort=-value-date,-date"),
    ("Patient", "name=s"),
    ("Patient", "name=s&gender=female"),
    ("Patient", "birthdate=ge1970&name=s"),
    ("Patient", "_has:Observation:patient:status=final"),
    ("Patient", "_has:Observation:patient:code=a&_sort=family"),
    ("Patient", "_sort=-family"),
];

/// All pages of a search, and the total of the first one.
async fn pages(db: &AuthDatabase, of: &str, text: &str, count: u32) -> (Vec<String>, Option<u64>) {
    let mut all = Vec::new();
    let (mut cursor, mut total) = (None, None);
    loop {
        let mut search = read(db, of, text).await;
        search.cursor.clone_from(&cursor);
        let query = SearchQuery { count, ..asking(search) };
        let page = found(db, &query).await;
        assert!(page.entries.len() <= count as usize, "{text}");
        all.extend(ids(&page).into_iter().map(str::to_owned));
        if cursor.is_none() {
            total = page.total;
        }
        cursor = page.next;
        if cursor.is_none() {
            return (all, total);
        }
    }
}

/// Values of a parameter that resources have several of, so that which one counts for an order is seen.
fn repeated(seeded: &mut Seeded) -> Value {
    let event: Vec<&str> = (0..2).map(|_| seeded.one(&DATES)).collect();
    json!({"status": "final", "effectiveTiming": {"event": event}, "subject": {"reference": "Patient/p1"}})
}

told! {
    async fn every_way_to_search_finds_what_the_model_finds_page_by_page(home) {
        let db = home.open().await;
        db.set_fhir_base_url(OWN).await.unwrap();
        let mut seeded = Seeded(31);
        fill(&db, &mut seeded).await;
        let writes = (0..6).map(|at| put(&format!("Observation/r{at}"), repeated(&mut seeded)));
        transact(&db, writes.collect()).await;
        let world = World::of(&db).await;
        let mut some = 0;
        for (of, text) in SHAPES {
            let expected = world.expected(&read(&db, of, text).await);
            some += usize::from(expected.len() > 7);
            let mut orders = Vec::new();
            for few in FEW {
                db.set_small_result_threshold(few);
                for count in [3, 7, 1000] {
                    let (found, total) = pages(&db, of, text, count).await;
                    let each: BTreeSet<String> = found.iter().cloned().collect();
                    assert_eq!(each, expected, "{of}?{text} few {few} count {count}");
                    assert_eq!(found.len(), expected.len(), "{of}?{text} few {few} count {count}: each once");
                    assert_eq!(total, Some(expected.len() as u64), "{of}?{text} few {few} count {count}");
                    if text.contains("_sort") {
                        orders.push(found);
                    }
                }
            }
            orders.dedup();
            assert!(orders.len() <= 1, "{of}?{text} has one order: {orders:?}");
        }
        assert!(some > 25, "{some} of the shapes have several pages");
        db.close().await;
    }

    async fn any_search_finds_what_the_model_finds_where_nothing_is_few(home) {
        let db = home.open().await;
        db.set_fhir_base_url(OWN).await.unwrap();
        db.set_small_result_threshold(0);
        let mut seeded = Seeded(32);
        fill(&db, &mut seeded).await;
        let world = World::of(&db).await;
        let sorts = ["", "&_sort=-date", "&_sort=date", "&_sort=-_lastUpdated", "&_sort=value-quantity", "&_sort=-_id"];
        for _ in 0..150 {
            let (of, text) = query(&mut seeded);
            let sort = if of == "Patient" { "" } else { seeded.one(&sorts) };
            let text = format!("{text}{sort}");
            let expected = world.expected(&read(&db, of, &text).await);
            let (found, total) = pages(&db, of, &text, 5).await;
            let each: BTreeSet<String> = found.iter().cloned().collect();
            assert_eq!(each, expected, "{of}?{text}");
            assert_eq!((found.len(), total), (expected.len(), Some(expected.len() as u64)), "{of}?{text}");
        }
        db.close().await;
    }

    async fn a_total_above_what_is_counted_is_left_out(home) {
        let db = home.open().await;
        let writes = (0..12).map(|at| put(&format!("Patient/p{at:02}"), json!({"active": true, "birthDate": "1980-01-01"})));
        transact(&db, writes.collect()).await;
        for few in FEW {
            db.set_small_result_threshold(few);
            for text in ["", "active=true", "birthdate=ge1970", "_sort=-birthdate", "active=true&birthdate=ge1970&_sort=birthdate"] {
                for (most, total) in [(11, None), (12, Some(12))] {
                    let counting = MatchCountMode::UpTo(most);
                    let query = SearchQuery { count: 5, counting, ..asking(read(&db, "Patient", text).await) };
                    assert_eq!(found(&db, &query).await.total, total, "few {few}: {text} up to {most}");
                }
            }
        }
        db.close().await;
    }
}
