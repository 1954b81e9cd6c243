//! A SQLite database without room, and with room again; a health probe that writes.

use std::path::{Path, PathBuf};
use std::process::Command;

use auth_storage::AuthDatabase;
use fhir_store::{ResourceStore as _, ResourceWrite, StoreError, WriteOperation};
use serde_json::json;

use crate::home::{NOW_US, told};

const MIB: usize = 1024 * 1024;

async fn put(db: &AuthDatabase, id: &str, name: &str) -> Result<(), StoreError> {
    let body = json!({"resourceType": "Organization", "name": name});
    let write = ResourceWrite::unconditional(format!("Organization/{id}").parse().unwrap(), WriteOperation::Put(body));
    db.transact_writes(vec![write], NOW_US).await.map(|done| drop(done.unwrap()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_full_takes_writes_again_when_there_is_room() {
    let home = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(home.path(), 64 * MIB);
    // What will make room: more than the write-ahead log may hold, which is first copied into the database.
    std::fs::write(disk.0.join("ballast"), vec![0; 40 * MIB]).unwrap();
    let db = AuthDatabase::open(None, &disk.0, 8).await.unwrap();
    db.check_writable().await.unwrap();
    let text = "much ado about nothing ".repeat(20_000);
    let mut refused = None;
    for at in 0..1_000 {
        refused = put(&db, &format!("large-{at}"), &text).await.err();
        if refused.is_some() {
            break;
        }
    }
    assert!(matches!(refused, Some(StoreError::Unavailable(_))), "{refused:?}");
    // Small writes may still fit in; soon none does.
    let mut puts = 0;
    while put(&db, "small", &format!("x{puts}")).await.is_ok() {
        puts += 1;
        assert!(puts < 20_000, "the disk does not fill up");
    }
    // The row of a probe may fit where a resource does not; soon it does not either.
    let mut probes = 0;
    while db.check_writable().await.is_ok() {
        probes += 1;
        assert!(probes < 2_000, "the disk does not fill up");
    }
    db.ping().await.unwrap();

    std::fs::remove_file(disk.0.join("ballast")).unwrap();
    db.check_writable().await.unwrap();
    put(&db, "small", "x").await.unwrap();
    db.close().await;
}

told! {
    async fn a_probe_writes_and_fails_when_the_database_is_closed(home) {
        let db = home.open().await;
        let probes = "SELECT CAST(probes AS TEXT) FROM server_health";
        for count in 0..3 {
            assert_eq!(home.ask(probes).await, [count.to_string()]);
            db.check_writable().await.unwrap();
        }
        db.close().await;
        assert!(db.check_writable().await.is_err());
    }
}

/// A file system of a few MiB; it goes when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(below: &Path, size_bytes: usize) -> Self {
        let folder = below.join("small");
        std::fs::create_dir(&folder).unwrap();
        let size = format!("size={size_bytes}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&folder).status();
        assert!(
            mounted.is_ok_and(|status| status.success()),
            "this test mounts a small file system; run it as root: sudo -E cargo test -p auth-storage --test it"
        );
        Self(folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
