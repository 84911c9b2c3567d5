"""The page in a real browser."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import pytest

from .browser import executable
from .conftest import BODIES, QUESTION, TITLES, running

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (group serve-tests)"
)
pytestmark = pytest.mark.integration

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage"] if os.geteuid() == 0 else []
        made = playwright.chromium.launch(executable_path=executable(), args=flags)
        yield made
        made.close()


@pytest.fixture(scope="module")
def site(demo_store, tmp_path_factory):
    from pagerag import Settings

    settings = Settings().updated({"read.reader": "evidence"})
    stores = {"demo": str(demo_store), "mine": str(tmp_path_factory.mktemp("mine") / "store")}
    with running(settings, stores) as made:
        yield made


@pytest.fixture
def visit(browser, site):
    """Open the page; whatever the browser complains of fails the test."""
    contexts, complaints = [], []

    def visited(path="/", **options):
        context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(message.text) if _complains(message) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: complaints.append(request.url) if not _ours(request.url, site) else None,
        )
        page.goto(path if "://" in path else site.url + path)
        return page

    yield visited
    for context in contexts:
        context.close()
    assert not complaints


def _complains(message):
    """A refused upload is an error in the console, too; the page shows it to the user."""
    return message.type == "error" and "status of 422" not in message.text


def _ours(url, site):
    return url.startswith((site.url, "file://", "blob:", "data:"))


def ask(page, question=QUESTION):
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector("#graph")
    page.wait_for_selector("#result:not([aria-busy])")


def test_ask_and_follow_a_citation(visit):
    page = visit()
    ask(page)
    assert "Frankfurt" in page.inner_text(".answer")
    assert page.inner_text(".state") in {"enough evidence", "may be enough"}
    page.get_by_role("button", name=re.compile(r"Source \d: Hans Zimmer")).first.click()
    dialog = page.locator("dialog#source")
    assert dialog.is_visible()
    assert "Frankfurt" in " ".join(dialog.locator("mark").all_inner_texts())
    assert dialog.locator("mark").first.is_visible()
    assert re.search(r"hans-zimmer\.md:\d+", dialog.locator(".place").inner_text())
    assert page.evaluate("document.activeElement.textContent") == "Close"
    page.keyboard.press("Escape")
    sync_api.expect(page.locator("dialog#source")).to_have_count(0)


def test_a_citation_opens_the_whole_document_at_its_place(visit, site):
    """A long document: the text before and after the passage is there, and the cited sentence is in view."""
    import httpx

    body = "\n\n".join(
        f"## Part {n}\n\n"
        + ("The bell of Kaldvik was cast by Mona Strand in 1731. " if n == 30 else "")
        + f"Paragraph {n} tells of nets, ropes and harbour dues of the year {1600 + n}. " * 6
        for n in range(60)
    )
    reply = httpx.post(
        f"{site.url}/v1/stores/mine/files",
        files={"files": ("kaldvik.md", f"# Kaldvik\n\n{body}")},
        timeout=60,
    )
    assert "Done" in reply.text or "indexed" in reply.text
    page = visit()
    page.wait_for_selector("#store option[value=mine]", state="attached")
    page.select_option("#store", "mine")
    ask(page, "Who cast the bell of Kaldvik?")
    assert "Mona Strand" in page.inner_text(".answer")
    page.click(".answer .cite >> nth=0")
    dialog = page.locator("dialog#source")
    sync_api.expect(dialog.locator(".whole")).to_contain_text("Paragraph 58")
    assert "Paragraph 1 tells" in dialog.locator(".whole").inner_text()
    sync_api.expect(dialog.locator("mark").first).to_be_in_viewport()
    assert "Mona Strand" in dialog.locator(".passage").inner_text()
    assert "Part 30" in dialog.locator(".place").inner_text()
    folder = os.environ.get("PAGERAG_TEST_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / "source.png")


def test_a_link_opens_the_page_with_its_question(visit):
    page = visit(f"/?store=demo&q={QUESTION.replace(' ', '%20')}#unit-1")
    page.wait_for_selector("#unit-1")
    assert page.input_value("#question") == QUESTION


def test_what_is_not_there_is_told_in_plain_words(visit):
    page = visit()
    ask(page, "Who won the chess championship of Reykjavik in 1972?")
    assert page.inner_text(".state") == "not enough evidence"
    assert "bad" in page.get_attribute(".state", "class")
    assert page.locator(".missing li").count() >= 1
    assert "Reykjavik" in page.inner_text(".missing")
    reasons = page.locator("#ranked tbody tr td:last-child").all_inner_texts()
    assert len(set(reasons)) > 1


def test_paste_candidates(visit):
    page = visit()
    page.click("#tab-pool")
    page.fill("#candidates", "\n\n".join(f"{t}\n{b}" for t, b in zip(TITLES, BODIES, strict=True)))
    ask(page)
    core = page.locator("#beside .promoted li.core").all_inner_texts()
    assert len(core) == 2
    assert "Interstellar" in core[0]
    assert "Hans Zimmer" in core[1]
    page.fill("#candidates", "[{broken")
    page.click("#ask")
    assert "JSON" in page.inner_text("#status")


def test_play_the_selection(visit):
    page = visit()
    ask(page)
    section = page.locator("#selection")
    section.get_by_role("button", name="First step").click()
    assert "Nothing is selected" in section.locator(".now").inner_text()
    assert section.locator(".chips li.in").count() == 0
    section.get_by_role("button", name="Step forward").click()
    assert section.locator(".now").inner_text().startswith("kept:")
    assert section.locator(".chips li.in").count() == 1
    section.get_by_role("button", name="Play").click()
    sync_api.expect(page.locator("#selection .count")).to_have_text(re.compile(r"^3 "))
    section.locator(".play").click()
    section.locator("input[type=range]").press("End")
    assert re.match(r"(rejected|fills the budget|no room)", section.locator(".now").inner_text())


def test_a_slider_has_an_immediate_effect(visit):
    page = visit()
    ask(page)
    before = page.locator("#beside .plain li").count()
    page.click("#tuning summary")
    with page.expect_response(lambda reply: reply.url.endswith("/v1/explain")) as told:
        page.locator("#k").press("ArrowLeft")
    assert told.value.request.post_data_json["k"] == before - 1
    sync_api.expect(page.locator("#beside .plain li")).to_have_count(before - 1)
    page.select_option("#strategy", "formula")
    sync_api.expect(page.locator(".meta")).to_have_text(re.compile(r"formula strategy"))
    assert page.locator("#weights-box").is_visible()
    with page.expect_response(lambda reply: "weights" in (reply.request.post_data or "")) as told:
        page.locator("#w-c_unit").press("End")
    assert told.value.request.post_data_json["weights"]["c_unit"] == 3
    page.select_option("#mode", "sentence")
    sync_api.expect(page.locator(".meta")).to_have_text(re.compile(r"sentence mode"))


def test_drop_a_file_and_ask_it(visit):
    page = visit()
    page.wait_for_selector("#store option[value=mine]", state="attached")
    page.click("#tab-files")
    page.select_option("#store-files", "mine")
    page.evaluate(
        """() => {
          const box = new DataTransfer();
          box.items.add(new File(["# Ada Moss\\n\\nAda Moss composed Orion. She was born in Tartu."], "moss.md"));
          document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: box, bubbles: true, cancelable: true }));
        }"""
    )
    sync_api.expect(page.locator("#upload-words")).to_have_text(re.compile(r"^Done: 1 indexed"))
    page.set_input_files("#files", {"name": "bad.xyz", "mimeType": "text/plain", "buffer": b"x"})
    sync_api.expect(page.locator("#status")).to_have_text(re.compile(r"known format"))
    page.click("#tab-store")
    page.select_option("#store", "mine")
    ask(page, "Where was the composer of Orion born?")
    assert "Tartu" in page.inner_text("#result")


def test_export_and_open_the_exported_file(visit, tmp_path):
    page = visit()
    ask(page)
    names = {}
    for kind in ("trace", "picture", "graph", "file"):
        with page.expect_download() as told:
            page.click(f"[data-export={kind}]")
        names[kind] = tmp_path / told.value.suggested_filename
        told.value.save_as(names[kind])
    trace = json.loads(names["trace"].read_text(encoding="utf-8"))
    assert trace["question"] == QUESTION
    assert trace["steps"]
    for kind in ("picture", "graph"):
        assert names[kind].read_text(encoding="utf-8").startswith("<svg")
    opened = visit(names["file"].as_uri(), offline=True)
    opened.wait_for_selector("#graph svg.graph")
    assert "Frankfurt" in opened.inner_text(".answer")
    opened.click(".answer .cite >> nth=0")
    assert opened.locator("dialog#source mark").count()
    opened.keyboard.press("Escape")
    opened.locator("#selection").get_by_role("button", name="First step").click()
    plain = visit(names["file"].as_uri(), java_script_enabled=False)
    assert "Frankfurt" in plain.inner_text(".answer")
    assert plain.locator("svg.paths").count() == 1


def test_the_keyboard_reaches_everything(visit):
    page = visit()
    ask(page)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "question"
    page.locator("svg.graph .node[tabindex='0']").focus()
    assert page.inner_text("#graph .detail")
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    moved = False
    for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        moved = moved or page.evaluate("document.activeElement.getAttribute('aria-label')") != first
    assert moved
    before = page.get_attribute("svg.graph > g", "transform")
    page.keyboard.press("+")
    assert page.get_attribute("svg.graph > g", "transform") != before
    page.locator("svg.paths .pill").first.focus()
    assert "specificity" in page.inner_text("#paths .detail")
    page.locator("svg.paths .unit").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("dialog#source").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "size"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_no_serious_violation_and_nothing_wider_than_the_screen(visit, scheme, name, size, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(viewport=size, color_scheme=scheme)
    ask(page)
    page.click("#tuning summary")
    with page.expect_response(lambda reply: (reply.request.post_data_json or {}).get("answer") is True):
        page.select_option("#strategy", "formula")
    sync_api.expect(page.locator(".meta")).to_have_text(re.compile(r"formula strategy · reader"))
    page.wait_for_selector("#result:not([aria-busy])")
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (v["id"], [n["html"][:120] for n in v["nodes"][:3]])
        for v in found
        if v["impact"] in {"serious", "critical"}
    ]
    assert not serious
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    if name == "phone":
        assert not page.locator("#paths .scroll").is_visible()
        assert page.locator("#paths .steps li").count() >= 3
    else:
        assert page.locator("#paths svg").is_visible()
        assert not page.locator("#paths .steps").is_visible()
    folder = os.environ.get("PAGERAG_TEST_SCREENSHOTS")
    page.screenshot(path=Path(folder or tmp_path) / f"{name}-{scheme}.png", full_page=True)


def test_no_arrow_ends_nowhere_and_no_edge_passes_behind_a_card():
    """The picture of a promotion whose reader abstains, or cites a card with others between it and the answer."""
    from pagerag import Answer, Candidate, Citation, promote
    from pagerag.explain import paths_svg

    pool = [
        Candidate(str(n), body, title=title)
        for n, (title, body) in enumerate(zip(TITLES, BODIES, strict=True))
    ]
    promotion = promote(QUESTION, pool, k=4, mode="document")
    silent = paths_svg(promotion, Answer("", abstained=True, reader="r"), promotion.context)
    assert "card noanswer" in silent
    first = promotion.context[0]
    told = paths_svg(promotion, Answer("Frankfurt", (Citation(1, first.id),), reader="r"), promotion.context)
    cards = [
        tuple(map(float, found))
        for found in re.findall(
            r'class="card (?:core|fill|pool)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"',
            told,
        )
    ]
    assert cards
    for path in re.findall(r'<path class="link kept" stroke-width="2" fill="none" d="(M[^"]+L[^"]+)"', told):
        points = [tuple(map(float, pair.split(","))) for pair in re.findall(r"[\d.]+,[\d.]+", path)]
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            for step in range(1, 20):
                x, y = x1 + (x2 - x1) * step / 20, y1 + (y2 - y1) * step / 20
                assert not any(cx < x < cx + w and cy < y < cy + t for cx, cy, w, t in cards)


def test_two_hundred_sentences_stay_fluid(visit):
    """Draw a graph of 200 sentences and pan it: no frame takes longer than a tenth of a second."""
    page = visit()
    ask(page)
    took = page.evaluate(
        """async () => {
          const view = await (await fetch("/v1/explain", { method: "POST", headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ question: "Who composed it?", candidates: Array.from({ length: 40 }, (_, n) => `Film ${n} was scored by Hans Zimmer in ${1980 + n}. It was shown in Paris ${n % 7}.`) }) })).json();
          const units = view.candidates.map((unit) => unit.id);
          view.graph.nodes = []; view.graph.edges = [];
          for (let n = 0; n < 200; n++) view.graph.nodes.push({ id: `sentence:${n}`, kind: "sentence", unit: units[n % units.length], label: `Sentence ${n}`, relevance: 0.1, seed: 0.1 });
          for (let n = 0; n < 40; n++) view.graph.nodes.push({ id: `entity:${n}`, kind: "entity", label: `Name ${n}`, df: 5, idf: 1, asked: n < 2 });
          for (let n = 0; n < 200; n++) for (let m = 0; m < 3; m++) view.graph.edges.push({ kind: "mention", from: `sentence:${n}`, to: `entity:${(n * 7 + m * 13) % 40}`, trig: [], sent: [], src: [], conf: 1, div: 0, spec: 0, hub: 0 });
          const started = performance.now();
          pagerag.draw(view, document.getElementById("result"));
          const drawn = performance.now() - started;
          const svg = document.querySelector("svg.graph"), box = svg.getBoundingClientRect();
          const at = (type, x) => svg.dispatchEvent(new PointerEvent(type, { clientX: box.left + x, clientY: box.top + 50, buttons: 1, bubbles: true }));
          at("pointerdown", 10);
          const frames = [];
          let last = performance.now();
          for (let n = 0; n < 20; n++) { at("pointermove", 10 + 8 * n); await new Promise(requestAnimationFrame); const now = performance.now(); frames.push(now - last); last = now; }
          return { drawn, middle: frames.sort((a, b) => a - b)[10] };
        }"""
    )
    assert took["drawn"] < 4000
    assert took["middle"] < 100
