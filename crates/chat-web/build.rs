//! Lists the files of the built client, so that the crate embeds them whatever they are called.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&dist)? {
        let path = entry?.path();
        println!("cargo::rerun-if-changed={}", path.display());
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let mut list = String::from("&[\n");
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Writing to a text does not fail.
        let _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    list.push_str("]\n");
    #[expect(clippy::disallowed_methods, reason = "cargo gives a build script its folder this way alone")]
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("files.rs"), list)
}
