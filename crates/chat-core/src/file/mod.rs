//! Files: the pictures of users and custom emoji.
//!
//! Their bytes are in a [`FileStore`], under keys of our own making ([`FileKey`]); a file is never changed, only
//! deleted. They are for everybody who knows their names.

mod key;
mod store;

pub use key::{FileKey, PictureName};
pub use store::{FileError, FileReader, FileStore};
