use std::io::Write as _;

use chat_core::files::PublicImageName;
use tempfile::TempDir;

use super::*;

fn folder() -> (Files, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Files::in_folder(&folder.path().join(FOLDER)).unwrap(), folder)
}

fn key(digit: char) -> FileKey {
    FileKey::from(&PublicImageName::new(&digit.to_string().repeat(32), "", "png").unwrap())
}

async fn read(files: &Files, key: &FileKey, range: Option<Range<u64>>) -> Option<Vec<u8>> {
    let mut reader = files.open(key, range).await.unwrap()?;
    let mut whole = Vec::new();
    while let Some(piece) = reader.next_chunk().await.unwrap() {
        whole.extend_from_slice(&piece);
    }
    Some(whole)
}

#[tokio::test]
async fn a_small_file_is_read_as_it_was_kept() {
    let (files, _folder) = folder();
    assert_eq!(read(&files, &key('a'), None).await, None);
    files.put_bytes(&key('a'), Bytes::from_static(b"one")).await.unwrap();
    files.put_bytes(&key('b'), Bytes::from_static(b"two")).await.unwrap();
    assert_eq!(read(&files, &key('a'), None).await.unwrap(), b"one");
    files.put_bytes(&key('a'), Bytes::from_static(b"three")).await.unwrap();
    assert_eq!(read(&files, &key('a'), Some(1..3)).await.unwrap(), b"hr");
}

#[tokio::test]
async fn a_large_file_goes_through_in_pieces_and_is_the_same() {
    let (files, _folder) = folder();
    let whole: Vec<u8> = (0..3 * FOLDER_PIECE + 17).map(|place| u8::try_from(place % 251).unwrap()).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&whole).unwrap();
    files.put_file(&key('a'), file).await.unwrap();
    assert!(read(&files, &key('a'), None).await.unwrap() == whole);
    let (start, end) = (FOLDER_PIECE as u64 - 5, FOLDER_PIECE as u64 + 5);
    let part = read(&files, &key('a'), Some(start..end)).await.unwrap();
    assert_eq!(part, whole[FOLDER_PIECE - 5..FOLDER_PIECE + 5]);
}

#[tokio::test]
async fn a_file_is_deleted_once_or_more_often() {
    let (files, _folder) = folder();
    files.put_bytes(&key('a'), Bytes::from_static(b"one")).await.unwrap();
    files.delete(&key('a')).await.unwrap();
    files.delete(&key('a')).await.unwrap();
    assert_eq!(read(&files, &key('a'), None).await, None);
}

#[tokio::test]
async fn an_empty_file_is_one() {
    let (files, _folder) = folder();
    files.put_file(&key('a'), tempfile::tempfile().unwrap()).await.unwrap();
    assert_eq!(read(&files, &key('a'), None).await.unwrap(), b"");
}

#[test]
fn a_folder_that_cannot_be_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let refused = Files::in_folder(&taken.join("files")).err().unwrap();
    assert!(refused.to_string().starts_with("cannot make the folder"), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_closed_to_other_users_also_where_the_folder_was_open() {
    use std::os::unix::fs::PermissionsExt as _;

    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join(FOLDER);
    for open in [data.path(), &folder] {
        std::fs::create_dir_all(open).unwrap();
        set_mode(open, 0o755).unwrap();
    }
    let files = Files::in_folder(&folder).unwrap();
    files.put_bytes(&key('a'), Bytes::from_static(b"one")).await.unwrap();
    let mut large = tempfile::tempfile().unwrap();
    large.write_all(b"two").unwrap();
    files.put_file(&key('b'), large).await.unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for key in [key('a'), key('b')] {
        let file = folder.join(key.as_str());
        assert_eq!(mode(&file), 0o600, "{}", file.display());
        for parent in file.ancestors().skip(1).take_while(|parent| *parent != data.path()) {
            assert_eq!(mode(parent), 0o700, "{}", parent.display());
        }
    }
}
