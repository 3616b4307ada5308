// Tooltips, highlighting of one attention in the charts, and sorting of tables, in every report.
// Without this script a page has the same content.
(function () {
  'use strict';
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));

  function onActivate(element, action) {
    element.tabIndex = 0;
    element.addEventListener('click', action);
    element.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      action();
    });
  }

  const tip = document.createElement('div');
  tip.id = 'tip';
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener('pointermove', (event) => {
    const target = event.target.closest && event.target.closest('[data-tip]');
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.dataset.tip;
    const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 16;
    const fits = below + tip.offsetHeight <= innerHeight - 8;
    tip.style.left = Math.max(8, x) + 'px';
    tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 12) + 'px';
  });

  // Dims all series of the charts but one; null: none.
  function highlight(series) {
    all('svg [data-series]').forEach((e) =>
      e.classList.toggle('dim', series !== null && e.dataset.series !== series));
  }
  all('.legend li, tr[data-series]').forEach((e) => {
    e.addEventListener('pointerenter', () => highlight(e.dataset.series));
    e.addEventListener('pointerleave', () => highlight(null));
  });

  all('.legend li').forEach((item) => {
    const same = '[data-series="' + item.dataset.series + '"]';
    item.setAttribute('role', 'button');
    item.setAttribute('aria-pressed', 'true');
    onActivate(item, () => {
      const hide = item.getAttribute('aria-pressed') === 'true';
      all('.legend li' + same).forEach((e) => e.setAttribute('aria-pressed', String(!hide)));
      all('svg ' + same).forEach((e) => e.classList.toggle('off', hide));
    });
  });

  // What a row is sorted by: data-v of its cell, where empty is last, or the text.
  function sortKey(row, column) {
    const cell = row.cells[column], value = cell.dataset.v;
    return value === undefined ? cell.textContent : value === '' ? Infinity : Number(value);
  }
  function compareKeys(x, y) {
    if (typeof x === 'string') return x.localeCompare(y);
    return x === y ? 0 : x - y;
  }
  all('table.sortable').forEach((table) => {
    const heads = all('thead th', table);
    heads.forEach((head, column) => {
      head.setAttribute('aria-sort', 'none');
      onActivate(head, () => {
        const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
        const body = table.tBodies[0];
        heads.forEach((other) => other.setAttribute('aria-sort', 'none'));
        head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
        Array.from(body.rows)
          .sort((a, b) => sign * compareKeys(sortKey(a, column), sortKey(b, column)))
          .forEach((row) => body.append(row));
      });
    });
  });

  addEventListener('beforeprint', () => all('details').forEach((e) => { e.open = true; }));
})();
