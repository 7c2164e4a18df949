//! Durable: writes that survive a kill or a power cut, and one writer per folder at a time.
//!
//! Cost: a flush takes milliseconds on a disk, so callers flush whole files and not single writes.

use std::fs::{self, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::disk::{File, rename};
use crate::{Error, Progress, Result};

/// How long to wait between two attempts to lock.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long to wait for the last run in a folder, which writes what it had finished when it was stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });

/// How many links may lead to a file; Linux allows as many.
const MOST_LINKS: usize = 40;

/// Locks a folder, because two writers would overwrite each other's files. The lock is released with the last
/// copy of the handle, also when the process is killed.
pub fn lock(folder: &Path, progress: &Progress) -> Result<Option<File>> {
    let start = Instant::now();
    // Where a folder cannot be opened as a file there is no lock, and the user must take care.
    let Ok(mut file) = File::open(folder) else { return Ok(None) };
    loop {
        match file.try_lock() {
            // The last run may have removed the folder while we waited, and another may have created it.
            Ok(()) if is_at(&file, folder) => return Ok(Some(file)),
            Ok(()) => match File::open(folder) {
                Ok(new) => file = new,
                Err(_) => return Ok(None),
            },
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if start.elapsed() >= LOCK_PATIENCE => {
                return Err(Error::BusyFolder { path: folder.into() });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PATIENCE),
        }
        progress.check()?;
    }
}

/// Returns whether an open folder is the one at `path`.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |data: fs::Metadata| (data.dev(), data.ino());
    file.metadata().ok().map(identity) == fs::metadata(path).ok().map(identity)
}

#[cfg(not(unix))]
pub fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Makes new names survive a power cut, where the system allows a folder to be flushed.
pub fn sync_folder(folder: &Path) {
    // The folder of a bare file name is the current one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync();
    }
}

/// A file that is written under a temporary name beside its target, and replaces it when it is whole. The name
/// begins with a dot, so that it is never read as part of a corpus folder. Removed on drop unless it was
/// renamed.
pub struct Replacement {
    pub file: File,
    target: PathBuf,
    temporary: PathBuf,
}

impl Replacement {
    /// Creates the temporary file. A link stays, and the file it leads to is replaced, keeping its
    /// permissions. What is not a regular file is refused: a rename would replace a device by a file.
    pub fn create(path: &Path) -> io::Result<Replacement> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let existing = match fs::metadata(path) {
            Ok(found) if found.is_file() => Some(found),
            Ok(found) if found.is_dir() => return Err(io::Error::other("it is a folder, not a file")),
            Ok(_) => return Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = through_links(path);
        remove_stale(&target);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let number = NUMBER.fetch_add(1, Relaxed);
        let temporary = target.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        let file = File::create(&temporary)?;
        let replacement = Replacement { file, target, temporary };
        // Shows other processes that it is in use, where files can be locked.
        let _ = replacement.file.try_lock();
        if let Some(existing) = existing {
            replacement.file.set_permissions(existing.permissions())?;
        }
        Ok(replacement)
    }

    /// Gives the file its name. It survives a power cut if it is `durable`.
    pub fn finish(self, durable: bool) -> io::Result<()> {
        if durable {
            self.file.sync()?;
        }
        rename(&self.temporary, &self.target)?;
        if durable {
            sync_folder(self.target.parent().unwrap_or(Path::new(".")));
        }
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // It no longer exists if it was renamed.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Returns where a chain of links leads, whether or not there is a file.
fn through_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(link);
    }
    path
}

/// Removes the temporary files of a target that killed processes have left: `.NAME.PID….tmp`, of a process
/// that no longer runs here, and not locked by one that runs elsewhere.
pub fn remove_stale(target: &Path) {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let prefix = format!(".{}.", target.file_name().unwrap_or_default().to_string_lossy());
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".tmp"));
        let pid = owner.map(|owner| owner.split('-').next().unwrap_or_default());
        let is_ours = pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()));
        if !is_ours || pid.is_some_and(|pid| Path::new("/proc").join(pid).exists()) {
            continue;
        }
        // Not through `disk`: whether it succeeds makes no difference to anything.
        if let Ok(file) = fs::File::open(entry.path())
            && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

// They are about links and modes of Unix.
#[cfg(all(test, unix))]
#[path = "durable_tests.rs"]
mod tests;
