//! The message dialect seen from outside: what is typed, what is shown, what can never be shown.

#[cfg(test)]
mod checker;
#[cfg(test)]
mod dialect;
#[cfg(test)]
mod emoji;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod linear;
#[cfg(test)]
mod payloads;
#[cfg(test)]
mod realm;
