// One text by several tokenizers, as columns that start and end at the same characters in all of them: words, where the
// tokenizers agree on their ends. It has the methods of `Encoded` that a Flow needs; a column is its "token".
//
// Linear in the number of tokens.
import { isBoundary } from "./glyphs.js";

const LONGEST = 24; // characters, after which a column ends wherever all tokens end: some scripts have no spaces
const BLOCK = 40; // columns

const isSpace = (code) => code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0x3000;
const [WITHIN, OFFSET] = [0x80000000, 0x7fffffff]; // of the numbers in `cuts`

export class Words {
  /** `all`: an Encoded of the same text for each tokenizer. */
  constructor(all) {
    this.all = all;
    this.text = all[0].text;
    this.ends = []; // of each column, in the text
    this.firsts = all.map(() => [0]); // the first token of each column, and the number of tokens
    this.differs = [];
    this.lay();
  }

  get count() { return this.ends.length; }

  lay() {
    const at = this.all.map(() => 0); // the next token of each tokenizer
    let start = 0;
    const isOver = () => { for (let n = 0; n < at.length; n += 1) if (at[n] >= this.all[n].count) return true; return false; };
    while (start < this.text.length && !isOver()) {
      const end = this.nextShared(at);
      const isWord = isSpace(this.text.charCodeAt(end)) && !isSpace(this.text.charCodeAt(end - 1));
      if (end < this.text.length && !isWord && end - start < LONGEST && this.text.charCodeAt(end - 1) !== 10) continue;
      this.close(at, end);
      start = end;
    }
  }

  /** Moves past the next offset where a token of every tokenizer ends, and returns it. Called for every word: allocates nothing. */
  nextShared(at) {
    const { all, text } = this;
    for (let target = 0; ;) {
      let [isShared, isWithin, canMove] = [true, false, false];
      for (let n = 0; n < all.length; n += 1) {
        const { cuts } = all[n];
        const last = cuts.length - 1;
        let k = at[n];
        while (k < last && (cuts[k] & OFFSET) < target) k += 1;
        at[n] = k;
        const end = cuts[k] & OFFSET;
        if (end > target) {
          target = end;
          isShared = n === 0 && isShared;
        }
        isWithin ||= cuts[k] >= WITHIN;
        canMove ||= k < last;
      }
      if (!isShared || !this.isAt(at, target)) continue;
      const isEnd = !isWithin && (target >= text.length || isBoundary(text, target));
      for (let n = 0; n < all.length; n += 1) {
        const { cuts } = all[n];
        if (isEnd || !canMove) do at[n] += 1; while (at[n] < cuts.length && (!canMove || cuts[at[n]] === target));
        else if (at[n] < cuts.length - 1) at[n] += 1; // a token ends within a character here
      }
      if (isEnd) return target;
      if (!canMove) return text.length;
    }
  }

  isAt(at, target) {
    for (let n = 0; n < at.length; n += 1) if ((this.all[n].cuts[at[n]] & OFFSET) !== target) return false;
    return true;
  }

  close(at, end) {
    const { all, firsts } = this;
    const nth = this.ends.length;
    let differs = false;
    for (let n = 1; n < all.length && !differs; n += 1) {
      const [first, other] = [firsts[0][nth], firsts[n][nth]];
      differs = at[n] - other !== at[0] - first;
      for (let k = 0; !differs && k < at[0] - first; k += 1) differs = all[0].cuts[first + k] !== all[n].cuts[other + k];
    }
    this.ends.push(end);
    for (let n = 0; n < all.length; n += 1) firsts[n].push(at[n]);
    this.differs.push(differs);
  }

  start(word) { return word ? this.ends[word - 1] : 0; }

  /** The tokens [from, to) of tokenizer n in a column. */
  tokens(word, n) { return [this.firsts[n][word], this.firsts[n][word + 1]]; }

  startsLine(word) { return word === 0 || this.text.charCodeAt(this.ends[word - 1] - 1) === 10; }

  segmentStart(word) { return word; }

  segmentEnd(word) { return word + 1; }

  blocks() { return Array.from({ length: Math.ceil(this.count / BLOCK) }, (_, n) => n * BLOCK); }

  /** The next column after this one on which the tokenizers differ, or -1. */
  nextDifference(word, step = 1) {
    for (let k = word + step; k >= 0 && k < this.count; k += step) if (this.differs[k]) return k;
    return -1;
  }
}
