// Tiles: a text as tiles that glide together. Every offset has the number of the merge that removes it as a boundary,
// so any moment of the play is drawn directly, forwards and backwards.
import { make } from "./dom.js";
import { shownBytes } from "./glyphs.js";

const MOST_GLIDES = 120; // pairs that move at once; more only flash

export class Tiles {
  constructor() {
    this.element = make("div", { class: "tiles", tabindex: "0", role: "img" });
    this.cells = new Map(); // by offset
    this.words = [];
  }

  /** Takes a play: its bytes, the offsets of its pre-tokens, and its steps. */
  load({ bytes, pretokens, steps }) {
    this.bytes = bytes;
    this.steps = steps;
    this.at = -1;
    this.cells.clear();
    this.removed = new Map(); // the step that joins the tiles on both sides of an offset
    steps.forEach(({ at }, nth) => { for (const [, middle] of at) this.removed.set(middle, nth + 1); });
    this.words = [];
    for (let nth = 0; nth + 1 < pretokens.length; nth += 1) {
      this.words.push({ start: pretokens[nth], end: pretokens[nth + 1], element: make("span", { class: "word" }) });
    }
    this.element.replaceChildren(...this.words.map((word) => word.element));
  }

  /** The number of tiles after a step. */
  count(step) {
    let count = this.bytes.length;
    for (const last of this.removed.values()) count -= last <= step;
    return count;
  }

  /** Draws the tiles after `step`. With a duration in milliseconds, the tiles of the step glide together. */
  show(step, duration = 0) {
    const { at: joined = [] } = duration ? this.steps[step - 1] : {};
    const before = new Map();
    if (duration) for (const [offset, cell] of this.cells) before.set(offset, cell.getBoundingClientRect());
    for (const word of this.words) this.fill(word, step);
    this.at = step;
    const next = this.steps[step];
    const [fresh, lefts, rights] = [new Set(), new Set(), new Set()];
    if (step > 0) for (const [start] of this.steps[step - 1].at) fresh.add(start);
    if (next) for (const [start, middle] of next.at) { lefts.add(start); rights.add(middle); }
    for (const [offset, cell] of this.cells) {
      cell.classList.toggle("fresh", fresh.has(offset));
      cell.classList.toggle("left", lefts.has(offset));
      cell.classList.toggle("right", rights.has(offset));
    }
    if (duration) this.glide(before, joined, duration);
  }

  fill(word, step) {
    const starts = [];
    for (let offset = word.start; offset < word.end; offset += 1) {
      if (offset === word.start || !(this.removed.get(offset) <= step)) starts.push(offset);
    }
    const key = starts.join(" ");
    if (word.key === key) return;
    word.key = key;
    for (let offset = word.start; offset < word.end; offset += 1) this.cells.delete(offset);
    word.element.replaceChildren(...starts.map((start, nth) => {
      const end = starts[nth + 1] ?? word.end;
      const cell = make("bdi", { class: `tile${end - start > 1 ? " joined" : ""}` }, shownBytes(this.bytes.subarray(start, end)));
      this.cells.set(start, cell);
      return cell;
    }));
  }

  /** Moves tiles from their old places to the new ones; two halves meet where a pair is joined. */
  glide(before, joined, duration) {
    const frame = this.element.getBoundingClientRect();
    const halves = new Set(joined.flatMap(([start, middle]) => [start, middle]));
    const seen = (box) => box.bottom > frame.top && box.top < frame.bottom;
    const timing = { duration, easing: "cubic-bezier(.3, 0, .2, 1)" };
    for (const [offset, cell] of this.cells) {
      const [from, to] = [before.get(offset), cell.getBoundingClientRect()];
      if (!from || halves.has(offset) || (!seen(from) && !seen(to))) continue;
      const [x, y] = [from.left - to.left, from.top - to.top];
      if (x || y) cell.animate([{ transform: `translate(${x}px, ${y}px)` }, { transform: "none" }], timing);
    }
    for (const [start, middle] of joined.slice(0, MOST_GLIDES)) {
      const cell = this.cells.get(start);
      const to = cell?.getBoundingClientRect();
      const [left, right] = [before.get(start), before.get(middle)];
      if (!to || !left || !right || !seen(to)) continue;
      cell.animate([{ opacity: 0 }, { opacity: 0, offset: 0.4 }, { opacity: 1 }], timing);
      this.ghost(this.bytes.subarray(start, middle), left, to.left, to.top, frame, timing);
      this.ghost(this.bytes.subarray(middle, middle + this.widthAfter(start, middle)), right, to.right - right.width, to.top, frame, timing);
    }
  }

  /** The length of the right half of a pair that was joined. */
  widthAfter(start, middle) {
    const [, , end] = this.steps[this.at - 1].at.find(([from]) => from === start);
    return end - middle;
  }

  ghost(bytes, from, left, top, frame, timing) {
    const half = make("bdi", { class: "tile ghost", "aria-hidden": "true" }, shownBytes(bytes));
    half.style.left = `${from.left - frame.left + this.element.scrollLeft}px`;
    half.style.top = `${from.top - frame.top + this.element.scrollTop}px`;
    half.style.width = `${from.width}px`;
    this.element.append(half);
    const move = `translate(${left - from.left}px, ${top - from.top}px)`;
    const moved = half.animate([{ transform: "none" }, { transform: move, backgroundColor: "transparent", borderColor: "transparent" }], timing);
    moved.onfinish = moved.oncancel = () => half.remove();
  }
}
