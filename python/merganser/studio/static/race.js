// Race: the leading pairs as bars that overtake each other.
import { fill, make, number } from "./dom.js";
import { fromHex, shownBytes } from "./glyphs.js";

const ROWS = 5;

export class Race {
  constructor() {
    this.rows = new Map(); // by pair
    this.list = make("ol", { class: "race" });
    this.element = this.list;
  }

  /** Shows [left, right, count] rows; `next` is the pair that is merged next. */
  show(leaders, next) {
    const most = Math.max(1, ...leaders.map(([, , count]) => count));
    const shown = new Set();
    leaders.slice(0, ROWS).forEach(([left, right, count], place) => {
      const key = `${left} ${right}`;
      shown.add(key);
      let row = this.rows.get(key);
      if (!row) {
        row = runner(left, right);
        row.element.style.transform = `translateY(${ROWS * 100}%)`;
        this.rows.set(key, row);
        this.list.append(row.element);
        row.element.getBoundingClientRect(); // start from below
      }
      row.element.style.transform = `translateY(${place * 100}%)`;
      row.element.classList.toggle("next", key === next);
      row.element.dataset.place = String(place);
      row.bar.style.width = `${(count / most) * 100}%`;
      row.count.textContent = number(count);
    });
    for (const [key, { element }] of this.rows) {
      if (!shown.has(key)) {
        element.remove();
        this.rows.delete(key);
      }
    }
    // Readers of the list follow the order of the elements, not of the places.
    const ordered = [...this.list.children].sort((one, other) => one.dataset.place - other.dataset.place);
    if (ordered.some((element, nth) => element !== this.list.children[nth])) {
      const focused = document.activeElement;
      fill(this.list, ...ordered);
      focused?.focus?.();
    }
  }
}

function runner(left, right) {
  const bar = make("span", { class: "lane-bar" });
  const count = make("span", { class: "lane-count" });
  const name = make("span", { class: "lane-pair" }, tile(left, "left"), make("span", { class: "plus", "aria-label": "and" }, "+"), tile(right, "right"));
  return { element: make("li", {}, name, make("span", { class: "lane", "aria-hidden": "true" }, bar), count), bar, count };
}

const tile = (digits, side) => make("bdi", { class: `tile ${side}` }, shownBytes(fromHex(digits)));
