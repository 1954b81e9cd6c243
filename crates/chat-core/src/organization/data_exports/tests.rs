use super::work::{CLAIM_S, ClaimedExport, ExportClaim, ExportEnd};
use super::*;
use crate::event_log::event::LogRecord;
use crate::id::EventId;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::UserItemKind;
use crate::testing::{self, NOW_S};

const URL: &str = "https://chat.example.org";
const SMALL: OrganizationSize = OrganizationSize { messages: 1, upload_bytes: 1 };

fn consent(user: i64) -> RealmChange {
    RealmChange::UserItem {
        user_id: UserId(user),
        kind: UserItemKind::Settings,
        key: String::new(),
        document: Some(json!({"allow_private_data_export": true})),
    }
}

/// A realm in which decisions become true.
struct TestRealm {
    realm: RealmSnapshot,
    now_s: i64,
}

impl TestRealm {
    fn new(more: Vec<RealmChange>) -> Self {
        Self { realm: testing::realm(RealmPermissionSettings::default(), more), now_s: NOW_S }
    }

    fn decide<T>(&mut self, decide: impl Fn(&RealmSnapshot, &mut RealmCommit) -> T) -> T {
        let mut commit = RealmCommit { at_s: self.now_s, ..RealmCommit::default() };
        let outcome = decide(&self.realm, &mut commit);
        let at = EventId(self.realm.log_position().0 + 1);
        self.realm = self.realm.after_record(&LogRecord::new(at, self.now_s, commit.changes, None));
        outcome
    }

    fn request(&mut self, export_type: DataExportType, size: OrganizationSize) -> Result<i64, DataExportError> {
        self.decide(|realm, commit| request(realm, realm.user(UserId(1)).unwrap(), (export_type, size, URL), commit))
    }

    fn status(&self, id: i64) -> DataExportStatus {
        find(&self.realm, id).unwrap().status
    }
}

#[test]
fn an_export_is_stored_as_it_was_and_its_name_says_its_number() {
    for status in [
        DataExportStatus::Requested,
        DataExportStatus::Started { node: "a".to_owned(), until_s: 5 },
        DataExportStatus::Succeeded { at_s: 5, size_bytes: 6 },
        DataExportStatus::Failed { at_s: 5 },
        DataExportStatus::Deleted { at_s: 5 },
    ] {
        let export = DataExport {
            export_type: DataExportType::FullWithConsent,
            acting_user_id: UserId(1),
            requested_s: 4,
            status,
            has_bytes: true,
        };
        assert_eq!(DataExport::deserialize(&json!(export)).unwrap(), export);
    }
    assert_eq!(DataExport::number_in(&DataExport::archive_name(17)), Some(17));
    for other in ["organization-017.tar.gz", "organization-.tar.gz", "17", "organization-17.tar"] {
        assert_eq!(DataExport::number_in(other), None, "{other}");
    }
}

#[test]
fn five_exports_are_requested_in_a_week_and_a_large_organization_is_none_of_them() {
    let mut test = TestRealm::new(Vec::new());
    for size in [
        OrganizationSize { messages: MAX_EXPORTED_MESSAGES + 1, ..SMALL },
        OrganizationSize { upload_bytes: MAX_EXPORTED_UPLOAD_BYTES + 1, ..SMALL },
    ] {
        assert_eq!(test.request(DataExportType::Public, size), Err(DataExportError::TooLarge));
    }
    for _ in 0..MAX_REQUESTS {
        test.now_s += 1;
        test.request(DataExportType::Public, SMALL).unwrap();
    }
    assert_eq!(test.request(DataExportType::Public, SMALL), Err(DataExportError::TooMany));
    test.now_s = NOW_S + 2 + REQUEST_PERIOD_S;
    test.request(DataExportType::Public, SMALL).unwrap();
}

#[test]
fn an_export_has_an_owner_who_can_sign_in_where_it_goes() {
    let mut test = TestRealm::new(vec![consent(2)]);
    let refused = Err(DataExportError::NoConsentingOwner);
    assert_eq!(test.request(DataExportType::FullWithConsent, SMALL), refused);
    let mut test = TestRealm::new(vec![consent(1)]);
    test.request(DataExportType::FullWithConsent, SMALL).unwrap();
    let hidden = RealmChange::UserItem {
        user_id: UserId(1),
        kind: UserItemKind::Settings,
        key: String::new(),
        document: Some(json!({"email_address_visibility": 4})),
    };
    let mut test = TestRealm::new(vec![hidden]);
    assert_eq!(test.request(DataExportType::Public, SMALL), Err(DataExportError::NoOwnerWithAddress));
}

#[test]
fn one_export_is_written_at_a_time_by_the_node_that_took_it() {
    let mut test = TestRealm::new(Vec::new());
    let first = test.request(DataExportType::Public, SMALL).unwrap();
    let second = test.request(DataExportType::Public, SMALL).unwrap();
    let claim = |test: &mut TestRealm, node: &str| test.decide(|realm, commit| work::claim(realm, node, commit));
    let claimed = ClaimedExport { id: first, export_type: DataExportType::Public };
    assert_eq!(claim(&mut test, "a"), Some(claimed));
    assert_eq!(claim(&mut test, "b"), None);
    let end = (ExportEnd::Written(7), URL);
    assert!(!test.decide(|realm, commit| work::finish(realm, ExportClaim { id: first, node: "b" }, end, commit)));
    assert!(test.decide(|realm, commit| work::finish(realm, ExportClaim { id: first, node: "a" }, end, commit)));
    assert_eq!(test.status(first), DataExportStatus::Succeeded { at_s: NOW_S, size_bytes: 7 });
    assert_eq!(claim(&mut test, "b").unwrap().id, second);
}

#[test]
fn an_export_whose_node_ended_has_failed_and_its_bytes_have_no_use() {
    let mut test = TestRealm::new(Vec::new());
    let id = test.request(DataExportType::Public, SMALL).unwrap();
    test.decide(|realm, commit| work::claim(realm, "a", commit)).unwrap();
    test.now_s += CLAIM_S - 1;
    assert!(!work::is_due(&test.realm, test.now_s));
    assert!(test.decide(|realm, commit| work::renew(realm, ExportClaim { id, node: "a" }, commit)));
    test.now_s += CLAIM_S - 1;
    assert_eq!(test.decide(|realm, commit| work::settle(realm, URL, commit)), Vec::<i64>::new());
    test.now_s += 1;
    assert!(work::is_due(&test.realm, test.now_s));
    assert_eq!(test.decide(|realm, commit| work::settle(realm, URL, commit)), [id]);
    assert_eq!(test.status(id), DataExportStatus::Failed { at_s: test.now_s });
    assert!(!test.decide(|realm, commit| work::renew(realm, ExportClaim { id, node: "a" }, commit)));
    assert!(!test.decide(|realm, commit| work::finish(
        realm,
        ExportClaim { id, node: "a" },
        (ExportEnd::Written(7), URL),
        commit
    )));
    assert_eq!(work::without_use(&test.realm).collect::<Vec<_>>(), [id]);
    test.decide(|realm, commit| work::note_removed(realm, id, commit));
    assert!(!work::is_due(&test.realm, test.now_s));
    assert_eq!(test.decide(|realm, commit| work::claim(realm, "b", commit)), None);
}

#[test]
fn an_archive_is_kept_for_a_week() {
    let mut test = TestRealm::new(Vec::new());
    let id = test.request(DataExportType::Public, SMALL).unwrap();
    test.decide(|realm, commit| work::claim(realm, "a", commit)).unwrap();
    test.decide(|realm, commit| {
        work::finish(realm, ExportClaim { id, node: "a" }, (ExportEnd::Written(7), URL), commit)
    });
    let owner = |realm: &RealmSnapshot| User::clone(realm.user(UserId(1)).unwrap());
    assert_eq!(downloadable(&test.realm, &owner(&test.realm), id), Ok(7));
    test.now_s += ARCHIVE_KEPT_S - 1;
    assert!(!work::is_due(&test.realm, test.now_s));
    test.now_s += 1;
    assert_eq!(test.decide(|realm, commit| work::settle(realm, URL, commit)), Vec::<i64>::new());
    assert_eq!(test.status(id), DataExportStatus::Deleted { at_s: test.now_s });
    assert_eq!(downloadable(&test.realm, &owner(&test.realm), id), Err(DataExportError::NotFound));
    assert_eq!(work::without_use(&test.realm).collect::<Vec<_>>(), [id]);
}

#[test]
fn the_oldest_exports_without_an_archive_leave_a_full_list() {
    let old = |id: i64, has_bytes: bool| {
        let export = DataExport {
            export_type: DataExportType::Public,
            acting_user_id: UserId(1),
            requested_s: 1,
            status: DataExportStatus::Failed { at_s: 1 },
            has_bytes,
        };
        RealmChange::Item { kind: RealmItemKind::DataExport, id, document: Some(json!(export)) }
    };
    let last = i64::try_from(MAX_LISTED).unwrap();
    let mut test = TestRealm::new((1..=last).map(|id| old(id, id == 1)).collect());
    let id = test.request(DataExportType::Public, SMALL).unwrap();
    let ids: Vec<_> = all(&test.realm).map(|(id, _)| id).collect();
    assert_eq!(ids, [1].into_iter().chain(3..=last).chain([id]).collect::<Vec<_>>());
}

#[test]
fn a_bot_has_the_consent_of_its_owner() {
    use crate::model::user::{BotKind, BotProperties};
    let bot = |id: i64, owner: i64| {
        let bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(owner)) });
        RealmChange::User(Box::new(User { bot, ..testing::user(id, Role::Member) }))
    };
    let test = TestRealm::new(vec![bot(7, 4), bot(8, 3), bot(9, 3), consent(4), consent(9)]);
    let consenting = [4, 3, 7, 8, 9].map(|id| is_consenting(&test.realm, test.realm.user(UserId(id)).unwrap()));
    assert_eq!(consenting, [true, false, true, false, true]);
}
