// A text and its tokens, as the server has packed them: nothing is unpacked before it is seen.
import { isBoundary } from "./glyphs.js";

const WITHIN = 0x80000000;
const utf8 = new TextEncoder();

export class Encoded {
  /** `arrays`: of every token its id, its end in bytes, and its end in the text. */
  constructor(text, [ids, ends, cuts]) {
    this.text = text;
    this.ids = ids;
    this.ends = ends;
    this.cuts = cuts;
  }

  get count() { return this.ids.length; }

  /** All characters that have begun before the end of token k. */
  end(k) { return k < 0 ? 0 : this.cuts[k] & 0x7fffffff; }

  /** Where the first character begins that token k has a part in. */
  start(k) {
    if (k === 0 || !(this.cuts[k - 1] & WITHIN)) return this.end(k - 1);
    const last = this.end(k - 1) - 1;
    const code = this.text.charCodeAt(last);
    return code >= 0xdc00 && code < 0xe000 ? last - 1 : last;
  }

  byteStart(k) { return k ? this.ends[k - 1] : 0; }

  bytes(k) {
    this.data ||= utf8.encode(this.text);
    return this.data.subarray(this.byteStart(k), this.ends[k]);
  }

  /** Whether a reader sees a boundary behind token k. */
  parts(k) { return !(this.cuts[k] & WITHIN) && isBoundary(this.text, this.cuts[k]); }

  /** The token behind the last one that shares characters with token k. */
  segmentEnd(k) {
    while (k < this.count - 1 && !this.parts(k)) k += 1;
    return k + 1;
  }

  /** The first token that shares characters with token k. */
  segmentStart(k) {
    while (k > 0 && !this.parts(k - 1)) k -= 1;
    return k;
  }

  /** The token that a byte of the text is in. */
  at(byte) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] <= byte) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, this.count - 1);
  }

  /** Where blocks of tokens begin that can be drawn apart: ended by a line of the text, or by their size. */
  blocks(least = 48, most = 240) {
    this.starts ||= this.cutIntoBlocks(least, most);
    return this.starts;
  }

  cutIntoBlocks(least, most) {
    const starts = [];
    for (let k = 0, start = 0; k < this.count; k += 1) {
      if (k === start) starts.push(start);
      const size = k - start + 1;
      const line = size >= least && this.text.charCodeAt((this.cuts[k] & 0x7fffffff) - 1) === 10;
      if ((line || size >= most) && this.parts(k)) start = k + 1;
    }
    return starts;
  }
}
