// A text and its tokens in the packed form that the server sends: tokens are unpacked only when they are shown.
import { isBoundary } from "./glyphs.js";

const WITHIN = 0x80000000;
const utf8 = new TextEncoder();

export class Encoded {
  /** Arrays: the id of every token, its end offset in bytes, and its end offset in the text. */
  constructor(text, [ids, ends, cuts]) {
    this.text = text;
    this.ids = ids;
    this.ends = ends;
    this.cuts = cuts;
  }

  get count() { return this.ids.length; }

  /** The offset after the last character that starts before the end of token k. */
  end(k) { return k < 0 ? 0 : this.cuts[k] & 0x7fffffff; }

  /** The offset of the first character that token k contains or shares. */
  start(k) {
    if (k === 0 || !(this.cuts[k - 1] & WITHIN)) return this.end(k - 1);
    const last = this.end(k - 1) - 1;
    const code = this.text.charCodeAt(last);
    return code >= 0xdc00 && code < 0xe000 ? last - 1 : last;
  }

  byteStart(k) { return k ? this.ends[k - 1] : 0; }

  bytes(k) {
    let first = k;
    while (first && this.cuts[first - 1] & WITHIN) first -= 1; // only whole characters can be encoded
    const skip = this.byteStart(k) - this.byteStart(first);
    return utf8.encode(this.text.slice(this.end(first - 1), this.end(k))).subarray(skip, skip + this.ends[k] - this.byteStart(k));
  }

  /** The tokens of an edited text: the first `front` and the last `back` are kept, `arrays` holds those between. */
  edited(text, { front, back, bytes }, arrays) {
    const kept = this.count - back;
    const count = front + arrays[0].length + back;
    const shifts = [0, bytes - (this.count ? this.ends[this.count - 1] : 0), text.length - this.text.length];
    const updated = [this.ids, this.ends, this.cuts].map((old, n) => {
      const array = new Uint32Array(count);
      array.set(old.subarray(0, front));
      array.set(arrays[n], front);
      array.set(old.subarray(kept), count - back);
      if (shifts[n]) for (let k = count - back; k < count; k += 1) array[k] += shifts[n];
      return array;
    });
    return new Encoded(text, updated);
  }

  /** Whether token k ends between two visible characters. */
  endsAtBoundary(k) { return !(this.cuts[k] & WITHIN) && isBoundary(this.text, this.cuts[k]); }

  /** The token after the last one that shares characters with token k. */
  segmentEnd(k) {
    while (k < this.count - 1 && !this.endsAtBoundary(k)) k += 1;
    return k + 1;
  }

  /** The first token that shares characters with token k. */
  segmentStart(k) {
    while (k > 0 && !this.endsAtBoundary(k - 1)) k -= 1;
    return k;
  }

  /** The token that contains a byte of the text. */
  at(byte) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] <= byte) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, this.count - 1);
  }

  /** The first tokens of blocks that are drawn separately; a block ends at a line break or at its largest size. */
  blocks(least = 48, most = 240) {
    this.starts ||= this.blockStarts(least, most);
    return this.starts;
  }

  /** Whether token k follows a line break. */
  startsLine(k) { return k === 0 || this.text.charCodeAt(this.end(k - 1) - 1) === 10; }

  /**
   * The tints of tokens, as numbers from 0 to 4. A tint depends on the text of a token alone, unless the token before it
   * in its block has the same; tokens that share a character have one tint. So panes agree, and typing changes no others.
   */
  tints(from, to) {
    this.tinted ||= new Map();
    if (!this.tinted.has(from)) {
      const tints = new Uint8Array(to - from);
      for (let k = from, last = -1; k < to;) {
        const end = Math.min(this.segmentEnd(k), to);
        last = tintOf(this.text, this.end(k - 1), this.end(end - 1), last);
        tints.fill(last, k - from, end - from);
        k = end;
      }
      this.tinted.set(from, tints);
    }
    return this.tinted.get(from);
  }

  blockStarts(least, most) {
    const starts = [];
    for (let k = 0, start = 0; k < this.count; k += 1) {
      if (k === start) starts.push(start);
      const size = k - start + 1;
      const line = size >= least && this.text.charCodeAt((this.cuts[k] & 0x7fffffff) - 1) === 10;
      if ((line || size >= most) && this.endsAtBoundary(k)) start = k + 1;
    }
    return starts;
  }
}

/** The tint of a part of a text, other than the one before it. */
export function tintOf(text, start, end, before) {
  let hash = 7;
  for (let at = start; at < end; at += 1) hash = (hash * 31 + text.charCodeAt(at)) & 0xffffff;
  const tint = hash % 5;
  return tint === before ? (tint + 1) % 5 : tint;
}

const STRIDE = 4096; // characters compared at once

/** The edit {start, end, insert} that turns `before` into `after`. */
export function editOf(before, after) {
  const least = Math.min(before.length, after.length);
  let start = 0;
  while (start + STRIDE <= least && before.slice(start, start + STRIDE) === after.slice(start, start + STRIDE)) start += STRIDE;
  while (start < least && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  let back = 0;
  const [ours, theirs] = [before.length, after.length];
  while (back + STRIDE <= least - start
    && before.slice(ours - back - STRIDE, ours - back) === after.slice(theirs - back - STRIDE, theirs - back)) back += STRIDE;
  while (back < least - start && before.charCodeAt(before.length - 1 - back) === after.charCodeAt(after.length - 1 - back)) back += 1;
  return { start, end: before.length - back, insert: after.slice(start, after.length - back) };
}

const LONG = 20000; // characters: the server caches longer texts

/** Encodes a text repeatedly; for long texts only the edits are sent. */
export class Encoder {
  constructor(api) {
    this.api = api;
    this.page = Math.random().toString(36).slice(2);
    this.version = 0;
    this.last = null;
  }

  async encode(tokenizer, text, specials) {
    const request = { tokenizer, specials, page: this.page, version: ++this.version };
    const base = this.last;
    const same = base && base.tokenizer === tokenizer && base.specials === specials && Math.min(base.text.length, text.length) >= LONG;
    let answer = null;
    if (same) {
      try {
        answer = await this.api.post("playground/encode", { ...request, edit: { base: base.version, ...editOf(base.text, text) } });
      } catch (error) {
        if (error.status !== 409) throw error;
      }
    }
    let encoded;
    if (answer) encoded = base.encoded.edited(text, answer, answer.arrays);
    else {
      answer = await this.api.post("playground/encode", { ...request, text });
      encoded = new Encoded(text, answer.arrays);
    }
    this.last = { ...request, text, encoded };
    return { encoded, figures: answer };
  }
}
