//! What makes work on clients easier, and has no place where others can reach the server.

use clap::{ArgAction, Args};

use super::{AddressConfig, value};

/// What makes work on clients easier.
#[derive(Debug, Args)]
#[command(next_help_heading = "Development")]
pub(crate) struct DevelopmentConfig {
    /// Give API keys to whoever names an account, without a password, for work on clients; only for a server that
    /// nobody but this machine reaches
    #[arg(long, env = "CHAT_DEVELOPMENT_LOGIN", value_name = "BOOL", default_value = "false")]
    #[arg(value_parser = value::parse_boolean, action = ArgAction::Set)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) development_login: bool,
}

impl DevelopmentConfig {
    /// Nobody from elsewhere is let in without a password: not directly, and not by a proxy of this machine.
    pub(super) fn check(&self, address: &AddressConfig) -> Result<(), String> {
        const NEEDS: &str = "--development-login is set, and needs";
        if !self.development_login {
            return Ok(());
        }
        if !address.listen.ip().is_loopback() {
            return Err(format!("{NEEDS} an address of this machine alone in --listen, not {}", address.listen));
        }
        if let Some(url) = address.base_url().filter(|url| !is_local(url)) {
            return Err(format!("{NEEDS} an address of this machine alone in --base-url, not {url}"));
        }
        if address.trusted_proxies.is_empty() {
            return Ok(());
        }
        Err(format!("{NEEDS} a server without --trusted-proxies"))
    }
}

/// Returns whether an address that paths are appended to is one of this machine.
fn is_local(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn an_address_of_this_machine_is_known_with_and_without_a_port() {
        for url in ["http://127.0.0.1:9991", "http://localhost", "https://[::1]:8443/chat", "http://127.0.0.9/x"] {
            assert!(is_local(url), "{url}");
        }
        for url in ["https://chat.example.org", "http://localhost.example.org", "http://10.0.0.1:1", "http://[::2]"] {
            assert!(!is_local(url), "{url}");
        }
    }
}
