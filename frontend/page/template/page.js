// The page's behaviour: builds the panes from the data, and links what belongs together. Texts of the data become text nodes
// only, so that none of them is ever HTML.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const $ = (id) => document.getElementById(id);

  // Elements

  const element = (tag, className, ...children) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    e.append(...children.filter((c) => c !== null && c !== undefined && c !== ''));
    return e;
  };
  const percent = (share) => share === undefined ? '' : share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : `${(100 * share).toFixed(1)} %`;
  /** As it is printed: three digits, or an integer. */
  const rounded = (n) => (n >= 999.5 ? Math.round(n) : Number(n.toPrecision(3)));
  /** The unit is the first in which the printed number is less than `step`, or the last. */
  const scaled = (n, step, units) => {
    let unit = 0;
    while (rounded(n) >= step && unit + 1 < units.length) { n /= step; ++unit; }
    return `${unit === 0 || rounded(n) >= 1000 ? n.toFixed(0) : n.toPrecision(3)}${units[unit]}`;
  };
  const time = (us) => us === undefined ? '' : us >= 99.5 ? scaled(us, 1000, [' µs', ' ms', ' s']) : `${us.toPrecision(2)} µs`;
  const bytes = (n) => scaled(n, 1024, [' B', ' KiB', ' MiB', ' GiB']);
  const count = (n) => scaled(n, 1000, ['', ' k', ' M', ' G', ' T']);
  const baseName = (path) => path.slice(path.lastIndexOf('/') + 1);

  // Times

  const timeOf = (k) => (k.us ?? 0) * (k.runs ?? 0);
  /** The time of several kernels; the time of a loop or branch has its body's. */
  const runsBodies = (k) => k.bytes === undefined;
  const sumOf = (kernels) => {
    const withBodies = kernels.some(runsBodies);
    return kernels.reduce((sum, k) => (k.in_body && withBodies ? sum : sum + timeOf(k)), 0);
  };
  const total = data.kernels.reduce((sum, k) => (k.in_body ? sum : sum + timeOf(k)), 0);
  const largest = Math.max(...data.kernels.map(timeOf), 1e-12);
  const shareOf = (k) => (total > 0 ? timeOf(k) / total : 0);
  /** A colour by share of the longest, whose root tells short ones apart. */
  const heat = (us) => `color-mix(in oklab, var(--cool), var(--hot) ${(100 * Math.sqrt(us / largest)).toFixed(0)}%)`;

  // What belongs together: lines are "file:number".

  const lineKey = (at) => (at ? `${at[0]}-${at[1]}` : null);
  const kernelsOfNode = data.nodes.map(() => []), kernelsOfLine = new Map(), nodesOfLine = new Map();
  const push = (map, key, value) => {
    if (key === null) return;
    if (!map.has(key)) map.set(key, []);
    if (!map.get(key).includes(value)) map.get(key).push(value);
  };
  data.nodes.forEach((node, n) => push(nodesOfLine, lineKey(node.at), n));
  data.kernels.forEach((kernel, k) => {
    for (const n of kernel.nodes ?? []) {
      kernelsOfNode[n].push(k);
      push(kernelsOfLine, lineKey(data.nodes[n].at), k);
    }
    for (const at of [...(kernel.lines ?? []), ...(kernel.code_lines ?? [])]) push(kernelsOfLine, lineKey(at), k);
  });
  const related = {
    kernel: (k) => ({
      kernels: [k], nodes: data.kernels[k].nodes ?? [],
      lines: [...new Set([...(data.kernels[k].lines ?? []), ...(data.kernels[k].nodes ?? []).map((n) => data.nodes[n].at)].map(lineKey))],
    }),
    node: (n) => ({kernels: kernelsOfNode[n], nodes: [n], lines: [lineKey(data.nodes[n].at)]}),
    line: (key) => ({kernels: kernelsOfLine.get(key) ?? [], nodes: nodesOfLine.get(key) ?? [], lines: [key]}),
  };

  // Panes

  const rows = {kernel: new Map(), node: new Map(), line: new Map()};
  const row = (e, kind, key, id) => {
    e.classList.add('row');
    e.id = id;
    e.dataset.kind = kind;
    e.dataset.key = key;
    rows[kind].set(String(key), e);
    return e;
  };

  const buildSource = () => {
    const pane = $('source');
    data.files.forEach((file, f) => {
      const head = element('div', 'file', element('bdi', '', file.name + (file.found ? '' : ' (not read)')));
      head.title = file.name;
      pane.append(head);
      let previous = 0;
      for (const [number, text] of file.lines) {
        if (previous && number !== previous + 1) pane.append(element('div', 'gap', '⋯'));
        previous = number;
        const key = `${f}-${number}`, kernels = kernelsOfLine.get(key) ?? [];
        const us = sumOf(kernels.map((k) => data.kernels[k]));
        const line = element('div', 'source-line', element('span', 'time', us > 0 ? time(us) : ''),
          element('span', 'number', String(number)), element('span', 'text', text));
        if (us > 0) line.style.setProperty('--heat', heat(Math.min(us, largest)));
        if (kernels.length || nodesOfLine.has(key)) row(line, 'line', key, `l${key}`);
        pane.append(line);
      }
    });
    if (!data.files.length) pane.append(element('p', 'empty', 'The nodes have no lines: they were made by no program or file that tells them.'));
    const slow = [...kernelsOfLine.keys()].length;
    $('note-source').textContent = `${slow} lines with kernels`;
  };

  const buildNodes = () => {
    const pane = $('nodes');
    data.nodes.forEach((node, n) => {
      const inputs = element('div', 'inputs');
      node.inputs.forEach(([index, name], i) => {
        inputs.append(i ? ', ' : '← ');
        if (index < 0) { inputs.append(name); return; }
        const link = element('a', '', name);
        link.href = `#n${index}`;
        inputs.append(link);
      });
      const attrs = Object.entries(node.attrs).map(([key, value]) => `${key}=${value}`).join('  ');
      pane.append(row(element('div', 'node', element('span', 'types', node.types.slice(0, 2).join(', ')), element('span', 'op', node.op), ' ',
        node.name === node.op ? '' : element('span', 'name', node.name), node.inputs.length ? inputs : null,
        attrs ? element('div', 'attrs', attrs) : null), 'node', n, `n${n}`));
    });
    $('note-nodes').textContent = `${data.nodes.length} nodes`;
  };

  const kernelRow = (kernel, k) => {
    const top = element('div', 'top', element('span', 'index', String(k)), element('span', 'name', kernel.name),
      element('span', 'time', kernel.us === undefined ? '' : time(kernel.us)),
      element('span', 'share', kernel.us === undefined ? '' : percent(shareOf(kernel))));
    const bar = element('div', 'bar', element('i'));
    bar.firstChild.style.width = `${(100 * timeOf(kernel) / largest).toFixed(2)}%`;
    const facts = element('div', 'facts');
    const fact = (...parts) => facts.append(element('span', '', ...parts));
    if (kernel.bytes !== undefined) fact(bytes(kernel.bytes));
    if (kernel.multiply_adds) fact(`${count(kernel.multiply_adds)} multiply-adds`);
    if (kernel.limit_share !== undefined) fact(element('b', '', percent(kernel.limit_share)), ` of the ${kernel.bound} limit`);
    if (kernel.cores > 1) fact(`${kernel.cores} cores`);
    if (kernel.runs !== undefined && kernel.runs !== 1) fact(`${Number(kernel.runs.toPrecision(3))} runs`);
    if (kernel.role) fact(kernel.role);
    if (kernel.schedule) fact(kernel.schedule);
    const e = row(element('div', 'kernel', top, kernel.us === undefined ? null : bar, facts), 'kernel', k, `k${k}`);
    e.style.setProperty('--heat', heat(timeOf(kernel)));
    return e;
  };
  let byTime = false;
  const buildKernels = () => {
    const pane = $('kernels');
    const order = [...data.kernels.keys()];
    if (byTime) order.sort((a, b) => timeOf(data.kernels[b]) - timeOf(data.kernels[a]));
    const list = [];
    let graph = -1;
    for (const k of order) {
      const kernel = data.kernels[k];
      if (!byTime && kernel.graph !== graph) {
        graph = kernel.graph;
        const g = data.graphs[graph];
        list.push(element('div', 'graph', element('b', '', g.name),
          `  ${g.count} kernels, ${bytes(g.arena_bytes)} of temporaries, compiled in ${g.compile_ms.toFixed(0)} ms`));
      }
      list.push(rows.kernel.get(String(k)) ?? kernelRow(kernel, k));
    }
    pane.replaceChildren(...list);
    $('by-time').setAttribute('aria-pressed', byTime);
    $('by-step').setAttribute('aria-pressed', !byTime);
    $('note-kernels').textContent = `${data.kernels.length}, ${time(total)}`;
  };

  // Code of one kernel

  let tab = 'assembly', shown = null;
  const codeHead = (kernel, note, copied) => {
    const head = element('div', 'code-head', element('span', 'name', kernel.name), note);
    if (copied) {
      const button = element('button', '', 'Copy');
      button.type = 'button';
      button.addEventListener('click', () => navigator.clipboard?.writeText(copied).then(() => { button.textContent = 'Copied'; }));
      head.append(button);
    }
    return head;
  };
  /** Beside an instruction stands the program's line that it is of, where it differs from the preceding instruction's. */
  const assemblyLines = (assembly, kernel) => {
    const pre = element('pre', assembly.places.length ? 'located' : '');
    const places = assembly.places;
    const severalFiles = new Set(kernel.code_lines.filter(Boolean).map((at) => at[0])).size > 1;
    let p = -1, last = null;
    assembly.text.split('\n').slice(0, -1).forEach((text, i) => {
      while (p + 1 < places.length && places[p + 1][0] <= i) ++p;
      const isInstruction = text.startsWith(' ');
      const at = p >= 0 && isInstruction && places[p][1] !== null ? kernel.code_lines[places[p][1]] : null;
      const kindOf = isInstruction ? (/^ +v?f?n?m(add|sub)|fmadd|fnmadd/.test(text) ? '' : 'plain') : 'label';
      const line = element('span', kindOf, text);
      if (at) {
        const name = baseName(data.files[at[0]].name), key = lineKey(at);
        line.classList.add('row');
        line.dataset.kind = 'line';
        line.dataset.key = key;
        line.dataset.at = key === last ? '' : `${severalFiles ? `${name}:` : ''}${at[1]}`;
        line.title = `${name}:${at[1]}`;
        last = key;
      } else if (isInstruction) {
        last = null;
      }
      pre.append(line);
    });
    if (assembly.left_out) pre.append(element('span', 'label', `${assembly.left_out} more lines: kiln dump --stage asm`));
    return pre;
  };
  const buildCode = () => {
    const pane = $('code');
    for (const name of ['assembly', 'operations', 'program']) $(`tab-${name}`).setAttribute('aria-selected', name === tab);
    const kernel = shown === null ? null : data.kernels[shown];
    if (!kernel) return pane.replaceChildren(element('p', 'empty', 'Choose a kernel, a node or a line to see its code.'));
    const lines = (text) => element('pre', '', ...text.split('\n').map((t) => element('span', '', t || ' ')));
    if (tab === 'operations') {
      pane.replaceChildren(codeHead(kernel, 'operations of the kiln dialect'), lines(kernel.operations ?? ''));
    } else if (tab === 'program') {
      pane.replaceChildren(...(kernel.program
        ? [codeHead(kernel, 'computes the operators of this kernel', kernel.program), lines(kernel.program)]
        : [codeHead(kernel, ''), element('p', 'empty', `There is no program for it: ${kernel.no_program ?? 'it runs bodies'}.`)]));
    } else {
      const assembly = kernel.assembly === undefined || kernel.assembly === null ? null : data.assemblies[kernel.assembly];
      pane.replaceChildren(codeHead(kernel, assembly?.places.length ? 'at the left: lines of the program' : ''), assembly ? assemblyLines(assembly, kernel) : element('p', 'empty', 'It has no code of its own.'));
    }
    pane.scrollTop = 0;
  };

  // Choice and hints

  let chosen = null;
  const mark = (className, sets) => {
    for (const e of document.querySelectorAll(`.${className}`)) e.classList.remove(className);
    if (!sets) return;
    for (const [kind, keys] of [['kernel', sets.kernels], ['node', sets.nodes], ['line', sets.lines]])
      for (const key of keys) rows[kind].get(String(key))?.classList.add(className);
    for (const e of $('code').querySelectorAll('[data-kind="line"]'))
      if (sets.lines.includes(e.dataset.key)) e.classList.add(className);
  };
  const setOf = (kind, key) => related[kind](kind === 'line' ? key : Number(key));
  const reveal = (e, pane) => {
    if (!e) return;
    const box = e.getBoundingClientRect(), frame = pane.getBoundingClientRect();
    if (box.top < frame.top + 70 || box.bottom > frame.bottom - 20) pane.scrollTop += box.top - frame.top - frame.height / 3;
  };
  const choose = (kind, key, from) => {
    chosen = kind === null ? null : {kind, key: String(key)};
    const sets = chosen ? setOf(kind, chosen.key) : null;
    const first = sets?.kernels.slice().sort((a, b) => timeOf(data.kernels[b]) - timeOf(data.kernels[a]))[0];
    const code = first ?? null;
    if (!(sets && sets.kernels.includes(shown)) && code !== shown) { shown = code; buildCode(); }
    mark('hint', null);
    mark('picked', sets);
    if (!sets) { history.replaceState(null, '', '#'); return; }
    if (from !== 'source') reveal(sets.lines.map((l) => rows.line.get(l)).find(Boolean), $('source'));
    if (from !== 'nodes') reveal(sets.nodes.map((n) => rows.node.get(String(n))).find(Boolean), $('nodes'));
    if (from !== 'kernels') reveal(rows.kernel.get(String(code)), $('kernels'));
    const e = rows[kind].get(chosen.key);
    if (e && from !== 'start') history.replaceState(null, '', `#${e.id}`);  // while it loads, a fragment would scroll the window
  };
  const targetOf = (event) => event.target.closest?.('.row');
  for (const pane of ['source', 'nodes', 'kernels', 'code']) {
    $(pane).addEventListener('click', (event) => {
      const link = event.target.closest('a');
      if (link) {
        event.preventDefault();
        choose('node', link.getAttribute('href').slice(2), null);
        return;
      }
      const e = targetOf(event);
      if (e) choose(e.dataset.kind, e.dataset.key, pane);
    });
    $(pane).addEventListener('mouseover', (event) => {
      const e = targetOf(event);
      mark('hint', e ? setOf(e.dataset.kind, e.dataset.key) : null);
    });
    $(pane).addEventListener('mouseleave', () => mark('hint', null));
  }

  // Search, themes, keys

  $('search').addEventListener('input', () => {
    const text = $('search').value.trim().toLowerCase();
    for (const kind of ['kernel', 'node'])
      for (const e of rows[kind].values()) e.classList.toggle('hidden', text !== '' && !e.textContent.toLowerCase().includes(text));
    const line = text && [...rows.line.values()].find((e) => e.textContent.toLowerCase().includes(text));
    if (line) reveal(line, $('source'));
  });
  const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const setTheme = (theme) => {
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem('kiln-theme', theme); } catch { /* pages from the disk may have no storage */ }
  };
  try {
    const kept = localStorage.getItem('kiln-theme');
    if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
  } catch { /* likewise */ }
  const setTab = (name) => { tab = name; buildCode(); if (chosen) mark('picked', setOf(chosen.kind, chosen.key)); };
  const sort = (time) => { byTime = time; buildKernels(); reveal(rows.kernel.get(String(shown)), $('kernels')); };
  $('theme').addEventListener('click', () => setTheme(isDark() ? 'light' : 'dark'));
  $('help-button').addEventListener('click', () => $('help').showModal());
  for (const name of ['assembly', 'operations', 'program']) $(`tab-${name}`).addEventListener('click', () => setTab(name));
  $('by-time').addEventListener('click', () => sort(true));
  $('by-step').addEventListener('click', () => sort(false));

  const panes = {1: 'source', 2: 'nodes', 3: 'kernels', 4: 'code'};
  const kindOfPane = {source: 'line', nodes: 'node', kernels: 'kernel'};
  const step = (by) => {
    const pane = kindOfPane[document.activeElement?.id] ? document.activeElement.id : 'kernels';
    const list = [...$(pane).querySelectorAll('.row:not(.hidden)')];
    if (!list.length) return;
    const at = list.findIndex((e) => chosen && e.dataset.kind === chosen.kind && e.dataset.key === chosen.key);
    const picked = list.findIndex((e) => e.classList.contains('picked'));
    const now = at >= 0 ? at : picked;
    const next = list[now < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(now + by, 0), list.length - 1)];
    choose(next.dataset.kind, next.dataset.key, null);
    reveal(next, $(pane));
  };
  const keys = {
    ArrowDown: () => step(1), j: () => step(1), ArrowUp: () => step(-1), k: () => step(-1),
    t: () => $('theme').click(), s: () => sort(!byTime), a: () => setTab('assembly'), o: () => setTab('operations'), p: () => setTab('program'),
    '/': () => $('search').focus(), '?': () => $('help').showModal(), Escape: () => choose(null, null, null),
  };
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $('help').open) return;
    if (event.target === $('search')) {
      if (event.key === 'Escape') { $('search').value = ''; $('search').dispatchEvent(new Event('input')); $('search').blur(); }
      return;
    }
    const act = panes[event.key] ? () => $(panes[event.key]).focus() : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // Heading

  const device = [...new Set(data.graphs.map((g) => g.device))].join(', ');
  $('title').textContent = data.title;
  $('subtitle').textContent = [device, `${data.threads} thread${data.threads === 1 ? '' : 's'}`, data.limits.instructions,
    `Kiln ${data.kiln}, LLVM ${data.llvm}`, data.date].join('  ·  ');
  const figure = (name, value) => $('figures').append(element('div', '', element('dt', '', name), element('dd', '', value)));
  figure('a call', time(data.call_us));
  figure('kernels', String(data.kernels.length));
  figure('multiply-adds', count(data.kernels.reduce((sum, k) => sum + (k.multiply_adds ?? 0) * (k.runs ?? 0), 0)));
  figure('moved', bytes(data.kernels.reduce((sum, k) => sum + (k.bytes ?? 0) * (k.runs ?? 0), 0)));
  const rate = (n) => `${(n / 1e9).toFixed(0)} GB/s`;
  const l = data.limits;
  $('limits').textContent = `One core: ${(l.f32_multiply_adds / 1e9).toFixed(0)} G multiply-adds/s of float32, ${(l.pair_multiply_adds / 1e9).toFixed(0)} G of bfloat16, ${(l.byte_multiply_adds / 1e9).toFixed(0)} G of int8; ${rate(l.l1_rate)} from L1 (${bytes(l.l1_bytes)}), `
    + `${rate(l.l2_rate)} from L2 (${bytes(l.l2_bytes)}), ${l.l3_bytes ? `${rate(l.l3_rate)} from its share of L3 (${bytes(l.l3_bytes)}), ` : ''}${rate(l.memory_rate)} from memory.`;

  buildSource();
  buildNodes();
  buildKernels();
  buildCode();
  const linked = /^#([knl])([0-9-]+)$/.exec(location.hash);
  const kind = linked && {k: 'kernel', n: 'node', l: 'line'}[linked[1]];
  if (kind && rows[kind].has(linked[2])) {
    choose(kind, linked[2], null);
  } else if (data.kernels.length) {
    // A loop has no code: of kernels with code, the longest.
    const hasCode = (k) => k.assembly !== undefined && k.assembly !== null;
    const isBetter = (k, best) => (hasCode(k) === hasCode(best) ? timeOf(k) > timeOf(best) : hasCode(k));
    choose('kernel', data.kernels.reduce((best, k, i) => (isBetter(k, data.kernels[best]) ? i : best), 0), 'start');
  }
})();
