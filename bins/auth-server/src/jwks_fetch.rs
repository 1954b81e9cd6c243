//! Fetches partners' key sets: one GET with limits of time and size, to public hosts only.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use http::header::{ACCEPT, CACHE_CONTROL, EXPIRES};
use http::{HeaderMap, HeaderValue};
use http_cache_semantics::{CacheOptions, CachePolicy};
use oauth_core::limits::JWKS_MAX_BYTES;
use oauth_core::ports::{FetchedJwks, JwksFetchError, JwksFetcher};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use server_kit::outbound_address_filter::{NoPublicAddressError, may_be_public_host};
use url::Url;

use crate::clock::SystemClock;
use crate::outbound::{self, PublicResolver};

/// How long a fetch may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Until the connection stands, name and TLS included.
    pub(crate) connect: Duration,
    /// Until the last byte.
    pub(crate) whole: Duration,
}

impl Default for Patience {
    /// A token request waits for this: two seconds to connect, five in all.
    fn default() -> Self {
        Self { connect: Duration::from_secs(2), whole: Duration::from_secs(5) }
    }
}

/// Which hosts may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// https, public addresses.
    Public,
    /// Also plain http and the inner network (`--allow-private-jwks`).
    Anywhere,
}

/// The fetcher of this process.
pub(crate) struct HttpJwksFetch {
    client: Option<Client>,
    reach: Reach,
}

impl HttpJwksFetch {
    /// Reads the machine's certificate authorities. Where there are none every fetch fails, and
    /// everything that needs no fetch works.
    ///
    /// Redirects are never followed, and the proxies of the environment are not used: a proxy
    /// would resolve the name itself, and with it whatever inner host it leads to.
    pub(crate) fn new(reach: Reach, patience: Patience) -> Self {
        let builder = Client::builder()
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .https_only(reach == Reach::Public)
            .connect_timeout(patience.connect)
            .timeout(patience.whole)
            .pool_max_idle_per_host(0)
            .user_agent(concat!("auth-server/", env!("CARGO_PKG_VERSION")));
        let builder = match reach {
            Reach::Public => builder.dns_resolver(Arc::new(PublicResolver)),
            Reach::Anywhere => builder,
        };
        let client = builder.build();
        if let Err(error) = &client {
            tracing::warn!(%error, "key sets cannot be fetched: are certificate authorities installed?");
        }
        Self { client: client.ok(), reach }
    }
}

#[async_trait]
impl JwksFetcher for HttpJwksFetch {
    async fn fetch(&self, uri: &str) -> Result<FetchedJwks, JwksFetchError> {
        let url = permitted(uri, self.reach)?;
        let client =
            self.client.as_ref().ok_or_else(|| JwksFetchError::Unreachable("this server has no client".to_owned()))?;
        let request = client.get(url).header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(|error| cause(&error))?;
        if response.status() != http::StatusCode::OK {
            return Err(JwksFetchError::Status(response.status().as_u16()));
        }
        let body = body(&mut response).await?;
        let fresh_for_s = fresh_for_s(uri, response.headers(), SystemClock::now());
        Ok(FetchedJwks { body, fresh_for_s })
    }
}

/// Reads the URI, and judges the addresses that are written out in it: no resolver sees those.
fn permitted(uri: &str, reach: Reach) -> Result<Url, JwksFetchError> {
    let refused = |why: &str| JwksFetchError::Refused(why.to_owned());
    let url = Url::parse(uri).map_err(|_| refused("it is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("it holds credentials"));
    }
    let inside = !may_be_public_host(&url.host().ok_or_else(|| refused("it names no host"))?);
    match (url.scheme(), reach) {
        ("https", Reach::Public) if inside => Err(refused("the host has no public address")),
        ("https", _) | ("http", Reach::Anywhere) => Ok(url),
        _ => Err(refused("it is not https")),
    }
}

async fn body(response: &mut Response) -> Result<Vec<u8>, JwksFetchError> {
    let announced = response.content_length().unwrap_or(0);
    if usize::try_from(announced).map_or(true, |bytes| bytes > JWKS_MAX_BYTES) {
        return Err(JwksFetchError::TooLarge(JWKS_MAX_BYTES));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cause(&error))? {
        if body.len() + chunk.len() > JWKS_MAX_BYTES {
            return Err(JwksFetchError::TooLarge(JWKS_MAX_BYTES));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn cause(error: &reqwest::Error) -> JwksFetchError {
    match outbound::inner::<NoPublicAddressError>(error) {
        Some(not_public) => JwksFetchError::Refused(not_public.to_string()),
        None => JwksFetchError::Unreachable(outbound::reason(error)),
    }
}

/// For how long the answer is fresh, as one cache of one user sees it (RFC 9111): `private` may be
/// kept, `s-maxage` is meant for others, and nothing is guessed from `Last-Modified`.
fn fresh_for_s(uri: &str, headers: &HeaderMap, now: SystemTime) -> Option<i64> {
    let options = CacheOptions { shared: false, cache_heuristic: 0.0, ..CacheOptions::default() };
    let request = http::Request::get(uri).body(()).ok()?;
    let mut response = http::Response::new(());
    response.headers_mut().clone_from(headers);
    let directives = directives(headers);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_str(&directives).ok()?);
    // Both times are the same one, so that nothing is added to an `Age` that has no room left.
    let policy = CachePolicy::new_options(&request, &response, now, options);
    let fresh_s = policy.time_to_live(now).as_secs();
    let spoken = headers.contains_key(EXPIRES) || directives.split(',').any(speaks_of_freshness);
    (fresh_s > 0 || spoken).then(|| i64::try_from(fresh_s).unwrap_or(i64::MAX))
}

/// All of `Cache-Control` in lower case: its directives are case-insensitive (RFC 9111, section
/// 5.2), and the library knows only the one form.
fn directives(headers: &HeaderMap) -> String {
    let values = headers.get_all(CACHE_CONTROL).into_iter();
    let texts: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
    texts.join(",").to_ascii_lowercase()
}

fn speaks_of_freshness(directive: &str) -> bool {
    let name = directive.split('=').next().unwrap_or_default();
    matches!(name.trim(), "max-age" | "no-cache" | "no-store")
}

impl std::fmt::Debug for HttpJwksFetch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpJwksFetch").field("reach", &self.reach).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
