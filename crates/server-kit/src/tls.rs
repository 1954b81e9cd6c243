//! TLS served directly, with a certificate that can be replaced while the server runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use task_set::TaskSet;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_rustls::TlsAcceptor;

use crate::error_chain::format_error_chain;

/// A TLS certificate and key from two files, which can be reloaded while the server runs.
#[derive(Debug)]
pub struct ReloadableTlsCertificate {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<ServerConfig>,
}

/// The reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsCertificateError {
    /// The file of the certificate chain cannot be read, or is not PEM.
    #[error("cannot read --tls-cert {}", .0.display())]
    Certificate(PathBuf, #[source] pem::Error),
    /// The file of the private key cannot be read, or is not PEM.
    #[error("cannot read --tls-key {}", .0.display())]
    Key(PathBuf, #[source] pem::Error),
    /// The library supports no protocol version with its provider.
    #[error("cannot set up TLS")]
    Setup(#[source] rustls::Error),
    /// The process may not wait for SIGHUP.
    #[error("cannot wait for SIGHUP")]
    Hangup(#[source] io::Error),
    /// The key is not the key of the certificate, or is of a kind that cannot be used.
    #[error("cannot use --tls-cert with --tls-key")]
    Mismatch(#[source] rustls::Error),
}

impl ReloadableTlsCertificate {
    /// Loads the certificate, and reloads its files at every SIGHUP by a task in `background`. New connections use the
    /// new certificate; when it cannot be used, the old one stays.
    ///
    /// # Errors
    /// See [`TlsCertificateError`].
    pub fn load_with_sighup_reload(
        certificate: &Path,
        key: &Path,
        background: &mut TaskSet,
    ) -> Result<Arc<Self>, TlsCertificateError> {
        let loaded = Self::load(certificate, key)?;
        let hangup = signal(SignalKind::hangup()).map_err(TlsCertificateError::Hangup)?;
        background.spawn_until_stopped("reload the certificate", Arc::clone(&loaded).reload_on(hangup));
        Ok(loaded)
    }

    /// Reads a PEM certificate chain (the server's own certificate first) and its PEM private key.
    fn load(certificate: &Path, key: &Path) -> Result<Arc<Self>, TlsCertificateError> {
        Ok(Arc::new(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: ArcSwap::new(read_config(certificate, key)?),
        }))
    }

    /// Returns the acceptor for the next connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }

    async fn reload_on(self: Arc<Self>, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            match read_config(&self.certificate, &self.key) {
                Ok(config) => {
                    self.current.store(config);
                    tracing::info!("the TLS certificate was read again");
                }
                Err(error) => {
                    tracing::error!("the TLS certificate in use stays: {}", format_error_chain(&error));
                }
            }
        }
    }
}

fn read_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsCertificateError> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| TlsCertificateError::Certificate(certificate.to_owned(), error))?;
    let private_key =
        PrivateKeyDer::from_pem_file(key).map_err(|error| TlsCertificateError::Key(key.to_owned(), error))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsCertificateError::Setup)?
        .with_no_client_auth()
        .with_single_cert(chain, private_key)
        .map_err(TlsCertificateError::Mismatch)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
