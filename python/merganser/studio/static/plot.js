// Line charts on a canvas, redrawn every frame.

const MARGIN = { left: 46, right: 14, top: 12, bottom: 36 };

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = style.getPropertyValue(name);
    return getComputedStyle(probe).color;
  };
  const found = { ink: read("--ink"), quiet: read("--quiet"), line: read("--line"), accent: read("--accent"), page: read("--card") };
  probe.remove();
  return found;
}

const short = (value) => value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(Math.round(value * 100) / 100);

/** Round numbers from `low` to `high`: powers of ten if `isLog`, with 2 and 5 between if there are few. */
function ticks(low, high, isLog) {
  if (!isLog) {
    const power = 10 ** Math.floor(Math.log10((high - low) / 6));
    const step = power * [1, 2, 5, 10].find((factor) => (high - low) / (factor * power) <= 6);
    return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, nth) => (Math.ceil(low / step) + nth) * step);
  }
  const found = [];
  for (const factors of [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7]]) {
    found.length = 0;
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
      for (const factor of factors) if (factor * 10 ** power >= low * 0.999 && factor * 10 ** power <= high * 1.001) found.push(factor * 10 ** power);
    }
    if (found.length >= 3) break;
  }
  return found;
}

/**
 * Draws points [x, y]. The axes are {x: {low, high, title, isLog}, y: {low, high, isLog}}; `marked` is a point;
 * `reference` is {y, text}, a dashed line.
 */
export function curve(canvas, points, axes, { marked, reference } = {}) {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  const { ink, quiet, line, accent, page } = readColors();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const share = (value, { low, high, isLog }) => isLog
    ? (Math.log(Math.max(value, low)) - Math.log(low)) / (Math.log(high) - Math.log(low)) : (value - low) / (high - low);
  const x = (value) => MARGIN.left + share(value, axes.x) * (right - MARGIN.left);
  const y = (value) => bottom - share(value, axes.y) * (bottom - MARGIN.top);
  pen.font = "11px Arial, Helvetica, sans-serif";
  pen.lineWidth = 1;
  pen.fillStyle = quiet;
  pen.strokeStyle = line;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const tick of ticks(axes.y.low, axes.y.high, axes.y.isLog)) {
    pen.beginPath();
    pen.moveTo(MARGIN.left, y(tick));
    pen.lineTo(right, y(tick));
    pen.stroke();
    pen.fillText(short(tick), MARGIN.left - 7, y(tick));
  }
  pen.textBaseline = "top";
  for (const tick of ticks(axes.x.low, axes.x.high, axes.x.isLog)) {
    const at = x(tick);
    pen.textAlign = at > right - 14 ? "right" : "center";
    pen.fillText(short(tick), at, bottom + 6);
  }
  pen.textAlign = "right";
  pen.fillText(axes.x.title, right, bottom + 21);
  if (reference) {
    pen.strokeStyle = quiet;
    pen.setLineDash([5, 4]);
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.moveTo(MARGIN.left, y(reference.y));
    pen.lineTo(right, y(reference.y));
    pen.stroke();
    pen.setLineDash([]);
    pen.textAlign = "left";
    pen.textBaseline = "bottom";
    pen.lineWidth = 3;
    pen.strokeStyle = page;
    pen.strokeText(reference.text, MARGIN.left + 6, y(reference.y) - 3);
    pen.fillStyle = ink;
    pen.fillText(reference.text, MARGIN.left + 6, y(reference.y) - 3);
  }
  if (!points.length) return;
  pen.strokeStyle = accent;
  pen.lineWidth = 2.2;
  pen.lineJoin = "round";
  pen.beginPath();
  let before = -1;
  points.forEach(([across, up], nth) => {
    const at = x(across);
    if (at - before < 0.4 && nth < points.length - 1) return;
    before = at;
    if (nth === 0) pen.moveTo(at, y(up));
    else pen.lineTo(at, y(up));
  });
  pen.stroke();
  const [across, up] = marked ?? points[points.length - 1];
  pen.fillStyle = accent;
  pen.beginPath();
  pen.arc(x(across), y(up), 4.5, 0, 7);
  pen.fill();
}
