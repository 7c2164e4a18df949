//! Durable: what must survive a kill or a power cut, and one writer at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::{Error, Progress, Result};

/// How often whoever waits for a lock looks around.
const PATIENCE: Duration = Duration::from_millis(5);

/// How long the last run in a folder has to write down what it had finished when it was stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 10 });

/// Two writers in one folder would write over each other's files. The lock goes with the last copy of the
/// handle, also when the process is killed.
pub fn lock(folder: &Path, progress: &Progress) -> Result<Option<File>> {
    // Where a folder cannot be opened as a file there is no lock, and the user's own care must do.
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

/// Makes new names survive a power cut, where the system lets a folder be flushed.
pub fn sync_folder(folder: &Path) {
    // The folder of a bare file name is the one we are in.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(folder) = File::open(folder) {
        let _ = sync(&folder);
    }
}

/// Tests write thousands of small files, and no power is cut.
pub fn sync(file: &File) -> io::Result<()> {
    if cfg!(test) { Ok(()) } else { file.sync_all() }
}
