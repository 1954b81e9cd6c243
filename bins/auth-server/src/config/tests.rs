use super::*;

fn given(flags: &[&str]) -> Result<Config, ConfigEarlyExit> {
    let arguments = std::iter::once("auth-server").chain(flags.iter().copied());
    read(arguments.map(OsString::from), |_| None)
}

fn fault(flags: &[&str]) -> String {
    match given(flags) {
        Err(ConfigEarlyExit::Invalid(line)) => line,
        other => panic!("{flags:?} is {other:?}"),
    }
}

#[test]
fn without_flags_the_documented_defaults_hold() {
    let config = given(&[]).unwrap();
    assert_eq!(config.task(), &Command::Serve);
    assert_eq!(config.address.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.address.base_url(), None);
    assert!(!config.address.trusted_proxies.contains_address([127, 0, 0, 1].into()));
    assert_eq!(config.database.data_dir, Path::new("./data/auth"));
    assert_eq!(config.platform.ext_base, "http://platform.example/fhir");
    assert_eq!(config.platform.platform_name, "platform");
    assert!(config.platform.fhir_correct_format);
    assert!(!config.trust.allow_private_jwks);
    assert_eq!(config.trust.access_token_alg, SigningAlg::ES256);
    assert_eq!(config.limits.body_max_bytes(), 20_971_520);
    assert_eq!(config.limits.header_timeout(), Duration::from_secs(10));
    assert_eq!(config.limits.keep_alive_timeout(), Duration::from_secs(75));
    assert_eq!(config.limits.shutdown_timeout(), Duration::from_secs(10));
    assert_eq!(config.limits.connections_max(), 10_000);
    assert_eq!(config.limits.connections_per_address(), None);
    assert_eq!(config.limits.rate_per_minute(), 0);
    assert_eq!(config.limits.secret_attempts(), 10);
    assert_eq!(config.trust.session_lifetime_s(), 432_000);
    assert_eq!(config.trust.password_min_chars(), 8);
    assert_eq!(config.observing.log_format, LogFormat::Text);
    assert_eq!(config.observing.metrics_listen, None);
    assert_eq!(config.jobs.identifier_rule(), MemberIdentifierRule::Required);
}

#[test]
fn a_match_by_demographics_alone_has_to_be_asked_for() {
    let config = given(&["--member-match-identifier", "optional"]).unwrap();
    assert_eq!(config.jobs.identifier_rule(), MemberIdentifierRule::Optional);
    let line = fault(&["--member-match-identifier", "none"]);
    for part in ["--member-match-identifier", "none", "required", "optional"] {
        assert!(line.contains(part), "{line}");
    }
    let command = Config::command();
    let argument = command.get_arguments().find(|argument| argument.get_id() == "member_match_identifier").unwrap();
    assert_eq!(argument.get_env().unwrap(), "BOX_MEMBER_MATCH_IDENTIFIER");
}

#[test]
fn what_the_capability_statement_names_is_a_list_of_urls() {
    let us_core = "http://hl7.org/fhir/us/core/CapabilityStatement/us-core-server";
    let bulk = "http://hl7.org/fhir/uv/bulkdata/CapabilityStatement/bulk-data|2.0.0";
    let config = given(&["--capability-instantiates", &format!("{us_core}, {bulk}")]).unwrap();
    assert_eq!(config.platform.capability_instantiates.0, [us_core, bulk]);
    assert_eq!(config.platform.capability_guides.0, [""; 0]);
    for flag in ["--capability-instantiates", "--capability-guides"] {
        let line = fault(&[flag, "us core"]);
        assert!(line.contains(flag) && line.contains("must be URLs with commas between them"), "{line}");
        assert!(given(&[flag, ""]).is_ok());
    }
}

#[test]
fn flags_may_stand_before_and_after_the_subcommand() {
    for flags in [
        &["--listen", "[::1]:0", "--base-url", "https://a.example/box"][..],
        &["serve", "--listen", "[::1]:0", "--base-url", "https://a.example/box"],
        &["--listen", "[::1]:0", "serve", "--base-url", "https://a.example/box"],
        &["--listen", "[::1]:0", "--base-url", "https://a.example/box", "serve"],
    ] {
        let config = given(flags).unwrap();
        assert_eq!(config.task(), &Command::Serve, "{flags:?}");
        assert_eq!(config.address.listen.to_string(), "[::1]:0", "{flags:?}");
        assert_eq!(config.address.base_url(), Some("https://a.example/box"), "{flags:?}");
    }
}

#[test]
fn a_key_command_takes_the_database_too() {
    let config = given(&["keys", "rotate", "--alg", "RS256", "--data-dir", "elsewhere"]).unwrap();
    let rotate = RotateArgs { activate_after: 600, alg: Some(SigningAlg::RS256) };
    assert_eq!(config.task(), &Command::Keys(KeysCommand::Rotate(rotate)));
    assert_eq!(config.database.data_dir, Path::new("elsewhere"));
    let config = given(&["--data-dir", "elsewhere", "keys", "retire", "abc"]).unwrap();
    assert_eq!(config.task(), &Command::Keys(KeysCommand::Retire { kid: "abc".to_owned() }));
    assert_eq!(config.database.data_dir, Path::new("elsewhere"));
}

#[test]
fn a_key_may_begin_with_a_hyphen() {
    for flags in [&["keys", "retire", "-Tlhw"][..], &["keys", "retire", "--", "-Tlhw"]] {
        let config = given(flags).unwrap();
        assert_eq!(config.task(), &Command::Keys(KeysCommand::Retire { kid: "-Tlhw".to_owned() }), "{flags:?}");
    }
    let config = given(&["keys", "retire", "--data-dir", "elsewhere", "-Tlhw"]).unwrap();
    assert_eq!(config.database.data_dir, Path::new("elsewhere"));
}

#[test]
fn an_incomplete_or_unknown_command_is_a_fault_and_no_help() {
    let line = fault(&["keys"]);
    assert!(line.contains("list, rotate, retire, reseal") && !line.contains('\n'), "{line}");
    assert!(fault(&["keys", "retire"]).contains("<KID>"));
    assert!(fault(&["frobnicate"]).contains("frobnicate"));
}

#[test]
fn a_wrong_value_is_one_line_with_the_flag_the_value_and_what_is_allowed() {
    let long_brand = "a".repeat(33);
    for (flag, value, allowed) in [
        ("--listen", "localhost:8080", "IP address and a port"),
        ("--listen", "127.0.0.1", "IP address and a port"),
        ("--metrics-listen", ":80", "IP address and a port"),
        ("--base-url", "auth.example.org", "absolute http or https URL"),
        ("--base-url", "/box", "absolute http or https URL"),
        ("--base-url", "ftp://auth.example.org", "absolute http or https URL"),
        ("--base-url", "https://auth.example.org/", "without a trailing slash"),
        ("--base-url", "https://auth.example.org/?a=b", "query or fragment"),
        ("--base-url", "https://user@auth.example.org", "absolute http or https URL"),
        ("--trusted-proxies", "10.0.0.1,proxy.example.org", "IP addresses and networks, separated by commas"),
        ("--trusted-proxies", "0.0.0.0/0", "a network of all addresses"),
        ("--ext-base", "platform", "absolute http or https URL"),
        ("--platform-name", "Acme", "lower-case"),
        ("--platform-name", "a-b", "lower-case"),
        ("--platform-name", &long_brand, "32 at most"),
        ("--fhir-correct-format", "yes", "true, false, 1 or 0"),
        ("--root-client-id", "a:b", "letters, digits"),
        ("--admin-id", "..", "letters, digits"),
        ("--access-token-alg", "HS256", "ES256, ES384, RS256 or RS384"),
        ("--access-token-alg", "es256", "ES256, ES384, RS256 or RS384"),
        ("--database-connections", "0", "from 1 to 1000"),
        ("--max-body-bytes", "20MB", "from 1024 to 1073741824"),
        ("--header-timeout", "0", "from 1 to 300"),
        ("--keep-alive-timeout", "0", "from 1 to 3600"),
        ("--shutdown-timeout", "601", "from 1 to 600"),
        ("--max-connections", "-1", "from 1 to 1000000"),
        ("--max-connections-per-address", "many", "from 0 to 1000000"),
        ("--rate-limit", "1.5", "from 0 to 1000000"),
        ("--secret-attempts", "-1", "from 0 to 10000"),
        ("--session-lifetime", "0", "from 60 to 31536000"),
        ("--password-min-length", "0", "from 1 to 128"),
        ("--search-timeout", "0", "from 1 to 3600"),
        ("--log-format", "xml", "text, json"),
        ("--log-filter", "a=b=c", "module=level"),
    ] {
        let line = fault(&[&format!("{flag}={value}")]);
        assert!(!line.contains('\n'), "{line}");
        for part in [flag, value, allowed] {
            assert!(line.contains(part), "{line} lacks {part}");
        }
    }
}

#[test]
fn a_search_has_five_seconds_unless_the_operator_says_otherwise() {
    let time_s = |flags: &[&str]| given(flags).unwrap().limits.search_time().as_secs();
    assert_eq!((time_s(&[]), time_s(&["--search-timeout", "30"])), (5, 30));
}

#[test]
fn booleans_are_words_or_digits() {
    for (value, expected) in [("true", true), ("1", true), ("false", false), ("0", false)] {
        let config = given(&["--fhir-correct-format", value]).unwrap();
        assert_eq!(config.platform.fhir_correct_format, expected);
        let config = given(&[&format!("--allow-private-jwks={value}")]).unwrap();
        assert_eq!(config.trust.allow_private_jwks, expected);
    }
    let config = given(&["--allow-private-jwks", "serve"]).unwrap();
    assert!(config.trust.allow_private_jwks);
}

#[test]
fn the_brand_names_a_variable_of_its_own_and_the_flag_wins() {
    let variable = |name: &str| (name == "BOX_FHIR_CORRECT_ACME_FORMAT").then(|| OsString::from("0"));
    let read = |flags: &[&str]| read(std::iter::once(&"x").chain(flags).map(OsString::from), variable);
    let acme = ["--platform-name", "acme"];
    assert!(!read(&acme).unwrap().platform.fhir_correct_format);
    assert!(read(&["--platform-name", "other"]).unwrap().platform.fhir_correct_format);
    let both = ["--platform-name", "acme", "--fhir-correct-format", "true"];
    assert!(read(&both).unwrap().platform.fhir_correct_format);
}

#[test]
fn a_wrong_value_of_the_brands_variable_is_named() {
    let arguments = ["x", "--platform-name", "acme"].map(OsString::from);
    let error = read(arguments, |_| Some(OsString::from("on"))).unwrap_err();
    let expected = "invalid value 'on' for BOX_FHIR_CORRECT_ACME_FORMAT: must be true, false, 1 or 0";
    assert_eq!(error, ConfigEarlyExit::Invalid(expected.to_owned()));
}

#[test]
fn half_of_a_pair_is_refused() {
    for (half, other) in [
        ("--tls-cert", "--tls-key"),
        ("--tls-key", "--tls-cert"),
        ("--root-client-id", "--root-client-secret"),
        ("--root-client-secret", "--root-client-id"),
        ("--admin-id", "--admin-password"),
        ("--admin-password", "--admin-id"),
    ] {
        assert_eq!(fault(&[half, "value"]), format!("{half} is set, and needs {other} with it"));
        assert!(given(&[half, "long-value", other, "long-value"]).is_ok(), "{half}");
        // Empty is absent, as compose files set what they do not set.
        assert!(given(&[&format!("{half}=")]).is_ok(), "{half}");
    }
}

#[test]
fn an_init_bundle_is_a_file_of_this_machine() {
    let config = given(&["--init-bundle", "file:///a%20b/bundle.json"]).unwrap();
    assert_eq!(config.platform.init_bundle(), Some(Path::new("/a b/bundle.json")));
    assert_eq!(given(&["--init-bundle="]).unwrap().platform.init_bundle(), None);
    for wrong in ["bundle.json", "/bundle.json", "file://host/bundle.json", "https://host/bundle.json"] {
        let line = fault(&["--init-bundle", wrong]);
        assert!(line.contains("--init-bundle") && line.contains(wrong) && line.contains("file:///"), "{line}");
    }
}

#[test]
fn a_database_of_another_kind_is_refused_without_its_password() {
    for url in ["mysql://root:hunter2@db/box", "hunter2", "postgres:hunter2", "sqlite://hunter2"] {
        let line = fault(&["--database-url", url]);
        assert!(line.contains("--database-url") && line.contains("postgres://"), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
    }
    let config = given(&["--database-url", "postgresql://box@db/box"]).unwrap();
    assert_eq!(config.database.url(), Some("postgresql://box@db/box"));
}

#[test]
fn secrets_are_never_printed() {
    let config = given(&[
        "--database-url=postgres://box:hunter2@db/box",
        "--root-client-id=root",
        "--root-client-secret=hunter2",
        "--admin-id=admin",
        "--admin-password=hunter2 and so on",
        "--key-encryption-secret=hunter2 and so on",
    ]);
    let printed = format!("{:?}", config.unwrap());
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(!fault(&["--admin-pasword=hunter2"]).contains("hunter2"));
    assert!(!fault(&["--admin-pasword", "hunter2"]).contains("hunter2"));
}

#[test]
fn a_short_key_encryption_secret_stops_the_start_and_can_still_be_given_up() {
    for command in [&[][..], &["serve"], &["keys", "rotate"]] {
        let line = fault(&[command, &["--key-encryption-secret", "hunter2 hunter2"]].concat());
        assert!(line.contains("--key-encryption-secret") && line.contains("at least 16 characters"), "{line}");
        assert!(line.contains("keys reseal") && !line.contains("hunter2"), "{line}");
    }
    let old = ["--key-encryption-secret", "hunter2"];
    given(&[&["keys", "list"][..], &old].concat()).unwrap();
    let new = ["--new-key-encryption-secret", "sixteen or more!"];
    let config = given(&[&["keys", "reseal"][..], &old, &new].concat()).unwrap();
    assert_eq!(config.task(), &Command::Keys(KeysCommand::Reseal(ResealArgs::to("sixteen or more!"))));
    assert!(!format!("{config:?}").contains("sixteen"));
}

#[test]
fn a_new_key_encryption_secret_is_demanded_and_never_printed() {
    assert!(fault(&["keys", "reseal"]).contains("--new-key-encryption-secret"));
    let line = fault(&["keys", "reseal", "--new-key-encryption-secret", "hunter2"]);
    assert!(line.contains("--new-key-encryption-secret") && line.contains("at least 16 characters"), "{line}");
    assert!(!line.contains("hunter2"), "{line}");
}

#[test]
fn a_password_by_flag_is_held_to_the_rule_of_passwords() {
    let admin = |password| ["--admin-id", "boss", "--admin-password", password];
    for (password, allowed) in [("seven77", "at least 8 characters"), ("Password123", "most common passwords")] {
        let line = fault(&admin(password));
        assert!(line.contains("--admin-password") && line.contains(allowed), "{line}");
        assert!(!line.contains(password), "{line}");
        given(&[&["keys", "list"][..], &admin(password)].concat()).unwrap();
    }
    given(&[&admin("seven77")[..], &["--password-min-length", "7"]].concat()).unwrap();
    assert!(fault(&[&admin("correct horse")[..], &["--password-min-length", "20"]].concat()).contains("at least 20"));
}

#[test]
fn help_names_every_variable_and_no_value_of_one() {
    let Err(ConfigEarlyExit::Help(help)) = given(&["--help"]) else {
        panic!("no help");
    };
    for arg in Config::command().get_arguments().filter(|arg| arg.get_long().is_some()) {
        let Some(variable) = arg.get_env() else {
            assert!(matches!(arg.get_long(), Some("help" | "version")), "{arg} has no variable");
            continue;
        };
        let variable = variable.to_string_lossy();
        assert!(help.contains(&format!("[env: {variable}]")), "{variable}");
    }
}

#[test]
fn the_help_of_a_key_command_shows_the_flags_it_uses_alone() {
    for command in [&["keys", "--help"][..], &["keys", "list", "--help"], &["keys", "rotate", "--help"]] {
        let Err(ConfigEarlyExit::Help(help)) = given(command) else {
            panic!("no help");
        };
        for arg in Config::command().get_arguments().filter(|arg| arg.get_env().is_some()) {
            let name = arg.get_long().unwrap();
            let shown = help.contains(&format!("--{name} "));
            assert_eq!(shown, KEYS_FLAGS.contains(&name), "{command:?} {name}");
        }
        assert!(!help.contains("Limits:"), "{help}");
    }
    let config = given(&["keys", "list", "--listen", "[::1]:0"]).unwrap();
    assert_eq!(config.address.listen.to_string(), "[::1]:0");
}

#[test]
fn the_pages_look_as_the_operator_says() {
    let look = given(&[]).unwrap().page.look();
    assert_eq!(look, auth_http::PageTheme::default());
    let flags = ["--page-title", "Acme Health", "--page-accent", "#7a0019", "--page-help", "mailto:help@acme.example"];
    let look = given(&flags).unwrap().page.look();
    assert_eq!(look.title, "Acme Health".parse().unwrap());
    assert_eq!(look.accents, auth_http::AccentColors::new(Some("#7a0019".parse().unwrap()), None).unwrap());
    assert_eq!(look.help.as_deref(), Some("mailto:help@acme.example"));
    for empty in ["--page-title=", "--page-logo=", "--page-accent=", "--page-accent-dark=", "--page-help="] {
        assert_eq!(given(&[empty]).unwrap().page.look(), auth_http::PageTheme::default(), "{empty}");
    }
}

#[test]
fn looks_that_cannot_be_shown_or_read_stop_the_start_with_one_line() {
    for (flag, value, allowed) in [
        ("--page-title", "a\nb", "at most 60 characters"),
        ("--page-accent", "teal", "must be a colour such as #0b5c6b"),
        ("--page-accent", "#ffcc00", "contrast of at least 4.5:1 with white, and has 1.5:1"),
        ("--page-accent-dark", "#0b5c6b", "with the dark card"),
        ("--page-help", "javascript:alert(1)", "https: or mailto:"),
        ("--page-logo", "http://a.example/logo.svg", "https://"),
    ] {
        let line = fault(&[flag, value]);
        assert!(line.contains(flag) && line.contains(allowed) && !line.contains('\n'), "{line}");
    }
}

#[test]
fn a_package_registry_is_the_public_one_unless_another_is_named() {
    let registry = |flags: &[&str]| given(flags).unwrap().platform.fhir_package_registry.to_string();
    assert_eq!(registry(&[]), "https://packages.fhir.org/");
    assert_eq!(registry(&["--fhir-package-registry="]), "https://packages.fhir.org/");
    assert_eq!(registry(&["--fhir-package-registry", "http://10.0.0.1:4873/npm"]), "http://10.0.0.1:4873/npm");
    assert_eq!(registry(&["--fhir-package-registry", "file:///srv/packages"]), "file:///srv/packages");
    for wrong in ["packages", "/srv/packages", "ftp://a.example", "https://u:p@a.example", "file://host/x", "https://"]
    {
        let line = fault(&["--fhir-package-registry", wrong]);
        assert!(line.contains("--fhir-package-registry") && line.contains("file://"), "{line}");
    }
}

#[test]
fn the_page_of_settings_lists_every_flag_with_its_variable_and_default() {
    let page = include_str!("../../../../docs/settings.md");
    let section = page.split("## auth-server\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows: Vec<Vec<&str>> =
        section.lines().filter(|line| line.starts_with("| `--")).map(|line| line.split(" | ").collect()).collect();
    let command = Config::command();
    let settings: Vec<_> = command.get_arguments().filter(|arg| arg.get_env().is_some()).collect();
    for arg in &settings {
        let flag = format!("| `--{}`", arg.get_long().unwrap());
        let row = rows.iter().find(|row| row[0] == flag).unwrap_or_else(|| panic!("{flag} is missing"));
        assert_eq!(row[1], format!("`{}`", arg.get_env().unwrap().to_str().unwrap()), "the variable of {flag}");
        if let Some(default) = arg.get_default_values().first().filter(|default| !default.is_empty()) {
            assert_eq!(row[2], format!("`{}`", default.to_str().unwrap()), "the default of {flag}");
        }
    }
    assert_eq!(rows.len(), settings.len(), "the page lists flags that are gone");
}
