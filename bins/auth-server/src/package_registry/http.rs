//! A registry over HTTP, as the field serves FHIR packages: npm's protocol, much simplified.
//!
//! The operator chose the registry, so it may stand anywhere. Where it sends us for a tarball is its
//! own word: there, and wherever a redirect leads, it is the registry again or a public host by https.
//!
//! # Source
//! `docs/decisions.md`, "Packages".

use std::sync::Arc;
use std::time::Duration;

use ::http::StatusCode;
use ::http::header::{ACCEPT, LOCATION};
use async_trait::async_trait;
use migrations::PackageId;
use migrations::package::{FetchedPackage, PackageRegistry, RegistryError, limits};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response};
use serde_json::Value;
use server_kit::outbound_address_filter::{NoPublicAddressError, may_be_public_host};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};
use url::Url;

use super::checksum::Expected;
use super::tarball::FileTarball;
use crate::outbound::{self, PublicResolver};

/// Largest description of a package, with all of its versions.
const DOCUMENT_MAX_BYTES: usize = 16 * 1024 * 1024;
/// Most redirects on the way to one answer.
const REDIRECTS_MAX: usize = 5;
/// How often a request is made whose answer may be another one later.
const ATTEMPTS: u32 = 4;
/// How every gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How long the registry may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Until the connection stands, name and TLS included.
    pub(crate) connect: Duration,
    /// Between two pieces of an answer.
    pub(crate) idle: Duration,
    /// Until the last byte of an answer.
    pub(crate) whole: Duration,
    /// Before the second attempt; twice as long before each further one.
    pub(crate) pause: Duration,
}

impl Default for Patience {
    /// A slow line brings the largest packages in a few minutes.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            whole: Duration::from_mins(15),
            pause: Duration::from_secs(1),
        }
    }
}

/// The registry, and the clients to reach it and others with.
pub(super) struct HttpRegistry {
    address: Url,
    shown: String,
    /// For the registry itself.
    own: Option<Client>,
    /// For anybody else.
    foreign: Option<Client>,
    patience: Patience,
}

impl HttpRegistry {
    /// Returns the registry at this address. Without certificate authorities every fetch by https fails.
    pub(super) fn new(address: &Url, patience: Patience) -> Self {
        let builder = || {
            Client::builder()
                .redirect(Policy::none())
                .no_proxy()
                .referer(false)
                .connect_timeout(patience.connect)
                .read_timeout(patience.idle)
                .timeout(patience.whole)
                .user_agent(concat!("auth-server/", env!("CARGO_PKG_VERSION")))
        };
        Self {
            address: address.clone(),
            shown: address.as_str().trim_end_matches('/').to_owned(),
            own: client(builder()),
            foreign: client(builder().https_only(true).dns_resolver(Arc::new(PublicResolver))),
            patience,
        }
    }

    /// An address of the registry.
    fn at(&self, segments: &[&str]) -> Result<Url, RegistryError> {
        let mut url = self.address.clone();
        let mut path = url.path_segments_mut().map_err(|()| RegistryError::Refused("it has no paths".to_owned()))?;
        path.pop_if_empty().extend(segments);
        drop(path);
        Ok(url)
    }

    /// Asks, and follows redirects where they may lead.
    async fn get(&self, url: &Url, accept: &'static str) -> Result<Response, RegistryError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS_MAX {
            let client = self.client_for(&url)?;
            let response = client.get(url.clone()).header(ACCEPT, accept).send().await.map_err(cause)?;
            match response.status() {
                StatusCode::OK => return Ok(response),
                StatusCode::NOT_FOUND | StatusCode::GONE => return Err(RegistryError::Unknown),
                status if status.is_redirection() => {
                    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
                    let next = location.and_then(|location| url.join(location).ok());
                    url = next.ok_or(RegistryError::Status(status.as_u16()))?;
                }
                status => return Err(RegistryError::Status(status.as_u16())),
            }
        }
        Err(RegistryError::Refused("it redirects again and again".to_owned()))
    }

    fn client_for(&self, url: &Url) -> Result<&Client, RegistryError> {
        let refused = |why: &str| RegistryError::Refused(format!("it leads to {}, {why}", shown(url)));
        let client = if url.origin() == self.address.origin() {
            &self.own
        } else if url.scheme() != "https" {
            return Err(refused("which is another server and not https"));
        } else if !url.host().is_some_and(|host| may_be_public_host(&host)) {
            return Err(refused("which is another server and has no public address"));
        } else {
            &self.foreign
        };
        client.as_ref().ok_or_else(|| RegistryError::Unreachable {
            reason: "this server has no client: are certificate authorities installed?".to_owned(),
            source: None,
        })
    }

    /// Returns what the registry says about a package.
    async fn document(&self, name: &str) -> Result<Value, RegistryError> {
        let url = self.at(&[name])?;
        let body = self.retried(|| self.body(&url)).await?;
        let document: Value =
            serde_json::from_slice(&body).map_err(|error| RegistryError::Answer(format!("it is no JSON: {error}")))?;
        if document.get("versions").is_some_and(Value::is_object) {
            return Ok(document);
        }
        Err(RegistryError::Answer("it has no versions".to_owned()))
    }

    async fn body(&self, url: &Url) -> Result<Vec<u8>, RegistryError> {
        let mut response = self.get(url, "application/json").await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(cause)? {
            if body.len() + chunk.len() > DOCUMENT_MAX_BYTES {
                return Err(RegistryError::Answer(format!("it has more than {DOCUMENT_MAX_BYTES} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Takes what is at an address into a file without a name, which goes with whoever holds it.
    async fn download(&self, url: &Url, expected: &Expected) -> Result<tokio::fs::File, RegistryError> {
        let mut response = self.get(url, "application/tar+gzip, application/gzip, */*").await?;
        if response.content_length().is_some_and(|announced| announced > limits::TARBALL_MAX_BYTES) {
            return Err(RegistryError::TooLarge);
        }
        let mut file = tokio::fs::File::from_std(tempfile::tempfile().map_err(unkept)?);
        let mut reading = expected.begin();
        let mut size_bytes = 0;
        while let Some(chunk) = response.chunk().await.map_err(cause)? {
            size_bytes += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
            if size_bytes > limits::TARBALL_MAX_BYTES {
                return Err(RegistryError::TooLarge);
            }
            reading.update(&chunk);
            file.write_all(&chunk).await.map_err(unkept)?;
        }
        file.flush().await.map_err(unkept)?;
        reading.end()?;
        Ok(file)
    }

    /// Returns the tarball at an address. Some registries of npm answer the description of the version there instead,
    /// so what came decides: a tarball begins like every gzip file.
    async fn tarball(&self, url: &Url, expected: &Expected) -> Result<tokio::fs::File, RegistryError> {
        let mut file = self.retried(|| self.download(url, expected)).await?;
        file.rewind().await.map_err(unkept)?;
        let mut head = Vec::new();
        (&mut file).take(2).read_to_end(&mut head).await.map_err(unkept)?;
        if head == GZIP {
            return Ok(file);
        }
        file.rewind().await.map_err(unkept)?;
        let mut body = Vec::new();
        let most = u64::try_from(DOCUMENT_MAX_BYTES).unwrap_or(u64::MAX);
        (&mut file).take(most).read_to_end(&mut body).await.map_err(unkept)?;
        match serde_json::from_slice::<Value>(&body).ok().as_ref().and_then(|version| self.dist(version).transpose()) {
            Some(dist) => {
                let (url, expected) = dist?;
                self.retried(|| self.download(&url, &expected)).await
            }
            // Whoever reads it says what it is not.
            None => Ok(file),
        }
    }

    /// Returns where the tarball of a version is, and what it must be.
    fn dist(&self, version: &Value) -> Result<Option<(Url, Expected)>, RegistryError> {
        let Some(dist) = version.get("dist") else { return Ok(None) };
        let Some(tarball) = dist.get("tarball").and_then(Value::as_str) else { return Ok(None) };
        let url = self.address.join(tarball);
        let url = url.map_err(|_| RegistryError::Answer("the place of the tarball is no URL".to_owned()))?;
        Ok(Some((url, Expected::of(dist))))
    }

    /// Asks again while the registry fails and may do better.
    async fn retried<T, F>(&self, ask: impl Fn() -> F) -> Result<T, RegistryError>
    where
        F: Future<Output = Result<T, RegistryError>>,
    {
        let mut pause = self.patience.pause;
        for _ in 1..ATTEMPTS {
            match ask().await {
                Err(fault) if fault.is_registry_outage() => {
                    tracing::warn!(registry = self.shown, %fault, "the registry of packages fails; it is asked again");
                }
                answer => return answer,
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        ask().await
    }
}

#[async_trait]
impl PackageRegistry for HttpRegistry {
    fn display_address(&self) -> &str {
        &self.shown
    }

    async fn package_versions(&self, name: &str) -> Result<Vec<String>, RegistryError> {
        let document = self.document(name).await?;
        let versions = document.get("versions").and_then(Value::as_object);
        Ok(versions.into_iter().flat_map(|versions| versions.keys().cloned()).collect())
    }

    async fn fetch_package(&self, package: &PackageId) -> Result<FetchedPackage, RegistryError> {
        let dist = match self.document(package.name()).await {
            Ok(document) => {
                let version = document.get("versions").and_then(|versions| versions.get(package.version()));
                version.map_or(Ok(None), |version| self.dist(version))?
            }
            // Some have tarballs of what they do not describe.
            Err(RegistryError::Unknown) => None,
            Err(fault) => return Err(fault),
        };
        let (url, expected) = match dist {
            Some(dist) => dist,
            None => (self.at(&[package.name(), package.version()])?, Expected::default()),
        };
        let file = self.tarball(&url, &expected).await?;
        super::read(package, FileTarball::new(file.into_std().await)).await
    }
}

fn client(builder: ClientBuilder) -> Option<Client> {
    let client = builder.build();
    if let Err(error) = &client {
        tracing::warn!(%error, "packages cannot be fetched: are certificate authorities installed?");
    }
    client.ok()
}

fn cause(error: reqwest::Error) -> RegistryError {
    if let Some(not_public) = outbound::inner::<NoPublicAddressError>(&error) {
        return RegistryError::Refused(format!("it leads to another server: {not_public}"));
    }
    RegistryError::Unreachable { reason: outbound::reason(&error), source: Some(Box::new(error)) }
}

fn unkept(error: std::io::Error) -> RegistryError {
    let reason = "what it sends cannot be kept in a file".to_owned();
    RegistryError::Unreachable { reason, source: Some(Box::new(error)) }
}

/// An address without what may be secret in it.
fn shown(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}
