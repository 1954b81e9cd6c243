//! Scope rules, through the public face alone.

#[cfg(test)]
mod model;
#[cfg(test)]
mod restriction;
#[cfg(test)]
mod specification;
#[cfg(test)]
mod text;
