"""The page of `kiln dump --html` in headless Chromium: clicks and keys choose, highlight and switch; no error, every link has its target.

usage: page_click_test.py KILN GOLDEN_FOLDER WORK_FOLDER

Exits with 77, which is a skipped test, where there is no Chromium. A script that is appended to a copy of the page clicks, and leaves its answers in
the document, which Chromium prints.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

CLICKS = """
<script>
(() => {
  const answers = {errors: []}, $ = (id) => document.getElementById(id);
  const key = (name) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));
  const picked = (pane) => [...$(pane).querySelectorAll('.picked')].map((e) => e.id);
  const hinted = (pane) => [...$(pane).querySelectorAll('.hint')].map((e) => e.id);
  try {
    answers.rows = {source: $('source').querySelectorAll('.row').length, nodes: $('nodes').querySelectorAll('.row').length,
                    kernels: $('kernels').querySelectorAll('.row').length};
    answers.first = {kernels: picked('kernels'), code: $('code').textContent.length};
    answers.links = [...document.querySelectorAll('a[href^="#"]')].map((a) => a.getAttribute('href').slice(1));
    answers.missing = answers.links.filter((id) => !$(id));
    answers.ids = [...document.querySelectorAll('[id]')].length - new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size;

    const kernel = [...$('kernels').querySelectorAll('.row')].find((e) => /dense|conv|fwd/.test(e.textContent));
    kernel.click();
    answers.kernel = {id: kernel.id, kernels: picked('kernels'), nodes: picked('nodes'), source: picked('source'), hash: location.hash};
    const node = $(answers.kernel.nodes[0]);
    node.click();
    answers.node = {id: node.id, kernels: picked('kernels'), nodes: picked('nodes'), source: picked('source')};
    const line = $(answers.kernel.source[0]);
    line.click();
    answers.line = {id: line.id, kernels: picked('kernels'), nodes: picked('nodes'), source: picked('source')};
    kernel.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));
    answers.hint = {nodes: hinted('nodes'), source: hinted('source')};
    const link = document.querySelector('#nodes a');
    if (link) { link.click(); answers.link = {to: link.getAttribute('href').slice(1), nodes: picked('nodes')}; }

    kernel.click();
    $('tab-program').click();
    answers.program = $('code').textContent;
    key('o');
    answers.operations = $('code').textContent;
    key('a');
    answers.assembly = $('code').textContent;
    const instruction = $('code').querySelector('[data-at]:not([data-at=""])');
    instruction.click();
    answers.instruction = {line: instruction.dataset.key, at: instruction.dataset.at, source: picked('source'), kernels: picked('kernels'),
                           stays: $('code').textContent === answers.assembly, marked: instruction.classList.contains('picked')};
    kernel.click();
    key('j'), key('k');
    const down = picked('kernels')[0];
    key('j');
    answers.moved = [down, picked('kernels')[0]];
    key('Escape');
    answers.cleared = picked('kernels').length + picked('nodes').length + picked('source').length;

    const background = () => getComputedStyle(document.body).backgroundColor;
    const themes = [background()];
    key('t'); themes.push(background());
    $('theme').click(); themes.push(background());
    answers.themes = themes;
    const order = () => [...$('kernels').querySelectorAll('.row')].map((e) => e.id);
    const inOrder = order();
    key('s'); answers.sorted = [inOrder, order()];
    $('search').value = 'no such text'; $('search').dispatchEvent(new Event('input'));
    answers.found = $('kernels').querySelectorAll('.row:not(.hidden)').length;
    key('?'); answers.help = $('help').open; $('help').close();
  } catch (error) {
    answers.errors.push(String(error.stack ?? error));
  }
  const out = document.createElement('pre');
  out.id = 'answers';
  out.textContent = JSON.stringify(answers);
  document.body.append(out);
})();
</script>
"""


OPENED = """
<script>
(() => {
  const out = document.createElement('pre'), $ = (id) => document.getElementById(id);
  out.id = 'answers';
  out.textContent = JSON.stringify({empty: $('code').querySelectorAll('.empty').length, code: $('code').textContent, first: $('k0').textContent});
  document.body.append(out);
})();
</script>
"""
# Microseconds and bytes that round up to the next power of ten or of 1024, and their texts.
ROUNDED = (({"us": 99.97}, "100 µs"), ({"us": 999.7}, "1.00 ms"), ({"us": 999_960}, "1.00 s"), ({"bytes": 1000 * 1024}, "1000 KiB"),
           ({"bytes": 1024 * 1024 - 1}, "1.00 MiB"), ({"multiply_adds": 999_700}, "1.00 M multiply-adds"))


def chromium():
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def answers_of(browser, page, work, script=CLICKS, edit=lambda data: None):
    clicked = work / f"clicked-{page.name}"
    text = page.read_text()
    begin = text.index('id="data">') + len('id="data">')
    end = text.index("</script>", begin)
    data = json.loads(text[begin:end])
    edit(data)
    text = text[:begin] + json.dumps(data).replace("<", "\\u003c") + text[end:]
    clicked.write_text(text.replace("</body>", script + "</body>"))
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
             "--virtual-time-budget=5000", "--dump-dom", clicked.as_uri()],
            capture_output=True, text=True, timeout=240)
    found = re.search(r'<pre id="answers">(.*?)</pre>', run.stdout, re.S)
    assert found, f"the page's script did not end:\n{run.stdout[-2000:]}\n{run.stderr[-2000:]}"
    text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


def check(name, a):
    assert not a["errors"], f"{name}: {a['errors']}"
    assert min(a["rows"].values()) > 0, f"{name}: {a['rows']}"
    assert a["ids"] == 0 and not a["missing"], f"{name}: links without a target: {a['missing']}, {a['ids']} ids twice"
    assert len(a["first"]["kernels"]) == 1 and a["first"]["code"] > 100, f"{name}: {a['first']}"
    kernel = a["kernel"]
    assert kernel["kernels"] == [kernel["id"]] and kernel["nodes"] and kernel["source"], f"{name}: {kernel}"
    assert kernel["hash"] == "#" + kernel["id"], f"{name}: {kernel}"
    assert a["node"]["nodes"] == [a["node"]["id"]] and kernel["id"] in a["node"]["kernels"], f"{name}: {a['node']}"
    assert a["line"]["source"] == [a["line"]["id"]] and kernel["id"] in a["line"]["kernels"], f"{name}: {a['line']}"
    assert a["hint"]["nodes"] == kernel["nodes"] and a["hint"]["source"] == kernel["source"], f"{name}: {a['hint']}"
    assert "link" not in a or a["link"]["nodes"] == [a["link"]["to"]], f"{name}: {a['link']}"
    assert "int main()" in a["program"] and "kiln." in a["operations"] and "ret" in a["assembly"], name
    instruction = a["instruction"]
    assert instruction["source"] == ["l" + instruction["line"]] and kernel["id"] in instruction["kernels"], f"{name}: {instruction}"
    assert instruction["at"] == instruction["line"].split("-")[1] and instruction["stays"] and instruction["marked"], f"{name}: {instruction}"
    assert a["moved"][0] != a["moved"][1] or a["rows"]["kernels"] == 1, f"{name}: {a['moved']}"
    assert a["cleared"] == 0, f"{name}: {a['cleared']}"
    light, dark, again = a["themes"]
    assert light != dark and light == again, f"{name}: {a['themes']}"
    assert sorted(a["sorted"][0]) == sorted(a["sorted"][1]), f"{name}: {a['sorted']}"
    assert a["found"] == 0 and a["help"], name


def check_numbers(browser, page, work):
    for changed, text in ROUNDED:
        first = answers_of(browser, page, work, OPENED, lambda data: data["kernels"][0].update(changed))["first"]
        assert text in first, f"{changed}: '{text}' is not in '{first}'"


def main():
    kiln, golden, work = (pathlib.Path(argument) for argument in sys.argv[1:4])
    browser = chromium()
    if not browser:
        print(f"SKIPPED: none of {', '.join(NAMES)} is installed")
        sys.exit(SKIPPED)
    work.mkdir(parents=True, exist_ok=True)
    for name, more in (("lenet", []), ("encoder", []), ("lenet", ["--gradients"])):
        page = work / f"{name}{''.join(more)}.html"
        model = golden / "models" / name
        subprocess.run([kiln, "dump", f"{model}-symbol.json", "--params", f"{model}-0000.params", "--input", f"{model}-io.params", "--html", "-o", page, *more],
                       check=True)
        check(page.name, answers_of(browser, page, work))
        print(f"{page.name}: clicked through")
    check_numbers(browser, work / "lenet.html", work)
    page = work / "controlflow.html"
    model = golden / "models" / "controlflow"
    subprocess.run([kiln, "dump", f"{model}-symbol.json", "--params", f"{model}-0000.params", "--input", f"{model}-io.params", "--html", "-o", page],
                   check=True)
    opened = answers_of(browser, page, work, OPENED)
    assert not opened["empty"] and "ret" in opened["code"], f"{page.name}: it opens without code: {opened['code']}"


main()
