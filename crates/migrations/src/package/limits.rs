//! Every bound on packages, in one place. None is specified.

/// Largest tarball, in bytes. The largest published one has about 60 MB.
pub const TARBALL_MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Most bytes that a tarball may unpack to, files that are not read included. JSON packs to a twentieth at best, so a
/// useful tarball of the largest size stays below it.
pub const UNPACKED_MAX_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Largest file of a package that is read, in bytes. Read, it takes several times that in memory;
/// the largest published value sets have about 10 MB.
pub const PACKAGE_FILE_MAX_BYTES: u64 = 32 * 1024 * 1024;

/// Most entries of a tarball.
pub const TARBALL_ENTRIES_MAX: usize = 200_000;

/// Longest name of an entry, in bytes, in tar formats that store it in a separate header.
pub const ENTRY_NAME_MAX_BYTES: u64 = 64 * 1024;

/// Most packages one installation may bring, dependencies and all.
pub const PACKAGES_PER_INSTALL_MAX: usize = 100;

/// Most dependencies of one package.
pub const DEPENDENCIES_PER_PACKAGE_MAX: usize = 100;

/// Longest `url` or `version` of a canonical, in bytes: both are keys of an index, which on one
/// engine takes no more.
pub const CANONICAL_KEY_MAX_BYTES: usize = 1024;
