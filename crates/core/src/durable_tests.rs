//! Replacing files: whole or not at all, through links, and never a device.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut new = Replacement::create(path)?;
    new.file.write_all(text.as_bytes())?;
    new.finish(true)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_link_stays_and_its_file_is_replaced_with_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link, chain) =
        (folder.path().join("file"), folder.path().join("link"), folder.path().join("x"));
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    symlink("file", &link).unwrap();
    symlink(&link, &chain).unwrap();
    replace(&chain, "new").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(chain.is_symlink() && link.is_symlink());
    // A broken link says where the file shall be.
    fs::remove_file(&file).unwrap();
    replace(&link, "newer").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "newer");
    assert_eq!(names(folder.path()), ["file", "link", "x"]);
}

#[test]
fn what_is_not_a_regular_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/dev/null", folder.path().join("null")).unwrap();
    for path in [Path::new("/dev/null"), &folder.path().join("null"), folder.path()] {
        assert!(replace(path, "text").is_err(), "{path:?}");
    }
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    assert_eq!(names(folder.path()), ["null"]);
}

#[test]
fn temporary_files_of_the_dead_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("a.counts");
    // No process has this number, which is above the limit of Linux.
    for name in
        [".a.counts.99999999.tmp", ".a.counts.99999999-3.tmp", ".b.counts.99999999.tmp", ".a.counts.x.tmp"]
    {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let alive = format!(".a.counts.{}-1000000.tmp", std::process::id());
    fs::write(folder.path().join(&alive), "").unwrap();
    // On another machine that shares the folder.
    let elsewhere = folder.path().join(".a.counts.99999998.tmp");
    fs::write(&elsewhere, "").unwrap();
    let locked = fs::File::open(&elsewhere).unwrap();
    locked.try_lock().unwrap();
    replace(&target, "text").unwrap();
    let mut left =
        [".a.counts.99999998.tmp", ".a.counts.x.tmp", ".b.counts.99999999.tmp", &alive, "a.counts"];
    left.sort();
    assert_eq!(names(folder.path()), left);
}
