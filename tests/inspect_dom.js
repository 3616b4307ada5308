// SPDX-License-Identifier: Apache-2.0
// Run in a page of `orthant inspect` with its JSON in `inspection`: every map, its tokens, what the pointer reads off
// each cell, the marked heads, the table. What is found is in the element "found".
addEventListener('load', () => {
  const wrong = [];
  let checks = 0;
  const check = (right, what) => { checks++; if (!right) wrong.push('wrong ' + what); };
  const equal = (got, want, what) => check(got === want, `${what}: ${got} instead of ${want}`);
  const uniform = 'random(frozen, init=normal, sigma=0)';
  const name = (spec) => spec === uniform ? 'uniform' : spec;
  const heads = inspection.layers.flatMap((layer) => layer.heads.map((head) => ({ layer, head })));

  function pointed(svg, x, y) {
    const box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
    return svg.dataset.tip;
  }

  function checkCells(svg, { layer, head }, names, where) {
    const image = svg.querySelector('image'), at = (key) => Number(image.getAttribute(key));
    const rows = head.map.length, columns = head.map[0].length, cell = at('width') / columns;
    check(Math.abs(at('height') / rows - cell) < 0.01, where + ', cells are no squares');
    head.map.forEach((row, i) => row.forEach((w, j) => {
      if (rows > 24 && (i * columns + j) % 11) return; // of a large map a sample, in every row and column
      const tip = pointed(svg, at('x') + (j + 0.5) * cell, at('y') + (i + 0.5) * cell) || '';
      check(tip.startsWith(`query ${i} ${names.rows[i]} → key ${j} ${names.columns[j]}\n`), `${where} ${i} ${j}: ${tip}`);
      const read = tip.endsWith('not visible') ? 0 : Number(tip.split('weight about ')[1]);
      check(Math.abs(read - Math.min(1, Math.abs(w))) <= 0.006, `${where} ${i} ${j}: ${read} instead of ${w}`);
      if (layer.causal && j > i) check(tip.endsWith('not visible'), `${where} ${i} ${j} is visible`);
    }));
    return cell;
  }

  const cards = Array.from(document.querySelectorAll('.head'));
  equal(cards.length, heads.length, 'cards');
  cards.forEach((card, k) => {
    const { layer, head } = heads[k], where = `card ${k}`, title = card.querySelector('.name');
    const covered = title.querySelector('.covered');
    check(title.textContent.startsWith('head ' + head.head), where + ', its number');
    equal(Boolean(covered), Boolean(head.replaceable), where + ' marked');
    if (!head.map) { check(!card.querySelector('.map'), where + ' has no map'); return; }
    check(title.textContent.includes(name(head.nearest)), where + ', nearest');
    check(title.textContent.includes(` ${(100 * head.covered).toFixed(0)} %`), where + ', covered');
    const map = card.querySelector('.map'), svg = map.querySelector('svg');
    const source = inspection.source_tokens, encoder = source && layer.kind === 'self' && !layer.causal;
    const names = { rows: encoder ? source : inspection.tokens,
                    columns: layer.kind === 'cross' || encoder ? source : inspection.tokens };
    equal(head.map.length, names.rows.length, where + ', rows');
    equal(head.map[0].length, names.columns.length, where + ', columns');
    equal(map.getAttribute('role'), 'button', where + ', role');
    check(!card.querySelector('img').offsetWidth, where + ' is there twice');
    const cell = checkCells(svg, heads[k], names, where), width = svg.getBoundingClientRect().width;
    equal(svg.querySelectorAll('text').length, cell >= 9 ? names.rows.length + names.columns.length : 0, where + ', tokens');
    check(width <= map.clientWidth && (width >= map.clientWidth - 3 || cell === 44), `${where}: ${width} of ${map.clientWidth}`);
    if (k !== 1) return;
    map.click(); // large, with all tokens
    const large = document.querySelector('#large');
    check(!large.hidden, 'the large map is hidden');
    equal(large.querySelectorAll('text').length, names.rows.length + names.columns.length, 'tokens of the large map');
    checkCells(large.querySelector('svg'), heads[k], names, 'large');
    dispatchEvent(new Event('resize'));
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
    check(large.hidden, 'the large map stays');
  });

  const shown = heads.filter(({ head }) => head.map), rows = Array.from(document.querySelectorAll('#heads tbody tr'));
  equal(rows.length, shown.length, 'rows of the table');
  rows.forEach((row, k) => {
    const { layer, head } = shown[k], cells = Array.from(row.cells, (cell) => cell.textContent), where = `row ${k}`;
    equal(cells[0], `${layer.stack} layer ${layer.layer + 1}${layer.kind === 'cross' ? ', cross-attention' : ''}`, where);
    equal(cells[1], String(head.head), where + ', head');
    equal(cells[2], head.attention, where + ', attention');
    [[3, head.entropy, 3], [4, 100 * head.entropy_share, 1], [5, head.distance, 2], [7, 100 * head.covered, 1]].forEach(
      ([column, number, digits]) => check(number === null || isNaN(number) ? cells[column] === '–' :
        Math.abs(Number(cells[column]) - number) <= 0.5001 * 10 ** -digits, `${where} column ${column}: ${cells[column]}`));
    equal(cells[6], name(head.nearest), where + ', nearest');
    equal(row.classList.contains('covered'), head.replaceable, where + ' marked');
  });
  check(document.documentElement.scrollWidth <= innerWidth + 1, `the page is ${document.documentElement.scrollWidth} wide`);

  const found = document.createElement('pre');
  found.id = 'found';
  found.textContent = [`checks ${checks} width ${innerWidth} dark ${matchMedia('(prefers-color-scheme: dark)').matches}`]
    .concat(wrong.slice(0, 20)).join('\n');
  document.body.append(found);
});
