//! The store's rules as its callers see them.
//!
//! `cfg(test)` on the modules makes the lints treat their helpers as test code.

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
