-- The CapabilityStatement names the guides, statements and profiles of installed packages, whose tarballs are not kept.
ALTER TABLE fhir_package ADD COLUMN conformance TEXT NOT NULL DEFAULT '{}';
