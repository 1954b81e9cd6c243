//! The store's rules as its callers see them.
//!
//! `cfg(test)` on the modules tells the lints that their helpers are test code too.

#[cfg(test)]
mod conditions;
#[cfg(test)]
mod reach;
#[cfg(test)]
mod support;
#[cfg(test)]
mod transactions;
#[cfg(test)]
mod writes;
