use super::*;

#[test]
fn every_parameter_of_r4_compiles_for_every_type_it_names() {
    let catalog = Catalog::base();
    let mut compiled = 0;
    let mut refused = Vec::new();
    for name in catalog.kinds() {
        for definition in base::of(name) {
            match definition.compile(name) {
                Ok(Some(_)) => compiled += 1,
                other => refused.push(format!("{name}.{}: {other:?}", definition.code)),
            }
        }
    }
    assert_eq!(refused, Vec::<String>::new());
    // 1,699 of single types, and six that all of them have.
    assert_eq!((catalog.kinds().count(), compiled), (133, 1_699 + 6 * 133));
}
