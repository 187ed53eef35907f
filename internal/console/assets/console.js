// What the pages do beside htmx: times in the viewer's zone, countdowns, keys,
// copying, and asking anew when the server says that something changed. Without it
// everything can be read, and every form works.
'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const lang = root.lang;
  const full = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' }); // 2026-11-20 15:04:05
  const relative = new Intl.RelativeTimeFormat(lang, { numeric: 'auto', style: 'short' });
  const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];

  function distance(seconds) {
    const size = Math.abs(seconds);
    for (const [unit, length] of units) {
      if (size >= length || unit === 'second') return relative.format(Math.trunc(seconds / length), unit);
    }
  }

  // Times stand in the page as UTC; hovering shows that.
  function times(within) {
    for (const el of within.querySelectorAll('time[datetime]')) show(el);
  }
  function show(el) {
    const at = new Date(el.getAttribute('datetime'));
    if (isNaN(at)) return;
    const text = 'since' in el.dataset ? distance((at - Date.now()) / 1000) : full.format(at);
    if (el.textContent !== text) el.textContent = text;
    if ('at' in el.dataset && !el.dataset.full) {
      el.dataset.full = el.title;
    }
    el.title = (el.dataset.full || el.title) + ('at' in el.dataset ? '\n' + distance((at - Date.now()) / 1000) : '');
  }
  setInterval(() => {
    for (const el of document.querySelectorAll('time[data-since]')) show(el);
  }, 1000);

  // Rows: j and k move, Enter opens, a click anywhere opens.
  const rows = () => [...document.querySelectorAll('[data-rows] tbody tr')];
  function move(by) {
    const all = rows();
    if (!all.length) return;
    const now = all.findIndex((r) => r.classList.contains('at'));
    const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(now + by, 0), all.length - 1)];
    for (const r of all) r.classList.remove('at');
    next.classList.add('at');
    next.querySelector('a')?.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  }
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const typing = e.target.closest('input, select, textarea');
    if (typing) {
      if (e.key === 'Escape') typing.blur();
      return;
    }
    if (e.key === '/') {
      const box = document.querySelector('[data-search]');
      if (box) { e.preventDefault(); box.focus(); box.select(); }
    } else if (e.key === 'j') move(1);
    else if (e.key === 'k') move(-1);
    else if (e.key === 'Enter' && !e.target.closest('a, button, summary')) {
      document.querySelector('[data-rows] tr.at a')?.click();
    }
  });
  document.addEventListener('click', (e) => {
    const copy = e.target.closest('[data-copy]');
    if (copy) {
      navigator.clipboard.writeText(document.getElementById(copy.dataset.copy).textContent).then(() => {
        const before = copy.textContent;
        copy.textContent = document.body.dataset.copied;
        setTimeout(() => { copy.textContent = before; }, 1500);
      }, () => { /* not allowed: the text can still be marked by hand */ });
      return;
    }
    const row = e.target.closest('[data-rows] tbody tr');
    if (row && !e.target.closest('a, button, summary, input, label') && !String(getSelection())) row.querySelector('a')?.click();
  });
  document.addEventListener('submit', (e) => {
    const by = e.submitter;
    const form = e.target;
    if ('sent' in form.dataset) { e.preventDefault(); return; } // a double click is meant once
    if (by?.dataset.confirm && !confirm(by.dataset.confirm)) { e.preventDefault(); return; }
    if (form.method === 'post') {
      form.dataset.sent = '';
      setTimeout(() => { delete form.dataset.sent; }, 10000); // nothing came of it
    }
    if ('zone' in form.dataset) { // times are typed as the viewer's clock shows them
      const zone = form.elements.zone;
      if (zone && !zone.value && (form.dataset.zone === 'always' || ['from', 'to', 'when'].some((name) => form.elements[name]?.value))) {
        zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
      }
      if (form.method === 'get') {
        for (const field of form.elements) if (!field.value && field.name) field.disabled = true; // short addresses
        setTimeout(() => { for (const field of form.elements) field.disabled = false; });
      }
    }
  });

  // Back at a page that was left by a form, which may be sent again, and is meant then.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form[data-sent]')) {
      delete form.dataset.sent;
      const again = form.elements.again || form.appendChild(Object.assign(document.createElement('input'), { type: 'hidden', name: 'again' }));
      again.value = Number(again.value) + 1;
    }
  });

  // What changes by itself: the server says when, htmx fetches the part.
  let source = null;
  function listen() {
    const el = document.querySelector('[data-live]');
    if (source?.url === (el ? new URL(el.dataset.live, location.href).href : '')) return;
    source?.close();
    source = null;
    if (!el || document.hidden) return;
    source = new EventSource(el.dataset.live);
    source.addEventListener('changed', () => htmx.trigger(document.querySelector('[data-live]'), 'changed'));
    source.addEventListener('part', (e) => { // made by the server, and escaped there
      const el = document.querySelector('[data-live]');
      if (el.contains(document.activeElement) && document.activeElement !== el) return; // somebody is at it
      el.innerHTML = e.data;
      times(el);
      charts();
    });
    source.addEventListener('over', () => location.reload());
  }
  // Charts: uPlot draws what the server put into the page.
  const drawn = new Map();
  function charts() {
    const points = document.querySelector('[data-points]');
    if (!points || typeof uPlot === 'undefined') return;
    const d = JSON.parse(points.dataset.points);
    const sets = { counts: [d.at, d.added, d.attempts, d.succeeded, d.failed], lateness: [d.at, d.p50, d.p99] };
    for (const el of document.querySelectorAll('[data-chart]')) {
      const data = sets[el.dataset.chart];
      const empty = !data[0]?.length || data.slice(1).every((s) => s.every((v) => v === null));
      el.hidden = empty;
      el.parentElement.querySelector('.nodata').hidden = !empty;
      if (empty) continue;
      if (drawn.has(el)) { drawn.get(el).setData(data); continue; }
      draw(el, data);
    }
  }
  const whole = Array.from({ length: 12 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();
  const lasting = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, ...[1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 2880, 7200, 14400].map((m) => m * 60e3)];
  function duration(ms) {
    const [unit, length] = [['hour', 3600e3], ['minute', 60e3], ['second', 1e3]].find(([, length]) => ms >= length) ?? ['millisecond', 1];
    return (ms / length).toLocaleString(lang, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 });
  }
  function draw(el, data) {
    const css = getComputedStyle(root);
    const ink = (name) => { // what a canvas understands
      const probe = document.createElement('i');
      probe.style.color = css.getPropertyValue(name);
      document.body.append(probe);
      const colour = getComputedStyle(probe).color;
      probe.remove();
      return colour;
    };
    const colours = el.dataset.chart === 'counts' ? ['--gone', '--accent', '--ok', '--bad'] : ['--accent', '--warn'];
    const axis = { stroke: ink('--muted'), grid: { stroke: ink('--rule'), width: 1 }, ticks: { stroke: ink('--rule'), width: 1 }, font: '11px system-ui, sans-serif' };
    const [time, ...labels] = el.dataset.labels.split('|');
    const clock = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'short' }); // 15:04
    const amounts = el.dataset.chart === 'counts' ? { incrs: whole, values: (u, at) => at.map((n) => n.toLocaleString(lang)) } : { incrs: lasting, values: (u, at) => at.map(duration) };
    const wide = (u, texts, axis, cycle) => { // as the longest number needs it
      if (cycle > 1) return u.axes[axis]._size;
      u.ctx.font = u.axes[axis].font[0];
      return Math.ceil(18 + Math.max(12, ...(texts ?? []).map((text) => u.ctx.measureText(text).width / devicePixelRatio)));
    };
    const hour = 3600;
    drawn.set(el, new uPlot({
      width: el.clientWidth, height: 160,
      cursor: { drag: { x: false, y: false } },
      scales: {
        x: { range: (u) => [u.data[0].at(-1) - hour, u.data[0].at(-1) + 60] }, // always an hour, however much of it there is
        y: { range: (u, low, high) => [0, Math.max(high, 1) * 1.08] },
      },
      series: [{ label: time, value: (u, at) => at == null ? '–' : clock.format(at * 1000) }, ...labels.map((label, i) => ({
        label, stroke: ink(colours[i]), width: 1.5, dash: i === 0 && labels.length === 4 ? [4, 3] : undefined,
        value: (u, v) => v == null ? '–' : el.dataset.chart === 'counts' ? v.toLocaleString(lang) : duration(v), points: { show: data[0].length < 20, size: 5 },
      }))],
      axes: [{ ...axis, incrs: [600, 900, 1200], values: (u, at) => at.map((s) => clock.format(s * 1000)) }, { ...axis, ...amounts, size: wide, label: el.dataset.axis, labelSize: 18, labelFont: axis.font, labelGap: 2 }],
    }, data, el));
  }
  function redraw() {
    for (const [el, chart] of drawn) { chart.destroy(); drawn.delete(el); }
    charts();
  }
  addEventListener('resize', () => { for (const [el, chart] of drawn) chart.setSize({ width: el.clientWidth, height: 160 }); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);

  // What does not fit is there to be scrolled to: first the tab that is open.
  function reveal() {
    const tab = document.querySelector('.tabs [aria-current]');
    if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) { source?.close(); source = null; return; }
    const el = document.querySelector('[data-live]');
    if (el) htmx.trigger(el, 'changed'); // it may have changed meanwhile
    listen();
  });
  document.addEventListener('htmx:afterSettle', (e) => { times(document); reveal(); listen(); });
  times(document);
  charts();
  reveal();
  listen();
})();
