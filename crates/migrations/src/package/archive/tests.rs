use std::io::Cursor;

use serde_json::json;

use super::*;
use crate::package::testing::{TestPackage, canonical_definition, gzip_bytes};
use crate::package::{CanonicalResource, PackageId, TarballContents, visit_package_canonicals};

fn package() -> TestPackage {
    TestPackage::new("acme.base", "1.0.0")
}

fn survey_of(tarball: &[u8]) -> Result<TarballContents, PackageTarballError> {
    TarballContents::read_and_verify(tarball, &"acme.base@1.0.0".parse::<PackageId>().unwrap())
}

fn survey(package: &TestPackage) -> Result<TarballContents, PackageTarballError> {
    survey_of(&package.pack_tarball().unwrap())
}

fn canonicals_of(package: &TestPackage) -> Vec<CanonicalResource> {
    let mut found = Vec::new();
    visit_package_canonicals(Cursor::new(package.pack_tarball().unwrap()), |canonical| {
        found.push(canonical);
        ControlFlow::Continue(())
    })
    .unwrap();
    found
}

#[test]
fn a_published_layout_gives_its_canonicals_and_nothing_of_its_other_folders() {
    let package = package()
        .with_resource(&canonical_definition(
            "StructureDefinition",
            "http://acme.example/StructureDefinition/p",
            "1.0.0",
        ))
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/ValueSet/v", ""))
        .with_resource(&canonical_definition("SearchParameter", "http://acme.example/SearchParameter/s", "1.0.0"))
        .with_resource(&json!({"resourceType": "ValueSet", "id": "no-url"}))
        .with_resource(&canonical_definition(
            "OperationDefinition",
            "http://acme.example/OperationDefinition/o",
            "1.0.0",
        ))
        .with_published_extras();
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
    let plain = package().with_resource(&canonical_definition("ValueSet", "http://acme.example/ValueSet/v", "1"));
    let wrong = plain.clone().with_file("package/.index.json", b"{\"files\": [{\"filename\": \"gone.json\"}]}");
    let broken = plain.clone().with_file("package/.index.json", b"not JSON");
    for package in [plain, wrong, broken] {
        assert_eq!(survey(&package).unwrap().canonicals, 1);
    }
}

#[test]
fn a_canonical_that_is_there_twice_is_taken_once_as_the_first_file_has_it() {
    let mut second = canonical_definition("ValueSet", "http://acme.example/ValueSet/v", "1");
    second["id"] = json!("other");
    let package = package()
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/ValueSet/v", "1"))
        .with_resource(&second);
    assert_eq!(survey(&package).unwrap().canonicals, 1);
    assert_eq!(canonicals_of(&package)[0].resource["name"], "v");
}

#[test]
fn ids_differ_by_type_url_and_version_alone() {
    let package = package()
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/v", "1"))
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/v", "2"))
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/w", "1"))
        .with_resource(&canonical_definition("CodeSystem", "http://acme.example/v", "1"));
    let keys: std::collections::HashSet<_> = canonicals_of(&package).into_iter().map(|c| c.key.id).collect();
    assert_eq!(keys.len(), 4);
    assert!(canonicals_of(&package).iter().all(|c| keys.contains(&c.key.id)));
}

#[test]
fn malformed_json_is_named_by_its_file() {
    let package = package().with_file("package/ValueSet-broken.json", b"{\"resourceType\": \"ValueSet\", \"url\":");
    let fault = survey(&package).unwrap_err();
    assert!(matches!(&fault, PackageTarballError::Json { file, .. } if file == "ValueSet-broken.json"), "{fault}");
    assert!(fault.to_string().contains("ValueSet-broken.json"), "{fault}");
    assert!(matches!(
        survey(&self::package().with_file("package/list.json", b"[1, 2")).unwrap_err(),
        PackageTarballError::Json { .. }
    ));
}

#[test]
fn what_cannot_be_stored_is_named_by_its_file() {
    let url = "u".repeat(1025);
    let fault = survey(&package().with_resource(&canonical_definition("ValueSet", &url, "1"))).unwrap_err();
    assert!(matches!(fault, PackageTarballError::Resource { .. }), "{fault}");
    let mut deep = json!(1);
    for _ in 0..110 {
        deep = json!([deep]);
    }
    let mut resource = canonical_definition("ValueSet", "http://acme.example/ValueSet/deep", "1");
    resource["compose"] = deep;
    let tarball = package().with_resource(&resource).pack_tarball().unwrap();
    let fault = visit_package_canonicals(Cursor::new(tarball), |_| ControlFlow::Continue(())).unwrap_err();
    assert!(fault.to_string().contains("ValueSet-deep.json"), "{fault}");
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(canonical_definition("ValueSet", "http://acme.example/v", "1").to_string().bytes());
    let package = package().with_file("package/ValueSet-v.json", &bytes);
    assert_eq!(survey(&package).unwrap().canonicals, 1);
    assert_eq!(canonicals_of(&package).len(), 1);
}

#[test]
fn a_path_that_leads_out_of_the_package_refuses_all_of_it() {
    for path in ["../evil.json", "package/../../evil.json", "/etc/evil.json", "package\\..\\evil.json"] {
        let fault = survey(&package().with_file(path, b"{}")).unwrap_err();
        assert!(matches!(&fault, PackageTarballError::Path(named) if named == path), "{fault}");
    }
    let long = format!("package/{}/../../../evil.json", "x".repeat(120));
    assert!(
        matches!(survey(&package().with_file(&long, b"{}")), Err(PackageTarballError::Path(named)) if named == long)
    );
}

#[test]
fn links_and_devices_refuse_all_of_it() {
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Fifo] {
        let fault = survey(&package().with_special_entry("package/ValueSet-link.json", kind)).unwrap_err();
        assert!(
            matches!(&fault, PackageTarballError::NotAFile(named) if named == "package/ValueSet-link.json"),
            "{fault}"
        );
    }
}

#[test]
fn a_name_written_beside_its_entry_is_read() {
    let file = format!("package/ValueSet-{}.json", "x".repeat(150));
    let resource = canonical_definition("ValueSet", "http://acme.example/long", "1").to_string();
    assert_eq!(survey(&package().with_file(&file, resource.as_bytes())).unwrap().canonicals, 1);
}

#[test]
fn a_tarball_cut_anywhere_is_refused() {
    let whole = package()
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/v", "1"))
        .with_published_extras()
        .pack_tarball()
        .unwrap();
    assert!(survey_of(&whole).is_ok());
    for length in [0, 1, 5, 30, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let fault = survey_of(&whole[..length]).unwrap_err();
        assert!(matches!(fault, PackageTarballError::CutShort | PackageTarballError::NotGzip), "{length}: {fault:?}");
    }
}

#[test]
fn a_tarball_whose_checksum_is_wrong_is_refused() {
    let mut tarball = package()
        .with_resource(&canonical_definition("ValueSet", "http://acme.example/v", "1"))
        .pack_tarball()
        .unwrap();
    let checksum = tarball.len() - 6;
    tarball[checksum] ^= 0xff;
    assert!(matches!(survey_of(&tarball), Err(PackageTarballError::Broken(_))));
}

#[test]
fn what_is_no_package_is_refused_by_what_it_lacks() {
    assert!(matches!(survey_of(b"{\"name\": \"acme.base\"}"), Err(PackageTarballError::NotGzip)));
    assert!(matches!(survey_of(&gzip_bytes(&[0; 1024]).unwrap()), Err(PackageTarballError::NoManifest)));
    assert!(survey_of(&gzip_bytes(b"no tar").unwrap()).is_err());
    let other = survey(&package().with_manifest_member("version", json!("1.0.1"))).unwrap_err();
    assert!(matches!(&other, PackageTarballError::OtherPackage(named) if named == "acme.base@1.0.1"), "{other}");
}

#[test]
fn a_file_larger_than_allowed_is_refused_before_it_is_read() {
    let large = vec![b' '; usize::try_from(limits::PACKAGE_FILE_MAX_BYTES).unwrap() + 1];
    let fault = survey(&package().with_file("package/ValueSet-large.json", &large)).unwrap_err();
    assert!(matches!(&fault, PackageTarballError::FileTooLarge(file) if file == "ValueSet-large.json"), "{fault}");
    assert!(survey(&package().with_file("package/other/large.bin", &large)).is_ok());
}

#[test]
fn unpacking_stops_at_its_bound() {
    let mut bounded = Bounded { inner: io::repeat(0), left: 10 };
    let error = bounded.read_to_end(&mut Vec::new()).unwrap_err();
    assert!(matches!(fault(error), PackageTarballError::TooLarge));
    let mut fits = Bounded { inner: &b"0123456789"[..], left: 10 };
    assert_eq!(fits.read_to_end(&mut Vec::new()).unwrap(), 10);
}
