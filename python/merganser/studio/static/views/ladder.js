// Ladder: fourteen trainers, each adding one idea. Runs them on a small text and shows what each step changed.
import { announce, button, choice, fill, labeled, make, number, toggle } from "../dom.js";
import { highlight } from "../highlight.js";

export const title = "Ladder";

const CORE = 0;
const OWN = "own";
let remembered;

export async function mount(element, state, api) {
  const { steps, largest } = await api.get("ladder/steps");
  const names = { [CORE]: "the Rust core", ...Object.fromEntries(steps.map((step) => [step.step, step.name])) };
  const order = [...steps.map((step) => step.step), CORE];
  const runs = new Map();
  let selected = Math.min(Math.max(Number(state.get("step")) || 1, 1), steps.length);
  let logarithmic = false;
  let running = false;
  let stream;

  const size = choice([["10000", "10 KB"], ["20000", "20 KB"], ["40000", "40 KB"], ["80000", "80 KB"], [OWN, "custom text"]], "20000",
    (value) => { own.hidden = value !== OWN; });
  const text = make("textarea", { rows: "5", spellcheck: "false", "aria-label": "Training text", placeholder: `Up to ${number(largest)} bytes` });
  const own = make("div", { hidden: true }, text);
  const merges = make("input", { type: "number", min: "1", max: "1000", value: "100" });
  const start = make("button", { type: "submit", class: "primary" }, "Run all");
  const stop = button("Cancel", () => api.post("ladder/cancel", { job: remembered }).catch(fail), { disabled: true });
  const status = make("p", { class: "quiet", role: "status" }, "Run all measures every step on this machine: each runs in a separate process and must learn the same merges as the Rust core.");
  const error = make("p", { class: "error", role: "alert" });
  const scale = toggle("Logarithmic scale", false, (on) => { logarithmic = on; bars(); });
  const form = make("form", { class: "card stack climb" },
    make("div", { class: "row" }, labeled("Text", size), labeled("Merges", merges),
      make("div", { class: "buttons" }, start, stop), scale),
    own, status, error);

  const rows = new Map(order.map((step) => [step, row(step)]));
  const list = make("ol", { class: "bars" }, ...order.map((step) => rows.get(step).element));
  const source = make("section", { class: "card step", "aria-label": "Step" });

  function row(step) {
    const bar = make("span", { class: "bar" });
    const time = make("span", { class: "time" });
    const faster = make("span", { class: "faster" });
    const parts = [make("span", { class: "nth" }, step === CORE ? "" : String(step)), make("span", { class: "name" }, names[step]),
      make("span", { class: "track" }, bar), time, faster];
    const inner = step === CORE ? make("div", { class: "run" }, ...parts)
      : button("", () => select(step), { class: "run plain" });
    if (step !== CORE) inner.append(...parts);
    return { element: make("li", { class: step === CORE ? "core" : "" }, inner), inner, bar, time, faster };
  }

  function bars() {
    const times = [...runs.values()].filter((run) => !run.timed_out).map((run) => run.cpu_seconds);
    const most = Math.max(...times, 1e-3);
    const least = Math.min(...times, most) / 2;
    const first = runs.get(1);
    const next = running ? order.find((step) => step !== CORE && !runs.has(step)) : undefined;
    for (const [step, { element: item, inner, bar, time, faster }] of rows) {
      const run = runs.get(step);
      const seconds = run && !run.timed_out ? run.cpu_seconds : 0;
      const part = logarithmic ? Math.log(Math.max(seconds, least) / least) / Math.log(most / least || 2) : seconds / most;
      bar.style.width = run ? `${Math.max(run.timed_out ? 100 : 100 * part, 0.4)}%` : "0";
      item.classList.toggle("late", Boolean(run && run.timed_out));
      item.classList.toggle("now", step === next);
      time.textContent = !run ? "" : run.timed_out ? "timed out" : duration(seconds);
      faster.textContent = run && first && !first.timed_out && step !== 1 && !run.timed_out
        ? `${number(first.cpu_seconds / seconds, first.cpu_seconds / seconds < 10 ? 1 : 0)}×` : "";
      if (step !== CORE) {
        if (step === selected) inner.setAttribute("aria-current", "step");
        else inner.removeAttribute("aria-current");
      }
    }
  }

  function select(step) {
    selected = step;
    state.set({ step: step === 1 ? undefined : String(step) });
    bars();
    show();
  }

  function show() {
    const step = steps[selected - 1];
    const added = step.lines.filter(([kind]) => kind === "new").length;
    const removed = step.lines.filter(([kind]) => kind === "gone").length;
    const kept = step.lines.filter(([kind]) => kind !== "gone").map(([, line]) => line);
    const highlighted = highlight(kept);
    let nth = 0;
    const lines = step.lines.map(([kind, line]) => {
      const sign = kind === "new" ? "+" : kind === "gone" ? "−" : " ";
      const content = kind === "gone" ? [line] : highlighted[nth++];
      return make("span", { class: `code-line ${kind}` },
        make("span", { class: "at", "aria-hidden": "true" }, kind === "gone" ? "" : String(nth)),
        make("span", { class: "sign" }, make("span", { class: "unseen" }, kind === "new" ? "new: " : kind === "gone" ? "removed: " : ""), make("span", { "aria-hidden": "true" }, sign)),
        make("span", { class: "text" }, ...content, "\n"));
    });
    const code = make("pre", { class: "code", tabindex: "0", role: "region", "aria-label": `Code of step ${selected}` }, ...lines);
    code.classList.toggle("with-gone", withRemoved);
    fill(source,
      make("div", { class: "row end" },
        make("h2", {}, `Step ${selected}: ${step.name}`),
        make("div", { class: "buttons" },
          button("← Previous", () => select(selected - 1), { disabled: selected === 1, "aria-label": "Previous step" }),
          button("Next →", () => select(selected + 1), { disabled: selected === steps.length, "aria-label": "Next step" }))),
      make("p", { class: "idea" }, step.title[0].toUpperCase() + step.title.slice(1)),
      ...step.about.map((part) => make("p", {}, part)),
      make("div", { class: "row end" },
        make("p", { class: "quiet changes" }, selected === 1 ? `${number(kept.length)} lines`
          : `${number(added)} of ${number(kept.length)} lines are new, ${number(removed)} lines of step ${selected - 1} were removed`),
        selected > 1 && toggle("Show removed lines", withRemoved, (on) => { withRemoved = on; code.classList.toggle("with-gone", on); })),
      code);
  }
  let withRemoved = false;

  function fail(problem) {
    error.textContent = problem.message;
  }

  function busy(is) {
    running = is;
    start.disabled = is;
    stop.disabled = !is;
    bars();
  }

  function follow(job) {
    remembered = job;
    runs.clear();
    status.textContent = "Starting…";
    busy(true);
    stream = api.events(`ladder/events?job=${encodeURIComponent(job)}`);
    const on = (kind, act) => stream.addEventListener(kind, (event) => act(JSON.parse(event.data)));
    const end = (message) => (data) => {
      stream.close();
      busy(false);
      status.textContent = message(data);
      announce(status.textContent);
    };
    on("progress", ({ waiting, done, total }) => {
      if (waiting !== undefined) status.textContent = waiting ? `Waiting for ${number(waiting)} ${waiting === 1 ? "job" : "jobs"}.` : "Starting…";
      else if (done) status.textContent = `${number(done)} of ${number(total)} done`;
    });
    on("run", (run) => {
      runs.set(run.step === "core" ? CORE : Number(run.step), run);
      bars();
    });
    on("done", end(({ differ }) => {
      if (differ.length) return `These steps learned different merges from the core: ${differ.join(", ")}.`;
      const [first, last] = [runs.get(1), runs.get(steps.length)];
      const gain = first.timed_out || last.timed_out ? "" : ` Step ${steps.length} is ${number(first.cpu_seconds / last.cpu_seconds)}× faster than step 1.`;
      return `All steps learned the same ${number(last.merges)} merges.${gain} Times are CPU times.`;
    }));
    on("cancelled", end(() => "Cancelled."));
    on("failed", end(({ error: reason }) => { error.textContent = reason; return "The run failed."; }));
    stream.onerror = () => {
      if (stream.readyState !== EventSource.CLOSED) return;
      busy(false);
      remembered = undefined;
      status.textContent = "This run no longer exists.";
    };
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.textContent = "";
    const input = size.value === OWN ? { text: text.value || " " } : { bytes: Number(size.value) };
    try {
      follow((await api.post("ladder/run", { ...input, merges: Number(merges.value) })).job);
    } catch (problem) {
      fail(problem);
    }
  });
  list.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.target.tagName !== "BUTTON") return;
    event.preventDefault();
    const next = Math.min(Math.max(selected + by, 1), steps.length);
    select(next);
    rows.get(next).inner.focus();
  });
  fill(element, form, make("div", { class: "ladder" }, make("div", { class: "card" }, list), source));
  bars();
  show();
  if (remembered) follow(remembered);
  return () => { if (stream) stream.close(); };
}

const duration = (seconds) => seconds >= 1 ? `${number(seconds, 2)} s` : `${number(seconds * 1000, seconds < 0.01 ? 1 : 0)} ms`;
