// The page of a report: renders the embedded data with the parts of sections.js, which page.py puts before it.
import { drawPanels, fillRows, put, reportSection, takeawayList, tileRow } from "./sections.js";

const report = JSON.parse(document.getElementById("data").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const header = document.getElementById("header");
const main = document.getElementById("sections");
const list = document.createElement("ol");
const embed = async () => window.vegaEmbed;

const sections = report.sections.map((part, nth) => {
  const made = reportSection(part, nth + 1, embed);
  made.element.id = part.name;
  const link = put("a", "", part.title);
  link.href = `#${part.name}`;
  list.append(put("li", "", link));
  return made;
});
header.append(put("h1", "", report.title), tileRow(report.tiles),
  takeawayList(report.sections, ({ name }) => { location.hash = name; }), ...report.about.map((line) => put("p", "quiet", line)));
document.getElementById("contents").append(list);
fillRows(sections.map(({ element }) => element));
main.append(...sections.map(({ element }) => element));

async function draw() {
  const scheme = dark.matches ? "dark" : "light";
  if (await drawPanels(sections, await embed(), scheme)) document.documentElement.dataset.drawn = scheme;
}
draw();
dark.addEventListener("change", draw);
