//! One text, several walks through the automaton at the same time, on one thread.
//!
//! A walk takes one look-up a byte, and each must wait for the one before: about seven cycles in which the
//! processor could do several times as much. So a stretch of text is walked in lanes side by side, all but
//! the first of which begin at a guess. Then the lanes are joined as in `parallel.rs`: the true pre-tokens
//! are followed until one ends where one of the next lane does, and from there on both agree, because what a
//! pattern without look-behind matches depends on the place alone.
//!
//! Cost: 820 MB/s a core on English, where one lane makes 400, two 745 and four 750. It loses where lanes do
//! not fall into step, that is where pre-tokens are about as long as lanes: then all but the first were
//! walked for nothing.

use std::mem::MaybeUninit;

use super::dfa::{Budget, Dfa};
use super::dfa_table::{CARE, ENDS};
use crate::Result;

const LANES: usize = 3;
/// The longest stretch that is walked at a time: it stays in the nearest cache.
const STRETCH: usize = 16 << 10;
/// The shortest one that is worth joining.
pub const LEAST: usize = if cfg!(test) { 16 } else { 2 << 10 };
/// How far a lane may look behind its end, so that a wrong guess costs no more than this.
const BEYOND: usize = 64;

/// Ends of pre-tokens: at most one for each byte of a lane, which may begin and end a character later than
/// its share.
type Room = [MaybeUninit<u32>; STRETCH / LANES + 8];

#[derive(Clone, Copy)]
struct Lane {
    /// Where it begins, a guess but for the first.
    begin: usize,
    /// The pre-token that is being matched: where it begins, the byte to be looked at next, and the state
    /// before it.
    start: usize,
    at: usize,
    state: u32,
    stop: usize,
    /// How many ends were found.
    count: usize,
}

impl Dfa {
    /// Appends the ends of pre-tokens from `from` on, up to about `until` or as far as a stretch goes, and
    /// returns where they end. No text that follows could change them.
    pub(super) fn split_in_lanes(
        &self,
        text: &[u8],
        from: usize,
        until: usize,
        budget: &mut Budget,
        ends: &mut Vec<u32>,
    ) -> Result<usize> {
        assert!(until <= text.len(), "`walk` reads every lane up to its stop");
        let length = until.min(from + STRETCH) - from;
        let mut begin = from;
        let mut lanes: [Lane; LANES] = std::array::from_fn(|i| {
            let stop = next_char(text, from + length * (i + 1) / LANES);
            let lane = Lane { begin, start: begin, at: begin, state: self.table.start, stop, count: 0 };
            begin = stop;
            lane
        });
        let mut rooms: [Room; LANES] = [const { [MaybeUninit::uninit(); STRETCH / LANES + 8] }; LANES];
        let mut guessing = Budget(64 * length as u64);
        self.walk(text, &mut lanes, &mut rooms, &mut guessing);
        for (lane, room) in lanes.iter_mut().zip(&mut rooms) {
            self.walk(text, std::array::from_mut(lane), std::array::from_mut(room), &mut guessing);
        }

        let mut end = from;
        for (lane, room) in lanes.iter().zip(&rooms) {
            // SAFETY: `walk` writes place `count` of a lane's room before it increases `count`, so the first
            // `count` places are initialized. A `MaybeUninit<u32>` has the layout of a `u32`.
            let mut found =
                unsafe { std::slice::from_raw_parts(room[..lane.count].as_ptr().cast::<u32>(), lane.count) };
            while end != lane.begin {
                let behind = found.iter().take_while(|&&theirs| (theirs as usize) < end).count();
                found = &found[behind..];
                match found.split_first() {
                    None => break,
                    Some((&theirs, rest)) if theirs as usize == end => {
                        found = rest;
                        break;
                    }
                    _ => {}
                }
                let (next, decided) = self.pretoken(text, end, budget)?;
                if !decided {
                    return Ok(end);
                }
                ends.push(next as u32);
                end = next;
            }
            ends.extend_from_slice(found);
            end = found.last().map_or(end, |&last| last as usize);
        }
        Ok(end)
    }

    /// Walks all lanes until one has reached its stop.
    #[inline(always)]
    fn walk<const N: usize>(
        &self,
        text: &[u8],
        lanes: &mut [Lane; N],
        rooms: &mut [Room; N],
        budget: &mut Budget,
    ) {
        let (class, fast) = (&self.table.class, &self.table.fast[..]);
        loop {
            let steps = lanes.iter().map(|lane| lane.stop.saturating_sub(lane.at)).min().unwrap_or(0);
            if steps == 0 {
                return;
            }
            let from = lanes.map(|lane| lane.at);
            let mut states = lanes.map(|lane| lane.state);
            let mut counts = lanes.map(|lane| lane.count);
            let mut nexts = [0; N];
            let mut step = 0;
            // SAFETY: three accesses are unchecked, each for its own reason.
            // - `text`: `split_in_lanes` asserts that no lane stops after the end of the text, and
            //   `from + step` is below the stop by the definition of `steps`.
            // - `fast`: a state is the start or comes from an entry without `CARE`, so by [`DfaTable`] a
            //   class can be added to it.
            // - `rooms`: the ends of a lane are strictly increasing, and those that are counted here are
            //   below its stop. So `count` is at most the number of bytes from its begin to its stop, which
            //   is STRETCH / LANES, rounded up, and at most 3 more where the stop was moved to the next
            //   character. A room has STRETCH / LANES + 8 places.
            unsafe {
                while step < steps {
                    let mut any = 0;
                    for k in 0..N {
                        let class = class[*text.get_unchecked(from[k] + step) as usize];
                        nexts[k] = *fast.get_unchecked(states[k] as usize + class as usize);
                        any |= nexts[k];
                    }
                    if any & CARE != 0 {
                        break;
                    }
                    for k in 0..N {
                        rooms[k].get_unchecked_mut(counts[k]).write((from[k] + step) as u32);
                        counts[k] += (nexts[k] >> 31) as usize;
                        states[k] = nexts[k] & !ENDS;
                    }
                    step += 1;
                }
            }
            for k in 0..N {
                let lane = &mut lanes[k];
                (lane.at, lane.state, lane.count) = (from[k] + step, states[k], counts[k]);
                if let Some(last) = lane.count.checked_sub(1) {
                    // SAFETY: every place of a room is written before it is counted, and `last` was counted.
                    lane.start = unsafe { rooms[k][last].assume_init() } as usize;
                }
                if step < steps && nexts[k] & CARE != 0 {
                    let seen = &text[..text.len().min(lane.stop + BEYOND)];
                    match self.pretoken(seen, lane.start, budget) {
                        Ok((end, true)) => {
                            rooms[k][lane.count].write(end as u32);
                            (lane.count, lane.start, lane.at) = (lane.count + 1, end, end);
                            lane.state = self.table.start;
                        }
                        // Too far to see, or too much work: this lane ends here.
                        _ => lane.stop = lane.at,
                    }
                }
            }
        }
    }
}

/// The first character that begins at `at` or later.
fn next_char(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
        at += 1;
    }
    at
}
