"use strict";
/* Draws one explanation (a "view") into the page. Every word of a document enters as text, never as markup. */
const pagerag = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");

  function make(space, tag, attributes, children) {
    const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) element.append(child);
    return element;
  }
  const h = (tag, attributes, ...children) => make(null, tag, attributes, children);
  const s = (tag, attributes, ...children) => make(SVG, tag, attributes, children);
  const fixed = (value, digits = 2) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits));
  const clip = (text, most) => (text.length <= most ? text : text.slice(0, most - 1).trimEnd() + "…");
  const body = (unit) => unit.text.slice(unit.skip || 0);
  const name = (unit) => unit.label || unit.title || clip(body(unit), 60);
  const VERDICTS = {
    kept: "kept", patience: "kept on trial", rejected: "rejected", redundant: "rejected", noisy: "rejected",
    "no room": "no room", reverted: "taken back", fill: "fills the budget",
  };
  const ROLES = { core: "core", fill: "fills the budget", pool: "not selected" };

  /* -- the source of a unit, with the cited sentences marked */

  function marked(unit, from0 = unit.skip || 0) {
    const points = [...(unit.marks || [])].sort((a, b) => a.from - b.from || a.start - b.start);
    const pieces = [];
    let at = from0;
    for (const mark of points) {
      const from = Math.max(at, mark.from), start = Math.max(from, mark.start), end = Math.max(start, mark.end), to = Math.max(end, mark.to);
      if (to <= at) continue;
      pieces.push(unit.text.slice(at, from));
      pieces.push(h("span", { class: "sentence" }, unit.text.slice(from, start), h("mark", {}, unit.text.slice(start, end)), unit.text.slice(end, to)));
      at = to;
    }
    pieces.push(unit.text.slice(at));
    return pieces;
  }

  function placed(unit) {
    const place = unit.place || {};
    const parts = [(place.path || "").split("/").slice(-2).join("/") + (place.line !== undefined ? `:${place.line}` : "")];
    if (place.section) parts[0] += ` › ${place.section.join(" › ")}`;
    if (place.page !== undefined) parts.push(`page ${place.page}`);
    else if (place.part !== undefined) parts.push(place.part);
    if (place.start !== undefined && place.end !== undefined) parts.push(`characters ${place.start.toLocaleString("en")}–${place.end.toLocaleString("en")}`);
    return parts.filter(Boolean).join(", ");
  }

  /* The page sets this: a function from a unit to its document's text and the place of its passage in it. */
  const hooks = { around: null };

  async function showAround(unit, dialog, whole) {
    let found = null;
    try { found = await hooks.around(unit); } catch { /* the passage is there, the rest of the document is not */ }
    if (!found || !dialog.isConnected) return;
    const passage = found.text.slice(found.at, found.at + found.length);
    const inside = passage.indexOf(unit.text);
    if (inside < 0) return;
    const start = found.at + inside;
    whole.replaceChildren(
      found.cut_before ? "…\n" : "", found.text.slice(0, start),
      h("span", { class: "passage" }, marked(unit, 0)),
      found.text.slice(start + unit.text.length), found.cut_after ? "\n…" : "");
    (whole.querySelector("mark") || whole.querySelector(".passage")).scrollIntoView({ block: "center" });
  }

  function openSource(unit) {
    document.getElementById("source")?.remove();
    const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
    const number = unit.number ? `[${unit.number}] ` : "";
    const whole = h("p", { class: "whole", tabindex: "0" }, marked(unit), unit.cut ? `\n… ${unit.cut.toLocaleString("en")} more characters` : "");
    const dialog = h("dialog", { id: "source", "aria-labelledby": "source-title" },
      h("div", { class: "in" },
        h("header", {}, h("h3", { id: "source-title" }, `${number}${name(unit)}`), close),
        h("p", { class: "place" }, placed(unit)),
        whole,
        unit.why && unit.why.length ? h("p", { class: "hint" }, `Why it is here: ${unit.why.join("; ")}.`) : null));
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    document.body.append(dialog);
    dialog.showModal();
    const found = dialog.querySelector("mark, .sentence");
    if (found) found.scrollIntoView({ block: "center" });
    close.focus({ preventScroll: true });
    if (hooks.around && !unit.cut) showAround(unit, dialog, whole);
  }

  const byId = (view) => new Map(view.candidates.map((unit) => [unit.id, unit]));

  /* -- the answer and the verdict */

  function cite(number, units, shown) {
    const unit = units.get(shown[number - 1]);
    if (!unit) return `[${number}]`;
    return h("button", { type: "button", class: "cite", "data-cite": number, title: name(unit), "aria-label": `Source ${number}: ${name(unit)}`, onclick: () => openSource(unit) }, String(number));
  }

  function answerText(view, units) {
    const answer = view.answer;
    if (!answer || !answer.text) return null;
    const parts = [];
    const numbers = [...new Set(answer.citations.map((c) => c.number))].sort((a, b) => a - b);
    let rest = answer.text, seen = new Set();
    for (const match of answer.text.matchAll(/\[(\d+)\]/g)) {
      const number = Number(match[1]);
      if (!numbers.includes(number)) continue;
      const at = rest.indexOf(match[0]);
      parts.push(rest.slice(0, at), cite(number, units, view.shown));
      rest = rest.slice(at + match[0].length);
      seen.add(number);
    }
    parts.push(rest);
    for (const number of numbers) if (!seen.has(number)) parts.push(" ", cite(number, units, view.shown));
    return parts;
  }

  function head(view, units) {
    const told = view.verdict, text = answerText(view, units);
    const share = Math.round(100 * view.sufficiency);
    const clock = Object.entries(view.timings || {}).map(([stage, seconds]) => `${stage.replace("_", " ")} ${Math.round(1000 * seconds)} ms`).join(" · ");
    return h("header", { id: "answer" },
      h("h1", {}, view.question),
      text ? h("p", { class: `answer ${told.tone}` }, told.tone === "bad" && !view.answer.quotes ? "Perhaps: " : "", text) : null,
      h("p", { class: "verdict" }, h("span", { class: `state ${told.tone}` }, told.label), h("span", {}, told.words)),
      told.missing.length ? h("div", {}, h("p", { class: "hint" }, "What is missing:"), h("ul", { class: "missing" }, told.missing.map((line) => h("li", {}, line)))) : null,
      h("p", { class: "meta" },
        h("span", { class: `meter ${told.tone}`, "aria-hidden": "true" }, width(h("i"), share)),
        ` sufficiency ${fixed(view.sufficiency)} · ${view.core.length} of ${view.candidates.length} candidates in the core, ${view.context.length} in the context (k = ${view.k}) · ${view.mode} mode · ${view.strategy} strategy${view.answer && view.answer.reader ? ` · reader ${view.answer.reader}` : ""}${clock ? ` · ${clock}` : ""}`));
  }

  function width(element, share) { element.style.width = `${share}%`; return element; }

  /* -- the evidence paths: a picture, and on a phone a list of steps */

  function keys(pairs) { return h("figcaption", {}, pairs.map(([kind, text]) => h("span", {}, h("i", { class: `key ${kind}` }), text))); }

  function picture(view, units) {
    const drawn = new DOMParser().parseFromString(view.picture, "image/svg+xml").documentElement;
    const holder = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Evidence paths as a picture" });
    const detail = h("div", { class: "detail", "aria-live": "polite" }, h("span", { class: "hint" }, "Point at a link or move to it with Tab to see what it is worth; a card opens its source."));
    if (drawn.nodeName === "svg") {
      const svg = document.importNode(drawn, true);
      svg.setAttribute("role", "group");
      holder.append(svg);
      for (const card of svg.querySelectorAll("[data-unit]")) {
        const unit = units.get(card.getAttribute("data-unit"));
        if (!unit) continue;
        card.setAttribute("role", "button");
        card.addEventListener("click", () => openSource(unit));
        card.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openSource(unit); } });
      }
      for (const pill of svg.querySelectorAll(".pill")) {
        const say = () => detail.replaceChildren(pill.getAttribute("aria-label"));
        pill.addEventListener("mouseenter", say); pill.addEventListener("focus", say); pill.addEventListener("click", say);
      }
    }
    return h("section", { id: "paths", "aria-labelledby": "paths-title" }, h("h2", { id: "paths-title" }, "Evidence paths"),
      h("figure", { class: "picture" }, holder, steps(view, units), detail,
        keys([["core", "kept: the core"], ["fill", "fills the budget"], ["pool", "connected, but no support"]])));
  }

  function steps(view, units) {
    const list = h("ol", { class: "steps" }, h("li", { class: "ask" }, view.question));
    const path = view.argument;
    const order = path ? path.units : view.core;
    order.forEach((id, place) => {
      const unit = units.get(id);
      if (!unit) return;
      if (path && place > 0) {
        const edge = path.edges[place - 1];
        list.append(h("li", { class: "via" }, `↓ ${edge.kind}${edge.trig.length ? `: ${edge.trig.slice(0, 2).join(", ")}` : ""}`));
      }
      list.append(h("li", {}, h("button", { type: "button", class: "plain-link", onclick: () => openSource(unit) }, name(unit)), h("br"), path ? path.sentences[place] : clip(body(unit), 240)));
    });
    for (const id of view.core) if (!order.includes(id)) { const unit = units.get(id); list.append(h("li", {}, h("button", { type: "button", class: "plain-link", onclick: () => openSource(unit) }, name(unit)), h("br"), clip(body(unit), 240))); }
    if (view.answer && !view.answer.quotes) list.append(h("li", { class: "via" }, "↓"), h("li", { class: view.answer.text ? "end" : "none" }, view.answer.text || "The reader gave no answer."));
    return list;
  }

  /* -- promoted beside plain retrieval */

  function unitItem(unit, label, before) {
    return h("li", { class: before ? unit.role : unit.role, id: before ? null : unit.number ? `unit-${unit.number}` : null },
      h("div", {}, h("b", {}, label, " "), h("button", { type: "button", class: "plain-link", onclick: () => openSource(unit) }, name(unit)),
        h("span", { class: `tag ${unit.role}` }, `${ROLES[unit.role]} ${fixed(unit.score)}`),
        unit.marks && unit.marks.length ? h("span", { class: "tag cited" }, "cited") : null),
      h("p", { class: "text" }, before ? body(unit) : marked(unit)),
      !before && unit.why && unit.why.length ? h("p", { class: "why" }, unit.why.join("; ")) : null,
      !before && placed(unit) ? h("p", { class: "place" }, placed(unit)) : null);
  }

  function beside(view, units) {
    const promoted = (view.shown.length ? view.shown : view.context).map((id) => units.get(id)).filter(Boolean);
    const rest = view.context.map((id) => units.get(id)).filter((unit) => unit && !promoted.includes(unit));
    const plain = [...view.candidates].sort((a, b) => a.retrieved - b.retrieved).slice(0, view.k);
    const lost = plain.filter((unit) => unit.role === "pool").length;
    const gained = view.context.filter((id) => !plain.some((unit) => unit.id === id)).length;
    return h("section", { id: "beside", "aria-labelledby": "beside-title" }, h("h2", { id: "beside-title" }, "What the reader sees, beside plain retrieval"),
      h("p", { class: "hint" }, `Promotion brought in ${gained} and left out ${lost} of the first ${plain.length} that retrieval ranked.`),
      h("div", { class: "columns" },
        h("div", {}, h("h3", {}, "Promoted"), h("ol", { class: "units promoted" }, promoted.map((unit, n) => unitItem(unit, `[${n + 1}]`)), rest.map((unit) => unitItem(unit, "·")))),
        h("div", {}, h("h3", {}, `Plain retrieval, first ${plain.length}`), h("ol", { class: "units plain" }, plain.map((unit, n) => unitItem(unit, `${n + 1}.`, true))))));
  }

  /* -- ranked paths with the parts of their score */

  const PARTS = [["sent_base", "sentences", "p0"], ["edge_sum", "links", "p1"], ["coherence", "coherence", "p2"], ["alignment", "question covered", "p3"], ["bridge_bonus", "bridge", "p4"], ["length_cost", "length (cost)", "p5"]];

  function ranked(view, units) {
    const worth = (path) => PARTS.map(([key, label, kind]) => [label, kind, Math.abs(path[key] || 0), path[key] || 0]);
    const widest = Math.max(1e-6, ...view.paths.map((path) => worth(path).reduce((sum, part) => sum + part[2], 0)));
    const rows = view.paths.map((path) => {
      const parts = worth(path);
      const said = parts.map(([label, , , value]) => `${label} ${fixed(value)}`).join(", ");
      const bar = h("div", { class: "bar", role: "img", "aria-label": said, title: said }, parts.map(([, kind, size]) => width(h("i", { class: kind }), 100 * size / widest)));
      const hops = path.units.map((id, n) => [n ? [" ", h("span", { class: "hop" }, clip(path.edges[n - 1].trig.slice(0, 2).join(", ") || path.edges[n - 1].kind, 36)), " "] : null, units.has(id) && units.get(id).title && path.labels ? path.labels[n] : units.has(id) ? name(units.get(id)) : id]);
      return h("tr", { class: path.verdict === "kept" ? "kept" : "rejected" },
        h("td", { class: "num" }, `${path.rank}.`), h("td", { class: "num" }, fixed(path.score)), h("td", {}, bar), h("td", {}, hops),
        h("td", {}, h("b", {}, path.verdict === "kept" ? "kept: " : "rejected: "), path.reason));
    });
    const kept = view.paths.filter((path) => path.verdict === "kept").length;
    const order = view.paths.map((path, n) => [path.verdict !== "kept" || new Set(path.units).size < 2, n]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, n]) => rows[n]);
    const cut = Math.max(8, Math.min(kept, 3) + 5), first = order.slice(0, cut), rest = order.slice(cut);
    const table = (some) => h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ranked paths" }, h("table", { class: "stack" },
      h("thead", {}, h("tr", {}, ["rank", "score", "parts of the score", "path", "decision"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, some)));
    return h("section", { id: "ranked", "aria-labelledby": "ranked-title" }, h("h2", { id: "ranked-title" }, "Ranked paths"),
      h("figure", {}, table(first), rest.length ? h("details", {}, h("summary", {}, `${rest.length} more`), table(rest)) : null,
        h("figcaption", {}, PARTS.map(([, label, kind]) => h("span", {}, h("i", { class: `key ${kind}` }), label)))));
  }

  /* -- the selection, step by step */

  function player(view, units) {
    const all = view.steps;
    if (!all.length) return null;
    const now = h("p", { class: "now", role: "status" });
    const chips = new Map(view.candidates.map((unit) => [unit.id, h("li", { title: name(unit) }, clip(name(unit), 34))]));
    const slider = h("input", { type: "range", min: "0", max: String(all.length), value: String(all.length), "aria-label": "Step of the selection" });
    const count = h("span", { class: "count" });
    const play = h("button", { type: "button", class: "play" }, "▶ Play");
    let timer = null;
    const used = new Set(all.flatMap((step) => step.units));
    function show(place) {
      const step = place > 0 ? all[place - 1] : null;
      const inside = new Set(step ? step.selected : []);
      for (const [id, chip] of chips) chip.className = `${inside.has(id) ? "in" : used.has(id) ? "" : "out"}${step && step.units.includes(id) ? " looked" : ""}`;
      now.className = `now ${step ? step.verdict.replace(" ", "-") : ""}`;
      const title = step ? step.units.map((id) => (units.has(id) ? name(units.get(id)) : id)).join(" → ") : "";
      now.replaceChildren(...(step ? [h("b", {}, `${VERDICTS[step.verdict] || step.verdict}: ${title}`), h("br"), step.reason, step.support !== null && step.support !== undefined ? ` · support of the set ${fixed(step.support)}` : ""] : ["Nothing is selected yet. Press play, or move the slider."]));
      slider.value = String(place);
      slider.setAttribute("aria-valuetext", step ? `step ${place} of ${all.length}` : "before the first step");
      count.textContent = `${place} / ${all.length}`;
    }
    function stop() { clearInterval(timer); timer = null; play.textContent = "▶ Play"; }
    const go = (by) => { stop(); show(Math.min(all.length, Math.max(0, Number(slider.value) + by))); };
    play.addEventListener("click", () => {
      if (timer) { stop(); return; }
      if (Number(slider.value) >= all.length) show(0);
      play.textContent = "❚❚ Pause";
      timer = setInterval(() => { const next = Number(slider.value) + 1; show(next); if (next >= all.length) stop(); }, reduced.matches ? 2200 : 1100);
    });
    slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
    const section = h("section", { id: "selection", "aria-labelledby": "selection-title" }, h("h2", { id: "selection-title" }, "The selection, step by step"),
      h("figure", {}, h("div", { class: "player" }, h("button", { type: "button", onclick: () => go(-all.length) }, "«", h("span", { class: "sr" }, "First step")), h("button", { type: "button", onclick: () => go(-1) }, "‹", h("span", { class: "sr" }, "Step back")), play, h("button", { type: "button", onclick: () => go(1), class: "forward" }, "›", h("span", { class: "sr" }, "Step forward")), slider, count),
        now, h("ul", { class: "chips", "aria-label": "Candidates; selected ones are framed" }, [...chips.values()])));
    show(all.reduce((last, step, n) => (step.verdict === "kept" ? n + 1 : last), 0));
    return section;
  }

  /* -- the query-local graph: laid out by springs here, so that it can be zoomed and stays where it was */

  function layout(nodes, edges, kept) {
    const n = nodes.length, x = new Float64Array(n), y = new Float64Array(n), at = new Map();
    const ideal = 0.9 / Math.sqrt(Math.max(n, 1));
    nodes.forEach((node, i) => {
      at.set(node.id, i);
      const old = kept && kept.get(node.id);
      const angle = i * Math.PI * (3 - Math.sqrt(5)), radius = Math.sqrt((i + 0.5) / n) / 2;
      x[i] = old ? old[0] : 0.5 + radius * Math.cos(angle); y[i] = old ? old[1] : 0.5 + radius * Math.sin(angle);
    });
    const pull = { contains: 1.6, mention: 1.0, adjacent: 0.7, "shared entity": 0.5, relation: 0.7 };
    const pairs = edges.map((edge) => [at.get(edge.from), at.get(edge.to), pull[edge.kind] || 0.5]);
    const rounds = n > 160 ? 110 : 220, mx = new Float64Array(n), my = new Float64Array(n);
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < n; i++) { mx[i] = (0.5 - x[i]) * 0.6; my[i] = (0.5 - y[i]) * 0.6; }
      for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) {
        const dx = x[i] - x[j], dy = y[i] - y[j], d2 = Math.max(dx * dx + dy * dy, 1e-7), force = ideal * ideal / d2;
        mx[i] += dx * force; my[i] += dy * force; mx[j] -= dx * force; my[j] -= dy * force;
      }
      for (const [i, j, weight] of pairs) {
        const dx = x[i] - x[j], dy = y[i] - y[j], d = Math.sqrt(dx * dx + dy * dy), force = weight * d / ideal;
        mx[i] -= dx * force; my[i] -= dy * force; mx[j] += dx * force; my[j] += dy * force;
      }
      const heat = 0.11 * (1 - round / rounds) ** 1.5 + 0.001;
      for (let i = 0; i < n; i++) { const length = Math.max(Math.hypot(mx[i], my[i]), 1e-9), step = Math.min(length * 0.1, heat) / length; x[i] += mx[i] * step; y[i] += my[i] * step; }
    }
    // Far outliers would squeeze the rest into the middle: half of a place is its rank.
    const even = (values) => {
      const low = Math.min(...values), high = Math.max(...values), rank = new Float64Array(n);
      [...values.keys()].sort((a, b) => values[a] - values[b]).forEach((i, r) => { rank[i] = n > 1 ? r / (n - 1) : 0.5; });
      return values.map((value, i) => 0.45 * (value - low) / Math.max(high - low, 1e-9) + 0.55 * rank[i]);
    };
    const ex = even(x), ey = even(y), place = new Map();
    nodes.forEach((node, i) => place.set(node.id, [ex[i], ey[i]]));
    return place;
  }

  function separated(nodes, place, W, H, M) {
    /* Labels that lie on one another are moved apart. */
    const x = [], y = [], w = [], t = [];
    for (const node of nodes) {
      const [a, b] = place.get(node.id);
      x.push(M + a * (W - 2 * M)); y.push(M + b * (H - 2 * M));
      w.push(node.kind === "sentence" ? 34 : node.kind === "document" ? 8 + 5.2 * Math.min(node.label.length, 30) : 20 + 6.4 * Math.min(node.label.length, 28));
      t.push(node.kind === "sentence" ? 34 : 28);
    }
    for (let round = 0; round < 60; round++) {
      let moved = false;
      for (let i = 0; i < x.length; i++) for (let j = i + 1; j < x.length; j++) {
        const ox = (w[i] + w[j]) / 2 - Math.abs(x[i] - x[j]), oy = (t[i] + t[j]) / 2 - Math.abs(y[i] - y[j]);
        if (ox <= 0 || oy <= 0) continue;
        moved = true;
        if (oy < ox) { const step = (oy / 2) * (y[i] < y[j] || (y[i] === y[j] && i < j) ? -1 : 1) * 0.6; y[i] += step; y[j] -= step; }
        else { const step = (ox / 2) * (x[i] < x[j] || (x[i] === x[j] && i < j) ? -1 : 1) * 0.6; x[i] += step; x[j] -= step; }
      }
      if (!moved) break;
    }
    return new Map(nodes.map((node, i) => [node.id, [Math.min(W - w[i] / 2, Math.max(w[i] / 2, x[i])), Math.min(H - 14, Math.max(20, y[i]))]]));
  }

  const ME = [["conf", "confidence"], ["div", "diversity"], ["spec", "specificity"], ["hub", "hubness"], ["noise", "noise"], ["relevance", "relevance"], ["reliability", "reliability"], ["score", "score of the link"]];

  function graph(view, units, kept, narrow) {
    const drawn = new Set(view.graph.nodes.filter((node) => node.kind === "entity").map((node) => node.label));
    const nodes = view.graph.nodes;
    // Where a name is drawn, the link that it makes between two sentences is seen already.
    const edges = view.graph.edges.filter((edge) => edge.kind !== "shared entity" || !edge.trig.some((trigger) => drawn.has(trigger)));
    const place = layout(nodes, edges, kept);
    const W = narrow ? 430 : 1180, H = narrow ? Math.max(560, 13 * nodes.length) : nodes.length > 120 ? 1000 : nodes.length > 50 ? 760 : 560, M = narrow ? 36 : 60;
    const spot = separated(nodes, place, W, H, M);
    const at = (id) => spot.get(id);
    const role = (id) => (units.has(id) ? units.get(id).role : "pool");
    const detail = h("div", { class: "detail", "aria-live": "polite" }, h("span", { class: "hint" }, "Point at a node or a link. With the keyboard: Tab to the graph, arrow keys move between nodes, Enter opens the source, + and − zoom."));
    const lines = edges.map((edge) => {
      const [x1, y1] = at(edge.from), [x2, y2] = at(edge.to);
      const core = edge.kind === "mention" && role((nodes.find((node) => node.id === edge.from) || {}).unit) === "core";
      const line = s("line", { class: `edge ${edge.kind.replace(" ", "-")}${core ? " oncore" : ""}`, x1, y1, x2, y2 });
      const wide = s("line", { x1, y1, x2, y2, stroke: "transparent", "stroke-width": "9" });
      wide.addEventListener("mouseenter", () => { sayEdge(edge); line.classList.add("lit"); });
      wide.addEventListener("mouseleave", () => line.classList.remove("lit"));
      return { edge, line, wide };
    });
    const groups = new Map();
    nodes.forEach((node, i) => {
      const [x, y] = at(node.id);
      const unit = node.kind === "sentence" ? units.get(node.unit) : null;
      const kind = node.kind === "sentence" ? role(node.unit) : node.asked ? "entity asked" : node.kind;
      const label = node.kind === "sentence" ? `Sentence of ${unit ? name(unit) : node.unit}, ${ROLES[role(node.unit)]}: ${node.label}` : node.kind === "document" ? `Document ${node.label}` : `Name ${node.label}${node.asked ? ", in the question" : ""}`;
      const group = s("g", { class: `node ${kind}`, tabindex: i ? "-1" : "0", role: "button", "aria-label": clip(label, 200) });
      if (node.kind === "sentence") group.append(s("circle", { class: "shape", cx: x, cy: y, r: role(node.unit) === "core" ? 15 : 12 }), s("text", { x, y: y + 4, "font-size": 11, class: "strong" }, String(unit ? unit.retrieved : "?")));
      else if (node.kind === "document") group.append(s("rect", { class: "shape", x: x - 5, y: y - 5, width: 10, height: 10 }), s("text", { x, y: y - 9, "font-size": 9.5 }, clip(node.label, 30)));
      else { const text = clip(node.label, 28), wide = 14 + 6.4 * text.length; group.append(s("rect", { class: "shape", x: x - wide / 2, y: y - 10, width: wide, height: 20, rx: 10 }), s("text", { x, y: y + 3.8, "font-size": 10.5 }, text)); }
      group.addEventListener("mouseenter", () => light(node)); group.addEventListener("mouseleave", clear);
      group.addEventListener("focus", () => light(node)); group.addEventListener("blur", clear);
      group.addEventListener("click", () => { if (unit && !moved) openSource(unit); });
      groups.set(node.id, group);
    });
    function sayEdge(edge) {
      const ends = [edge.from, edge.to].map((id) => clip((nodes.find((node) => node.id === id) || { label: id }).label, 60));
      detail.replaceChildren(h("b", {}, `${edge.kind}${edge.trig.length ? `: ${edge.trig.join(", ")}` : ""}`), h("br"), `${ends[0]} — ${ends[1]}`,
        h("dl", {}, ME.filter(([key]) => edge[key] !== undefined).map(([key, label]) => h("div", {}, h("dt", {}, label), h("dd", {}, fixed(edge[key]))))));
    }
    function light(node) {
      const near = new Set([node.id]);
      for (const { edge, line } of lines) { const on = edge.from === node.id || edge.to === node.id; line.classList.toggle("lit", on); if (on) { near.add(edge.from); near.add(edge.to); } }
      for (const [id, group] of groups) group.classList.toggle("dim", !near.has(id));
      const facts = node.kind === "sentence" ? [["relevance", node.relevance], ["seed", node.seed], ["score of its unit", (units.get(node.unit) || {}).score]] : node.kind === "entity" ? [["sentences that name it", node.df], ["idf", node.idf]] : [];
      const links = lines.filter(({ edge }) => (edge.from === node.id || edge.to === node.id) && edge.score !== undefined).slice(0, 4);
      detail.replaceChildren(h("b", {}, node.kind === "sentence" ? `Sentence of ${units.has(node.unit) ? name(units.get(node.unit)) : node.unit}` : node.kind === "document" ? "Document" : node.asked ? "Name in the question" : "Name"), h("br"), clip(node.label, 320),
        h("dl", {}, facts.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, Number.isInteger(value) ? String(value) : fixed(value)))), links.map(({ edge }) => h("div", {}, h("dt", {}, `${edge.kind}${edge.trig.length ? ` (${clip(edge.trig.join(", "), 40)})` : ""}`), h("dd", {}, ME.slice(0, 5).map(([key, label]) => `${label} ${fixed(edge[key])}`).join(" · "))))));
    }
    function clear() { for (const { line } of lines) line.classList.remove("lit"); for (const group of groups.values()) group.classList.remove("dim"); }
    const inner = s("g", {}, lines.map(({ line }) => line), lines.map(({ wide }) => wide), [...groups.values()]);
    const svg = s("svg", { class: narrow ? "graph narrow" : "graph", viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": `Query-local graph with ${nodes.length} nodes and ${edges.length} links` }, inner);
    let zoom = 1, dx = 0, dy = 0, drag = null, moved = false;
    const apply = () => inner.setAttribute("transform", `translate(${dx} ${dy}) scale(${zoom})`);
    function scale(by, cx = W / 2, cy = H / 2) { const next = Math.min(8, Math.max(0.5, zoom * by)); dx = cx - (cx - dx) * next / zoom; dy = cy - (cy - dy) * next / zoom; zoom = next; apply(); }
    const point = (event) => { const box = svg.getBoundingClientRect(), f = Math.max(W / box.width, H / box.height); return [(event.clientX - box.left - box.width / 2) * f + W / 2, (event.clientY - box.top - box.height / 2) * f + H / 2]; };
    svg.addEventListener("wheel", (event) => { if (!event.ctrlKey && !event.metaKey && !svg.contains(document.activeElement)) return; event.preventDefault(); scale(Math.exp(-event.deltaY / 400), ...point(event)); }, { passive: false });
    svg.addEventListener("pointerdown", (event) => { drag = [...point(event), dx, dy]; moved = false; });
    svg.addEventListener("pointermove", (event) => { if (!drag || !event.buttons) return; const [x, y] = point(event); if (Math.hypot(x - drag[0], y - drag[1]) > 4) { moved = true; svg.classList.add("drag"); } if (moved) { dx = drag[2] + x - drag[0]; dy = drag[3] + y - drag[1]; apply(); } });
    for (const end of ["pointerup", "pointerleave", "pointercancel"]) svg.addEventListener(end, () => { drag = null; svg.classList.remove("drag"); });
    const order = nodes.map((node) => node.id);
    svg.addEventListener("keydown", (event) => {
      const here = [...groups].find(([, group]) => group === document.activeElement);
      if (event.key === "+" || event.key === "=") scale(1.25);
      else if (event.key === "-") scale(0.8);
      else if (event.key === "0") { zoom = 1; dx = dy = 0; apply(); }
      else if (here && event.key.startsWith("Arrow")) {
        const [x, y] = at(here[0]), way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
        let best = null, least = Infinity;
        for (const id of order) { const [a, b] = at(id), forward = (a - x) * way[0] + (b - y) * way[1], aside = Math.abs((a - x) * way[1]) + Math.abs((b - y) * way[0]); if (id !== here[0] && forward > 1 && forward + 2 * aside < least) { least = forward + 2 * aside; best = id; } }
        if (best) { here[1].setAttribute("tabindex", "-1"); groups.get(best).setAttribute("tabindex", "0"); groups.get(best).focus(); }
      } else if (here && (event.key === "Enter" || event.key === " ")) { const node = nodes.find((one) => one.id === here[0]); if (node.unit && units.has(node.unit)) openSource(units.get(node.unit)); }
      else return;
      event.preventDefault();
    });
    const links = view.graph.edges.filter((edge) => edge.score !== undefined);
    const list = h("details", {}, h("summary", {}, `The ${links.length} links between sentences as a table`), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Links between sentences" }, h("table", {}, h("thead", {}, h("tr", {}, ["link", "because of", ...ME.map(([, label]) => label)].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, links.slice(0, 200).map((edge) => h("tr", {}, h("td", {}, `${edge.sent.join(" — ")} (${edge.kind})`), h("td", {}, edge.trig.join(", ")), ME.map(([key]) => h("td", { class: "num" }, fixed(edge[key])))))))));
    const section = h("section", { id: "graph", "aria-labelledby": "graph-title" }, h("h2", { id: "graph-title" }, "The query-local graph"),
      h("figure", {}, h("div", { class: "graphbox" }, svg, h("div", { class: "zoom" }, h("button", { type: "button", onclick: () => scale(1.25), "aria-label": "Zoom in" }, "+"), h("button", { type: "button", onclick: () => scale(0.8), "aria-label": "Zoom out" }, "−"), h("button", { type: "button", onclick: () => { zoom = 1; dx = dy = 0; apply(); } }, "Reset"))), detail,
        keys([["core", "sentence of the core (number: place in retrieval)"], ["fill", "fills the budget"], ["named", "other name"], ["asked", "name in the question"]]), list));
    return { section, place };
  }

  /* -- the pool */

  function pool(view) {
    const rows = [...view.candidates].sort((a, b) => b.score - a.score).map((unit) => h("tr", { class: unit.role === "pool" ? "" : "kept" },
      h("td", { class: "num" }, `${unit.retrieved}.`), h("td", { class: "num" }, h("div", { class: "bar line" }, width(h("i"), Math.round(100 * Math.min(1, Math.max(0, unit.score))))), fixed(unit.score)),
      h("td", {}, h("button", { type: "button", class: "plain-link", onclick: () => openSource(unit) }, name(unit)), h("span", { class: `tag ${unit.role}` }, ROLES[unit.role]), h("br"), clip(body(unit), 220))));
    return h("section", { id: "pool", "aria-labelledby": "pool-title" }, h("h2", { id: "pool-title" }, "The pool"),
      h("details", {}, h("summary", {}, `All ${rows.length} candidates by score`), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The pool" }, h("table", { class: "stack" }, h("thead", {}, h("tr", {}, ["retrieved", "score", "unit"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, rows)))));
  }

  /* -- export */

  function save(filename, content, type) {
    const url = URL.createObjectURL(new Blob([content], { type }));
    const link = h("a", { href: url, download: filename });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 4000);
  }

  function standalone(svg) {
    const copy = svg.cloneNode(true);
    copy.setAttribute("xmlns", SVG);
    const [, , w, hgt] = (copy.getAttribute("viewBox") || "0 0 1180 560").split(" ");
    copy.setAttribute("width", w); copy.setAttribute("height", hgt);
    const css = document.querySelector("style").textContent;
    copy.prepend(s("style", {}, css + "svg{font-family:system-ui,sans-serif}"), s("rect", { width: w, height: hgt, fill: "var(--bg)" }));
    return new XMLSerializer().serializeToString(copy);
  }

  function exports_(view, root, options) {
    const pictures = () => root.querySelector(".picture svg");
    return h("section", { id: "export", "aria-labelledby": "export-title" }, h("h2", { id: "export-title" }, "Take it with you"),
      h("div", { class: "exports" },
        h("button", { type: "button", "data-export": "trace", onclick: () => save("pagerag-trace.json", JSON.stringify(view, null, 1), "application/json") }, "Trace (JSON)"),
        h("button", { type: "button", "data-export": "picture", onclick: () => pictures() && save("pagerag-paths.svg", standalone(pictures()), "image/svg+xml") }, "Evidence paths (SVG)"),
        h("button", { type: "button", "data-export": "graph", onclick: () => save("pagerag-graph.svg", standalone(root.querySelector("svg.graph")), "image/svg+xml") }, "Graph (SVG)"),
        options.file ? h("button", { type: "button", "data-export": "file", onclick: options.file }, "This explanation as one file (HTML)") : null));
  }

  function draw(view, root, options = {}) {
    const units = byId(view);
    const made = graph(view, units, options.kept, root.clientWidth < 700);
    const jump = [["answer", "Answer"], ["paths", "Evidence paths"], ["beside", "Beside retrieval"], ["ranked", "Ranked paths"], ["selection", "Step by step"], ["graph", "Graph"], ["export", "Export"]];
    const nav = h("nav", { "aria-label": "Parts of the explanation" }, h("ul", { class: "jump" }, jump.map(([id, text]) => h("li", {}, h("a", { href: `#${id}` }, text)))));
    root.replaceChildren(...[head(view, units), nav, picture(view, units), beside(view, units), ranked(view, units), player(view, units), made.section, pool(view), exports_(view, root, options)].filter(Boolean));
    return made.place;
  }

  return { draw, h, save, openSource, hooks };
})();
