// Reads a JSON array of {"kind": "mermaid" | "dot", "text": …} and prints what the parsers of these languages make of
// each: {"nodes": {id: text}, "groups": {id: text}, "edges": [[from, to, text]]} or {"error": …}.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

const dom = new JSDOM("");
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const mermaid = (await import("mermaid")).default;
const viz = await (await import("@viz-js/viz")).instance();
await mermaid.parse("flowchart TD\n a"); // loads the parser of flowcharts

// shown is a text as a browser shows it.
function shown(text) {
  const html = (text ?? "").replace(/ﬂ°°/g, "&#").replace(/ﬂ°/g, "&").replace(/¶ß/g, ";").replace(/<br\s*\/?>/g, "\n");
  const area = document.createElement("textarea");
  area.innerHTML = html;
  return area.value;
}

async function parseMermaid(text) {
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  const groups = Object.fromEntries(db.getSubGraphs().map((g) => [g.id, shown(g.title)]));
  const nodes = {};
  for (const [id, v] of db.getVertices()) {
    if (!(id in groups)) nodes[id] = shown(v.text);
  }
  return { nodes, groups, edges: db.getEdges().map((e) => [e.start, e.end, shown(e.text)]) };
}

// drawnText is a label as it is drawn: what the entities and escapes in it mean has been worked out there. The drawing
// itself has two backslashes for one.
function drawnText(object) {
  const lines = (object._ldraw_ ?? []).filter((d) => d.op === "T").map((d) => d.text.replaceAll("\\\\", "\\"));
  return lines.join("\n");
}

function parseDOT(text) {
  const drawn = viz.renderJSON(text);
  const nodes = {}, groups = {}, names = [];
  for (const o of drawn.objects ?? []) {
    names[o._gvid] = o.name;
    (o.name.startsWith("cluster_") ? groups : nodes)[o.name.replace(/^cluster_/, "")] = drawnText(o);
  }
  const edges = (drawn.edges ?? []).map((e) => [
    e.ltail?.replace(/^cluster_/, "") ?? names[e.tail],
    e.lhead?.replace(/^cluster_/, "") ?? names[e.head],
    drawnText(e),
  ]);
  return { nodes, groups, edges };
}

const results = [];
for (const { kind, text } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    results.push(kind === "dot" ? parseDOT(text) : await parseMermaid(text));
  } catch (e) {
    results.push({ error: String(e?.message ?? e) });
  }
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
