use super::*;

fn given(flags: &[&str]) -> Result<Config, ConfigEarlyExit> {
    let arguments = std::iter::once("chat-server").chain(flags.iter().copied());
    read(arguments.map(OsString::from))
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
    assert!(matches!(config.task(), Command::Serve));
    assert_eq!(config.address.listen.to_string(), "127.0.0.1:9991");
    assert_eq!(config.address.base_url(), None);
    assert!(!config.address.trusted_proxies.contains_address([127, 0, 0, 1].into()));
    assert_eq!(config.database.data_dir, Path::new("./data/chat"));
    assert_eq!(config.address.brand, "zulip");
    assert_eq!(config.realm.realm_name(), "Chat");
    assert!(config.realm.owner().is_none());
    assert_eq!(config.limits.body_max_bytes(), 26_214_400);
    assert_eq!(config.files.quota_mib(), Some(10_240));
    assert_eq!(given(&["--upload-quota-mib", "0"]).unwrap().files.quota_mib(), None);
    assert_eq!(config.limits.header_timeout(), Duration::from_secs(10));
    assert_eq!(config.limits.keep_alive_timeout(), Duration::from_secs(75));
    assert_eq!(config.limits.shutdown_timeout(), Duration::from_secs(10));
    assert_eq!(config.limits.connections_max(), 10_000);
    assert_eq!(config.limits.connections_per_address(), None);
    assert_eq!((config.limits.rate_limit_per_user(), config.limits.rate_limit_per_ip()), (600, 300));
    assert_eq!(config.limits.event_queue_timeout_s(), 86_400);
    assert_eq!((config.mail.smtp_url(), config.mail.from.to_string().as_str()), (None, "noreply@localhost"));
    assert_eq!((config.invitations.validity_min(), config.invitations.per_day()), (14_400, 1_000));
    assert_eq!(config.observing.log_format, LogFormat::Text);
    assert_eq!(config.observing.metrics_listen, None);
    assert!(!config.development.development_login);
}

#[test]
fn nobody_from_elsewhere_gets_a_key_without_a_password() {
    assert!(given(&["--development-login"]).unwrap().development.development_login);
    let local = ["--development-login=true", "--base-url", "http://localhost:9991", "--listen", "[::1]:0"];
    assert!(given(&local).unwrap().development.development_login);
    let needs = "--development-login is set, and needs";
    for (flags, fails) in [
        (&["--listen", "0.0.0.0:9991"][..], "an address of this machine alone in --listen, not 0.0.0.0:9991"),
        (
            &["--base-url", "https://chat.example.org"],
            "an address of this machine alone in --base-url, not https://chat.example.org",
        ),
        (&["--trusted-proxies", "127.0.0.1"], "a server without --trusted-proxies"),
    ] {
        assert_eq!(fault(&[&["--development-login"], flags].concat()), format!("{needs} {fails}"));
        assert!(given(flags).is_ok(), "{flags:?}");
    }
}

#[test]
fn flags_may_stand_before_and_after_the_subcommand() {
    for flags in [
        &["--listen", "[::1]:0", "--base-url", "https://a.example/chat"][..],
        &["serve", "--listen", "[::1]:0", "--base-url", "https://a.example/chat"],
        &["--listen", "[::1]:0", "serve", "--base-url", "https://a.example/chat"],
        &["--listen", "[::1]:0", "--base-url", "https://a.example/chat", "serve"],
    ] {
        let config = given(flags).unwrap();
        assert!(matches!(config.task(), Command::Serve), "{flags:?}");
        assert_eq!(config.address.listen.to_string(), "[::1]:0", "{flags:?}");
        assert_eq!(config.address.base_url(), Some("https://a.example/chat"), "{flags:?}");
    }
}

#[test]
fn files_are_in_the_folder_unless_a_bucket_is_named() {
    assert!(given(&[]).unwrap().files.bucket().is_none());
    let config = given(&["--files-url", "s3://chat-files"]).unwrap();
    let bucket = config.files.bucket().unwrap();
    assert_eq!((bucket.name, bucket.prefix, bucket.endpoint, bucket.key), ("chat-files", "", None, None));
    let key = ["--s3-access-key-id", "id", "--s3-secret-access-key", "hidden"];
    let place = ["--files-url", "s3://chat/a/b", "--s3-endpoint", "http://127.0.0.1:9000", "--s3-region", "eu-1"];
    let config = given(&[&place[..], &key[..]].concat()).unwrap();
    let bucket = config.files.bucket().unwrap();
    assert_eq!((bucket.name, bucket.prefix, bucket.region), ("chat", "a/b", Some("eu-1")));
    assert_eq!((bucket.endpoint, bucket.key), (Some("http://127.0.0.1:9000"), Some(("id", "hidden"))));
    assert_eq!(fault(&key[..2]), "--s3-access-key-id is set, and needs --s3-secret-access-key with it");
    for url in ["file:///tmp", "s3://", "s3://UPPER", "s3://chat/../x"] {
        assert!(fault(&["--files-url", url]).contains("s3://BUCKET"), "{url}");
    }
}

#[test]
fn an_unknown_command_is_a_fault_and_no_help() {
    assert!(fault(&["frobnicate"]).contains("frobnicate"));
}

#[test]
fn a_wrong_value_is_one_line_with_the_flag_the_value_and_what_is_allowed() {
    let (long_brand, long_name) = ("a".repeat(33), "a".repeat(41));
    for (flag, value, allowed) in [
        ("--listen", "localhost:9991", "IP address and a port"),
        ("--listen", "127.0.0.1", "IP address and a port"),
        ("--metrics-listen", ":80", "IP address and a port"),
        ("--base-url", "chat.example.org", "absolute http or https URL"),
        ("--base-url", "/box", "absolute http or https URL"),
        ("--base-url", "ftp://chat.example.org", "absolute http or https URL"),
        ("--base-url", "https://chat.example.org/", "without a trailing slash"),
        ("--base-url", "https://chat.example.org/?a=b", "query or fragment"),
        ("--base-url", "https://user@chat.example.org", "absolute http or https URL"),
        ("--trusted-proxies", "10.0.0.1,proxy.example.org", "IP addresses and networks, separated by commas"),
        ("--trusted-proxies", "0.0.0.0/0", "a network of all addresses"),
        ("--brand", "Acme", "lower-case"),
        ("--brand", "a-b", "lower-case"),
        ("--brand", &long_brand, "32 at most"),
        ("--realm-name", &long_name, "40 characters at most"),
        ("--owner-email", "ada", "e-mail address"),
        ("--owner-email", "a da@example.org", "e-mail address"),
        ("--owner-name", "A", "full name of a person"),
        ("--database-connections", "3", "from 4 to 1000"),
        ("--max-body-bytes", "20MB", "from 1024 to 1073741824"),
        ("--header-timeout", "0", "from 1 to 300"),
        ("--keep-alive-timeout", "0", "from 1 to 3600"),
        ("--shutdown-timeout", "601", "from 1 to 600"),
        ("--max-connections", "-1", "from 1 to 1000000"),
        ("--max-connections-per-address", "many", "from 0 to 1000000"),
        ("--rate-limit-per-user", "1.5", "from 0 to 1000000"),
        ("--rate-limit-per-ip", "-1", "from 0 to 1000000"),
        ("--event-queue-timeout", "59", "from 60 to 31536000"),
        ("--mail-from", "nobody", "an address, or a name and an address"),
        ("--invitation-validity", "0", "from 1 to 5256000"),
        ("--invitations-per-day", "0", "from 1 to 100000"),
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
fn half_of_a_pair_is_refused() {
    for (half, other) in [
        ("--tls-cert", "--tls-key"),
        ("--tls-key", "--tls-cert"),
        ("--owner-email", "--owner-password"),
        ("--owner-password", "--owner-email"),
    ] {
        assert_eq!(fault(&[half, "a@value.org"]), format!("{half} is set, and needs {other} with it"));
        assert!(given(&[half, "a@value.org", other, "a@value.org"]).is_ok(), "{half}");
        // Empty is absent, as compose files set what they do not set.
        assert!(given(&[&format!("{half}=")]).is_ok(), "{half}");
    }
}

#[test]
fn a_database_of_another_kind_is_refused_without_its_password() {
    for url in ["mysql://root:hunter2@db/chat", "hunter2", "postgres:hunter2", "sqlite://hunter2"] {
        let line = fault(&["--database-url", url]);
        assert!(line.contains("--database-url") && line.contains("postgres://"), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
    }
    let config = given(&["--database-url", "postgresql://chat@db/chat"]).unwrap();
    assert_eq!(config.database.url(), Some("postgresql://chat@db/chat"));
}

#[test]
fn a_push_bouncer_needs_its_address_a_name_and_a_key() {
    let all = ["--push-url=https://push.example.org", "--push-id=acme", "--push-key=hunter2"];
    let config = given(&all).unwrap();
    assert_eq!(config.push.bouncer(), Some(("https://push.example.org", "acme", "hunter2")));
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(fault(&all[..1]), "--push-url is set, and needs --push-id with it");
    assert_eq!(fault(&all[..2]), "--push-url is set, and needs --push-key with it");
    assert_eq!(fault(&all[1..]), "--push-id is set, and needs --push-url with it");
    assert!(fault(&["--push-url=push.example.org"]).contains("absolute http or https URL"));
    assert_eq!(given(&["--push-url="]).unwrap().push.bouncer(), None);
}

#[test]
fn telephones_are_notified_by_a_bouncer_or_with_keys_that_are_complete() {
    let apple = ["--apns-key=/k.p8", "--apns-key-id=K1", "--apns-team-id=T1", "--apns-topic=org.example.App"];
    let config = given(&apple).unwrap();
    let known = config.push.apple().unwrap();
    assert_eq!((known.key_id, known.team_id, known.topic), ("K1", "T1", "org.example.App"));
    assert!(!known.is_sandbox && config.push.google().is_none());
    assert!(given(&[&apple[..], &["--apns-sandbox"]].concat()).unwrap().push.apple().unwrap().is_sandbox);
    for (left_out, name) in [(0, "--apns-key"), (1, "--apns-key-id"), (2, "--apns-team-id"), (3, "--apns-topic")] {
        let mut some = apple.to_vec();
        some.remove(left_out);
        assert!(fault(&some).ends_with(&format!("needs {name} with it")), "{}", fault(&some));
    }
    assert!(fault(&["--apns-key-id=K 1"]).contains("--apns-key-id"));
    let bouncer = ["--push-url=https://push.example.org", "--push-id=acme", "--push-key=hunter2"];
    for (direct, name) in [(&apple[..], "--apns-key"), (&["--fcm-service-account=/a.json"], "--fcm-service-account")] {
        assert!(given(direct).is_ok());
        let line = fault(&[&bouncer[..], direct].concat());
        assert_eq!(line, format!("{name} is set, and has no use with --push-url, which notifies all devices"));
    }
    let none = given(&["--apns-key=", "--apns-topic=", "--fcm-service-account="]).unwrap();
    assert!(none.push.apple().is_none() && none.push.google().is_none());
}

#[test]
fn an_smtp_server_of_another_kind_is_refused_without_its_password() {
    for url in ["http://chat:hunter2@mail", "hunter2", "smtp:hunter2", "smtps://chat:hunter2@mail/inbox"] {
        let line = fault(&["--smtp-url", url, "--mail-from", "chat@example.org"]);
        assert!(line.contains("--smtp-url") && line.contains("smtps://"), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
    }
    assert_eq!(fault(&["--smtp-url", "smtp://mail"]), "--smtp-url is set, and needs --mail-from with it");
    let from = ["--smtp-url", "smtps://chat:hunter2@mail", "--mail-from", "Acme chat <chat@example.org>"];
    let config = given(&from).unwrap();
    assert_eq!(config.mail.from.email.to_string(), "chat@example.org");
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(given(&["--smtp-url="]).unwrap().mail.smtp_url(), None);
}

#[test]
fn secrets_are_never_printed() {
    let config = given(&[
        "--database-url=postgres://chat:hunter2@db/chat",
        "--owner-email=ada@example.org",
        "--owner-password=hunter2",
        "--key-encryption-secret=hunter2 and some more",
    ]);
    let printed = format!("{:?}", config.unwrap());
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(!fault(&["--owner-pasword=hunter2"]).contains("hunter2"));
    assert!(!fault(&["--owner-pasword", "hunter2"]).contains("hunter2"));
}

#[test]
fn a_short_key_encryption_secret_is_refused_and_not_printed() {
    let commands =
        [&[][..], &["user", "reset-api-key", "--email=a@b.org"], &["export", "folder"], &["keys", "discard"]];
    for command in commands {
        let line = fault(&[command, &["--key-encryption-secret=hunter2"]].concat());
        assert!(line.contains("--key-encryption-secret") && line.contains("at least 16 characters"), "{line}");
        assert!(!line.contains("hunter2"), "{line}");
        assert!(given(&[command, &["--key-encryption-secret="]].concat()).unwrap().keys.secret().is_none());
    }
    let line = fault(&["keys", "reseal", "--new-key-encryption-secret=hunter2"]);
    assert!(line.contains("--new-key-encryption-secret") && !line.contains("hunter2"), "{line}");
    let line = fault(&["keys"]);
    assert!(line.contains("reseal, discard") && !line.contains('\n'), "{line}");
    let Err(ConfigEarlyExit::Help(help)) = given(&["keys", "reseal", "--help"]) else { panic!("no help") };
    assert!(help.contains("--key-encryption-secret") && !help.contains("--listen"), "{help}");
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
fn an_empty_brand_is_a_choice() {
    assert_eq!(given(&["--brand="]).unwrap().address.brand, "");
    assert_eq!(given(&["--brand", "acme"]).unwrap().address.brand, "acme");
}

#[test]
fn a_password_without_end_is_refused_and_not_printed() {
    let long = "x".repeat(1025);
    let line = fault(&["--owner-email", "ada@example.org", "--owner-password", &long]);
    assert!(line.contains("--owner-password") && line.contains("1024 bytes at most"), "{line}");
    assert!(!line.contains("xx"), "{line}");
}

#[test]
fn a_password_too_weak_for_an_account_is_too_weak_for_the_owner() {
    let owner = |password| given(&["--owner-email", "ada@example.org", "--owner-password", password]);
    assert!(owner("engine").is_ok());
    for weak in ["12345", "Password123"] {
        let Err(ConfigEarlyExit::Invalid(line)) = owner(weak) else { panic!("a weak password was taken") };
        assert!(line.contains("--owner-password") && line.contains("6 characters at least"), "{line}");
        assert!(line.contains("most common passwords") && !line.contains(weak), "{line}");
    }
}

#[test]
fn a_user_command_takes_the_database_and_roles_by_name_and_number() {
    for (role, expected) in [("guest", Role::Guest), ("300", Role::Moderator)] {
        let config =
            given(&["user", "set-role", "--email", "a@b.org", "--role", role, "--data-dir", "elsewhere"]).unwrap();
        let Command::User(UserCommand::SetRole { role, .. }) = config.task() else { panic!("{config:?}") };
        assert_eq!((*role, config.database.data_dir.as_path()), (expected, Path::new("elsewhere")));
    }
    assert!(fault(&["user", "set-role", "--email", "a@b.org", "--role", "500"]).contains("owner, administrator"));
    assert!(fault(&["user", "create", "--email", "a@b.org"]).contains("--name"));
    let both = ["user", "create", "--email=a@b.org", "--name=Ada", "--password=x", "--password-stdin"];
    assert!(fault(&both).contains("--password-stdin"));
    let Err(ConfigEarlyExit::Help(help)) = given(&["user", "create", "--help"]) else { panic!("no help") };
    assert!(help.contains("--data-dir") && help.contains("--password-stdin") && !help.contains("--listen"), "{help}");
}

#[test]
fn the_page_of_settings_lists_every_flag_with_its_variable_and_default() {
    let page = include_str!("../../../../docs/settings.md");
    let section = page.split("## chat-server\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
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
