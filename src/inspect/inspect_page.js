// Draws each attention map as wide as its card, with its tokens along both axes where a cell is large enough for them.
// The pointer reads a weight off any map; a click, or Enter, opens a map with all its tokens. Without this script the
// page has the same maps as plain pictures.
(function () {
  'use strict';
  const NS = 'http://www.w3.org/2000/svg';
  const LEGIBLE = 9;   // pixels of a cell that a token fits next to
  const LARGEST = 44;  // pixels of a cell in a card
  const LETTERS = 12;  // of a token next to a map in a card

  const names = (id) => Array.from(document.querySelectorAll('#' + id + ' li'), (item) => item.textContent);
  const cut = (name, letters) => {
    const all = Array.from(name);
    return all.length > letters ? all.slice(0, letters - 1).join('') + '…' : name;
  };

  function add(parent, tag, attributes, text) {
    const element = document.createElementNS(NS, tag);
    for (const key of Object.keys(attributes)) element.setAttribute(key, attributes[key]);
    if (text) element.textContent = text;
    parent.append(element);
    return element;
  }

  // The page's colours: OKLab along the scale from 0 to 1, as src/print/heat_image.c makes them.
  function color(share) {
    const srgb = (x) => {
      const part = Math.min(1, Math.max(0, x));
      return Math.round(255 * (part <= 0.0031308 ? 12.92 * part : 1.055 * Math.pow(part, 1 / 2.4) - 0.055));
    };
    const light = 0.2 + 0.75 * share, chroma = 0.06 + 0.05 * share, hue = (285 - 185 * share) * Math.PI / 180;
    const a = chroma * Math.cos(hue), b = chroma * Math.sin(hue);
    const l = Math.pow(light + 0.3963377774 * a + 0.2158037573 * b, 3);
    const m = Math.pow(light - 0.1055613458 * a - 0.0638541728 * b, 3);
    const s = Math.pow(light - 0.0894841775 * a - 1.291485548 * b, 3);
    return [srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
            srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
            srgb(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s)];
  }
  const levels = Array.from({ length: 255 }, (_, i) => color(i / 254));
  const known = new Map(); // level of a colour

  function level(pixel) {
    let best = 0, least = Infinity;
    levels.forEach((candidate, i) => {
      const distance = candidate.reduce((sum, part, k) => sum + Math.abs(part - pixel[k]), 0);
      if (distance < least) { least = distance; best = i; }
    });
    return best;
  }

  // The weight that a pixel stands for, to within its 255 levels; null: the key is not visible.
  function weight(pixel) {
    if (pixel[3] < 128) return null;
    const key = pixel.join();
    if (!known.has(key)) known.set(key, level(pixel));
    return (known.get(key) / 254) ** 2;
  }

  function pixels(img, columns, rows) {
    const canvas = document.createElement('canvas');
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext('2d');
    context.drawImage(img, 0, 0, columns, rows);
    return context.getImageData(0, 0, columns, rows).data;
  }

  function follow(svg, at, img, grid) {
    let data = null;
    svg.addEventListener('pointermove', (event) => {
      const box = svg.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left - grid.left) / grid.cell);
      const i = Math.floor((event.clientY - box.top - grid.top) / grid.cell);
      const inside = i >= 0 && j >= 0 && i < grid.rows.length && j < grid.columns.length;
      at.setAttribute('visibility', inside ? 'visible' : 'hidden');
      if (!inside) { delete svg.dataset.tip; return; }
      at.setAttribute('x', grid.left + j * grid.cell);
      at.setAttribute('y', grid.top + i * grid.cell);
      data = data || pixels(img, grid.columns.length, grid.rows.length);
      const w = weight(data.slice(4 * (i * grid.columns.length + j), 4 * (i * grid.columns.length + j) + 4));
      svg.dataset.tip = `query ${i} ${grid.rows[i]} → key ${j} ${grid.columns[j]}\n` +
        (w === null ? 'not visible' : 'weight about ' + w.toFixed(3));
    });
    svg.addEventListener('pointerleave', () => at.setAttribute('visibility', 'hidden'));
  }

  // The map of `img` in `parent`: cells of `cell(room left of labels)` pixels; tokens where these are legible.
  function draw(parent, img, letters, cell) {
    const rows = names(img.dataset.rows), columns = names(img.dataset.columns);
    const room = (list) => 8 + 6.7 * Math.min(letters, Math.max(...list.map((name) => Array.from(name).length)));
    const grid = { rows, columns, left: room(rows), top: room(columns) };
    grid.cell = cell(columns.length, grid.left);
    if (grid.cell < LEGIBLE) {
      grid.left = grid.top = 1;
      grid.cell = cell(columns.length, 1);
    }
    const width = columns.length * grid.cell, height = rows.length * grid.cell;
    const svg = add(parent, 'svg', { width: grid.left + width + 1, height: grid.top + height + 1, role: 'img',
                                     'aria-label': img.alt });
    add(svg, 'image', { href: img.src, x: grid.left, y: grid.top, width, height, preserveAspectRatio: 'none' });
    add(svg, 'rect', { class: 'edge', x: grid.left, y: grid.top, width, height });
    if (grid.left > 1) {
      rows.forEach((name, i) => add(svg, 'text', { x: grid.left - 5, y: grid.top + (i + 0.5) * grid.cell + 3.5,
                                                   'text-anchor': 'end' }, cut(name, letters)));
      columns.forEach((name, j) => {
        const x = grid.left + (j + 0.5) * grid.cell + 3.5, y = grid.top - 5;
        add(svg, 'text', { x, y, transform: `rotate(-90 ${x} ${y})` }, cut(name, letters));
      });
    }
    const at = add(svg, 'rect', { class: 'at', width: grid.cell, height: grid.cell, visibility: 'hidden' });
    follow(svg, at, img, grid);
    return svg;
  }

  const large = document.createElement('div');
  let opener = null;
  large.id = 'large';
  large.hidden = true;
  large.setAttribute('role', 'dialog');
  large.setAttribute('aria-label', 'a map with its tokens');
  document.body.append(large);

  function close() {
    large.hidden = true;
    if (opener) opener.focus();
    opener = null;
  }
  document.addEventListener('keydown', (key) => { if (key.key === 'Escape' && !large.hidden) close(); });

  function open(map, img) {
    const button = document.createElement('button'), title = document.createElement('h2');
    button.textContent = 'Close';
    button.onclick = close;
    title.textContent = img.alt;
    large.replaceChildren(button, title);
    large.hidden = false;
    draw(large, img, 24, (count, left) =>
      Math.max(13, Math.min(LARGEST, Math.floor((large.clientWidth - 44 - left) / count))));
    button.focus();
    opener = map;
  }

  document.querySelectorAll('.map').forEach((map) => {
    const img = map.querySelector('img');
    let width = 0;
    const show = () => {
      if (map.clientWidth === width) return;
      width = map.clientWidth;
      map.querySelectorAll('svg').forEach((old) => old.remove());
      draw(map, img, LETTERS, (count, left) => Math.min(LARGEST, (width - left - 2) / count));
    };
    img.hidden = true;
    img.style.display = 'none';
    show();
    new ResizeObserver(show).observe(map);
    map.tabIndex = 0;
    map.setAttribute('role', 'button');
    map.setAttribute('aria-label', 'enlarge the ' + img.alt);
    map.addEventListener('click', () => open(map, img));
    map.addEventListener('keydown', (key) => {
      if (key.key !== 'Enter' && key.key !== ' ') return;
      key.preventDefault();
      open(map, img);
    });
  });
})();
