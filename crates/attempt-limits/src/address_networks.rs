//! The networks that addresses are counted by.
//!
//! Not specified; an IPv6 address counts by its first 64 bits, because a subscriber commonly chooses the rest, and an
//! IPv4 address is the same in either notation.

use std::net::IpAddr;

use ipnet::IpNet;

/// Bits of an IPv4 and of an IPv6 address that name its subscriber.
const SUBSCRIBER_BITS: (u8, u8) = (32, 64);
/// Bits that name the neighborhood: what is commonly rented together.
const NEIGHBORHOOD_BITS: (u8, u8) = (24, 48);

/// Returns the network of the subscriber that `address` belongs to: the IPv4 address itself, or the IPv6 network of 64
/// bits, as the first address in it.
#[must_use]
pub fn subscriber_network(address: IpAddr) -> IpAddr {
    network(address, SUBSCRIBER_BITS)
}

/// Returns the network of the neighbors of `address`, 24 bits of IPv4 or 48 bits of IPv6, as the first address in it.
#[must_use]
pub fn neighborhood_network(address: IpAddr) -> IpAddr {
    network(address, NEIGHBORHOOD_BITS)
}

fn network(address: IpAddr, (v4, v6): (u8, u8)) -> IpAddr {
    let address = address.to_canonical();
    let bits = if address.is_ipv4() { v4 } else { v6 };
    // No prefix here is longer than its address, which is the one error.
    IpNet::new(address, bits).map_or(address, |network| network.network())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_subscriber_is_an_ipv4_address_or_64_bits_of_ipv6() {
        for (given, expected) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:0:1:ffff::2", "2001:db8:0:1::"),
            ("2001:db8:0:2::1", "2001:db8:0:2::"),
        ] {
            assert_eq!(subscriber_network(address(given)), address(expected), "{given}");
        }
    }

    #[test]
    fn a_neighborhood_is_24_bits_of_ipv4_or_48_of_ipv6() {
        for (given, expected) in
            [("192.0.2.7", "192.0.2.0"), ("::ffff:192.0.2.7", "192.0.2.0"), ("2001:db8:7:1:ffff::2", "2001:db8:7::")]
        {
            assert_eq!(neighborhood_network(address(given)), address(expected), "{given}");
        }
    }
}
