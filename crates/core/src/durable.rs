//! Durable: writes that survive a kill or a power cut, and one writer per folder at a time.
//!
//! Cost: a flush takes milliseconds on a disk, so callers flush whole files and not single writes.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, Progress, Result};

/// How long to wait between two attempts to lock.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long to wait for the last run in a folder, which writes what it had finished when it was stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });

/// Locks a folder, because two writers would overwrite each other's files. The lock is released with the last
/// copy of the handle, also when the process is killed.
pub fn lock(folder: &Path, progress: &Progress) -> Result<Option<File>> {
    // Where a folder cannot be opened as a file there is no lock, and the user must take care.
    let Ok(file) = File::open(folder) else { return Ok(None) };
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if start.elapsed() >= LOCK_PATIENCE => {
                return Err(Error::BusyFolder { path: folder.into() });
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PATIENCE),
        }
        progress.check()?;
    }
}

/// Makes new names survive a power cut, where the system allows a folder to be flushed.
pub fn sync_folder(folder: &Path) {
    // The folder of a bare file name is the current one.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(folder) = File::open(folder) {
        let _ = sync(&folder);
    }
}

/// Flushes a file to the disk, except in tests, which write thousands of small files.
pub fn sync(file: &File) -> io::Result<()> {
    if cfg!(test) { Ok(()) } else { file.sync_all() }
}
