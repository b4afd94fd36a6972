//! Checksums of a part's files, so that a damaged file is an error and not a wrong result.
//!
//! `checks.json` divides each file into blocks: a block for each row group, and one for what comes after the last.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::name::Name;
use crate::regular;
use crate::whole::write_whole;

const CHECKS: &str = "checks.json";

/// What is read at once.
const PIECE: usize = 1 << 20;

/// The end of a block, and the `CRC32c` of its bytes.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Block {
    end: u64,
    crc32c: u32,
}

/// The blocks of each file of a part, by its name.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Checks(BTreeMap<Name, Vec<Block>>);

impl Checks {
    /// Adds a file, whose row groups end at these places.
    pub(crate) fn add(&mut self, path: &Path, groups: &[u64]) -> Result<(), StoreError> {
        let read = |error| StoreError::read(path)(error);
        let file = regular::open(path)?;
        let end = file.metadata().map_err(read)?.len();
        let mut blocks = Vec::new();
        let mut from = 0;
        for end in groups.iter().copied().chain([end]) {
            let crc32c = sum(&file, from, end).map_err(read)?;
            blocks.push(Block { end, crc32c });
            from = end;
        }
        if let Some(name) = Name::of(path) {
            self.0.insert(name, blocks);
        }
        Ok(())
    }

    /// Writes them into the folder of a part.
    pub(crate) fn write(&self, part: &Path) -> Result<(), StoreError> {
        let json = serde_json::to_vec(self).expect("numbers are JSON");
        write_whole(&part.join(CHECKS), &json)
    }

    /// Reads those of a part.
    pub(crate) fn read(part: &Path) -> Result<Self, StoreError> {
        let path = part.join(CHECKS);
        let json = regular::read(&path)?;
        serde_json::from_slice(&json).map_err(StoreError::damaged(&path))
    }

    /// Opens a file of the part, if what follows its row groups is what was written.
    pub(crate) fn open(&self, path: &Path) -> Result<Checked, StoreError> {
        let file = regular::open(path)?;
        let blocks = Name::of(path).and_then(|name| self.0.get(&name).cloned());
        let blocks = blocks.unwrap_or_default();
        let path = path.to_owned();
        let checked = Checked { path, file, blocks };
        checked.check(checked.blocks.len().saturating_sub(1))?;
        Ok(checked)
    }
}

/// A file of a part, with its checksums.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    blocks: Vec<Block>,
}

impl Checked {
    /// Fails if a block is not what was written.
    pub(crate) fn check(&self, block: usize) -> Result<(), StoreError> {
        let damaged = |reason: String| StoreError::damaged(&self.path)(reason);
        let Some(Block { end, crc32c }) = self.blocks.get(block).copied() else {
            return Err(damaged(format!("{CHECKS} lacks a checksum of it")));
        };
        let before = block.checked_sub(1).and_then(|it| self.blocks.get(it));
        let from = before.map_or(0, |it| it.end);
        match sum(&self.file, from, end) {
            Ok(found) if found == crc32c => Ok(()),
            Ok(_) => Err(damaged(format!("bytes {from} to {end} have changed"))),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(damaged(format!("it ends before byte {end}")))
            }
            Err(error) => Err(StoreError::read(&self.path)(error)),
        }
    }
}

/// Returns the checksum of a stretch of a file.
fn sum(mut file: &File, from: u64, end: u64) -> std::io::Result<u32> {
    file.seek(SeekFrom::Start(from))?;
    let mut left = end.saturating_sub(from);
    let mut piece = vec![0; PIECE];
    let mut sum = 0;
    while left > 0 {
        let length = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
        file.read_exact(&mut piece[..length])?;
        sum = crc32c::crc32c_append(sum, &piece[..length]);
        left -= length as u64;
    }
    Ok(sum)
}
