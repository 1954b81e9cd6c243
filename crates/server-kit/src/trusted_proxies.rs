//! The address that a request comes from, also behind trusted proxies.
//!
//! A trusted proxy reports in `X-Forwarded-For` where a request comes from; from any other peer that header is a claim
//! and is not read. The road not taken is `Forwarded` (RFC 7239) beside it: a proxy that writes one of the two headers
//! commonly passes on the other as its client sent it, so reading both would trust clients.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net};

/// Not specified; the one header that all common proxies write. Each appends the address that its request came from.
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Bits before the IPv4 address in an IPv6 address that stands for one.
const MAPPED_PREFIX_BITS: u8 = 96;

/// The networks of the proxies whose `X-Forwarded-For` header is trusted. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Returns whether no proxy is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether `address` is that of a trusted proxy.
    #[must_use]
    pub fn contains_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// The reason why a text is not a list of proxies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseTrustedProxiesError {
    /// An entry is neither an address nor a network.
    #[error("must be IP addresses and networks, separated by commas, such as 10.0.0.7,192.168.0.0/16,2001:db8::/48")]
    Malformed,
    /// A network contains every address.
    #[error("must not contain a network of all addresses: everybody could write the address they come from")]
    AllAddresses,
}

/// Parses addresses and networks, separated by commas; an empty text is none.
impl FromStr for TrustedProxies {
    type Err = ParseTrustedProxiesError;

    fn from_str(text: &str) -> Result<Self, ParseTrustedProxiesError> {
        let entries = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
        entries.map(network).collect::<Result<_, _>>().map(Self)
    }
}

fn network(entry: &str) -> Result<IpNet, ParseTrustedProxiesError> {
    let address = || entry.parse::<IpAddr>().map(IpNet::from);
    let network = entry.parse().or_else(|_| address()).map_err(|_| ParseTrustedProxiesError::Malformed)?;
    let network = canonical(network);
    if network.prefix_len() == 0 { Err(ParseTrustedProxiesError::AllAddresses) } else { Ok(network) }
}

/// Returns the IPv4 network of a network of IPv6 addresses that map IPv4 ones.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let v4 = mapped.addr().to_ipv4_mapped();
    let prefix_bits = mapped.prefix_len().checked_sub(MAPPED_PREFIX_BITS);
    let v4 = v4.zip(prefix_bits).and_then(|(address, bits)| Ipv4Net::new(address, bits).ok());
    v4.map_or(network, IpNet::V4)
}

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) enum Peer {
    /// A client that sends its own requests.
    Client(SocketAddr),
    /// A trusted proxy, with the list of all trusted proxies.
    Proxy(SocketAddr, TrustedProxies),
}

impl Peer {
    /// Creates the peer at `address`; an IPv6 address that maps an IPv4 address becomes that one.
    pub(crate) fn new(address: SocketAddr, proxies: &TrustedProxies) -> Self {
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        if proxies.contains_address(address.ip()) {
            Self::Proxy(address, proxies.clone())
        } else {
            Self::Client(address)
        }
    }

    /// Returns where a request with these headers comes from: the nearest address on its way that is not a trusted
    /// proxy, else the farthest. An entry that cannot be parsed ends the walk at the address before it, because the
    /// peer that wrote it wrote all entries beyond. The port is 0 where the proxy does not report it.
    pub(crate) fn client(&self, headers: &HeaderMap) -> SocketAddr {
        let (mut client, proxies) = match self {
            Self::Client(address) => return *address,
            Self::Proxy(address, proxies) => (*address, proxies),
        };
        let lines = headers.get_all(&X_FORWARDED_FOR).iter().rev();
        for entry in lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')) {
            let Some(address) = forwarded(entry) else { break };
            client = address;
            if !proxies.contains_address(address.ip()) {
                break;
            }
        }
        client
    }
}

/// Parses an address as proxies write it: bare, or with the port of the connection, which puts an IPv6 address in
/// brackets.
fn forwarded(entry: &[u8]) -> Option<SocketAddr> {
    let entry = std::str::from_utf8(entry).ok()?.trim_ascii();
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = bare.parse().map(|address| SocketAddr::new(address, 0)).or_else(|_| entry.parse()).ok()?;
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    const PROXY: &str = "10.0.0.1:4000";

    fn trusted() -> TrustedProxies {
        "10.0.0.0/8, 2001:db8:1::/48,192.0.2.1".parse().unwrap()
    }

    fn headers(lines: &[Vec<u8>]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(line).unwrap());
        }
        headers
    }

    fn client(peer: &str, lines: &[&str]) -> String {
        let lines: Vec<_> = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        Peer::new(peer.parse().unwrap(), &trusted()).client(&headers(&lines)).ip().to_string()
    }

    #[test]
    fn behind_trusted_proxies_the_nearest_address_that_is_none_of_them_asks() {
        for (lines, expected) in [
            (&["203.0.113.9"][..], "203.0.113.9"),
            (&["198.51.100.1, 203.0.113.9"], "203.0.113.9"),
            (&["203.0.113.9, 10.1.1.1,192.0.2.1"], "203.0.113.9"),
            (&["198.51.100.1", "203.0.113.9,10.1.1.1", " 10.2.2.2 "], "203.0.113.9"),
            (&["::ffff:203.0.113.9, ::ffff:10.1.1.1"], "203.0.113.9"),
            (&["2001:db8::7, 2001:db8:1::1"], "2001:db8::7"),
            (&["203.0.113.9:1234, [2001:db8:1::1]:443, [2001:db8:1::2]"], "203.0.113.9"),
        ] {
            assert_eq!(client(PROXY, lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_walk_that_meets_no_stranger_ends_at_the_farthest_proxy() {
        assert_eq!(client(PROXY, &[]), "10.0.0.1");
        assert_eq!(client(PROXY, &["10.3.3.3, 10.2.2.2"]), "10.3.3.3");
    }

    #[test]
    fn what_cannot_be_read_ends_the_walk_at_the_address_before_it() {
        for broken in
            ["unknown", "", " ", "_hidden", "203.0.113.9.", "203.0.113.009", "[::1", "example.org", "1.2.3.4/32"]
        {
            assert_eq!(client(PROXY, &[broken]), "10.0.0.1", "{broken}");
            assert_eq!(client(PROXY, &[&format!("203.0.113.9,{broken},10.2.2.2")]), "10.2.2.2", "{broken}");
        }
        let peer = Peer::new(PROXY.parse().unwrap(), &trusted());
        assert_eq!(peer.client(&headers(&[b"203.0.113.9,\xff".to_vec()])).to_string(), PROXY);
    }

    #[test]
    fn from_anybody_else_the_header_is_not_read() {
        assert_eq!(client("198.51.100.1:4000", &["203.0.113.9"]), "198.51.100.1");
        assert_eq!(client("[::ffff:198.51.100.1]:4000", &["203.0.113.9"]), "198.51.100.1");
        assert_eq!(client("[::ffff:10.0.0.1]:4000", &["203.0.113.9"]), "203.0.113.9");
        let nobody = TrustedProxies::default();
        assert!(matches!(Peer::new(PROXY.parse().unwrap(), &nobody), Peer::Client(_)));
    }

    #[test]
    fn a_list_is_addresses_and_networks_and_none_of_everybody() {
        let proxies: TrustedProxies = "192.0.2.1,::ffff:10.1.2.3/104".parse().unwrap();
        for (address, expected) in [
            ("192.0.2.1", true),
            ("::ffff:192.0.2.1", true),
            ("192.0.2.2", false),
            ("10.255.0.0", true),
            ("11.0.0.0", false),
            ("::1", false),
        ] {
            assert_eq!(proxies.contains_address(address.parse().unwrap()), expected, "{address}");
        }
        for (text, expected) in [
            ("localhost", ParseTrustedProxiesError::Malformed),
            ("10.0.0.0/33", ParseTrustedProxiesError::Malformed),
            ("10.0.0.1,,10.0.0.2", ParseTrustedProxiesError::Malformed),
            ("10.0.0.1;10.0.0.2", ParseTrustedProxiesError::Malformed),
            ("0.0.0.0/0", ParseTrustedProxiesError::AllAddresses),
            ("10.0.0.1,::/0", ParseTrustedProxiesError::AllAddresses),
            ("::ffff:0.0.0.0/96", ParseTrustedProxiesError::AllAddresses),
        ] {
            assert_eq!(text.parse::<TrustedProxies>().unwrap_err(), expected, "{text}");
        }
        assert!(!" ".parse::<TrustedProxies>().unwrap().contains_address("10.0.0.1".parse().unwrap()));
    }

    fn stranger() -> impl Strategy<Value = IpAddr> {
        any::<IpAddr>()
            .prop_map(|address| address.to_canonical())
            .prop_filter("trusted", |it| !trusted().contains_address(*it))
    }

    fn proxy() -> impl Strategy<Value = IpAddr> {
        let v4 = any::<[u8; 3]>().prop_map(|[b, c, d]| IpAddr::from([10, b, c, d]));
        let v6 = any::<[u16; 5]>().prop_map(|[a, b, c, d, e]| IpAddr::from([0x2001, 0xdb8, 1, a, b, c, d, e]));
        prop_oneof![v4, v6]
    }

    /// Returns what a client may put into a header field.
    fn anything() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![0x20..0x7f_u8, 0x80..=0xff_u8, Just(b','), Just(b'1'), Just(b'.'), Just(b':')];
        proptest::collection::vec(byte, 0..60)
    }

    proptest! {
        #[test]
        fn an_address_behind_proxies_does_not_depend_on_what_the_client_writes(
            forged in proptest::collection::vec(anything(), 0..4),
            client in stranger(),
            hops in proptest::collection::vec((proxy(), any::<bool>()), 0..5),
            joins in any::<bool>(),
        ) {
            let mut lines = forged;
            // What each proxy adds, the first the client's own address: to the last line, or in a separate line.
            let added = std::iter::once((client, joins)).chain(hops);
            for (address, joins) in added {
                match lines.last_mut() {
                    Some(line) if joins => line.extend(format!(", {address}").into_bytes()),
                    _ => lines.push(address.to_string().into_bytes()),
                }
            }
            let peer = Peer::new(PROXY.parse().unwrap(), &trusted());
            prop_assert_eq!(peer.client(&headers(&lines)).ip(), client);
        }

        #[test]
        fn an_untrusted_peer_is_the_client_whatever_its_header_says(
            lines in proptest::collection::vec(anything(), 0..4),
            address in stranger(),
        ) {
            let peer = Peer::new(SocketAddr::new(address, 7), &trusted());
            prop_assert_eq!(peer.client(&headers(&lines)), SocketAddr::new(address, 7));
        }

        #[test]
        fn an_address_that_is_found_was_written(lines in proptest::collection::vec(anything(), 0..4)) {
            let peer: SocketAddr = PROXY.parse().unwrap();
            let found = Peer::new(peer, &trusted()).client(&headers(&lines));
            let entries = lines.iter().flat_map(|line| line.split(|byte| *byte == b','));
            prop_assert!(found == peer || entries.filter_map(forwarded).any(|entry| entry == found));
        }
    }
}
