//! Where files are kept, and how much of them.

use clap::Args;
use secrecy::SecretString;
use server_kit::config::{non_empty_secret_text, non_empty_text};

use super::value;

const FILES_URL_HELP: &str = "\
Where uploads and pictures are kept: s3://BUCKET or s3://BUCKET/PREFIX
[default: the folder `files` in --data-dir, which several nodes share only if they share the disk]";

/// Where uploads and pictures are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
pub(crate) struct FileConfig {
    #[arg(long, env = "CHAT_FILES_URL", value_name = "URL", value_parser = value::bucket, help = FILES_URL_HELP)]
    files_url: Option<String>,
    /// Address of a service that speaks S3 [default: Amazon's, of the region]
    #[arg(long, env = "CHAT_S3_ENDPOINT", value_name = "URL", value_parser = value::base_url)]
    s3_endpoint: Option<String>,
    /// Region of the bucket [default: us-east-1]
    #[arg(long, env = "CHAT_S3_REGION", value_name = "NAME")]
    s3_region: Option<String>,
    /// Key that opens the bucket; together with --s3-secret-access-key [default: that of the machine]
    #[arg(long, env = "CHAT_S3_ACCESS_KEY_ID", value_name = "ID")]
    s3_access_key_id: Option<String>,
    /// Largest upload in MiB
    #[arg(long, env = "CHAT_MAX_FILE_UPLOAD_MIB", value_name = "MIB", default_value = "25")]
    #[arg(value_parser = |text: &str| value::whole(text, 1, 1024))]
    max_file_upload_mib: u64,
    /// MiB of all uploads together; one more is refused; 0 is no limit
    #[arg(long, env = "CHAT_UPLOAD_QUOTA_MIB", value_name = "MIB", default_value = "10240")]
    #[arg(value_parser = |text: &str| value::whole(text, 0, 1_000_000_000))]
    upload_quota_mib: u64,
    /// Secret of --s3-access-key-id
    #[arg(long, env = "CHAT_S3_SECRET_ACCESS_KEY", value_name = "SECRET", value_parser = value::parse_secret)]
    s3_secret_access_key: Option<SecretString>,
}

/// A bucket of S3.
#[derive(Debug)]
pub(crate) struct Bucket<'a> {
    pub(crate) name: &'a str,
    pub(crate) prefix: &'a str,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) region: Option<&'a str>,
    /// Id and secret.
    pub(crate) key: Option<(&'a str, &'a str)>,
}

impl FileConfig {
    /// Returns the bucket that files are kept in; `None` for the folder.
    pub(crate) fn bucket(&self) -> Option<Bucket<'_>> {
        let place = non_empty_text(self.files_url.as_ref())?.strip_prefix(value::S3)?;
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        let key = non_empty_text(self.s3_access_key_id.as_ref())
            .zip(non_empty_secret_text(self.s3_secret_access_key.as_ref()));
        let (endpoint, region) = (non_empty_text(self.s3_endpoint.as_ref()), non_empty_text(self.s3_region.as_ref()));
        Some(Bucket { name, prefix, endpoint, region, key })
    }

    pub(crate) fn file_max_mib(&self) -> usize {
        usize::try_from(self.max_file_upload_mib).unwrap_or(usize::MAX)
    }

    /// None is no limit.
    pub(crate) fn quota_mib(&self) -> Option<usize> {
        usize::try_from(self.upload_quota_mib).ok().filter(|mib| *mib > 0)
    }

    /// Returns the key's two halves, each with whether it is there.
    pub(super) fn key_halves(&self) -> [(&'static str, bool); 2] {
        [
            ("--s3-access-key-id", non_empty_text(self.s3_access_key_id.as_ref()).is_some()),
            ("--s3-secret-access-key", non_empty_secret_text(self.s3_secret_access_key.as_ref()).is_some()),
        ]
    }
}
