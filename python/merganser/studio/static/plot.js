// A line chart on a canvas, redrawn every frame: the count of each merge, with logarithmic axes.

const MARGIN = { left: 44, right: 12, top: 10, bottom: 24 };

function readColors() {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = style.getPropertyValue(name);
    return getComputedStyle(probe).color;
  };
  const found = { ink: read("--quiet"), line: read("--line"), accent: read("--accent") };
  probe.remove();
  return found;
}

const short = (value) => value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(value);

/** Draws values[0], values[1], … over 1, 2, …; the x axis ends at `expected`, and `at` is marked. */
export function curve(canvas, values, expected, at) {
  const ratio = devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  const { ink, line, accent } = readColors();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const most = Math.log10(Math.max(values[0] || 10, 10));
  const last = Math.log10(Math.max(expected, values.length, 10));
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const x = (nth) => MARGIN.left + (Math.log10(nth) / last) * (right - MARGIN.left);
  const y = (seen) => bottom - (Math.log10(Math.max(seen, 1)) / most) * (bottom - MARGIN.top);
  pen.font = "11px Arial, Helvetica, sans-serif";
  pen.lineWidth = 1;
  pen.fillStyle = ink;
  pen.strokeStyle = line;
  for (let power = 0; power <= most + 1e-9; power++) {
    pen.beginPath();
    pen.moveTo(MARGIN.left, y(10 ** power));
    pen.lineTo(right, y(10 ** power));
    pen.stroke();
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(short(10 ** power), MARGIN.left - 7, y(10 ** power));
  }
  for (let power = 0; power <= last + 1e-9; power++) {
    pen.textAlign = power === 0 ? "left" : x(10 ** power) > right - 12 ? "right" : "center";
    pen.textBaseline = "top";
    pen.fillText(short(10 ** power), x(10 ** power), bottom + 7);
  }
  if (!values.length) return;
  pen.strokeStyle = accent;
  pen.lineWidth = 2;
  pen.lineJoin = "round";
  pen.beginPath();
  let before = -1;
  values.forEach((seen, index) => {
    const across = x(index + 1);
    if (across - before < 0.4 && index < values.length - 1) return;
    before = across;
    if (index === 0) pen.moveTo(across, y(seen));
    else pen.lineTo(across, y(seen));
  });
  pen.stroke();
  const marked = at === undefined ? values.length - 1 : at;
  pen.fillStyle = accent;
  pen.beginPath();
  pen.arc(x(marked + 1), y(values[marked]), 4.5, 0, 7);
  pen.fill();
}
