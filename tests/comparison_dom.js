// SPDX-License-Identifier: Apache-2.0
// Reads a report as its readers see it and holds it to results.json, which comparison_dom.sh puts next to it as `results`.
// What is shown is parsed and compared with the number itself, and what is drawn measured by the ticks of its axis, so
// nothing here knows how the program prints or draws.
'use strict';
const failures = [];
let checks = 0;
function check(right, what) {
  checks++;
  if (!right) failures.push(what);
}
const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
const name = (entry) => (entry.floor ? 'uniform baseline' : entry.attention);
const plain = (text) => text.replace(/[\u200b\u00a0\s]+/g, ' ').trim();
const order = results.order.map((i) => results.entries[i]);
check(all('#results > .panel > .scroll thead th').length === 7, 'the table of results has not seven columns');
check(Math.max(...all('#results > .panel > .scroll').map((e) => e.scrollWidth - e.clientWidth)) <= 0 || window.innerWidth < 1000,
  'the table of results scrolls sideways');
check(plain(document.querySelector('h1').textContent + ' ' + (all('header .lead')[0] || { textContent: '' }).textContent) ===
  plain(results.recommendation.text), 'the page does not begin with the recommendation');
all('details').forEach((d) => { d.open = true; }); // what is folded is looked at, too

// "−0.0361", "244k", "578 KiB", "1.31 %": does it say x, to the digits that are shown?
const scales = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, KiB: 1024, MiB: 1048576, GiB: 1073741824, '%': 1, ms: 1e-3,
                 'µs': 1e-6, s: 1, min: 60 };
function says(text, x, what) {
  const found = /^[×±]? ?([+−-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))? ?(\S*)/.exec(plain(text));
  const scale = found && found[5].replace(/[,;)]$/, '') in scales && scales[found[5].replace(/[,;)]$/, '')] *
    10 ** Number(found[4] || 0);
  if (!scale || x === null || x === undefined)
    return check(plain(text) === '–' && (x === null || x === undefined), `${what}: "${text}" instead of ${x}`);
  const digits = found[3] || '', shown = Number(`${found[2]}.${digits || 0}`) * scale;
  // integers of three digits and more may be rounded to three, as in 1440 or 118k
  const unit = scale * 10 ** -digits.length;
  check(Math.abs((/[−-]/.test(found[1]) ? -shown : shown) - x) <= 0.5000001 * unit, `${what}: "${text}" instead of ${x}`);
}
// "low … high"
function range(text, low, high, what) {
  const ends = plain(text).replace(/^× /, '').split(' … ');
  check(ends.length === 2, `${what}: no range, "${text}"`);
  says(ends[0], low, what + ', low');
  if (ends.length === 2) says(ends[1], high, what + ', high');
}
const own = (cell) => plain(Array.from(cell.childNodes).filter((n) => n.nodeType === 3).map((n) => n.data).join(''));
const smalls = (cell) => all('small', cell).map((s) => plain(s.textContent));
const bodyRows = (table) => all('tbody tr', table).map((r) => Array.from(r.cells));

// Do contenders have different numbers of seeds? Then what is next to one another is adjusted for missing ones.
const made = results.entries.filter((e) => !e.floor && !e.statistics.failed_runs).map((e) => e.statistics.runs_made);
const uneven = Math.min(...made) < Math.max(...made);
const isPlain = (e) => !uneven && e.statistics.runs_made === Math.max(...made);
const leader = results.entries[results.reference];
if (uneven) {
  const shown = order.map((e) => e.statistics.adjusted);
  check(shown.every((x, i) => i === 0 || x >= shown[i - 1]), 'the order is not that of the adjusted losses');
  check(order[0] === leader, 'the first does not lead');
} else check(results.entries.every((e) => !isPlain(e) || e.statistics.adjusted === e.statistics.loss.mean),
             'adjusted without need');

// ---- the table of results: what is asked of each, in the declared family
const kind = results.family.kind;
const uniform = results.entries.findIndex((e) => e.floor);
const fixed = kind === 'baseline' ? results.baseline : kind === 'uniform' ? uniform : results.reference;
const failed = (e) => e.statistics.failed_runs > 0;
const asked = (e) => (e === results.entries[fixed] ? { itself: true }
  : failed(e) || failed(results.entries[fixed]) ? {}
  : kind === 'baseline' ? e.statistics.baseline
  : kind === 'uniform' ? e.statistics.floor
  : { interval: e.statistics.interval, difference: { mean: e.statistics.adjusted_difference } });
const rows = bodyRows(document.querySelector('#results table'));
check(rows.length === order.length, `${rows.length} rows of results`);
rows.forEach((cells, i) => {
  const e = order[i], s = e.statistics, at = `results, ${name(e)}`, a = asked(e);
  check(plain(all('.spec', cells[0])[0].textContent).replace(/ /g, '') === name(e).replace(/ /g, ''), `${at}: name`);
  const half = (s.loss.high - s.loss.low) / 2;
  says(own(cells[1]), s.adjusted, at);
  check(Number(cells[1].dataset.v) === s.adjusted, `${at}: what it is sorted by`);
  if (isPlain(e)) says(smalls(cells[1])[0], half, at + ', half');
  else {
    const [mean, width] = smalls(cells[1])[0].split(' ± ');
    check(smalls(cells[1])[1] === `over its ${s.loss.n} seeds`, `${at}: its seeds, "${smalls(cells[1])[1]}"`);
    says(mean, s.loss.mean, at + ', over its own seeds');
    says(width || '', half, at + ', half');
  }
  const expected = s.adjusted - leader.statistics.adjusted;
  check(Math.abs(s.adjusted_difference - expected) < 1e-12, `${at}: ${s.adjusted_difference} is not by subtraction`);
  if (!a.difference) check(own(cells[2]) === '–', `${at}: a difference to itself, or of what failed`);
  else {
    says(own(cells[2]).split(' (')[0], a.difference.mean, at + ', difference');
    const shown = a.interval && a.interval.low !== null && (kind !== 'pairs' || isPlain(e));
    check(smalls(cells[2]).length === (shown ? 1 : 0), `${at}: intervals of the difference`);
    if (shown) range(smalls(cells[2])[0], a.interval.low, a.interval.high, at + ', difference');
  }
  check(plain(all('.verdict', cells[3])[0].textContent) === s.verdict_text, `${at}: verdict`);
  says(own(cells[4]), s.tokens_per_second, at + ', speed');
  says(own(cells[5]), e.trainable, at + ', parameters');
  says(own(cells[6]), s.peak_memory, at + ', memory');
});

// ---- more of each attention
const more = bodyRows(document.querySelector('#more table'));
check(more.length === order.length, `${more.length} rows of more`);
more.forEach((cells, i) => {
  const e = order[i], s = e.statistics, at = `more, ${name(e)}`, expected = s.adjusted - leader.statistics.adjusted;
  let c = 1;
  const described = (mean, itself, what) => {
    const cell = cells[c++];
    if (itself) return check(own(cell) === '–', `${at}: a difference to itself`);
    if (mean !== null) says(own(cell).split(' (')[0], mean, `${at}, ${what}`);
    check(smalls(cell).length === 0, `${at}: ${what} is described, without an interval`);
  };
  if (kind !== 'pairs') {
    if (e !== leader) says(own(cells[c]).split(' (')[1], 100 * expected / leader.statistics.adjusted, at + ', percent');
    described(expected, e === leader, 'lowest');
    if (uneven) check(expected >= 0, `${at}: below the lowest`);
  }
  if (results.baseline !== null && kind !== 'baseline')
    described(s.baseline && s.baseline.difference.mean, e === results.entries[results.baseline], 'baseline');
  if (uniform >= 0 && kind !== 'uniform') described(s.floor && s.floor.difference.mean, e.floor, 'uniform');
  says(own(cells[c]), Math.exp(s.adjusted), at + ', perplexity');
  says(smalls(cells[c])[0].replace(' bits/char', ''), s.bits_per_character * s.adjusted / s.loss.mean, at + ', bits');
  check(Number(own(cells[c + 1])) === s.runs_made, `${at}: seeds`);
});

// ---- every two of them
const contenders = order.filter((e) => !failed(e));
const table = document.querySelector('#pairs table.pairs');
const matrix = table ? bodyRows(table) : [];
check(matrix.length === contenders.length, `${matrix.length} rows of pairs`);
matrix.forEach((cells, r) => {
  check(cells.length === contenders.length + 1, `pairs: ${cells.length} cells`);
  contenders.forEach((other, c) => {
    const a = results.entries.indexOf(contenders[r]), b = results.entries.indexOf(other), cell = cells[c + 1];
    if (a === b) return check(plain(cell.textContent) === '–', 'pairs: the diagonal');
    const pair = results.pairs.find((p) => (p.a === a && p.b === b) || (p.a === b && p.b === a));
    const sign = pair.a === a ? 1 : -1, d = pair.difference, at = `pairs, ${name(contenders[r])}, ${name(other)}`;
    const swap = { better: 'worse', worse: 'better', 'practically better': 'practically worse',
                   'practically worse': 'practically better' };
    const between = pair.interval;
    const verdict = (sign > 0 ? pair.verdict_text : swap[pair.verdict_text] || pair.verdict_text) || '';
    check(plain(all('b', cell)[0].textContent) === verdict, `${at}: verdict`);
    says(own(cell), sign * d.mean, at);
    const small = smalls(cell);
    if (between && between.low !== null)
      range(small.shift(), sign > 0 ? between.low : -between.high, sign > 0 ? between.high : -between.low, at);
    if (pair.p_adjusted !== null) {
      const p = small.shift() || 'nothing';
      if (/[<>]/.test(p)) check(pair.p_adjusted < Number(/[\d.]+$/.exec(p)[0]), `${at}: "${p}" of ${pair.p_adjusted}`);
      else says(p.replace(/^p (= )?/, ''), pair.p_adjusted, at + ', p');
    }
  });
});

// ---- measuring charts: pixels of values by two ticks of an axis
function scaleOf(svg, horizontal) {
  const ticks = all(':scope > text.tick', svg)
    .filter((t) => (t.getAttribute('text-anchor') === 'middle') === horizontal)
    .map((t) => ({ value: Number(t.textContent.replace(/[−]/, '-').replace('k', 'e3').replace('M', 'e6')),
                   // the mark, which is to a tenth of a pixel, is right before its text
                   at: Number(/M([\d.]+) ([\d.]+)/.exec(t.previousElementSibling.getAttribute('d'))[horizontal ? 1 : 2]) }));
  check(ticks.length > 1, `an axis with ${ticks.length} ticks in ${(svg.closest('section') || {}).id}`);
  const first = ticks[0], last = ticks[ticks.length - 1];
  return { at: (v) => first.at + ((v - first.value) * (last.at - first.at)) / (last.value - first.value) };
}
function near(found, expected, what, bound) {
  check(Math.abs(found - expected) <= (bound || 0.35), `${what}: drawn at ${found} instead of ${expected}`);
}
const number = (element, key) => Number(element.getAttribute(key));
const tips = (circle) => circle.dataset.tip.split('\n');

// ---- the chart of what is asked
all('#differences svg.oa').forEach((svg) => {
  const x = scaleOf(svg, true), dots = all('circle.point', svg);
  const right = Math.max(...all('path.axis', svg).map((p) => Number((/H([\d.]+)$/.exec(p.getAttribute('d')) || [0, 0])[1])));
  dots.forEach((dot) => {
    const e = results.entries[Number(dot.dataset.series)], a = asked(e), at = `differences, ${name(e)}`;
    near(number(dot, 'cx'), x.at(a.difference.mean), at);
    const ends = /M([\d.]+) [\d.]+H([\d.]+)/.exec(all(`path.span[data-series="${dot.dataset.series}"]`, svg)[0].getAttribute('d'));
    if (!a.interval || a.interval.low === null || (kind === 'pairs' && !isPlain(e))) return;
    for (const [end, value] of [[ends[1], a.interval.low], [ends[2], a.interval.high]])
      if (x.at(value) > 0 && x.at(value) < right) near(Number(end), x.at(value), at + ', interval');
  });
  const band = all('rect.margin', svg);
  check(band.length === (results.margin > 0 ? 1 : 0), 'differences: no margin, or one too many');
  if (band.length) {
    near(number(band[0], 'x'), x.at(-results.margin), 'differences, margin');
    near(number(band[0], 'x') + number(band[0], 'width'), x.at(results.margin), 'differences, margin');
  }
});

// ---- tuning
if (results.tuning) {
  const grid = results.tuning.grid.split(';').map((o) => plain(o.split('=')[0]));
  const tables = all('#tuning table');
  const tunings = (e) => e.tuning.by_seed || [e.tuning];
  const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
  // Of the tunings of an attention that have such a cell the mean of its loss; null: one of them diverged.
  const meanOf = (e, cellOf) => {
    const losses = tunings(e).map(cellOf).filter((c) => c).map((c) => c.loss);
    return { count: losses.length, loss: losses.includes(null) ? null : mean(losses) };
  };
  bodyRows(tables[0]).forEach((cells, i) => {
    const e = order[i], at = `tuning, ${name(e)}`;
    check(plain(cells[0].textContent) === name(e), `${at}: name`);
    for (const choice of e.tuning.choices)
      for (const [key, value] of Object.entries(choice.values))
        check(plain(cells[1].textContent).split(/;? (?=[a-z_]+=)/).some((part) => part.split('=')[0] === key.split('.')[1] &&
          part.split('=')[1].split(', ').some((v) => Number(v.split(' ')[0]) === value || v.split(' ')[0] === value)),
          `${at}: chosen ${key}`);
    says(cells[2].textContent, meanOf(e, (t) => t.cells[t.chosen]).loss, at);
    for (const t of tunings(e))
      for (const [key, edge] of Object.entries(t.edges))
        check(cells[3].textContent.includes(`The best ${key} of ${name(e)}`) && cells[3].textContent.includes(edge), `${at}: edge`);
    check(Number(cells[4].textContent) === e.tuning.cost.runs, `${at}: runs`);
    says(cells[6].textContent, e.tuning.cost.flops, at + ', FLOPs');
    says(cells[7].textContent, e.tuning.cost.processor_seconds, at + ', time');
  });
  const label = (values) => grid.map((key) => `${key}=${values[key]}`).join(',');
  bodyRows(tables[1]).forEach((cells) => order.forEach((e, i) => {
    const row = plain(cells[0].textContent), at = `tried, ${name(e)}, ${row}`, shown = plain(cells[i + 1].textContent);
    const { count, loss } = meanOf(e, (t) => t.cells.find((c) => label(c.values) === row));
    if (!count) check(shown === '–', at);
    else if (loss === null) check(shown === 'diverged', at);
    else says(shown.split(' ')[0], loss, at);
    if (count) check(shown.includes('(') === count < tunings(e).length, `${at}: of how many seeds`);
  }));
  if (results.tuning.per === 'seed') bodyRows(tables[2]).forEach((cells) => order.forEach((e, i) => {
    const own = e.tuning.by_seed.find((t) => t.seed === Number(cells[0].textContent));
    check(plain(cells[i + 1].textContent) === (own ? label(own.values) : '–'), `choice of seed ${cells[0].textContent}, ${name(e)}`);
  }));
  all('#tuning figure[id^=sensitivity]').forEach((figure, option) => all('svg.oa', figure).forEach((svg) => {
    const y = scaleOf(svg, false);
    all('circle.hit', svg).forEach((dot) => {
      const e = results.entries[Number(dot.dataset.series)], lines = tips(dot), value = Number(lines[1].split(': ')[1]);
      const { count, loss } = meanOf(e, (t) => t.cells.find((c) => grid.every((key, k) =>
        k === option ? Number(Number(c.values[key]).toPrecision(4)) === Number(value.toPrecision(4)) : c.values[key] === t.values[key])));
      check(lines[0] === name(e) && count, `sensitivity: ${lines.join(', ')}`);
      if (!count) return;
      says(lines[2].split(': ')[1], loss, `sensitivity, ${name(e)}`);
      near(number(dot, 'cy'), y.at(loss), `sensitivity, ${name(e)}`, 0.35);
    });
    const chosen = results.entries.map((e) => new Set(e.tuning.choices.map((c) => c.values[grid[option]])).size);
    check(all('circle.dot', svg).length === chosen.reduce((a, b) => a + b, 0), 'sensitivity: a dot for each choice');
  }));
}

// ---- as seeds were added
const followed = results.entries.filter((e) => e.trajectory);
const figures = all('#trajectories figure');
check(figures.length === followed.length, `${figures.length} trajectories instead of ${followed.length}`);
figures.forEach((figure) => {
  const title = plain(all('figcaption b', figure)[0].textContent), e = followed.find((f) => name(f) === title);
  check(e, `a trajectory of ${title}`);
  if (!e) return;
  const t = e.trajectory, last = t.seeds.length - 1;
  const caption = own(all('figcaption', figure)[0]);
  check(caption.startsWith(`after ${t.seeds[last]} seeds: `), `trajectory, ${title}: "${caption}"`);
  if (t.low[last] !== null) range(caption.split(': ')[1], t.low[last], t.high[last], `trajectory, ${title}`);
  all('svg.oa', figure).forEach((svg) => {
    const x = scaleOf(svg, true), y = scaleOf(svg, false), dots = all('circle.dot', svg);
    check(dots.length === t.seeds.length, `trajectory, ${title}: ${dots.length} looks`);
    dots.forEach((dot, i) => {
      near(number(dot, 'cx'), x.at(t.seeds[i]), `trajectory, ${title}, seeds`);
      near(number(dot, 'cy'), y.at(t.mean[i]), `trajectory, ${title}, mean`);
    });
    const band = /M(.*)z/.exec(all('path.band', svg)[0].getAttribute('d'))[1].split(' ').map(Number);
    const inside = all('svg', svg)[0], top = number(inside, 'y'), bottom = top + number(inside, 'height');
    t.seeds.forEach((seed, i) => {
      const high = band[2 * i + 1], low = band[band.length - 2 * i - 1];
      for (const [end, value, away] of [[high, t.high[i], (v) => v <= top], [low, t.low[i], (v) => v >= bottom]])
        if (value === null || away(y.at(value))) check(away(end), `trajectory, ${title}: an end that is not there`);
        else near(end, y.at(value), `trajectory, ${title}, interval`);
    });
  });
});

// ---- where the spread comes from
const sources = { init: 'initial values', order: 'batch order', dropout: 'dropout', split: 'split of the text' };
if (results.vary) {
  const groups = [['pooled', results.vary.pooled]].concat(results.entries.map((e, i) =>
    [name(e), results.vary.entries[i] && results.vary.entries[i].statistics])).filter((g) => g[1]);
  const lines = groups.flatMap(([title, s]) => Object.keys(sources).concat('together').filter((k) => s[k])
    .map((k) => ({ title, what: sources[k] || 'all sources', s: s[k], ratio: k === 'together' ? s.ratio : null })));
  const shown = bodyRows(document.querySelector('#spread table'));
  check(shown.length === lines.length, `${shown.length} lines of spread instead of ${lines.length}`);
  lines.forEach(({ title, what, s, ratio }, i) => {
    const at = `spread, ${title}, ${what}`, cells = shown[i].map((c) => plain(c.textContent));
    check(cells[0] === title && cells[1] === what, `${at}: "${cells[0]}, ${cells[1]}"`);
    says(cells[2], s.sd, at);
    if (s.variance > 0) range(cells[3], s.low, s.high, at);
    if (s.share === null) check(cells[4] === '–', at + ', share');
    else says(cells[4], 100 * s.share, at + ', share');
    says(cells[5], ratio, at + ', ratio');
    check(Number(cells[6]) === s.n, `${at}: n`);
  });
  const svg = document.querySelector('#spread svg.oa'), x = scaleOf(svg, true), bars = all('rect.share', svg);
  check(bars.length === lines.length, `${bars.length} bars`);
  const right = Number(/H([\d.]+)$/.exec(all('path.axis', svg).pop().getAttribute('d'))[1]);
  bars.forEach((bar, i) => {
    const { title, what, s } = lines[i], at = `bar, ${title}, ${what}`;
    near(number(bar, 'x') + number(bar, 'width'), x.at(s.sd), at);
    const whisker = bar.nextElementSibling;
    if (!(s.variance > 0)) return;
    const ends = /M([\d.]+) [\d.]+H([\d.]+)/.exec(whisker.getAttribute('d')).map(Number);
    near(ends[1], x.at(s.low), at + ', low');
    near(ends[2], Math.min(x.at(s.high), right), at + ', high');
    const after = whisker.nextElementSibling, arrow = after !== null && after.classList.contains('arrow');
    check(arrow === x.at(s.high) > right, `${at}: an arrow where it goes on`);
  });
}

// ---- what quality costs
for (const [id, field, front] of [['speed', (e) => e.statistics.tokens_per_second, 'front_speed'],
                                  ['parameters', (e) => e.trainable, 'front_parameters']])
  all(`figure#${id} svg.oa`).forEach((svg) => {
    const y = scaleOf(svg, false), points = all('circle.point', svg);
    check(points.length === results.entries.length, `${id}: ${points.length} points`);
    points.forEach((point) => {
      const e = results.entries[Number(point.dataset.series)], lines = tips(point), at = `${id}, ${name(e)}`;
      check(lines[0] === name(e), `${at}: name`);
      says(lines[1].split(': ')[1], field(e), at);
      says(lines[2].split(': ')[1].split(' ±')[0], e.statistics.adjusted, at + ', loss');
      near(number(point, 'cy'), y.at(e.statistics.adjusted), at + ', loss');
      check(lines[2].includes('±') === isPlain(e), `${at}: an interval, "${lines[2]}"`);
      const ringed = all(`circle.ring[data-series="${point.dataset.series}"]`, svg).length === 1;
      check(ringed === e.statistics[front], `${at}: ringed or not`);
      check(lines.includes('on the Pareto front') === e.statistics[front], `${at}: its tip`);
    });
  });

// ---- how it looks: nothing empty, nothing on top of another, nothing beyond the edge, everything readable
const visible = (element) => { const r = element.getBoundingClientRect(); return r.width > 0 && r.height > 0; };
all('td, th, h2, h3, figcaption').filter(visible).forEach((e) =>
  check(plain(e.textContent) !== '', `an empty ${e.tagName} in ${(e.closest('section') || {}).id}`));
check(!/\b(NaN|undefined|inf|nan|null)\b/.test(document.body.innerText), 'a number that is none is shown');
all('svg.oa').filter(visible).forEach((svg) => {
  const texts = all('text', svg).filter(visible), frame = svg.getBoundingClientRect();
  const boxes = texts.map((t) => t.getBoundingClientRect());
  boxes.forEach((a, i) => {
    const label = `"${texts[i].textContent}" in ${(svg.closest('section') || {}).id}`;
    check(a.left >= frame.left - 1 && a.right <= frame.right + 1 && a.top >= frame.top - 1 && a.bottom <= frame.bottom + 1,
      `${label} leaves its picture`);
    boxes.slice(i + 1).forEach((b, j) => check(Math.min(a.right, b.right) - Math.max(a.left, b.left) < 1.5 ||
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) < 3.5, `${label} and "${texts[i + 1 + j].textContent}" overlap`));
  });
});
check(document.documentElement.scrollWidth <= window.innerWidth + 1,
  `the page is ${document.documentElement.scrollWidth} wide in ${window.innerWidth}`);
all('[src], [href]').forEach((e) => check(/^(#|data:)/.test(e.getAttribute('src') || e.getAttribute('href')), 'something is loaded'));

// Contrast of text and ground (WCAG 2: at least 4.5).
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const fromOklab = ([L, a, b]) => { // Ottosson's matrices; color-mix() in oklab comes out so
  const [l, m, s] = [L + 0.3963377774 * a + 0.2158037573 * b, L - 0.1055613458 * a - 0.0638541728 * b,
                     L - 0.0894841775 * a - 1.291485548 * b].map((v) => v ** 3);
  return [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
          -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
          -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
};
function light(color) {
  const [, space, list] = /^(rgba?|oklab|color)\((?:srgb )?([^)]*)\)$/.exec(color), parts = list.split(/[ ,/]+/).map(Number);
  const [r, g, b] = space === 'oklab' ? fromOklab(parts) : parts.map((v) => linear(space === 'color' ? v : v / 255));
  return { luminance: 0.2126 * r + 0.7152 * g + 0.0722 * b, alpha: parts.length > 3 ? parts[3] : 1 };
}
function ground(element) {
  for (let e = element; e; e = e.parentElement) {
    const found = getComputedStyle(e).backgroundColor;
    if (light(found).alpha === 1) return light(found).luminance;
  }
  return 1;
}
all('p, td, th, h1, h2, h3, figcaption, small, b, svg text').filter(visible).forEach((e) => {
  const style = getComputedStyle(e), ink = light(e.closest('svg') ? style.fill : style.color).luminance, under = ground(e);
  const contrast = (Math.max(ink, under) + 0.05) / (Math.min(ink, under) + 0.05);
  check(contrast >= 4.5 || (e.closest('.self, .same') && contrast >= 2),
    `"${plain(e.textContent).slice(0, 30)}" has a contrast of ${contrast.toFixed(2)} (${e.tagName} ${e.getAttribute('class')} in ${(e.closest('section') || {}).id})`);
});

const report = document.createElement('pre');
report.id = 'found';
report.textContent = [`checks ${checks} width ${window.innerWidth} dark ${matchMedia('(prefers-color-scheme: dark)').matches}`]
  .concat(Array.from(new Set(failures)).map((f) => `wrong ${f}`)).join('\n');
document.body.append(report);
