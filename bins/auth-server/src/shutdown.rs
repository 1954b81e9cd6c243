//! The end: SIGTERM and SIGINT become a value that everything which runs can wait for.

use std::io;

use auth_storage::TaskSet;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Tells its holder when to stop. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Catches SIGTERM and SIGINT from now on; the waiting task joins `background`. The sender stops the server, too.
    ///
    /// # Errors
    /// When the process may not install signal handlers.
    pub(crate) fn on_signal(background: &mut TaskSet) -> io::Result<(watch::Sender<bool>, Self)> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (sender, receiver) = watch::channel(false);
        let stops = sender.clone();
        background.spawn_finite("wait for signals", async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "stopping: no new connections");
            // The value stays true for whoever looks later; nobody listening is no fault.
            let _ = stops.send(true);
        });
        Ok((sender, Self(receiver)))
    }

    /// Returns once the server is to stop, at once if that was so before.
    pub(crate) async fn stopped(&mut self) {
        // An error means that the sender is gone, which happens only after it has sent.
        let _ = self.0.wait_for(|stop| *stop).await;
    }

    /// A stop that is in the caller's hand.
    pub(crate) fn by_hand() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }
}
