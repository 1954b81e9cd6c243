//! Calls to the outside: the names they may resolve, and the reasons of a failure in our own words, because the texts
//! of the library name addresses.

use std::error::Error;
use std::io;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use server_kit::outbound_address_filter::resolve_public_addresses;

/// A resolver that returns public addresses only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move { Ok(Box::new(resolve_public_addresses(name.as_str()).await?.into_iter()) as Addrs) })
    }
}

/// The reason why no answer came.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    match inner::<rustls::Error>(error) {
        Some(tls) => format!("TLS failed: {tls}"),
        None if error.is_timeout() => "it took too long".to_owned(),
        None if error.is_connect() => "no connection".to_owned(),
        None => "the answer broke off".to_owned(),
    }
}

/// Returns the first `E` among the sources of `error`, also where an I/O error wraps it.
pub(crate) fn inner<'a, E: Error + 'static>(error: &'a reqwest::Error) -> Option<&'a E> {
    let mut next: Option<&'a (dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let found = wrapped.and_then(|wrapped| wrapped.downcast_ref::<E>());
        if let Some(found) = found.or_else(|| error.downcast_ref::<E>()) {
            return Some(found);
        }
        next = error.source();
    }
    None
}
