//! What the workspace's own commands share: where the workspace is, other programs run to a certain end, a private
//! Postgres, tables, and Ctrl-C.
//!
//! The commands of every day are the binary of this crate; `xtask-bench`, whose clients need cryptography and HTTP, is
//! built on this library too. The road not taken is one program with a feature for those: every dependency of theirs
//! stood here, and a build of the whole workspace compiled this crate with all of them.

pub mod interrupt;
pub mod postgres;
pub mod process;
pub mod table;
pub mod workspace;
