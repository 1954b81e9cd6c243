//! Uploads and pictures of an export: under which names they are kept here, and what refers to them.
//!
//! A name is kept where it is one of ours, and otherwise follows from the name before and from what the export is
//! recognised by, so whoever takes up an import that broke off finds the same ones.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::TransferReport;
use super::export_tables::{AttachmentRow, CustomEmojiRow, RealmTables};
use super::organization::clean;
use crate::files::{PathId, PublicImageName};
use crate::id::UserId;
use crate::model::organization_image::{OrganizationImage, OrganizationImageUrls};
use crate::model::realm_change::{RealmChange, RealmItemKind};

/// A record of an uploaded file in a folder's list: its owner and path.
#[derive(Debug, Clone, Deserialize)]
pub struct ExportFileRecord {
    /// Where it is, below the folder.
    pub path: String,
    /// The user a picture is of.
    #[serde(default)]
    pub user_profile_id: Option<i64>,
    /// The name of an emoji's file.
    #[serde(default)]
    pub file_name: Option<String>,
}

/// The URLs of images that were imported already.
#[derive(Debug, Default)]
pub struct ImportedImageUrls {
    /// Of users.
    pub avatars: HashMap<UserId, String>,
    /// Of custom emoji, by their numbers: the picture, and its first frame when it moves.
    pub emoji: HashMap<i64, (String, Option<String>)>,
    /// Of the organization itself.
    pub images: OrganizationImageUrls,
}

/// An upload of an export, with its path here.
#[derive(Debug, Clone)]
pub struct ImportedUpload {
    /// What the export says of it.
    pub row: AttachmentRow,
    /// Its path here.
    pub path_id: PathId,
}

/// Returns the uploads of an export whose owners exist. `source` identifies the export.
#[must_use]
pub fn convert_uploads(tables: &RealmTables, source: &str) -> Vec<ImportedUpload> {
    let users: BTreeSet<i64> = super::organization::ids(tables).collect();
    let (mut seen, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let upload = |row: &AttachmentRow| {
        let name = row.path_id.rsplit('/').next().unwrap_or_default();
        let path_id = match PathId::parse(&row.path_id) {
            Some(path_id) => path_id,
            None => PathId::new(&derived(source, &row.path_id), name)?,
        };
        let is_new = seen.insert(row.id) && paths.insert(path_id.clone());
        (users.contains(&row.owner) && is_new).then(|| ImportedUpload { row: row.clone(), path_id })
    };
    tables.attachments.iter().filter_map(upload).collect()
}

/// Returns the random part of the name of an imported image, derived from the export and its path there.
#[must_use]
pub fn imported_image_stem(source: &str, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    match PublicImageName::new(stem, "", "png") {
        Some(_) => stem.to_owned(),
        None => derived(source, path),
    }
}

/// Returns the files from which each user's avatar can be made, the best first: the original, then the largest made
/// from it, in case the original's format is not read here.
#[must_use]
pub fn avatar_files_by_user(records: &[ExportFileRecord]) -> HashMap<UserId, Vec<&ExportFileRecord>> {
    let mut of_users: HashMap<UserId, Vec<&ExportFileRecord>> = HashMap::new();
    for record in records {
        if let Some(user) = record.user_profile_id.map(UserId) {
            of_users.entry(user).or_default().push(record);
        }
    }
    for files in of_users.values_mut() {
        files.sort_by_key(|record| std::cmp::Reverse(rank(&record.path)));
    }
    of_users
}

fn rank(path: &str) -> u8 {
    if path.ends_with(".original") { 2 } else { u8::from(path.ends_with("-medium.png")) }
}

/// Returns the file from which an organization image is made: the original, or else what was made from it; `None` for a
/// default image.
#[must_use]
pub fn organization_image_file<'a>(
    tables: &RealmTables,
    image: OrganizationImage,
    records: &'a [ExportFileRecord],
) -> Option<&'a ExportFileRecord> {
    let is_own =
        |row: &Map<String, Value>| row.get(&format!("{}_source", image.wire_name())) == Some(&Value::from("U"));
    tables.realms.first().filter(|row| is_own(row))?;
    let named = |ending: &str| {
        let name = format!("{}.{ending}", image.wire_name());
        records.iter().find(|record| record.path.rsplit('/').next() == Some(name.as_str()))
    };
    named("original").or_else(|| named("png"))
}

/// Returns the file of a custom emoji's image.
#[must_use]
pub fn custom_emoji_file<'a>(row: &CustomEmojiRow, records: &'a [ExportFileRecord]) -> Option<&'a ExportFileRecord> {
    let name = row.file_name.as_deref()?;
    records.iter().find(|record| record.file_name.as_deref() == Some(name))
}

/// Adds the custom emoji that have a picture, and returns their numbers.
pub(super) fn emoji(
    (tables, pictures): (&RealmTables, &ImportedImageUrls),
    users: &BTreeSet<UserId>,
    changes: &mut Vec<RealmChange>,
    report: &mut TransferReport,
) -> BTreeSet<i64> {
    let mut taken = BTreeSet::new();
    for row in &tables.emoji {
        let Some((source_url, still_url)) = pictures.emoji.get(&row.id) else { continue };
        let document = json!({
            "name": clean(&row.name),
            "source_url": source_url,
            "still_url": still_url,
            "deactivated": row.deactivated,
            "author_id": row.author.map(UserId).filter(|author| users.contains(author)),
        });
        taken.insert(row.id);
        changes.push(RealmChange::Item { kind: RealmItemKind::Emoji, id: row.id, document: Some(document) });
    }
    report.count_transferred("custom emoji", taken.len());
    report.count_omitted("custom emoji without a picture", tables.emoji.len() - taken.len());
    taken
}

/// 32 letters and digits.
fn derived(source: &str, path: &str) -> String {
    let digest = Sha256::new().chain_update(source).chain_update(b"\0").chain_update(path).finalize();
    let start = digest.first_chunk().copied().unwrap_or_default();
    format!("{:032x}", u128::from_be_bytes(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(path: &str) -> RealmTables {
        let rows = json!({
            "zerver_userprofile": [{"id": 7}],
            "zerver_attachment": [{"id": 1, "owner": 7, "path_id": path}, {"id": 2, "owner": 99, "path_id": path}],
        });
        serde_json::from_value(rows).unwrap()
    }

    #[test]
    fn a_path_of_ours_is_kept_and_another_follows_from_where_it_was() {
        let ours = format!("1/ab/{}/x.png", "c".repeat(30));
        let of = |source: &str, path: &str| {
            convert_uploads(&tables(path), source).iter().map(|upload| upload.path_id.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("a", &ours), [ours]);
        let foreign = of("a", "2/3f/9cAB_-x/my plan.pdf");
        assert!(foreign[0].ends_with("/my-plan.pdf"), "{foreign:?}");
        assert_eq!(foreign, of("a", "2/3f/9cAB_-x/my plan.pdf"));
        assert_ne!(foreign, of("b", "2/3f/9cAB_-x/my plan.pdf"));
        assert_ne!(foreign, of("a", "2/3f/other/my plan.pdf"));
    }

    #[test]
    fn a_picture_is_made_of_what_came() {
        let records = json!([
            {"path": "2/a.png", "user_profile_id": 7}, {"path": "2/a.original", "user_profile_id": 7},
            {"path": "2/b.png", "user_profile_id": 8}, {"path": "2/b-medium.png", "user_profile_id": 8},
            {"path": "x"},
        ]);
        let records: Vec<ExportFileRecord> = serde_json::from_value(records).unwrap();
        let best = avatar_files_by_user(&records);
        assert_eq!(
            (best[&UserId(7)][0].path.as_str(), best[&UserId(8)][0].path.as_str()),
            ("2/a.original", "2/b-medium.png")
        );
        let ours = "d".repeat(32);
        assert_eq!(imported_image_stem("a", &format!("1/{ours}.original")), ours);
        assert_eq!(imported_image_stem("a", "2/short.png").len(), 32);
    }
}
