//! Who may depend on whom: the map of `ARCHITECTURE.md` as a table.

use xtask::workspace::{Dependency, Kind, Package};

use super::Finding;

/// A crate of the workspace and what it may see of the others.
struct Crate {
    name: &'static str,
    layer: Layer,
    /// What it may depend on, always of a lower level.
    uses: &'static [&'static str],
    /// What only its tests may depend on besides.
    tests_use: &'static [&'static str],
}

/// What a crate is for; decides which outside libraries it may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Core,
    Kit,
    Http,
    Storage,
    Server,
    Beside,
}

const TABLE_NAME: &str = "the table of allowed edges (xtask/src/tidy/edges.rs, the map of ARCHITECTURE.md)";

/// The map: edges go down only, http and storage meet in tests alone, no domain edge joins auth and chat.
const TABLE: &[Crate] = &[
    // level 0
    core("smart-scopes", &[]),
    core("b2b-claim", &[]),
    core("matcho", &[]),
    core("fhir-resource", &[]),
    core("chat-pictures", &[]),
    core("attempt-limits", &[]),
    core("task-set", &[]),
    Crate { name: "sql-engines", layer: Layer::Storage, uses: &[], tests_use: &[] },
    // level 1
    core("chat-core", &["attempt-limits"]),
    Crate { name: "server-kit", layer: Layer::Kit, uses: &["attempt-limits", "task-set"], tests_use: &[] },
    core("oauth-core", &["smart-scopes", "b2b-claim", "matcho", "attempt-limits"]),
    core("fhir-search", &["fhir-resource"]),
    // level 2
    core("fhir-store", &["fhir-resource", "fhir-search"]),
    Crate {
        name: "chat-http",
        layer: Layer::Http,
        uses: &["chat-core", "chat-pictures", "attempt-limits", "server-kit"],
        tests_use: &["chat-storage"],
    },
    Crate {
        name: "chat-storage",
        layer: Layer::Storage,
        uses: &["chat-core", "sql-engines", "task-set"],
        tests_use: &[],
    },
    Crate { name: "chat-web", layer: Layer::Http, uses: &[], tests_use: &[] },
    // level 3
    core("fhir-validation", &["fhir-resource", "fhir-store"]),
    core("payer-exchange", &["fhir-resource", "fhir-search", "fhir-store"]),
    core("migrations", &["fhir-resource", "fhir-store"]),
    // level 4
    core(
        "fhir-service",
        &[
            "oauth-core",
            "smart-scopes",
            "fhir-resource",
            "fhir-search",
            "fhir-store",
            "fhir-validation",
            "payer-exchange",
            "migrations",
        ],
    ),
    Crate {
        name: "auth-storage",
        layer: Layer::Storage,
        uses: &[
            "oauth-core",
            "b2b-claim",
            "fhir-resource",
            "fhir-search",
            "fhir-store",
            "payer-exchange",
            "migrations",
            "sql-engines",
            "task-set",
        ],
        tests_use: &[],
    },
    // level 5
    Crate {
        name: "auth-http",
        layer: Layer::Http,
        uses: &[
            "fhir-service",
            "oauth-core",
            "fhir-resource",
            "fhir-store",
            "payer-exchange",
            "migrations",
            "attempt-limits",
            "server-kit",
        ],
        tests_use: &["auth-storage", "fhir-search", "fhir-validation"],
    },
    // level 6
    Crate {
        name: "auth-server",
        layer: Layer::Server,
        uses: &[
            "auth-http",
            "auth-storage",
            "oauth-core",
            "fhir-resource",
            "fhir-search",
            "fhir-store",
            "payer-exchange",
            "migrations",
            "server-kit",
            "task-set",
        ],
        tests_use: &[],
    },
    Crate {
        name: "chat-server",
        layer: Layer::Server,
        uses: &["chat-http", "chat-storage", "chat-web", "chat-core", "chat-pictures", "server-kit", "task-set"],
        tests_use: &[],
    },
    Crate { name: "xtask", layer: Layer::Beside, uses: &[], tests_use: &[] },
    Crate { name: "xtask-bench", layer: Layer::Beside, uses: &["xtask"], tests_use: &[] },
];

const fn core(name: &'static str, uses: &'static [&'static str]) -> Crate {
    Crate { name, layer: Layer::Core, uses, tests_use: &[] }
}

/// An outside library that belongs to some layers, with the reason.
struct Bound {
    library: &'static str,
    layers: &'static [Layer],
    why: &'static str,
}

const BOUNDS: &[Bound] = &[
    Bound { library: "sqlx", layers: &[Layer::Storage], why: "SQL lives in the storage crates" },
    Bound {
        library: "axum",
        layers: &[Layer::Kit, Layer::Http, Layer::Server],
        why: "rules and storage know nothing of HTTP",
    },
    Bound {
        library: "http",
        layers: &[Layer::Kit, Layer::Http, Layer::Server],
        why: "headers and status codes are the wire's",
    },
    Bound { library: "reqwest", layers: &[Layer::Server], why: "outbound calls are ports that the binaries implement" },
];

/// Every crate and edge the table does not allow, and every library outside its layer.
pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    packages.iter().flat_map(check_package).collect()
}

fn check_package(package: &Package) -> Vec<Finding> {
    let Some(row) = TABLE.iter().find(|row| row.name == package.name) else {
        let text = format!("is not in {TABLE_NAME}");
        return vec![Finding::error(&package.name, text)];
    };
    package
        .dependencies
        .iter()
        .filter_map(|dependency| edge(row, dependency).or_else(|| bound(row, dependency)))
        .map(|text| Finding::error(&package.name, text))
        .collect()
}

fn edge(row: &Crate, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    // A crate that names itself in its tests has them run with all its features.
    let is_itself = name == row.name && dependency.kind == Kind::Dev;
    if is_itself || !TABLE.iter().any(|other| other.name == name) || row.uses.contains(&name) {
        return None;
    }
    match dependency.kind {
        Kind::Dev if row.tests_use.contains(&name) => None,
        Kind::Dev => Some(format!("its tests may not depend on {name}: see {TABLE_NAME}")),
        Kind::Normal | Kind::Build => Some(format!("may not depend on {name}: see {TABLE_NAME}")),
    }
}

/// A test may name any outside library: it is how one part is checked against another's work.
fn bound(row: &Crate, dependency: &Dependency) -> Option<String> {
    let bound = BOUNDS.iter().find(|bound| bound.library == dependency.name)?;
    let allowed = dependency.kind == Kind::Dev || bound.layers.contains(&row.layer);
    (!allowed).then(|| format!("may not depend on {}: {}", bound.library, bound.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(name: &str, dependency: &str, kind: Kind) -> Vec<String> {
        let package = Package {
            name: name.to_owned(),
            manifest: "Cargo.toml".into(),
            roots: Vec::new(),
            dependencies: vec![Dependency { name: dependency.to_owned(), kind }],
        };
        check(&[package]).into_iter().map(|finding| finding.text).collect()
    }

    fn level(row: &Crate) -> usize {
        let below = row.uses.iter().map(|name| {
            let used = TABLE.iter().find(|other| other.name == *name);
            level(used.expect("an edge of the table leads to a row of the table"))
        });
        below.max().map_or(0, |highest| highest + 1)
    }

    #[test]
    fn every_edge_of_the_table_goes_down_to_a_known_crate() {
        for row in TABLE {
            assert!(level(row) <= 6, "{} stands too high", row.name);
        }
    }

    #[test]
    fn no_domain_edge_joins_auth_and_chat() {
        for row in TABLE {
            let sees = |word| row.uses.iter().chain([&row.name]).any(|name| name.starts_with(word));
            assert!(!(sees("auth") && sees("chat")), "{} sees both", row.name);
        }
    }

    #[test]
    fn what_both_servers_share_knows_no_domain() {
        for shared in ["attempt-limits", "task-set", "server-kit", "sql-engines"] {
            for domain in ["oauth-core", "fhir-store", "smart-scopes", "chat-core", "auth-http", "chat-storage"] {
                assert_eq!(findings(shared, domain, Kind::Normal).len(), 1, "{shared} {domain}");
            }
        }
        assert_eq!(findings("server-kit", "sqlx", Kind::Normal).len(), 1);
        assert_eq!(findings("auth-storage", "server-kit", Kind::Normal).len(), 1);
        assert_eq!(findings("oauth-core", "server-kit", Kind::Normal).len(), 1);
    }

    #[test]
    fn an_edge_of_the_table_is_accepted() {
        assert!(findings("auth-http", "oauth-core", Kind::Normal).is_empty());
        assert!(findings("auth-http", "auth-storage", Kind::Dev).is_empty());
        assert!(findings("auth-http", "oauth-core", Kind::Dev).is_empty());
    }

    #[test]
    fn an_edge_that_goes_up_is_refused_and_names_the_table() {
        let found = findings("fhir-search", "fhir-store", Kind::Normal);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("edges.rs"), "{found:?}");
    }

    #[test]
    fn http_sees_storage_in_tests_alone() {
        assert_eq!(findings("auth-http", "auth-storage", Kind::Normal).len(), 1);
        assert_eq!(findings("auth-http", "auth-storage", Kind::Build).len(), 1);
        assert_eq!(findings("auth-storage", "auth-http", Kind::Dev).len(), 1);
    }

    #[test]
    fn the_fhir_service_sees_neither_http_nor_storage() {
        for crate_above in ["auth-http", "auth-storage", "server-kit"] {
            assert_eq!(findings("fhir-service", crate_above, Kind::Normal).len(), 1, "{crate_above}");
        }
        assert!(findings("auth-http", "fhir-service", Kind::Normal).is_empty());
    }

    #[test]
    fn an_unknown_crate_is_refused() {
        assert_eq!(findings("extra", "serde", Kind::Normal).len(), 1);
    }

    #[test]
    fn this_program_sees_none_of_the_crates_it_judges() {
        assert_eq!(findings("xtask", "b2b-claim", Kind::Dev).len(), 1);
    }

    #[test]
    fn libraries_stay_in_their_layer() {
        assert!(findings("auth-storage", "sqlx", Kind::Normal).is_empty());
        assert_eq!(findings("auth-server", "sqlx", Kind::Normal).len(), 1);
        assert_eq!(findings("oauth-core", "axum", Kind::Normal).len(), 1);
        assert_eq!(findings("auth-storage", "axum", Kind::Normal).len(), 1);
        assert_eq!(findings("fhir-service", "axum", Kind::Normal).len(), 1);
        assert_eq!(findings("fhir-service", "http", Kind::Normal).len(), 1);
        assert!(findings("auth-http", "axum", Kind::Normal).is_empty());
        assert_eq!(findings("auth-http", "reqwest", Kind::Normal).len(), 1);
        assert!(findings("auth-server", "reqwest", Kind::Normal).is_empty());
    }
}
