// What the pages do beside htmx: times in the viewer's zone, countdowns, keys,
// copying, and asking anew when the server says that something changed. Without it
// everything can be read, and every form works.
'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const lang = root.lang;
  const full = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' }); // 2026-11-20 15:04:05
  const clock = new Intl.DateTimeFormat('sv-SE', { timeStyle: 'short' }); // 15:04, in charts
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
    for (const el of within.querySelectorAll('[data-clock]')) el.textContent = el.textContent.replace(/^\d\d:\d\d( UTC)?/, clock.format(new Date(el.dataset.clock)));
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
      if (zone && !zone.value && (by?.value === 'today' || form.dataset.zone === 'always' || ['from', 'to', 'finished_from', 'when'].some((name) => form.elements[name]?.value))) {
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

  // The search box offers results as somebody types: arrows choose, Enter opens, Escape closes. htmx fetches
  // them. Without an arrow Enter searches, as it does without this script.
  const box = document.querySelector('[data-search]');
  const finds = document.getElementById('finds');
  let chosen = null;
  function choose(option) {
    chosen?.setAttribute('aria-selected', 'false');
    chosen = option || null;
    chosen?.setAttribute('aria-selected', 'true');
    chosen?.scrollIntoView({ block: 'nearest' });
    if (chosen) box.setAttribute('aria-activedescendant', chosen.id);
    else box.removeAttribute('aria-activedescendant');
  }
  function offer(open) {
    if (!open) choose(null);
    finds.hidden = !open;
    box.setAttribute('aria-expanded', open);
  }
  if (box) {
    box.removeAttribute('list'); // the recent searches of those without this script
    box.type = 'text'; // a search field cannot be a combobox
    for (const [name, value] of [['role', 'combobox'], ['aria-autocomplete', 'list'], ['aria-controls', 'finds'], ['aria-expanded', 'false']]) box.setAttribute(name, value);
    box.addEventListener('keydown', (e) => {
      const options = [...finds.querySelectorAll('[role=option]')];
      if (e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return;
      if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && options.length) {
        e.preventDefault();
        offer(true);
        const to = options.indexOf(chosen) + (e.key === 'ArrowDown' ? 1 : chosen ? -1 : options.length);
        choose(options[to]); // beyond the first and the last is the text itself
      } else if (e.key === 'Escape' && !finds.hidden) {
        e.preventDefault();
        e.stopPropagation();
        offer(false);
      }
    });
    box.form.addEventListener('submit', (e) => {
      if (!chosen) return;
      e.preventDefault();
      chosen.click();
    });
    box.addEventListener('input', () => choose(null)); // it was about another text
    box.addEventListener('blur', () => offer(false));
    finds.addEventListener('mousedown', (e) => e.preventDefault()); // the box keeps the focus until the click
    finds.addEventListener('htmx:afterSwap', () => {
      chosen = null;
      offer(document.activeElement === box && finds.querySelector('[role=option]') !== null);
    });
  }

  // The icon of the tab shows whether something on the overview is urgent.
  function alarm() {
    const icon = document.querySelector('link[data-alarmed]');
    const needs = document.querySelector('.needs');
    if (icon && needs) icon.href = needs.querySelector('.bad') ? icon.dataset.alarmed : icon.dataset.calm;
  }

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
      alarm();
    });
    source.addEventListener('over', () => location.reload());
    source.addEventListener('error', () => { // the browser connects again by itself, but not after an answer such as 502
      if (source?.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(listen, 5000);
    });
  }
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
  // A part that is fetched anew keeps the focus, the row chosen by j and k, and what somebody has unfolded.
  const stops = (within) => [...within.querySelectorAll('a, button, summary, [tabindex]')];
  const named = (el) => el.getAttribute('href') || (el.closest('tr')?.querySelector('a')?.getAttribute('href') || '') + el.textContent;
  let kept = null;
  document.addEventListener('htmx:beforeSwap', (e) => {
    const all = stops(e.detail.target);
    const place = (el) => ({ name: named(el), nth: all.filter((other) => named(other) === named(el)).indexOf(el) });
    const focus = all.find((el) => el === document.activeElement);
    kept = { part: e.detail.target.id, focus: focus && place(focus), at: focus?.closest('tr.at'), open: all.filter((el) => el.matches('details[open] > summary')).map(place) };
  });
  function keep() {
    const part = kept && document.getElementById(kept.part);
    if (!part) return;
    const all = stops(part);
    const find = (of) => all.filter((el) => named(el) === of.name)[of.nth];
    for (const of of kept.open) find(of)?.parentElement.setAttribute('open', '');
    const focus = kept.focus && document.activeElement === document.body && find(kept.focus);
    if (focus) focus.focus({ preventScroll: true });
    if (focus && kept.at) focus.closest('tr')?.classList.add('at');
    kept = null;
  }
  document.addEventListener('htmx:afterSettle', (e) => { keep(); times(document); reveal(); alarm(); listen(); });
  times(document);
  alarm();
  reveal();
  listen();
})();
