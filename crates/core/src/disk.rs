//! Disk: every file that the core reads or writes, so that tests can make any operation fail
//! ([`faults`](crate::faults)).

use std::fs::{self, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;

use crate::faults::{Course, Operation, course};

/// A file, as in the standard library.
pub struct File(fs::File);

impl File {
    pub fn open(path: &Path) -> io::Result<File> {
        File::with(OpenOptions::new().read(true), path)
    }

    /// Creates a file, or empties it.
    pub fn create(path: &Path) -> io::Result<File> {
        File::with(OpenOptions::new().write(true).create(true).truncate(true), path)
    }

    pub fn with(options: &OpenOptions, path: &Path) -> io::Result<File> {
        course(Operation::Open)?;
        options.open(path).map(File)
    }

    /// Creates a file without a name in a folder.
    pub fn unnamed(folder: &Path) -> io::Result<File> {
        course(Operation::Open)?;
        tempfile::tempfile_in(folder).map(File)
    }

    /// Returns another handle to the same file, with the same offset.
    pub fn try_clone(&self) -> io::Result<File> {
        self.0.try_clone().map(File)
    }

    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.0.set_permissions(permissions)
    }

    pub fn set_len(&self, len: u64) -> io::Result<()> {
        course(Operation::Sync)?;
        self.0.set_len(len)
    }

    /// Flushes the file to the disk, except in tests, which write thousands of small files.
    pub fn sync(&self) -> io::Result<()> {
        course(Operation::Sync)?;
        if cfg!(test) { Ok(()) } else { self.0.sync_all() }
    }

    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.0.try_lock()
    }
}

impl Read for File {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match course(Operation::Read)? {
            Course::Normal => self.0.read(buffer),
            Course::Short => {
                let half = buffer.len().div_ceil(2);
                self.0.read(&mut buffer[..half])
            }
            Course::Torn | Course::Crash => Ok(0),
        }
    }
}

impl Write for File {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let course = course(Operation::Write)?;
        if course == Course::Normal {
            return self.0.write(bytes);
        }
        let written = self.0.write(&bytes[..bytes.len().div_ceil(2)])?;
        match course {
            Course::Torn => Err(io::ErrorKind::StorageFull.into()),
            Course::Crash => std::process::abort(),
            Course::Normal | Course::Short => Ok(written),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.0.seek(position)
    }
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    course(Operation::Rename)?;
    fs::rename(from, to)
}

/// The size and time of a regular file at some moment.
pub struct Snapshot {
    file: File,
    pub len: u64,
    modified: Option<SystemTime>,
}

impl Snapshot {
    /// Takes a snapshot, unless the file can be read only once, such as a pipe.
    pub fn take(file: &File) -> io::Result<Option<Snapshot>> {
        let now = file.metadata()?;
        if !now.is_file() {
            return Ok(None);
        }
        Ok(Some(Snapshot { file: file.try_clone()?, len: now.len(), modified: now.modified().ok() }))
    }

    /// Returns whether the file has the same size and time as before.
    pub fn is_current(&self) -> io::Result<bool> {
        let now = self.file.metadata()?;
        Ok(now.len() == self.len && now.modified().ok() == self.modified)
    }
}
