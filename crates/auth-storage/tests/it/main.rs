//! The contract of the store, told once and run on every engine.
//!
//! `cfg(test)` on the modules tells the lints that their helpers are test code too.

#[cfg(test)]
mod home;
#[cfg(test)]
mod late_statements;

#[cfg(test)]
mod admission;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod full_disk;
#[cfg(test)]
mod jobs;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod logins;
#[cfg(test)]
mod members;
#[cfg(test)]
mod migration;
#[cfg(test)]
mod model;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod parties;
#[cfg(test)]
mod patients;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod search;
#[cfg(test)]
mod tokens;
#[cfg(test)]
mod versions;
