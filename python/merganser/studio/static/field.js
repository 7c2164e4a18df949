// Field: tens of thousands of points on a canvas, with panning and zooming. Draws only after a change.
//
// Points are written directly to the pixels: 50,000 take a few milliseconds, where a canvas call for each takes fifty.
// `points` holds x, y (0 to 1), size (0, 1, 2), group (a color) and label of each point, the most important first.

const LABELS = 46;
const RADII = [1.35, 2, 3];
const MANY = 200; // points; the view of fewer shows all of them
const FAR = 0.01; // share of the points on each side that may be outside of the first view

/** The pixels of a small disk, with their offsets and coverage. */
function disk(radius) {
  const pixels = [];
  const reach = Math.ceil(radius + 0.5);
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const coverage = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(dx, dy)));
      if (coverage > 0.05) pixels.push([dx, dy, coverage]);
    }
  }
  return pixels;
}

/** The colors of these classes, one for each group of points, and those of the page. */
function readColors(element, classes) {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name) => {
    probe.className = name;
    return getComputedStyle(probe).color;
  };
  const found = { groups: classes.map(read), ink: read("ink"), page: read("page"), accent: read("accent") };
  probe.remove();
  return found;
}

const packed = (color) => {
  const [red, green, blue] = color.match(/[\d.]+/g).map(Number);
  return (blue << 16) | (green << 8) | red;
};

export class Field {
  /**
   * Calls `onpoint(row or -1, x, y)` when the pointer moves, `onselect(row or -1)` on a click, and `onlasso(rows)`
   * when points were circled: with `lassoing`, or the Shift key.
   */
  constructor(canvas, { onpoint, onselect, onlasso }) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.onpoint = onpoint;
    this.onselect = onselect;
    this.onlasso = onlasso;
    this.lassoing = false;
    this.lasso = []; // corners on the canvas
    this.classes = ["kind0"];
    this.points = { x: new Float32Array(0), y: new Float32Array(0), size: [], group: [], labels: [] };
    this.marked = null; // a Set of rows that match the search; the others fade
    this.selected = -1;
    this.near = [];
    this.hidden = new Set(); // groups
    this.frame = 0;
    this.motion = 0;
    this.home();
    this.listen();
    this.recolor();
  }

  home() {
    this.zoom = 1;
    this.cx = 0.5;
    this.cy = 0.5;
    this.draw();
  }

  show(points) {
    this.points = points;
    [this.cx, this.cy, this.zoom] = this.around(points.x, points.y);
    this.draw();
  }

  /** The view of nearly all points, as [x, y, zoom]: a few far ones would leave the others little room. */
  around(x, y) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (x.length < MANY || !width || !height) return [0.5, 0.5, 1];
    const [across, down] = [x, y].map((places) => {
      const sorted = Float32Array.from(places).sort();
      const [low, high] = [FAR, 1 - FAR].map((share) => sorted[Math.round(share * (sorted.length - 1))]);
      return { middle: (low + high) / 2, size: Math.max(high - low, 1e-6) };
    });
    const unit = Math.min(width, height) * 0.94;
    const zoom = 0.86 * Math.min(width / (unit * across.size), height / (unit * down.size));
    return [across.middle, down.middle, Math.min(Math.max(zoom, 1), 4)];
  }

  /**
   * Moves the points to other places; without motion if the user asked for none. The view follows the selected point, or
   * shows nearly all.
   */
  morph(x, y, duration) {
    this.halt();
    const from = { x: this.points.x, y: this.points.y, camera: [this.cx, this.cy, this.zoom] };
    const to = this.selected >= 0 ? [x[this.selected], y[this.selected], this.zoom] : this.around(x, y);
    const whole = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : duration;
    const began = performance.now();
    this.canvas.dataset.moving = "";
    const [nowX, nowY] = [Float32Array.from(x), Float32Array.from(y)];
    const step = (now) => {
      const part = Math.min(1, Math.max(0, now - began) / whole);
      const eased = part * part * (3 - 2 * part);
      for (let row = 0; row < x.length; row++) {
        nowX[row] = from.x[row] + (x[row] - from.x[row]) * eased;
        nowY[row] = from.y[row] + (y[row] - from.y[row]) * eased;
      }
      this.points = { ...this.points, x: nowX, y: nowY };
      [this.cx, this.cy, this.zoom] = from.camera.map((value, nth) => value + (to[nth] - value) * eased);
      this.paint();
      if (part < 1) this.motion = requestAnimationFrame(step);
      else this.halt();
    };
    this.motion = requestAnimationFrame(step);
  }

  recolor() {
    this.colors = readColors(this.canvas.parentElement, this.classes);
    this.disks = undefined;
    this.draw();
  }

  draw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }

  /** Pixels per unit of the plane, and the pixel position of its corner. */
  get transform() {
    const { width, height } = this.canvas;
    const scale = Math.min(width, height) * 0.94 * this.zoom;
    return { scale, left: width / 2 - this.cx * scale, top: height / 2 - this.cy * scale };
  }

  paint() {
    const { canvas, pen } = this;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height || !this.pixels) {
      canvas.width = width;
      canvas.height = height;
      this.image = pen.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.disks ||= RADII.map((radius) => disk(radius * ratio));
    this.pixels.fill(0);
    const fades = this.marked || this.selected >= 0;
    this.scatter(fades ? 0.28 : 0.85, ratio);
    pen.putImageData(this.image, 0, 0);
    this.decorate(ratio);
    canvas.dataset.painted = String(1 + Number(canvas.dataset.painted || 0));
  }

  scatter(strength, ratio) {
    const { pixels, points: { x, y, size, group }, hidden, canvas: { width, height } } = this;
    const { scale, left, top } = this.transform;
    const grow = this.zoom > 6 ? 1 : 0;
    const edge = 5 * ratio;
    const colors = this.colors.groups.map(packed);
    const flat = this.disks.map((pixelsOf) => pixelsOf.map(([dx, dy, coverage]) => [dy * width + dx, Math.round(255 * coverage * strength)]));
    for (let row = x.length - 1; row >= 0; row--) {
      const across = (x[row] * scale + left + 0.5) | 0;
      const down = (y[row] * scale + top + 0.5) | 0;
      if (across < edge || down < edge || across >= width - edge || down >= height - edge || hidden.has(group[row])) continue;
      const color = colors[group[row]];
      const at = down * width + across;
      for (const [offset, alpha] of flat[Math.min(size[row] + grow, 2)]) {
        // The more opaque pixel wins. Blending would take twice as long and look the same.
        if (pixels[at + offset] >>> 24 <= alpha) pixels[at + offset] = (alpha << 24) | color;
      }
    }
  }

  decorate(ratio) {
    const { pen, points, colors, canvas: { width, height } } = this;
    const { scale, left, top } = this.transform;
    const at = (row) => [points.x[row] * scale + left, points.y[row] * scale + top];
    const dot = (row, radius) => {
      pen.fillStyle = colors.groups[points.group[row]];
      pen.strokeStyle = colors.page;
      pen.lineWidth = 1.5 * ratio;
      pen.beginPath();
      pen.arc(...at(row), radius * ratio, 0, 7);
      pen.fill();
      pen.stroke();
    };
    if (this.selected >= 0) {
      pen.strokeStyle = colors.accent;
      pen.lineWidth = ratio;
      pen.globalAlpha = 0.55;
      pen.beginPath();
      for (const row of this.near) {
        pen.moveTo(...at(this.selected));
        pen.lineTo(...at(row));
      }
      pen.stroke();
      pen.globalAlpha = 1;
    }
    let shown = 0;
    for (const row of this.marked || []) if (++shown <= 400 && !this.hidden.has(points.group[row])) dot(row, 3.4);
    for (const row of this.near) dot(row, 4);
    if (this.selected >= 0) dot(this.selected, 6);
    this.drawLabels(at, ratio, width, height);
    if (this.lasso.length > 1) {
      pen.beginPath();
      for (const [x, y] of this.lasso) pen.lineTo(x * ratio, y * ratio);
      pen.closePath();
      pen.strokeStyle = colors.accent;
      pen.fillStyle = colors.accent;
      pen.lineWidth = 1.5 * ratio;
      pen.stroke();
      pen.globalAlpha = 0.12;
      pen.fill();
      pen.globalAlpha = 1;
    }
    if (document.activeElement === this.canvas && this.canvas.matches(":focus-visible")) {
      pen.strokeStyle = colors.accent;
      pen.lineWidth = 1.5 * ratio;
      pen.strokeRect(width / 2 - 7 * ratio, height / 2 - 7 * ratio, 14 * ratio, 14 * ratio);
    }
  }

  /** Draws labels where there is room, the most important first. */
  drawLabels(at, ratio, width, height) {
    const { pen, points, colors } = this;
    const first = this.selected >= 0 ? [this.selected, ...this.near] : [...(this.marked || [])].slice(0, LABELS);
    const taken = [];
    pen.font = `${12 * ratio}px Arial, Helvetica, sans-serif`;
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 3 * ratio;
    pen.strokeStyle = colors.page;
    const put = (row, strong) => {
      const [x, y] = at(row);
      if (x < 0 || y < 8 * ratio || x > width || y > height - 8 * ratio) return;
      const text = points.labels[row].slice(0, 28);
      const wide = text.length * 6.6 * ratio + 10 * ratio;
      const isLeft = x + wide > width; // or the edge would cut it
      const box = [isLeft ? x - wide : x, y - 8 * ratio, isLeft ? x : x + wide, y + 8 * ratio];
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
      taken.push(box);
      pen.globalAlpha = strong ? 1 : 0.92;
      pen.fillStyle = colors.ink;
      pen.textAlign = isLeft ? "right" : "left";
      pen.strokeText(text, x + (isLeft ? -7 : 7) * ratio, y);
      pen.fillText(text, x + (isLeft ? -7 : 7) * ratio, y);
    };
    for (const row of first) put(row, true);
    if (!this.marked && this.selected < 0) {
      for (const turn of [0, 1]) { // words before other tokens
        for (let row = 0; row < points.x.length && taken.length < LABELS; row++) {
          if (points.isWord[row] === (turn === 0) && points.labels[row].length > 1 && !this.hidden.has(points.group[row])) put(row, false);
        }
      }
    }
    pen.globalAlpha = 1;
  }

  /** The row of the point nearest to a position on the canvas, or −1 if none is within reach. */
  find(x, y, reach = 12) {
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const { scale, left, top } = this.transform;
    const [wantedX, wantedY] = [(x * ratio - left) / scale, (y * ratio - top) / scale];
    let best = ((reach * ratio) / scale) ** 2;
    let found = -1;
    const { x: xs, y: ys, group } = this.points;
    for (let row = 0; row < xs.length; row++) {
      const far = (xs[row] - wantedX) ** 2 + (ys[row] - wantedY) ** 2;
      if (far < best && !this.hidden.has(group[row])) {
        best = far;
        found = row;
      }
    }
    return found;
  }

  /** The rows of the visible points inside a polygon, by the even-odd rule. */
  inside(polygon) {
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const { scale, left, top } = this.transform;
    const { x: xs, y: ys, group } = this.points;
    const corners = polygon.map(([x, y]) => [(x * ratio - left) / scale, (y * ratio - top) / scale]);
    const rows = [];
    for (let row = 0; row < xs.length; row++) {
      if (this.hidden.has(group[row])) continue;
      let isInside = false;
      for (let nth = 0, before = corners.length - 1; nth < corners.length; before = nth++) {
        const [[x1, y1], [x2, y2]] = [corners[nth], corners[before]];
        if (y1 > ys[row] !== y2 > ys[row] && xs[row] < ((x2 - x1) * (ys[row] - y1)) / (y2 - y1) + x1) isInside = !isInside;
      }
      if (isInside) rows.push(row);
    }
    return rows;
  }

  /** The rows of the points that are on the canvas now. */
  inView() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    return this.inside([[0, 0], [width, 0], [width, height], [0, height]]);
  }

  /** Zooms around a position on the canvas. */
  magnify(by, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const before = this.transform;
    const [worldX, worldY] = [(x * ratio - before.left) / before.scale, (y * ratio - before.top) / before.scale];
    this.zoom = Math.min(Math.max(this.zoom * by, 0.5), 400);
    const { scale } = this.transform;
    this.cx = worldX - (x * ratio - this.canvas.width / 2) / scale;
    this.cy = worldY - (y * ratio - this.canvas.height / 2) / scale;
    this.draw();
  }

  move(dx, dy) {
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const { scale } = this.transform;
    this.cx = Math.min(Math.max(this.cx - (dx * ratio) / scale, -0.2), 1.2);
    this.cy = Math.min(Math.max(this.cy - (dy * ratio) / scale, -0.2), 1.2);
    this.draw();
  }

  /** Moves to a point and zooms in enough to distinguish its neighbors. */
  visit(row, zoom = Math.max(this.zoom, 4)) {
    this.halt();
    this.canvas.dataset.moving = "";
    const from = [this.cx, this.cy, this.zoom];
    const to = [this.points.x[row], this.points.y[row], zoom];
    const began = performance.now();
    const whole = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 450;
    const step = (now) => {
      const part = Math.min(1, Math.max(0, now - began) / whole);
      const eased = 1 - (1 - part) ** 3;
      this.zoom = from[2] * (to[2] / from[2]) ** eased;
      this.cx = from[0] + (to[0] - from[0]) * eased;
      this.cy = from[1] + (to[1] - from[1]) * eased;
      this.paint();
      if (part < 1) this.motion = requestAnimationFrame(step);
      else this.halt();
    };
    this.motion = requestAnimationFrame(step);
  }

  /** Stops a movement that is in progress. */
  halt() {
    cancelAnimationFrame(this.motion);
    delete this.canvas.dataset.moving;
  }

  listen() {
    const { canvas } = this;
    const down = new Map();
    let moved = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.halt();
      this.magnify(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is already released */ }
      this.halt();
      down.set(event.pointerId, event);
      moved = 0;
      this.lasso = (this.lassoing || event.shiftKey) && down.size === 1 ? [[event.offsetX, event.offsetY]] : [];
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = down.get(event.pointerId);
      if (!last) {
        this.onpoint(this.find(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
        return;
      }
      const [dx, dy] = [event.offsetX - last.offsetX, event.offsetY - last.offsetY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (this.lasso.length) {
        this.lasso.push([event.offsetX, event.offsetY]);
        down.set(event.pointerId, event);
        this.onpoint(-1);
        this.draw();
        return;
      }
      const other = [...down.values()].find((finger) => finger.pointerId !== event.pointerId);
      if (other) {
        const spread = (finger) => Math.hypot(finger.offsetX - other.offsetX, finger.offsetY - other.offsetY);
        this.magnify(spread(event) / Math.max(spread(last), 1), (event.offsetX + other.offsetX) / 2, (event.offsetY + other.offsetY) / 2);
      } else this.move(dx, dy);
      down.set(event.pointerId, event);
      this.onpoint(-1);
    });
    const up = (event) => {
      const circled = this.lasso;
      this.lasso = [];
      if (circled.length > 2 && event.type === "pointerup") {
        down.delete(event.pointerId);
        this.onlasso(this.inside(circled));
        return;
      }
      if (down.delete(event.pointerId) && moved < 5 && event.type === "pointerup") this.onselect(this.find(event.offsetX, event.offsetY, 16));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => this.onpoint(-1));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    canvas.addEventListener("keydown", (event) => {
      const keys = {
        ArrowLeft: () => this.move(60, 0), ArrowRight: () => this.move(-60, 0), ArrowUp: () => this.move(0, 60), ArrowDown: () => this.move(0, -60),
        "+": () => this.magnify(1.5), "=": () => this.magnify(1.5), "-": () => this.magnify(1 / 1.5), 0: () => this.home(),
        Enter: () => this.onselect(this.find(canvas.clientWidth / 2, canvas.clientHeight / 2, 4000)), Escape: () => this.onselect(-1),
        l: () => this.onlasso(this.inView()),
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(canvas);
  }

  leave() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    this.halt();
  }
}
