//! The user a private Postgres runs as: it refuses to run as root.

use std::{
    fmt, fs,
    os::unix::fs::chown,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::process;

/// Who runs the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Account {
    /// Whoever runs this command.
    Own,
    /// An unprivileged user, because this command runs as root.
    Other(User),
}

/// One line of `/etc/passwd`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// Ourselves, unless that is root: then `postgres`, or `nobody` where there is no such user.
    ///
    /// # Errors
    /// As root, when neither user exists or `setpriv` (util-linux) is missing.
    pub(super) fn choose() -> Result<Self> {
        if !process::is_root() {
            return Ok(Self::Own);
        }
        if !process::exists("setpriv") {
            bail!("Postgres does not run as root, and setpriv is missing: apt-get install util-linux");
        }
        let passwd = fs::read_to_string("/etc/passwd").context("cannot read /etc/passwd")?;
        let user = user(&passwd, "postgres").or_else(|| user(&passwd, "nobody"));
        user.map(Self::Other).context("Postgres does not run as root, and there is no user postgres or nobody")
    }

    /// The program as this user, ended by the kernel when the thread that starts it ends.
    pub(super) fn command(&self, program: &Path) -> Command {
        // Without setpriv (not on every system) only the destructor ends it.
        if *self == Self::Own && !process::exists("setpriv") {
            return Command::new(program);
        }
        let mut command = Command::new("setpriv");
        if let Self::Other(user) = self {
            command.arg(format!("--reuid={}", user.uid)).arg(format!("--regid={}", user.gid)).arg("--clear-groups");
        }
        command.args(["--pdeathsig", "INT", "--"]).arg(program);
        command
    }

    /// Hands a folder over; `false` when the user cannot reach it all the same.
    ///
    /// # Errors
    /// When the owner cannot be changed.
    pub(super) fn take(&self, folder: &Path) -> Result<bool> {
        if let Self::Other(user) = self {
            chown(folder, Some(user.uid), Some(user.gid))
                .with_context(|| format!("cannot give {} to {self}", folder.display()))?;
        }
        let probe =
            self.command(Path::new("test")).arg("-w").arg(folder).current_dir("/").stderr(Stdio::null()).status()?;
        Ok(probe.success())
    }
}

impl fmt::Display for Account {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => formatter.write_str("who runs this command"),
            Self::Other(user) => formatter.write_str(&user.name),
        }
    }
}

/// # Source
/// passwd(5): `name:password:user id:group id:…`
fn user(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let found = fields.next()? == name;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        found.then(|| User { name: name.to_owned(), uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/:/bin/sh\nbroken\npostgres:x:101:104::/var/lib:/bin/sh\n";

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let found = user(PASSWD, "postgres").unwrap();
        assert_eq!((found.uid, found.gid), (101, 104));
        assert_eq!(user(PASSWD, "post"), None);
        assert_eq!(user(PASSWD, "nobody"), None);
    }
}
