//! The filter of outbound addresses: a URL from outside may lead to the public internet only.
//!
//! A server fetches some URLs that others wrote, from a place where more can be reached than from theirs; without a
//! filter they could make it read the inner network (server-side request forgery). Names are judged by the addresses
//! they resolve to at the moment of the connection, because an earlier check would leave time to change the answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Host;

/// The host name resolves to no public address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the host has no public address")]
pub struct NoPublicAddressError;

/// Resolves a host name and returns its public addresses, with port 0.
///
/// # Errors
/// The name cannot be resolved, or none of its addresses is public; the error then wraps [`NoPublicAddressError`].
pub async fn resolve_public_addresses(name: &str) -> io::Result<Vec<SocketAddr>> {
    public_only(tokio::net::lookup_host((name, 0)).await?)
}

fn public_only(found: impl Iterator<Item = SocketAddr>) -> io::Result<Vec<SocketAddr>> {
    let public: Vec<_> = found.filter(|address| is_public(address.ip())).collect();
    if public.is_empty() {
        return Err(io::Error::other(NoPublicAddressError));
    }
    Ok(public)
}

/// Returns whether a host may be public: true for any name, and for an address only when it is public. A resolver never
/// sees an address that is written out, so it has to be judged here.
#[must_use]
pub fn may_be_public_host(host: &Host<&str>) -> bool {
    match host {
        Host::Ipv4(address) => is_public((*address).into()),
        Host::Ipv6(address) => is_public((*address).into()),
        Host::Domain(_) => true,
    }
}

/// Returns whether `address` is reachable from anywhere, by the special-purpose registries of IANA.
///
/// An IPv6 address that stands for an IPv4 one is judged as that one.
///
/// # Source
/// RFC 6890, RFC 6598 (shared address space), RFC 6052 (translated addresses), RFC 3056 (6to4).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127 | 224..=255, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // IPv4 in IPv6, behind a translator, and behind a relay: what counts is where they lead.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            is_public_v4(joined(high, low))
        }
        // Protocol assignments with Teredo, documentation.
        [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Global unicast; everything else is local, multicast, or not assigned.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_inside_are_refused() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::8.8.8.8",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:1::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:c0a8:1::1",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_let_through() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2002:808:808::1",
            "2606:4700::1111",
            "3fff:1000::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_name_keeps_its_public_addresses_and_one_without_any_is_refused() {
        let inside: SocketAddr = "10.0.0.1:0".parse().unwrap();
        let outside: SocketAddr = "1.1.1.1:0".parse().unwrap();
        assert_eq!(public_only([inside, outside].into_iter()).unwrap(), [outside]);
        let refusal = public_only([inside].into_iter()).unwrap_err();
        assert!(refusal.get_ref().unwrap().is::<NoPublicAddressError>());
        assert!(public_only(std::iter::empty()).is_err());
    }
}
