// Share: what is shown as one HTML file, without scripts, that opens anywhere without a server.
//
// The file is a copy of the elements with the style sheets in it. Fields become their text, canvases pictures, and panes
// of tokens, of which the page draws only the visible part, are drawn whole up to a limit that the file states.
import { download, make, number } from "./dom.js";

const MOST_TOKENS = 20000;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** Saves the page; `name` is that of the view. */
export async function share(name) {
  download(`merganser-${name}.html`, "text/html", await snapshot());
}

/** The page as the text of an HTML file. */
export async function snapshot() {
  const view = document.getElementById("view");
  const flows = [...view.querySelectorAll(".flow")].filter((element) => element.flow);
  const cut = flows.some(({ flow }) => flow.encoded?.count > MOST_TOKENS);
  for (const { flow } of flows) flow.drawAll(MOST_TOKENS);
  const copied = view.cloneNode(true);
  bake(view, copied);
  for (const { flow } of flows) flow.drawVisible();
  const sheets = await Promise.all([...document.querySelectorAll("link[rel=stylesheet]")].map(async (link) => (await fetch(link.href)).text()));
  const page = document.implementation.createHTMLDocument(document.title);
  const { documentElement: root, head, body } = page;
  const { theme, view: viewName } = document.documentElement.dataset;
  const meta = (attributes) => head.append(make("meta", attributes));
  meta({ charset: "utf-8" });
  meta({ "http-equiv": "Content-Security-Policy", content: POLICY });
  meta({ name: "viewport", content: "width=device-width, initial-scale=1" });
  meta({ name: "color-scheme", content: document.querySelector("meta[name=color-scheme]").content });
  const style = `${sheets.join("\n").replaceAll("</", "<\\/")}\n.flow { max-height: none; } .inspector { position: static; display: flex; height: auto; }`;
  body.append(make("header", { class: "top" }, make("p", { class: "brand" }, "merganser ", make("span", {}, "studio"))),
    make("p", { class: "quiet snapshot" }, `A snapshot of ${new Date().toISOString().slice(0, 10)}.${cut ? ` Panes show the first ${number(MOST_TOKENS)} tokens.` : ""}`), copied);
  // As a string: this page's policy forbids elements with styles, even in another document.
  const start = `<html lang="en" data-view="${viewName}"${theme ? ` data-theme="${theme}"` : ""}>`;
  return `<!DOCTYPE html>\n${start}\n${root.getHTML().replace("</head>", () => `<style>\n${style}\n</style></head>`)}\n</html>\n`;
}

/** Turns the state of fields and canvases into elements; removes what does nothing without a script. */
function bake(from, to) {
  const [sources, copies] = [[...from.querySelectorAll("*")], [...to.querySelectorAll("*")]];
  sources.forEach((source, n) => {
    const copied = copies[n];
    const kind = source.localName;
    if (kind === "textarea") copied.replaceWith(make("pre", { class: "snapshot-text" }, source.value));
    else if (kind === "select") copied.replaceWith(make("strong", {}, source.selectedOptions[0]?.textContent ?? ""));
    else if (kind === "input" && ["checkbox", "radio"].includes(source.type)) {
      copied.disabled = true;
      copied.toggleAttribute("checked", source.checked);
    } else if (kind === "input") copied.replaceWith(make("strong", {}, source.type === "range" ? "" : source.value));
    else if (kind === "canvas") {
      const image = make("img", { src: source.toDataURL(), alt: source.getAttribute("aria-label") ?? "" });
      image.className = source.className;
      image.style.width = `${source.clientWidth}px`;
      copied.replaceWith(image);
    } else if (kind === "button") {
      if (!source.matches(".node, .token, [role=tab]")) copied.remove();
      else copied.disabled = true;
    } else if (source.matches("script, link, details.menu, [role=alert]:empty")) copied.remove();
  });
}
