"use strict";
/* The page: asks the server, tunes, uploads; drawing is done by draw.js. */
(() => {
  const { draw, h, save } = pagerag;
  const $ = (id) => document.getElementById(id);
  const root = $("result"), status = $("status"), form = $("ask-form");
  let tab = "store", chosen = false, stores = [], weights = [], asked = null, kept = null, running = null, shown = null;

  function say(words, error = false) { status.textContent = words; status.classList.toggle("error", error); }

  async function call(path, body, signal) {
    const reply = await fetch(path, { method: body ? "POST" : "GET", headers: body ? { "Content-Type": "application/json" } : {}, body: body ? JSON.stringify(body) : undefined, signal });
    if (!reply.ok) throw new Error(await reason(reply));
    return reply;
  }
  async function reason(reply) {
    try { const body = await reply.json(); return typeof body.error === "string" ? body.error : body.error.message; } catch { return `${reply.status} ${reply.statusText}`; }
  }

  /* A citation opens the whole document at its place; candidates that were pasted have none. */
  pagerag.hooks.around = async (unit) => {
    const store = asked && !asked.candidates && (asked.store || stores[0]?.name);
    return store ? (await call(`/v1/stores/${encodeURIComponent(store)}/source?${new URLSearchParams({ unit: unit.passage })}`)).json() : null;
  };

  /* -- what is asked */

  function candidates() {
    const text = $("candidates").value.trim();
    if (!text) return [];
    if (text.startsWith("[")) { try { return JSON.parse(text); } catch (problem) { throw new Error(`The candidates are no valid JSON: ${problem.message}`); } }
    return text.split(/\n\s*\n/).map((part) => part.trim()).filter(Boolean).map((part) => {
      const [first, ...rest] = part.split("\n");
      return rest.length && first.length <= 90 && !/[.!?;:]$/.test(first.trim()) ? { title: first.trim().replace(/^#+\s*/, ""), text: rest.join("\n").trim() } : { text: part };
    });
  }

  function request() {
    const body = { question: $("question").value.trim() };
    if (tab === "pool") { body.candidates = candidates(); if (!body.candidates.length) throw new Error("There are no candidates; paste some texts."); }
    else if ($("store").value) body.store = $("store").value;
    if ($("k").dataset.moved) body.k = Number($("k").value);
    if ($("mode").value) body.mode = $("mode").value;
    if ($("strategy").value) body.strategy = $("strategy").value;
    const changed = Object.fromEntries([...$("weights").querySelectorAll("input[data-moved]")].map((input) => [input.name, Number(input.value)]));
    if ($("strategy").value === "formula" && Object.keys(changed).length) body.weights = changed;
    return body;
  }

  async function ask({ answer = true, focus = false } = {}) {
    let body;
    try { body = request(); } catch (problem) { say(problem.message, true); return; }
    if (!body.question) { $("question").focus(); return; }
    running?.abort();
    const control = running = new AbortController();
    root.setAttribute("aria-busy", "true");
    if (focus) say("Retrieving, promoting, reading…");
    const started = performance.now();
    try {
      const view = await (await call("/v1/explain", { ...body, answer }, control.signal)).json();
      asked = body;
      kept = draw(view, root, { kept, file: exportFile });
      shown = view;
      document.title = `${view.question} · pagerag`;
      say(`${view.verdict.label}: ${view.core.length} of ${view.candidates.length} candidates in the core, ${Math.round(performance.now() - started)} ms.`);
      if (focus) { if (tab === "store") history.replaceState(null, "", `?${new URLSearchParams({ store: body.store || "", q: body.question })}${location.hash}`); goTo(); }
    } catch (problem) {
      if (problem.name !== "AbortError") say(problem.message, true);
    } finally {
      if (running === control) { running = null; root.removeAttribute("aria-busy"); }
    }
  }

  function goTo() {
    const wanted = location.hash.startsWith("#unit-") ? document.querySelector(location.hash) : null;
    (wanted || root).scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    root.focus({ preventScroll: true });
  }

  async function exportFile() {
    if (!asked) return;
    try { save("pagerag-explanation.html", await (await call("/v1/explain", { ...asked, format: "html" })).blob(), "text/html"); }
    catch (problem) { say(problem.message, true); }
  }

  /* -- tuning: the effect is shown while a slider moves; the reader answers again when it rests */

  let soon = null, later = null;
  function tuned() {
    $("k-out").textContent = $("k").value;
    const formula = $("strategy").value === "formula";
    $("weights-box").hidden = !formula;
    if (!asked && !shown) return;
    clearTimeout(soon); clearTimeout(later);
    soon = setTimeout(() => ask({ answer: false }), 60);
    later = setTimeout(() => ask(), 650);
  }
  $("k").addEventListener("input", () => { $("k").dataset.moved = "1"; tuned(); });
  $("mode").addEventListener("change", () => { drawWeights(); tuned(); });
  $("strategy").addEventListener("change", tuned);
  $("weights-reset").addEventListener("click", () => { drawWeights(); tuned(); });

  const TELLING = ["w_lex", "w_ent", "w_ret", "rel_boost", "title_boost", "lit_cap", "path_cover", "bridge", "u_cover", "u_entity", "u_source", "u_link", "c_unit", "c_overlap", "enough", "patience"];
  function drawWeights() {
    const mode = $("mode").value || "document";
    const knob = (weight) => {
      const id = `w-${weight.name}`, out = h("output", { for: id }, weight.values[mode].toFixed(2));
      const input = h("input", { type: "range", id, name: weight.name, min: weight.low, max: weight.high, step: (weight.high - weight.low) / 100, value: weight.values[mode], title: weight.about, "aria-describedby": "weights-hint" });
      input.addEventListener("input", () => { out.textContent = Number(input.value).toFixed(2); input.dataset.moved = "1"; tuned(); });
      return h("div", { class: "knob" }, h("label", { for: id, title: weight.about }, `${weight.name} `, out), input);
    };
    const first = weights.filter((weight) => TELLING.includes(weight.name)), rest = weights.filter((weight) => !TELLING.includes(weight.name));
    $("weights").replaceChildren(...first.map(knob));
    $("weights-box").querySelector("details")?.remove();
    $("weights-box").append(h("details", {}, h("summary", {}, `${rest.length} more weights`), h("div", { class: "knobs" }, rest.map(knob))));
  }

  /* -- tabs */

  const TABS = { store: "tab-store", pool: "tab-pool", files: "tab-files" };
  function choose(next, focus) {
    tab = next;
    for (const [key, id] of Object.entries(TABS)) { $(id).setAttribute("aria-selected", String(key === next)); $(id).tabIndex = key === next ? 0 : -1; }
    form.hidden = next === "files"; $("files-panel").hidden = next !== "files";
    form.setAttribute("aria-labelledby", TABS[next === "files" ? "store" : next]);
    $("pool-box").hidden = next !== "pool"; $("store-box").hidden = next !== "store" || !stores.length;
    $("ask").textContent = next === "pool" ? "Promote" : "Ask";
    if (focus) $(TABS[next]).focus();
  }
  for (const [key, id] of Object.entries(TABS)) $(id).addEventListener("click", () => { chosen = true; choose(key); });
  document.querySelector(".tabs").addEventListener("keydown", (event) => {
    const keys = Object.keys(TABS).filter((key) => !$(TABS[key]).hidden), at = keys.indexOf(tab);
    if (event.key === "ArrowRight") choose(keys[(at + 1) % keys.length], true);
    else if (event.key === "ArrowLeft") choose(keys[(at + keys.length - 1) % keys.length], true);
    else return;
    event.preventDefault();
  });

  form.addEventListener("submit", (event) => { event.preventDefault(); ask({ focus: true }); });
  $("question").addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); } });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName) && !document.querySelector("dialog[open]")) { event.preventDefault(); $("question").focus(); $("question").select(); }
  });

  /* -- files */

  async function upload(files) {
    if (!files.length || !stores.length) return;
    choose("files");
    const store = $("store-files").value, box = new FormData();
    for (const file of files) box.append("files", file, file.name);
    $("upload").hidden = false; $("upload-files").replaceChildren(); $("upload-bar").removeAttribute("value");
    $("upload-words").textContent = `Sending ${files.length === 1 ? files[0].name : `${files.length} files`}…`;
    try {
      const reply = await fetch(`/v1/stores/${encodeURIComponent(store)}/files`, { method: "POST", body: box });
      if (!reply.ok) throw new Error(await reason(reply));
      for await (const [kind, event] of read(reply)) heard(kind, event);
      await loadStores(store);
    } catch (problem) { $("upload-bar").value = 0; $("upload-words").textContent = problem.message; say(problem.message, true); }
    $("files").value = "";
  }
  function heard(kind, event) {
    if (kind === "error") throw new Error(event.message);
    if (kind === "report") {
      $("upload-bar").value = 1;
      const failed = event.failed.length ? `, ${event.failed.length} failed` : "";
      $("upload-words").textContent = `Done: ${event.indexed} indexed, ${event.unchanged} unchanged${failed}. The store holds ${event.store.units.toLocaleString("en")} passages of ${event.store.documents.toLocaleString("en")} documents.`;
      say($("upload-words").textContent);
    } else if (event.kind === "progress") {
      if (event.total) $("upload-bar").value = event.done / event.total;
      $("upload-words").textContent = `Indexing: ${event.units} passages`;
    } else $("upload-files").append(h("li", { class: event.kind }, `${event.kind}: ${event.path}${event.message ? ` (${event.message})` : ""}`));
  }
  async function* read(reply) {
    const decoder = new TextDecoder(), reader = reply.body.getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const kind = /^event: (.*)$/m.exec(part), data = /^data: (.*)$/m.exec(part);
        if (data) yield [kind ? kind[1] : "message", JSON.parse(data[1])];
      }
    }
  }
  $("files").addEventListener("change", () => upload([...$("files").files]));
  for (const kind of ["dragenter", "dragover"]) document.addEventListener(kind, (event) => { if ([...event.dataTransfer.types].includes("Files")) { event.preventDefault(); document.body.classList.add("dropping"); if (tab !== "files") choose("files"); } });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", (event) => { if (!event.dataTransfer.files.length) return; event.preventDefault(); document.body.classList.remove("dropping"); upload([...event.dataTransfer.files]); });

  /* -- the beginning */

  async function loadStores(chosen) {
    stores = (await (await call("/v1/stores")).json()).stores;
    for (const select of [$("store"), $("store-files")]) {
      const before = chosen || select.value;
      select.replaceChildren(...stores.map((store) => h("option", { value: store.name }, `${store.name} (${store.units.toLocaleString("en")} passages)`)));
      if (stores.some((store) => store.name === before)) select.value = before;
    }
    $("tab-store").hidden = $("tab-files").hidden = !stores.length;
    const first = stores.find((store) => store.k);
    if (first && !$("k").dataset.moved) { $("k").value = first.k; $("k-out").textContent = $("k").value; }
  }

  (async () => {
    try {
      const wanted = new URLSearchParams(location.search);
      await loadStores(wanted.get("store"));
      weights = (await (await call("/v1/weights")).json()).weights;
      drawWeights();
      if (!chosen) choose(stores.length ? "store" : "pool");
      else choose(tab);
      if (!stores.length) say("This server serves no store: paste a question with its candidates.");
      if (wanted.get("q")) { $("question").value = wanted.get("q"); await ask({ focus: true }); }
    } catch (problem) { say(problem.message, true); }
  })();
})();
