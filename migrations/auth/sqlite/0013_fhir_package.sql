-- A package is uninstalled as it came, so what each brought is on record, and what it needs. A
-- canonical that several brought is one resource, and goes with the last of them.
CREATE TABLE fhir_package (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    direct BOOLEAN NOT NULL,
    canonicals BIGINT NOT NULL,
    source TEXT NOT NULL,
    installed_us BIGINT NOT NULL,
    PRIMARY KEY (name, version)
);

CREATE TABLE fhir_package_need (
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    needed_name TEXT NOT NULL,
    needed_version TEXT NOT NULL,
    PRIMARY KEY (needed_name, needed_version, name, version)
);

CREATE TABLE fhir_package_canonical (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    version TEXT NOT NULL,
    package_name TEXT NOT NULL,
    package_version TEXT NOT NULL,
    PRIMARY KEY (kind, id, package_name, package_version)
);

CREATE INDEX fhir_package_canonical_url ON fhir_package_canonical (url, kind);

CREATE INDEX fhir_package_canonical_package ON fhir_package_canonical (package_name, package_version);
