// Panes of the same tokens, such as their text, ids and bytes, that move together.
import { uniqueId } from "./dom.js";
import { Flow } from "./flow.js";

/** Panes that show the same tokens: pointing at a token in one highlights it in all. */
export class Linked {
  constructor(on) {
    this.on = on;
    this.panes = [];
    this.chosen = null;
  }

  pane(label, cells, hasLines) {
    const pane = new Flow(label, cells, {
      hover: (from, to) => this.point(from, to),
      choose: (from, to) => this.choose(from, to),
      move: (from, to) => { this.choose(from, to, true); },
    }, hasLines);
    pane.element.id = uniqueId("pane");
    this.panes.push(pane);
    return pane.element;
  }

  show(encoded) {
    this.encoded = encoded;
    this.chosen = null;
    for (const pane of this.panes) pane.look(); // read all positions before drawing
    for (const pane of this.panes) {
      pane.unmark();
      pane.take(encoded);
    }
  }

  point(from, to) {
    for (const pane of this.panes) pane.light(from, to);
    this.on.point(...(from === undefined ? this.chosen || [] : [from, to]));
  }

  choose(from, to, byKey = false) {
    this.mark(from, to);
    this.reveal(from);
    this.on.point(from, to);
    this.on.choose(from, to, byKey);
  }

  /** Marks tokens as chosen without asking for them to be shown. */
  mark(from, to) {
    this.chosen = [from, to];
    for (const pane of this.panes) {
      pane.current = [from, to];
      pane.light(from, to, "chosen");
    }
  }

  /** Scrolls a token into view in all panes. */
  reveal(k) { for (const pane of this.panes) pane.reveal(k); }

  /** Draws all cells again, which are shown in another way. */
  redraw() {
    for (const pane of this.panes) pane.look();
    for (const pane of this.panes) {
      pane.stale = true;
      pane.draw();
    }
  }

  close() { for (const pane of this.panes) pane.close(); }
}
