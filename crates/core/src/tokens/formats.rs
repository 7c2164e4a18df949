//! Formats: the header of a shard, and how document boundaries are stored.
//!
//! | format | file of ids | documents |
//! |---|---|---|
//! | `bin` | the ids and nothing else, as nanoGPT reads them | `.docs.npy` |
//! | `npy` | numpy's own format, version 1.0 | `.docs.npy` |
//! | `llmc` | the header of llm.c and modded-nanogpt, 256 numbers of 32 bits | `.docs.npy` |
//! | `megatron` | the ids and nothing else | `.idx`, the index of Megatron-LM |
//!
//! Everything is little-endian. The length of a header does not depend on its content, so a shard is written
//! after an empty header that is filled in at the end.

use std::io::{self, Write};

use crate::{Error, Result, Tokenizer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenFormat {
    Bin,
    Npy,
    Llmc,
    Megatron,
}

/// The number of bytes of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdWidth {
    Two,
    Four,
}

impl IdWidth {
    /// Returns the smallest width that holds every id.
    pub fn least(tokenizer: &Tokenizer) -> IdWidth {
        if tokenizer.next_id() <= 1 << 16 { IdWidth::Two } else { IdWidth::Four }
    }

    pub fn bytes(self) -> u64 {
        if self == IdWidth::Two { 2 } else { 4 }
    }
}

/// The length that numpy's header is padded to; it must be a multiple of 64.
pub const NPY_HEADER: usize = 128;

/// The length of llm.c's header.
const LLMC_HEADER: usize = 256 * 4;

impl TokenFormat {
    pub const ALL: [TokenFormat; 4] =
        [TokenFormat::Bin, TokenFormat::Npy, TokenFormat::Llmc, TokenFormat::Megatron];

    pub fn name(self) -> &'static str {
        match self {
            TokenFormat::Bin => "bin",
            TokenFormat::Npy => "npy",
            TokenFormat::Llmc => "llmc",
            TokenFormat::Megatron => "megatron",
        }
    }

    pub fn named(name: &str) -> Result<TokenFormat> {
        TokenFormat::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let names = TokenFormat::ALL.map(TokenFormat::name).join(", ");
            Error::BadSetting { reason: format!("unknown token format {name:?}; use one of {names}") }
        })
    }

    pub fn extension(self) -> &'static str {
        if self == TokenFormat::Npy { "npy" } else { "bin" }
    }

    /// Returns numpy's name for the type of an id. Megatron has no unsigned 32-bit type; no id is large
    /// enough for that to matter.
    pub fn dtype(self, width: IdWidth) -> &'static str {
        match (self, width) {
            (_, IdWidth::Two) => "uint16",
            (TokenFormat::Megatron, IdWidth::Four) => "int32",
            (_, IdWidth::Four) => "uint32",
        }
    }

    pub fn header_len(self) -> usize {
        match self {
            TokenFormat::Bin | TokenFormat::Megatron => 0,
            TokenFormat::Npy => NPY_HEADER,
            TokenFormat::Llmc => LLMC_HEADER,
        }
    }

    /// Returns the header of a file with `tokens` ids.
    pub fn header(self, width: IdWidth, tokens: u64) -> Result<Vec<u8>> {
        Ok(match self {
            TokenFormat::Bin | TokenFormat::Megatron => Vec::new(),
            TokenFormat::Npy => npy_header(if width == IdWidth::Two { "<u2" } else { "<u4" }, tokens),
            TokenFormat::Llmc => llmc_header(width, tokens)?,
        })
    }
}

/// Returns the header of a one-dimensional array: magic, version, length, then a Python literal, padded with
/// spaces.
pub fn npy_header(descr: &str, len: u64) -> Vec<u8> {
    let literal = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}");
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(((NPY_HEADER - 10) as u16).to_le_bytes());
    header.extend(format!("{literal:<width$}\n", width = NPY_HEADER - 11).bytes());
    header
}

/// Returns magic, version, number of ids, then zeros. The two magics are those of `dev/data/data_common.py`
/// in llm.c: its GPT-2 files have 16-bit ids, its Llama 3 files 32-bit ids.
fn llmc_header(width: IdWidth, tokens: u64) -> Result<Vec<u8>> {
    let (magic, version) = match width {
        IdWidth::Two => (20240520i32, 1i32),
        IdWidth::Four => (20240801, 7),
    };
    let tokens =
        i32::try_from(tokens).map_err(|_| Error::TooManyTokens { what: "a file of llm.c", tokens })?;
    let mut header: Vec<u8> = [magic, version, tokens].into_iter().flat_map(i32::to_le_bytes).collect();
    header.resize(LLMC_HEADER, 0);
    Ok(header)
}

/// Writes Megatron's index from the start of each document and the end of the last one. Each document is one
/// sequence.
///
/// ```text
/// "MMIDIDX\0\0", version 1 (u64), code of the id's type (u8), sequences (u64), documents + 1 (u64)
/// tokens of each sequence (i32), its offset in bytes (i64), then 0, 1, 2 … (i64): a document's first sequence
/// ```
///
/// `bounds` is called several times, so that the bounds need not be in memory.
pub fn write_megatron_index<I: Iterator<Item = io::Result<u64>>>(
    out: &mut impl Write,
    width: IdWidth,
    documents: u64,
    bounds: impl Fn() -> io::Result<I>,
) -> std::result::Result<(), MegatronError> {
    let (code, bytes) = (if width == IdWidth::Two { 8u8 } else { 4 }, width.bytes());
    out.write_all(b"MMIDIDX\0\0")?;
    out.write_all(&1u64.to_le_bytes())?;
    out.write_all(&[code])?;
    out.write_all(&documents.to_le_bytes())?;
    out.write_all(&(documents + 1).to_le_bytes())?;
    let mut ends = bounds()?;
    // Not `skip`, which would drop an error: the numbers that follow would be off by one.
    let mut start = ends.next().transpose()?.unwrap_or_default();
    for end in ends {
        let end = end?;
        let tokens = i32::try_from(end - start).map_err(|_| MegatronError::TooLong(end - start))?;
        out.write_all(&tokens.to_le_bytes())?;
        start = end;
    }
    for start in bounds()?.take(documents as usize) {
        out.write_all(&(start? * bytes).to_le_bytes())?;
    }
    for sequence in 0..=documents {
        out.write_all(&sequence.to_le_bytes())?;
    }
    Ok(())
}

#[derive(Debug)]
pub enum MegatronError {
    Write(io::Error),
    /// A document has this many tokens, too many for the index.
    TooLong(u64),
}

impl From<io::Error> for MegatronError {
    fn from(error: io::Error) -> Self {
        MegatronError::Write(error)
    }
}
