// Builds elements. Strings always become text nodes: nothing here parses markup.

/** Creates an element: make("p", {class: "quiet", onclick: f, ariaLabel: "x"}, "text", child, …). */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    else if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

let last = 0;
/** Returns an id that no other element has. */
export const uniqueId = (stem) => `${stem}-${++last}`;

/** A control preceded by its label. */
export function labeled(text, control) {
  control.id ||= uniqueId("control");
  return make("span", { class: "field" }, make("label", { for: control.id }, text), control);
}

export function button(text, onclick, properties = {}) {
  return make("button", { type: "button", onclick, ...properties }, text);
}

/** A select element with [value, text] options. */
export function choice(options, value, onchange) {
  const select = make("select", { onchange: () => onchange(select.value) });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = value;
  return select;
}

export function toggle(text, checked, onchange) {
  const box = make("input", { type: "checkbox", onchange: () => onchange(box.checked) });
  box.checked = checked;
  return make("label", { class: "toggle" }, box, text);
}

/** A table of strings and elements; columns are [title, is numeric] pairs. */
export function table(columns, rows, caption) {
  const head = make("tr", {}, ...columns.map(([title, isNumeric]) =>
    make("th", { scope: "col", class: isNumeric ? "number" : "" }, title)));
  const body = rows.map((row) => make("tr", {}, ...row.map((cell, column) =>
    make("td", { class: columns[column][1] ? "number" : "" }, cell instanceof Node ? cell : make("bdi", {}, String(cell))))));
  const whole = make("table", {}, caption && make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table" }, whole);
}

const formats = new Map();
/** Formats a number: 12,345 or 3.14. */
export function number(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  if (!formats.has(digits)) {
    formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return formats.get(digits).format(value);
}

/** Replaces lone surrogates, which UTF-8 cannot encode. */
export const wellFormed = (text) => (text.toWellFormed ? text.toWellFormed() : text);

/** Announces a text to screen readers. */
export function announce(text) {
  document.getElementById("live").textContent = text;
}

/** Shows a message above the view until it is dismissed or another view is opened; without one, hides it. */
export function notice(text, ...actions) {
  const bar = document.getElementById("notice");
  fill(bar, text && make("span", {}, text), ...(text ? [...actions, button("×", () => notice(), { class: "plain", "aria-label": "Dismiss" })] : []));
}

/** Saves contents, a string or a Blob, as a file of the user. */
export function download(name, type, contents) {
  const address = URL.createObjectURL(contents instanceof Blob ? contents : new Blob([contents], { type }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  announce(`${name} was saved`);
}

/** Copies a text, and confirms it on the button for a moment. */
export async function copy(text, trigger) {
  const before = trigger.textContent;
  try {
    await navigator.clipboard.writeText(text);
    trigger.textContent = "Copied";
  } catch {
    trigger.textContent = "Copying was blocked";
  }
  announce(trigger.textContent);
  setTimeout(() => { trigger.textContent = before; }, 1200);
}
