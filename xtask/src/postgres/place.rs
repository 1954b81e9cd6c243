//! Where the data of a private Postgres is.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use super::Account;
use crate::workspace::Workspace;

/// In front of the process id in the name of a cluster's folder; told apart from anybody else's in a shared
/// folder for temporary files.
const PREFIX: &str = "xtask-pg-";

/// Where a system keeps files in memory.
const MEMORY: &str = "/dev/shm";

/// What must be free there, in MiB. A run of all tests took under 1,024; containers often have 64.
const MEMORY_FREE_MIN_MIB: u64 = 4096;

/// Where the data is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On disk, as deployments have it.
    Disk,
    /// In memory where there is room, else on disk.
    Memory,
}

impl Place {
    /// A new folder that the account can write: `xtask-pg-<process id>` below `target`, or beside the temporary files
    /// when the account cannot reach `target`. What commands that were killed left behind goes away.
    ///
    /// # Errors
    /// When the account can write nowhere.
    pub(super) fn folder(self, workspace: &Workspace, account: &Account) -> Result<PathBuf> {
        let (memory, temporary) = (PathBuf::from(MEMORY), std::env::temp_dir());
        for parent in [&workspace.target, &temporary, &memory] {
            sweep(parent);
        }
        let has_room = self == Self::Memory && free_mib(&memory).is_some_and(|free| free >= MEMORY_FREE_MIN_MIB);
        let parents = has_room.then_some(&memory).into_iter().chain([&workspace.target, &temporary]);
        let name = format!("{PREFIX}{}", std::process::id());
        for parent in parents {
            let folder = parent.join(&name);
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            if account.take(&folder)? {
                return Ok(folder);
            }
            fs::remove_dir(&folder)?;
        }
        bail!(
            "the user {account} can write neither below {} nor below {}",
            workspace.target.display(),
            temporary.display()
        )
    }
}

/// What is free where files are kept in memory; `None` where there is no such place.
fn free_mib(place: &Path) -> Option<u64> {
    let output = Command::new("df").args(["--block-size=1M", "--output=fstype,avail"]).arg(place).output().ok()?;
    of_table(&String::from_utf8_lossy(&output.stdout))
}

/// The second column below the head, when the first says that this is memory.
fn of_table(text: &str) -> Option<u64> {
    let mut words = text.lines().nth(1)?.split_whitespace();
    if words.next()? != "tmpfs" {
        return None;
    }
    words.next()?.parse().ok()
}

/// Removes what commands that were killed left behind.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if owner.is_some_and(is_gone) {
            // It may belong to another user; then it is theirs to remove.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_gone(process: &str) -> bool {
    process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_from_a_disk_and_from_nothing() {
        assert_eq!(of_table("Type   Avail\ntmpfs  23703\n"), Some(23703));
        assert_eq!(of_table("Type  Avail\next4  23703\n"), None);
        assert_eq!(of_table(""), None);
    }

    #[test]
    fn folders_of_dead_commands_are_swept_and_others_kept() {
        let parent = tempfile::tempdir().unwrap();
        let ours = format!("{PREFIX}{}", std::process::id());
        // Process ids end at 4194304, so nobody has this one.
        let dead = format!("{PREFIX}4999999");
        for name in [&dead, &ours, "pg-4999999", "xtask-pg-notes"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        sweep(parent.path());
        assert!(!parent.path().join(dead).exists());
        for kept in [&ours, "pg-4999999", "xtask-pg-notes"] {
            assert!(parent.path().join(kept).exists(), "{kept} is gone");
        }
    }
}
