use std::io::Cursor;

use serde_json::json;

use super::*;
use crate::package::testing::{TestPackage, definition, gzip};
use crate::package::{CanonicalResource, PackageId, TarballContents, canonicals};

fn package() -> TestPackage {
    TestPackage::new("acme.base", "1.0.0")
}

fn survey_of(tarball: &[u8]) -> Result<TarballContents, TarballError> {
    TarballContents::read(tarball, &"acme.base@1.0.0".parse::<PackageId>().unwrap())
}

fn survey(package: &TestPackage) -> Result<TarballContents, TarballError> {
    survey_of(&package.pack().unwrap())
}

fn canonicals_of(package: &TestPackage) -> Vec<CanonicalResource> {
    let mut found = Vec::new();
    canonicals(Cursor::new(package.pack().unwrap()), |canonical| {
        found.push(canonical);
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

#[test]
fn a_published_layout_gives_its_canonicals_and_nothing_of_its_other_folders() {
    let package = package()
        .with(&definition("StructureDefinition", "http://acme.example/StructureDefinition/p", "1.0.0"))
        .with(&definition("ValueSet", "http://acme.example/ValueSet/v", ""))
        .with(&definition("SearchParameter", "http://acme.example/SearchParameter/s", "1.0.0"))
        .with(&json!({"resourceType": "ValueSet", "id": "no-url"}))
        .with(&definition("OperationDefinition", "http://acme.example/OperationDefinition/o", "1.0.0"))
        .as_published();
    assert_eq!(survey(&package).unwrap().canonicals, 3);
    let found = canonicals_of(&package);
    let names: Vec<_> =
        found.iter().map(|c| (c.key.resource_type.as_str(), c.url.as_str(), c.version.as_str())).collect();
    let expected = [
        ("StructureDefinition", "http://acme.example/StructureDefinition/p", "1.0.0"),
        ("ValueSet", "http://acme.example/ValueSet/v", ""),
        ("SearchParameter", "http://acme.example/SearchParameter/s", "1.0.0"),
    ];
    assert_eq!(names, expected);
    let stored = json!({"url": expected[0].1, "name": "p", "status": "active", "version": "1.0.0"});
    assert_eq!(found[0].resource, stored, "the id of a package is no id of ours");
}

#[test]
fn an_index_that_is_wrong_or_absent_changes_nothing() {
    let plain = package().with(&definition("ValueSet", "http://acme.example/ValueSet/v", "1"));
    let wrong = plain.clone().file("package/.index.json", b"{\"files\": [{\"filename\": \"gone.json\"}]}");
    let broken = plain.clone().file("package/.index.json", b"not JSON");
    for package in [plain, wrong, broken] {
        assert_eq!(survey(&package).unwrap().canonicals, 1);
    }
}

#[test]
fn a_canonical_that_is_there_twice_is_taken_once_as_the_first_file_has_it() {
    let mut second = definition("ValueSet", "http://acme.example/ValueSet/v", "1");
    second["id"] = json!("other");
    let package = package().with(&definition("ValueSet", "http://acme.example/ValueSet/v", "1")).with(&second);
    assert_eq!(survey(&package).unwrap().canonicals, 1);
    assert_eq!(canonicals_of(&package)[0].resource["name"], "v");
}

#[test]
fn ids_differ_by_type_url_and_version_alone() {
    let package = package()
        .with(&definition("ValueSet", "http://acme.example/v", "1"))
        .with(&definition("ValueSet", "http://acme.example/v", "2"))
        .with(&definition("ValueSet", "http://acme.example/w", "1"))
        .with(&definition("CodeSystem", "http://acme.example/v", "1"));
    let keys: std::collections::HashSet<_> = canonicals_of(&package).into_iter().map(|c| c.key.id).collect();
    assert_eq!(keys.len(), 4);
    assert!(canonicals_of(&package).iter().all(|c| keys.contains(&c.key.id)));
}

#[test]
fn malformed_json_is_named_by_its_file() {
    let package = package().file("package/ValueSet-broken.json", b"{\"resourceType\": \"ValueSet\", \"url\":");
    let fault = survey(&package).unwrap_err();
    assert!(matches!(&fault, TarballError::Json { file, .. } if file == "ValueSet-broken.json"), "{fault}");
    assert!(fault.to_string().contains("ValueSet-broken.json"), "{fault}");
    assert!(matches!(
        survey(&self::package().file("package/list.json", b"[1, 2")).unwrap_err(),
        TarballError::Json { .. }
    ));
}

#[test]
fn what_cannot_be_stored_is_named_by_its_file() {
    let url = "u".repeat(1025);
    let fault = survey(&package().with(&definition("ValueSet", &url, "1"))).unwrap_err();
    assert!(matches!(fault, TarballError::Resource { .. }), "{fault}");
    let mut deep = json!(1);
    for _ in 0..110 {
        deep = json!([deep]);
    }
    let mut resource = definition("ValueSet", "http://acme.example/ValueSet/deep", "1");
    resource["compose"] = deep;
    let tarball = package().with(&resource).pack().unwrap();
    let fault = canonicals(Cursor::new(tarball), |_| ControlFlow::Continue(())).unwrap_err();
    assert!(fault.to_string().contains("ValueSet-deep.json"), "{fault}");
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(definition("ValueSet", "http://acme.example/v", "1").to_string().bytes());
    let package = package().file("package/ValueSet-v.json", &bytes);
    assert_eq!(survey(&package).unwrap().canonicals, 1);
    assert_eq!(canonicals_of(&package).len(), 1);
}

#[test]
fn a_path_that_leads_out_of_the_package_refuses_all_of_it() {
    for path in ["../evil.json", "package/../../evil.json", "/etc/evil.json", "package\\..\\evil.json"] {
        let fault = survey(&package().file(path, b"{}")).unwrap_err();
        assert!(matches!(&fault, TarballError::Path(named) if named == path), "{fault}");
    }
    let long = format!("package/{}/../../../evil.json", "x".repeat(120));
    assert!(matches!(survey(&package().file(&long, b"{}")), Err(TarballError::Path(named)) if named == long));
}

#[test]
fn links_and_devices_refuse_all_of_it() {
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Fifo] {
        let fault = survey(&package().entry("package/ValueSet-link.json", kind)).unwrap_err();
        assert!(matches!(&fault, TarballError::NotAFile(named) if named == "package/ValueSet-link.json"), "{fault}");
    }
}

#[test]
fn a_name_written_beside_its_entry_is_read() {
    let file = format!("package/ValueSet-{}.json", "x".repeat(150));
    let resource = definition("ValueSet", "http://acme.example/long", "1").to_string();
    assert_eq!(survey(&package().file(&file, resource.as_bytes())).unwrap().canonicals, 1);
}

#[test]
fn a_tarball_cut_anywhere_is_refused() {
    let whole = package().with(&definition("ValueSet", "http://acme.example/v", "1")).as_published().pack().unwrap();
    assert!(survey_of(&whole).is_ok());
    for length in [0, 1, 5, 30, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let fault = survey_of(&whole[..length]).unwrap_err();
        assert!(matches!(fault, TarballError::CutShort | TarballError::NotGzip), "{length}: {fault:?}");
    }
}

#[test]
fn a_tarball_whose_checksum_is_wrong_is_refused() {
    let mut tarball = package().with(&definition("ValueSet", "http://acme.example/v", "1")).pack().unwrap();
    let checksum = tarball.len() - 6;
    tarball[checksum] ^= 0xff;
    assert!(matches!(survey_of(&tarball), Err(TarballError::Broken(_))));
}

#[test]
fn what_is_no_package_is_refused_by_what_it_lacks() {
    assert!(matches!(survey_of(b"{\"name\": \"acme.base\"}"), Err(TarballError::NotGzip)));
    assert!(matches!(survey_of(&gzip(&[0; 1024]).unwrap()), Err(TarballError::NoManifest)));
    assert!(survey_of(&gzip(b"no tar").unwrap()).is_err());
    let other = survey(&package().saying("version", json!("1.0.1"))).unwrap_err();
    assert!(matches!(&other, TarballError::OtherPackage(named) if named == "acme.base@1.0.1"), "{other}");
}

#[test]
fn a_file_larger_than_allowed_is_refused_before_it_is_read() {
    let large = vec![b' '; usize::try_from(limits::FILE_MAX_BYTES).unwrap() + 1];
    let fault = survey(&package().file("package/ValueSet-large.json", &large)).unwrap_err();
    assert!(matches!(&fault, TarballError::FileTooLarge(file) if file == "ValueSet-large.json"), "{fault}");
    assert!(survey(&package().file("package/other/large.bin", &large)).is_ok());
}

#[test]
fn unpacking_stops_at_its_bound() {
    let mut bounded = Bounded { inner: io::repeat(0), left: 10 };
    let error = bounded.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(matches!(fault(error), TarballError::TooLarge));
    let mut fits = Bounded { inner: &b"0123456789"[..], left: 10 };
    assert_eq!(fits.read_to_end(&mut Vec::new()).unwrap(), 10);
}
