// SPDX-License-Identifier: Apache-2.0
// Run in the page of `orthant serve`: two tokens are clicked, and what is drawn is compared with the JSON of `inspect` in
// `inspected`, a list of { model, text, maps }. The value is a text of what was found.
(async () => {
  const wrong = [];
  let checks = 0;
  const check = (right, what) => { checks++; if (!right) wrong.push('wrong ' + what); };
  const sections = Array.from(document.querySelectorAll('section'));
  const until = async (ready) => {
    for (let i = 0; i < 3000 && !ready(); i++) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const tokensOf = (section) => Array.from(section.querySelectorAll('.text span'));
  const headsOf = (section) => Array.from(section.querySelectorAll('.map .head'));

  function checkMaps(section, { model, text, maps }) {
    const heads = maps.layers.flatMap((layer) => layer.heads.map((head) => ({ layer, head })));
    check(section.querySelector('select').value === model, model + ' is not selected');
    check(headsOf(section).length === heads.length, `${model}: ${headsOf(section).length} heads of ${heads.length}`);
    headsOf(section).forEach((row, k) => {
      const { layer, head } = heads[k], spans = Array.from(row.querySelectorAll('.weights span'));
      const name = `layer ${layer.layer + 1}, head ${head.head}, ${head.attention}`, last = head.map && head.map[head.map.length - 1];
      check(row.firstChild.textContent === (head.map ? name : name + ': no map'), `${model}: ${row.firstChild.textContent}`);
      if (!head.map) return check(spans.length === 0, `${model} ${name} shows weights`);
      check(spans.map((s) => s.textContent).join('') === text, `${model} ${name} reads ${row.lastChild.textContent}`);
      check(spans.length === last.length, `${model} ${name}: ${spans.length} tokens`);
      spans.forEach((s, j) => {
        const shade = Number((/^rgba\(.*, ([0-9.]+)\)$/.exec(s.style.backgroundColor) || [0, 1])[1]);
        check(Number(s.title.split(' ').pop()) === last[j], `${model} ${name} ${j}: ${s.title} instead of ${last[j]}`);
        check(Math.abs(shade - Math.min(1, Math.abs(last[j]))) < 0.006, `${model} ${name} ${j}: ${s.style.backgroundColor}`);
      });
    });
    return heads.length;
  }

  async function clickToken(section, index, expected) {
    sections.forEach((s) => s.querySelector('.map').replaceChildren());
    tokensOf(section)[index].click();
    await until(() => sections.every((s) => headsOf(s).length || s.querySelector('.map .error')));
    check(document.querySelectorAll('.clicked').length === 1, 'not one token is marked');
    check(tokensOf(section)[index].classList.contains('clicked'), 'another token is marked');
    sections.forEach((s, i) => checkMaps(s, expected[i]));
  }

  // the address ends with #To%20be: 40 tokens go on from it
  await until(() => sections.every((s) => tokensOf(s).length === 45));
  sections.forEach((s, i) => {
    check(s.querySelector('.about').textContent === about[i], `${s.querySelector('.about').textContent} instead of ${about[i]}`);
    check(s.querySelectorAll('.text .prompt').length === 5, 'not 5 tokens are the prompt');
  });
  await clickToken(sections[0], 3, inspected.slice(0, 2)); // "To b"
  document.getElementById('tokens').value = 0;
  document.querySelector('button').click();
  await until(() => sections.every((s) => tokensOf(s).length === 5));
  await clickToken(sections[1], 4, inspected.slice(2, 4)); // "To be", the last one
  check(!document.querySelector('.error'), 'an error is shown');
  return [`checks ${checks} wrong ${wrong.length}`, ...wrong].join('\n');
})();
