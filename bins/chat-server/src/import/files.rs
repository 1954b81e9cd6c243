//! The files of an export: pictures are made again, uploads are kept as they are. Each is kept under a name that is the
//! same whenever it is taken over, so a file that was kept before an import broke off is written again and none is left
//! over.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _};

use anyhow::Context as _;
use bytes::Bytes;
use chat_core::files::{
    Attachment, FileKey, FileStore, ImageMetadata, MediaType, PublicImageName, SNIFFED_BYTES, display_file_name,
};
use chat_core::id::{AttachmentId, UserId};
use chat_core::import_export::export::ExportUploadFolder;
use chat_core::import_export::import::export_tables::RealmTables;
use chat_core::import_export::import::{self, ImportedImageUrls, ImportedUpload, TransferReport};
use chat_core::model::organization_image::{OrganizationImage, OrganizationImageUrls};
use chat_core::organization::{custom_emoji, images};
use chat_core::people::avatar;
use chat_pictures::{EncodedPicture, PictureError};

use crate::import::folder::Folder;

/// Bytes of a picture that is taken over, and no more: what people can upload as one.
const PICTURE_MAX_BYTES: u64 = 5 * 1024 * 1024;

/// Where files come from, and where they go.
pub(super) struct Files<'a> {
    pub(super) folder: &'a Folder,
    pub(super) store: &'a dyn FileStore,
    /// What the export is recognised by.
    pub(super) source: &'a str,
}

impl Files<'_> {
    /// Keeps the pictures of users and of the organization, and the custom emoji. One that is none, or is not there, is
    /// left out.
    pub(super) async fn pictures(&self, tables: &RealmTables) -> anyhow::Result<ImportedImageUrls> {
        let mut pictures = ImportedImageUrls::default();
        let records = self.folder.records(ExportUploadFolder::Avatars)?;
        let known = tables.users.iter().filter(|row| row.columns.avatar_source == "U");
        let sources = import::avatar_files_by_user(&records);
        for user in known.map(|row| UserId(row.columns.id)) {
            for record in sources.get(&user).into_iter().flatten() {
                let Some(bytes) = self.picture(ExportUploadFolder::Avatars, &record.path)? else { continue };
                let Some(made) = made(chat_pictures::make_avatar(&bytes))? else { continue };
                let made = vec![("", made.small), ("-medium", made.medium)];
                let url = self.keep(avatar::AVATAR_IMAGE_FOLDER, &record.path, made).await?.into_iter().next();
                pictures.avatars.extend(url.map(|url| (user, url)));
                break;
            }
        }
        let records = self.folder.records(ExportUploadFolder::Emoji)?;
        for row in &tables.emoji {
            let Some(record) = import::custom_emoji_file(row, &records) else { continue };
            let Some(bytes) = self.picture(ExportUploadFolder::Emoji, &record.path)? else { continue };
            let made = made(chat_pictures::make_emoji(&bytes))?;
            let made = made.map(|made| {
                std::iter::once(("", made.picture)).chain(made.still.map(|still| ("-still", still))).collect()
            });
            if let Some(made) = made {
                let mut urls =
                    self.keep(custom_emoji::CUSTOM_EMOJI_IMAGE_FOLDER, &record.path, made).await?.into_iter();
                pictures.emoji.extend(urls.next().map(|url| (row.id, (url, urls.next()))));
            }
        }
        pictures.images = self.images(tables).await?;
        Ok(pictures)
    }

    async fn images(&self, tables: &RealmTables) -> anyhow::Result<OrganizationImageUrls> {
        let mut images = OrganizationImageUrls::default();
        let records = self.folder.records(ExportUploadFolder::Emblems)?;
        for image in OrganizationImage::ALL {
            let Some(record) = import::organization_image_file(tables, image, &records) else { continue };
            let Some(bytes) = self.picture(ExportUploadFolder::Emblems, &record.path)? else { continue };
            let made = match image {
                OrganizationImage::Icon => chat_pictures::make_organization_icon(&bytes),
                OrganizationImage::Logo | OrganizationImage::NightLogo => chat_pictures::make_organization_logo(&bytes),
            };
            if let Some(made) = self::made(made)? {
                let urls = self.keep(images::ORGANIZATION_IMAGE_FOLDER, &record.path, vec![("", made)]).await?;
                images = images.with_image_url(image, urls.into_iter().next());
            }
        }
        Ok(images)
    }

    /// Keeps the pictures made of the file at that path; returns their addresses.
    async fn keep(&self, folder: &str, path: &str, made: Vec<(&str, EncodedPicture)>) -> anyhow::Result<Vec<String>> {
        let stem = import::imported_image_stem(self.source, path);
        let mut urls = Vec::with_capacity(made.len());
        for (variant, EncodedPicture { bytes, format }) in made {
            let name =
                PublicImageName::new(&stem, variant, format.file_extension()).context("a picture has no name")?;
            self.store.put_bytes(&FileKey::from(&name), Bytes::from(bytes)).await?;
            urls.push(format!("{folder}/{name}"));
        }
        Ok(urls)
    }

    fn picture(&self, cabinet: ExportUploadFolder, path: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(file) = self.folder.file(cabinet, path)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(PICTURE_MAX_BYTES + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {path}"))?;
        Ok((bytes.len() as u64 <= PICTURE_MAX_BYTES).then_some(bytes))
    }

    /// Keeps the bytes of uploads; returns those that are there.
    pub(super) async fn uploads(
        &self,
        some: &[ImportedUpload],
        report: &mut TransferReport,
    ) -> anyhow::Result<Vec<Attachment>> {
        let mut kept = Vec::with_capacity(some.len());
        for upload in some {
            match self.folder.file(ExportUploadFolder::Uploads, &upload.row.path_id)? {
                Some(file) => kept.push(self.upload(upload, file).await?),
                None => report.count_omitted("uploads whose bytes are not in the export", 1),
            }
        }
        report.count_transferred("uploads", kept.len());
        Ok(kept)
    }

    async fn upload(&self, upload: &ImportedUpload, mut file: File) -> anyhow::Result<Attachment> {
        let ImportedUpload { row, path_id } = upload;
        let unread = || format!("cannot read {}", row.path_id);
        let size = file.metadata().with_context(unread)?.len();
        let mut start = Vec::new();
        file.by_ref().take(SNIFFED_BYTES as u64).read_to_end(&mut start).with_context(unread)?;
        file.rewind().with_context(unread)?;
        let given = if row.file_name.is_empty() { path_id.file_name() } else { &row.file_name };
        let name = display_file_name(given);
        let facts = chat_pictures::read_picture_metadata(BufReader::new(file.try_clone().with_context(unread)?)).ok();
        self.store.put_file(&FileKey::from(path_id), file).await?;
        Ok(Attachment {
            id: AttachmentId(row.id),
            path_id: path_id.clone(),
            owner_id: UserId(row.owner),
            media_type: MediaType::detect(&start, &name).media_type.to_owned(),
            name,
            size_bytes: i64::try_from(size).unwrap_or(i64::MAX),
            created_s: row.create_time,
            picture: facts.map(|facts| ImageMetadata {
                width: facts.width,
                height: facts.height,
                is_animated: facts.is_animated,
            }),
        })
    }
}

/// Returns the made picture; `None` for a file that is not a picture. A file that cannot be read is an error.
fn made<T>(made: Result<T, PictureError>) -> anyhow::Result<Option<T>> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(PictureError::Failed(error)) => Err(error).context("a picture cannot be made"),
        Err(PictureError::UnknownFormat | PictureError::TooLarge | PictureError::Broken(_)) => Ok(None),
    }
}
