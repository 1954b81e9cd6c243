//! The init bundle: read before anything starts, executed before anybody is served.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use auth_http::RouterComponents;
use auth_storage::AuthDatabase;
use migrations::init_bundle::{self, INIT_BUNDLE_MAX_BYTES, InitBundle, VariableSubstitution};
use server_kit::config::ConfigEarlyExit;

use crate::config::{Command, Config};

/// Reads the bundle the configuration names, if it names one and the server is to serve. `variable` is
/// the environment.
///
/// # Errors
/// What is wrong with the file, in one line.
pub(crate) fn load(
    config: &Config,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<InitBundle>, ConfigEarlyExit> {
    let Some(path) = config.platform.init_bundle().filter(|_| matches!(config.task(), Command::Serve)) else {
        return Ok(None);
    };
    let fault = |what: String| {
        let line = format!("--init-bundle is file://{}: {what}", path.display());
        ConfigEarlyExit::Invalid(line.replace('\n', " "))
    };
    let content = content(path).map_err(fault)?;
    let text = |name: &str| variable(name).and_then(|value| value.into_string().ok());
    let variables = if config.platform.init_bundle_env {
        VariableSubstitution::Replace(&text)
    } else {
        VariableSubstitution::Leave
    };
    init_bundle::parse_init_bundle(&content, &variables).map(Some).map_err(|error| fault(error.to_string()))
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let read = File::open(path).and_then(|file| file.take(INIT_BUNDLE_MAX_BYTES + 1).read_to_end(&mut content));
    match read {
        Err(error) => Err(format!("it cannot be read: {error}")),
        Ok(size_bytes) if size_bytes as u64 > INIT_BUNDLE_MAX_BYTES => {
            Err(format!("it is larger than {INIT_BUNDLE_MAX_BYTES} bytes"))
        }
        Ok(_) => Ok(content),
    }
}

/// Executes the bundle while no other node executes its own.
///
/// # Errors
/// What a transaction failed at, or that the database does. Entries of a batch that fail are warnings.
pub(crate) async fn execute(db: &AuthDatabase, parts: RouterComponents, init: InitBundle) -> anyhow::Result<()> {
    if !init.left.is_empty() {
        tracing::warn!(
            variables = init.left.join(" "),
            "the init bundle names variables, which are left as they stand: --init-bundle-env puts values in their place"
        );
    }
    let began = Instant::now();
    let progress = parts.progress.clone();
    progress.report("waiting for the turn of this node to execute its init bundle");
    let execution = async {
        progress.report(format!("executing the init bundle of {} entries", init.entries));
        auth_http::execute_init_bundle(parts, init.bundle).await
    };
    // What a bundle may ask for is much, and its future would take the room of every start.
    let executed = Box::pin(db.with_startup_lock(execution)).await?;
    let report = executed.context("the init bundle was not executed")?;
    for (index, told) in &report.failed {
        tracing::warn!("an entry of the init bundle failed: Bundle.entry[{index}]: {told}");
    }
    let (entries, failed, duration_ms) = (report.entries, report.failed.len(), began.elapsed().as_millis());
    tracing::info!(entries, failed, duration_ms, "the init bundle was executed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn loaded(location: &str, flags: &[&str]) -> Result<Option<InitBundle>, String> {
        let arguments = ["auth-server", "--init-bundle", location].into_iter().chain(flags.iter().copied());
        let arguments = arguments.map(OsString::from);
        let config = config::read(arguments, |_| None).unwrap();
        load(&config, |name| (name == "WORD").then(|| "said".into())).map_err(|end| match end {
            ConfigEarlyExit::Invalid(line) => line,
            ConfigEarlyExit::Help(_) => panic!("help"),
        })
    }

    #[test]
    fn a_file_that_holds_no_bundle_is_told_in_one_line_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("file://{}", folder.path().join(name).display());
        std::fs::write(folder.path().join("broken"), "{\n\"resourceType\": ").unwrap();
        std::fs::write(folder.path().join("other"), "{\"resourceType\": \"Bundle\", \"type\": \"collection\"}")
            .unwrap();
        for (name, expected) in
            [("missing", "cannot be read"), ("", "cannot be read"), ("broken", "not JSON"), ("other", "batch")]
        {
            let line = loaded(&at(name), &[]).unwrap_err();
            assert!(line.starts_with("--init-bundle is file:///") && line.contains(expected), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn variables_are_replaced_only_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        let bundle = |name: &str| {
            format!(
                r#"{{"resourceType": "Bundle", "type": "batch", "entry":
                    [{{"request": {{"method": "PUT", "url": "Patient/p"}}, "resource": {{"a": "${{{name}}}"}}}}]}}"#
            )
        };
        let location = format!("file://{}", path.display());
        std::fs::write(&path, bundle("WORD")).unwrap();
        let left = loaded(&location, &[]).unwrap().unwrap();
        assert_eq!(
            (&left.bundle["entry"][0]["resource"]["a"], left.left),
            (&"${WORD}".into(), vec!["WORD".to_owned()])
        );
        let replaced = loaded(&location, &["--init-bundle-env"]).unwrap().unwrap();
        assert_eq!(replaced.bundle["entry"][0]["resource"]["a"], "said");
        std::fs::write(&path, bundle("OTHER")).unwrap();
        let line = loaded(&location, &["--init-bundle-env=true"]).unwrap_err();
        assert!(line.ends_with("it names ${OTHER}, and no variable of this name is set"), "{line}");
    }

    #[test]
    fn only_a_server_that_serves_reads_it() {
        assert_eq!(loaded("file:///nowhere/at/all", &["keys", "list"]), Ok(None));
    }
}
