// A pane of whole tokens that wrap like words. Only visible blocks have elements, so a megabyte scrolls as fast as a
// line, and only cells that changed are updated, so typing is fast.
//
// Heights of blocks that have not been visible are estimated from those that have. A block that starts within a line
// overlaps the last line of the block before it and is indented by its width, so that blocks are not seen.
import { make } from "./dom.js";

const MARGIN = 400; // pixels drawn beyond the visible edges

export class Flow {
  /**
   * cells(encoded, from, to): [{text, from, to, class}] for the tokens of a block; `parts` instead of `text` is a list
   * of elements, and `key` then says when they are equal.
   * on: {hover(from, to) or hover(), choose(from, to), move(from, to)}.
   * hasLines: whether cells of the class "line-end" end a line.
   */
  constructor(label, cells, on, hasLines = true) {
    this.cells = cells;
    this.hasLines = hasLines;
    this.on = on;
    this.before = make("div", { "aria-hidden": "true" });
    this.after = make("div", { "aria-hidden": "true" });
    this.element = make("div", { class: "flow", tabindex: "0", "aria-label": label, role: "group" }, this.before, this.after);
    this.element.flow = this;
    this.drawn = new Map(); // block number to element
    this.heights = [];
    this.indents = [];
    this.lit = { lit: [], chosen: [] };
    this.marked = { lit: null, chosen: null };
    this.current = null;
    this.element.addEventListener("scroll", () => { this.look(); this.draw(); }, { passive: true });
    this.element.addEventListener("pointerover", (event) => {
      const cell = event.target.closest(".cell");
      if (cell) on.hover(cell.from, cell.to);
    });
    this.element.addEventListener("pointerleave", () => on.hover());
    let pressed = null; // if the page moves under the pointer, a click may miss its cell
    this.element.addEventListener("pointerdown", (event) => { pressed = event.target.closest(".cell"); });
    this.element.addEventListener("click", (event) => {
      const cell = event.target.closest(".cell") || pressed;
      if (cell?.isConnected) on.choose(cell.from, cell.to);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.resized = new ResizeObserver(([{ contentRect: { width } }]) => {
      if (width === this.width) return; // only the height changed
      this.width = width;
      this.heights = [];
      this.indents = [];
      this.stale = true;
      if (this.encoded) { this.look(); this.draw(); }
    });
    this.resized.observe(this.element);
  }

  close() {
    this.resized.disconnect();
    clearTimeout(this.measuring);
  }

  show(encoded) {
    this.look();
    this.take(encoded);
  }

  /** Reads the scroll position. Reading it after drawing would force a layout. */
  look() { this.seen = [this.element.scrollTop, Math.max(this.element.clientHeight, 200)]; }

  take(encoded) {
    this.encoded = encoded;
    this.starts = encoded.blocks();
    this.heights.length = Math.min(this.heights.length, this.starts.length);
    this.indents.length = 0;
    this.stale = true;
    this.draw();
  }

  end(block) { return block + 1 < this.starts.length ? this.starts[block + 1] : this.encoded.count; }

  height(block) { return this.heights[block] ?? (this.end(block) - this.starts[block]) * (this.perToken || 3); }

  draw() {
    const top = this.seen[0] - MARGIN;
    const bottom = this.seen[0] + this.seen[1] + MARGIN;
    let [first, offset] = [0, 0];
    while (first < this.starts.length - 1 && offset + this.height(first) < top) offset += this.height(first++);
    const above = offset;
    let last = first;
    while (last < this.starts.length && offset < bottom) offset += this.height(last++);
    if (!this.stale && this.first === first && this.last === last) return;
    this.render(first, last);
    this.join(first, last);
    this.before.style.height = `${above}px`;
    let below = 0;
    for (let block = last; block < this.starts.length; block += 1) below += this.height(block);
    this.after.style.height = `${below}px`;
    [this.first, this.last, this.above, this.stale] = [first, last, above, false];
    if (this.starts.length > 1) {
      clearTimeout(this.measuring);
      this.measuring = setTimeout(() => this.measure(), 50); // after the frame, when the layout is done anyway
    }
    this.relight();
  }

  render(first, last) {
    for (const [block, element] of this.drawn) {
      if (block < first || block >= last) { element.remove(); this.drawn.delete(block); }
    }
    let next = this.before.nextSibling;
    for (let block = first; block < last; block += 1) {
      let element = this.drawn.get(block);
      if (!element) {
        element = make("div", { class: "block" });
        element.shown = [];
        this.element.insertBefore(element, next);
        this.drawn.set(block, element);
      } else {
        next = element.nextSibling;
        if (!this.stale) continue;
      }
      patch(element, this.cells(this.encoded, this.starts[block], this.end(block)));
      next = element.nextSibling;
    }
  }

  /** Draws the first tokens, visible or not, for a copy of the page. */
  drawAll(most) {
    if (!this.encoded) return;
    this.look();
    let last = 0;
    while (last < this.starts.length && this.starts[last] < most) last += 1;
    this.render(0, last);
    this.join(0, last);
    this.before.style.height = this.after.style.height = "0";
    this.relight();
  }

  /** Draws what is visible, after `drawAll`. */
  drawVisible() {
    if (!this.encoded) return;
    this.stale = true;
    this.draw();
  }

  /** Whether a block starts within a line. */
  continues(block) { return block > 0 && !(this.hasLines && this.encoded.startsLine(this.starts[block])); }

  /** Lets blocks that start within a line start where the block before ends. Reads the layout only if there are any. */
  join(first, last) {
    for (let block = first; block < last; block += 1) {
      const [element, before] = [this.drawn.get(block), this.drawn.get(block - 1)];
      const { style } = element;
      if (!this.continues(block)) {
        if (style.marginTop) style.marginTop = style.textIndent = "";
        continue;
      }
      const end = before?.lastElementChild;
      if (end) this.indents[block] = 1 + (before.dir === "rtl" ? before.clientWidth - end.offsetLeft : end.offsetLeft + end.offsetWidth);
      this.row ||= parseFloat(getComputedStyle(this.element).lineHeight);
      style.textIndent = `${this.indents[block] ?? 0}px`;
      style.marginTop = `${-this.row}px`;
    }
  }

  /** Measures the drawn blocks. If the estimates of the others change, the visible text keeps its position. */
  measure() {
    const edge = this.element.getBoundingClientRect().top;
    let [pixels, tokens, anchor] = [0, 0, null];
    for (const [block, element] of this.drawn) {
      const { bottom, height } = element.getBoundingClientRect();
      this.heights[block] = height - (this.continues(block) ? this.row : 0);
      pixels += this.heights[block];
      tokens += this.end(block) - this.starts[block];
      if (bottom > edge) anchor ??= element;
    }
    const perToken = pixels / tokens;
    if (!tokens || Math.abs(perToken - this.perToken) < this.perToken / 50) return;
    this.perToken = perToken;
    const top = anchor?.getBoundingClientRect().top;
    this.look();
    this.seen[0] += this.offset(this.first) - this.above;
    this.stale = true;
    this.draw();
    if (anchor?.isConnected) this.element.scrollTop += anchor.getBoundingClientRect().top - top;
  }

  /** The vertical offset of a block in pixels. */
  offset(block) {
    let offset = 0;
    for (let before = 0; before < Math.min(block, this.starts.length); before += 1) offset += this.height(before);
    return offset;
  }

  /** Highlights the cells of these tokens, and no others of this kind: "lit" while pointed at, or "chosen". */
  light(from, to, kind = "lit") {
    for (const cell of this.lit[kind]) cell.classList.remove(kind);
    this.lit[kind] = [];
    this.marked[kind] = from === undefined ? null : [from, to];
    if (from === undefined) return;
    for (const element of this.drawn.values()) {
      const cells = element.children;
      if (!cells.length || cells[0].from >= to || cells[cells.length - 1].to <= from) continue;
      for (const cell of cells) {
        if (cell.from < to && cell.to > from) { cell.classList.add(kind); this.lit[kind].push(cell); }
      }
    }
  }

  /** Highlights the same tokens again, after drawing. */
  relight() {
    for (const [kind, marked] of Object.entries(this.marked)) if (marked) this.light(...marked, kind);
  }

  /** Highlights nothing. */
  unmark() {
    this.light();
    this.light(undefined, undefined, "chosen");
    this.current = null;
  }

  /** Scrolls a token into view. */
  reveal(k) {
    if (!this.encoded?.count) return;
    let block = 0;
    while (this.end(block) <= k) block += 1;
    if (!this.drawn.has(block)) {
      const offset = this.offset(block);
      this.look();
      this.seen[0] = offset;
      this.draw();
      this.element.scrollTop = offset;
    }
    for (const cell of this.drawn.get(block)?.children || []) {
      if (cell.to <= k) continue;
      const [own, box] = [cell.getBoundingClientRect(), this.element.getBoundingClientRect()];
      if (own.top < box.top) this.element.scrollTop -= box.top - own.top + 4;
      else if (own.bottom > box.bottom) this.element.scrollTop += own.bottom - box.bottom + 4;
      return;
    }
  }

  /** Scrolls so that the line of a token is at this distance from the top. */
  alignTop(k, distance) {
    this.reveal(k);
    let block = 0;
    while (this.end(block) <= k) block += 1;
    const cell = [...this.drawn.get(block)?.children ?? []].find(({ to }) => to > k);
    if (cell) this.element.scrollTop += cell.getBoundingClientRect().top - this.element.getBoundingClientRect().top - distance;
  }

  key(event) {
    if (!this.encoded?.count || event.ctrlKey || event.metaKey || event.altKey) return;
    const [from, to] = this.current || [0, 0];
    const steps = {
      ArrowRight: () => Math.min(to, this.encoded.count - 1),
      ArrowLeft: () => Math.max(from - 1, 0),
      Home: () => 0,
      End: () => this.encoded.count - 1,
    };
    if (event.key in steps) {
      event.preventDefault();
      const k = this.current ? steps[event.key]() : 0;
      this.on.move(this.encoded.segmentStart(k), this.encoded.segmentEnd(k));
    } else if (event.key === "Enter" && this.current) {
      event.preventDefault();
      this.on.choose(from, to);
    }
  }
}

/** Updates the cells of a block; equal cells at both ends are kept. */
function patch(element, cells) {
  const shown = element.shown;
  const same = (a, b) => a.text === b.text && a.class === b.class && a.key === b.key;
  let first = 0;
  const least = Math.min(shown.length, cells.length);
  while (first < least && same(shown[first], cells[first])) first += 1;
  let back = 0;
  while (back < least - first && same(shown[shown.length - 1 - back], cells[cells.length - 1 - back])) back += 1;
  const old = element.children;
  for (let n = shown.length - back - 1; n >= first; n -= 1) old[n].remove();
  const next = old[first] || null;
  const fragment = document.createDocumentFragment();
  for (let n = first; n < cells.length - back; n += 1) {
    const cell = document.createElement("span");
    cell.className = `cell ${cells[n].class}`;
    if (cells[n].parts) cell.append(...cells[n].parts());
    else cell.textContent = cells[n].text;
    fragment.append(cell);
  }
  element.insertBefore(fragment, next);
  for (let n = 0; n < cells.length; n += 1) [old[n].from, old[n].to] = [cells[n].from, cells[n].to];
  element.shown = cells;
  const isRtl = cells.some(({ text }) => RIGHT_TO_LEFT.test(text));
  if (isRtl || element.dir) element.dir = isRtl ? directionOf(cells) : "";
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The direction of the first letter. */
function directionOf(cells) {
  for (const { text } of cells) {
    const letter = /\p{L}/u.exec(text ?? "");
    if (letter) return RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
  }
  return "ltr";
}
