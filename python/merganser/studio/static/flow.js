// A pane of tokens that wrap like text. Only visible blocks have elements, so a megabyte scrolls as fast as a line,
// and only cells that changed are updated, so typing is fast.
//
// Heights of blocks that have not been visible are estimated from those that have.
import { make, uniqueId } from "./dom.js";

const MARGIN = 400; // pixels drawn beyond the visible edges

export class Flow {
  /**
   * cells(encoded, from, to): [{text, from, to, class}] for the tokens of a block.
   * on: {hover(from, to) or hover(), choose(from, to), move(from, to)}.
   */
  constructor(label, cells, on) {
    this.cells = cells;
    this.on = on;
    this.before = make("div", { "aria-hidden": "true" });
    this.after = make("div", { "aria-hidden": "true" });
    this.element = make("div", { class: "flow", tabindex: "0", "aria-label": label, role: "group" }, this.before, this.after);
    this.drawn = new Map(); // block number to element
    this.heights = [];
    this.lit = [];
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
    this.before.style.height = `${above}px`;
    let below = 0;
    for (let block = last; block < this.starts.length; block += 1) below += this.height(block);
    this.after.style.height = `${below}px`;
    [this.first, this.last, this.above, this.stale] = [first, last, above, false];
    if (this.starts.length > 1) {
      clearTimeout(this.measuring);
      this.measuring = setTimeout(() => this.measure(), 50); // after the frame, when the layout is done anyway
    }
    if (this.marked) this.light(...this.marked);
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

  /** Measures the drawn blocks. If the estimates of the others change, the visible text keeps its position. */
  measure() {
    const edge = this.element.getBoundingClientRect().top;
    let [pixels, tokens, anchor] = [0, 0, null];
    for (const [block, element] of this.drawn) {
      const { bottom, height } = element.getBoundingClientRect();
      this.heights[block] = height;
      pixels += height;
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

  /** Highlights the cells of these tokens. */
  light(from, to, kind = "lit") {
    for (const cell of this.lit) cell.classList.remove("lit", "chosen");
    this.lit = [];
    this.marked = from === undefined ? null : [from, to, kind];
    if (from === undefined) return;
    for (const element of this.drawn.values()) {
      const cells = element.children;
      if (!cells.length || cells[0].from >= to || cells[cells.length - 1].to <= from) continue;
      for (const cell of cells) {
        if (cell.from < to && cell.to > from) { cell.classList.add(kind); this.lit.push(cell); }
      }
    }
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
  const same = (a, b) => a.text === b.text && a.class === b.class;
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
    cell.textContent = cells[n].text;
    fragment.append(cell);
  }
  element.insertBefore(fragment, next);
  for (let n = 0; n < cells.length; n += 1) [old[n].from, old[n].to] = [cells[n].from, cells[n].to];
  element.shown = cells;
}

/** Panes that show the same tokens: pointing at a token in one highlights it in all. */
export class Linked {
  constructor(on) {
    this.on = on;
    this.panes = [];
    this.chosen = null;
  }

  pane(label, cells) {
    const pane = new Flow(label, cells, {
      hover: (from, to) => this.point(from, to),
      choose: (from, to) => this.choose(from, to),
      move: (from, to) => { this.choose(from, to, true); },
    });
    pane.element.id = uniqueId("pane");
    this.panes.push(pane);
    return pane.element;
  }

  show(encoded) {
    this.encoded = encoded;
    this.chosen = null;
    for (const pane of this.panes) pane.look(); // read all positions before drawing
    for (const pane of this.panes) {
      pane.marked = null;
      pane.current = null;
      pane.take(encoded);
    }
  }

  point(from, to) {
    const [first, last] = from === undefined ? this.chosen || [] : [from, to];
    for (const pane of this.panes) pane.light(first, last, from === undefined ? "chosen" : "lit");
    this.on.point(first, last);
  }

  choose(from, to, byKey = false) {
    this.chosen = [from, to];
    for (const pane of this.panes) {
      pane.current = [from, to];
      pane.light(from, to, "chosen");
      pane.reveal(from);
    }
    this.on.point(from, to);
    this.on.choose(from, to, byKey);
  }

  close() { for (const pane of this.panes) pane.close(); }
}
