//! TLS served directly, with a certificate that can be replaced while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key, as files, and what was last read from them.
#[derive(Debug)]
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Reads a PEM certificate chain (the server's own first) and its PEM private key.
    ///
    /// # Errors
    /// When a file cannot be read, or the two do not belong together.
    pub(crate) fn load(certificate: &Path, key: &Path) -> anyhow::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: ArcSwap::new(read(certificate, key)?),
        }))
    }

    /// What the next connection is accepted with.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }

    /// Reads the files again at every SIGHUP. New connections get the new certificate; when it
    /// cannot be used, the old one stays.
    pub(crate) async fn reload_on_hangup(self: Arc<Self>, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            match read(&self.certificate, &self.key) {
                Ok(config) => {
                    self.current.store(config);
                    tracing::info!("the TLS certificate was read again");
                }
                Err(error) => {
                    tracing::error!("the TLS certificate in use stays: {error:#}");
                }
            }
        }
    }
}

/// Catches SIGHUP from now on.
///
/// # Errors
/// When the process may not install signal handlers.
pub(crate) fn hangup() -> anyhow::Result<Signal> {
    signal(SignalKind::hangup()).context("cannot wait for SIGHUP")
}

fn read(certificate: &Path, key: &Path) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot read --tls-cert {}", certificate.display()))?;
    let private_key =
        PrivateKeyDer::from_pem_file(key).with_context(|| format!("cannot read --tls-key {}", key.display()))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("cannot set up TLS")?
        .with_no_client_auth()
        .with_single_cert(chain, private_key)
        .context("cannot use --tls-cert with --tls-key")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
