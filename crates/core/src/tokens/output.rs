//! Output: where the ids of a writer go, in the order of the corpus: to shards, or to a piece of which shards
//! are made later.

use std::path::Path;

use super::TokenSettings;
use super::encoded::Encoded;
use super::piece::Piece;
use super::shards::Shards;
use crate::corpus::Position;
use crate::{Progress, Result};

pub enum Output {
    Shards(Box<Shards>),
    Piece(Box<Piece>),
}

impl Output {
    /// Shards, or a piece if the settings name no size of shards. The folder must exist.
    pub fn new(settings: &TokenSettings, folder: &Path, progress: &Progress) -> Result<Output> {
        Ok(match settings.shard_tokens {
            Some(tokens) => Output::Shards(Box::new(Shards::new(settings, tokens, folder, progress)?)),
            None => Output::Piece(Box::new(Piece::create(folder, settings.width, settings.append)?)),
        })
    }

    /// Gives the next shard this number.
    pub fn start_at(&mut self, shard: u64) {
        if let Output::Shards(shards) = self {
            shards.start_at(shard);
        }
    }

    pub fn write(&mut self, encoded: &Encoded, progress: &Progress) -> Result<()> {
        match self {
            Output::Shards(shards) => shards.write(encoded, progress),
            Output::Piece(piece) => piece.write(encoded),
        }
    }

    /// Completes the files. The corpus, or the part of it in a piece, ends at `end`.
    pub fn finish(self, end: Position, progress: &Progress) -> Result<()> {
        match self {
            Output::Shards(mut shards) => shards.finish(end, progress),
            Output::Piece(piece) => piece.finish(end),
        }
    }
}
