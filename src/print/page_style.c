/* SPDX-License-Identifier: Apache-2.0
 *
 * How reports look and move: the CSS of charts and pages, and the script of pages. Without the
 * script nothing is missing: it adds tooltips, sorting, and lifting one attention out of the
 * charts.
 *
 * The eight colours keep a distance of 9 or more in OKLab (x 100) from each other for normal,
 * protanopic, deuteranopic and tritanopic sight (Machado et al. 2009), and a contrast of 3:1 or
 * more with the ground, in light and in dark; Okabe and Ito's palette has 7.6 and 1.3. Text takes a
 * mixture with the ink, which has more than 4.5:1.
 */
#include "print/page_style.h"

#include <string.h>

static const char *const chart_style[] = {
    ":root{--paper:#faf9f6;--panel:#ffffff;--ink:#1d2126;--soft:#59616b;--line:#e5e3dd;--c0:#"
    "1364d5;--c1:#bd400f;--c2:#13645d;--c3:#a02f9f;--c4:#b18814;--c5:#6b1024;--c6:#398ff3;--c7:#"
    "797c84}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#131619;--panel:#1a1e22;--ink:#e9e7e2;--soft:#"
    "a3aab3;--line:#30353b;--c0:#4f9fff;--c1:#ff732f;--c2:#4ee19e;--c3:#c974cb;--c4:#ffe940;--c5:#"
    "a95364;--c6:#aff8f4;--c7:#9ea292}}\n"
    ".c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{"
    "--c:var(--c5)}.c6{--c:var(--c6)}.c7{--c:var(--c7)}\n",

    ".oa{display:block;width:100%;height:auto;overflow:visible}\n"
    ".oa text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica "
    "Neue',Arial,sans-serif;fill:var(--soft)}\n"
    ".oa .name{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans "
    "Mono',monospace;fill:var(--ink);fill:color-mix(in oklab,var(--c) "
    "45%,var(--ink));paint-order:stroke;stroke:var(--panel);stroke-width:3px;stroke-linejoin:round}"
    "\n"
    ".oa .note,.oa .tick{font-variant-numeric:tabular-nums}.oa .hint{font-style:italic}\n"
    ".oa "
    ".paper{fill:var(--panel)}.grid{stroke:var(--line)}.axis{stroke:var(--soft);stroke-opacity:.6;"
    "fill:none}\n"
    ".zero{stroke:var(--ink);stroke-width:1.25}\n"
    ".margin{fill:var(--soft);fill-opacity:.13}.edge{fill:none;stroke:var(--soft);stroke-dasharray:"
    "4 3}\n",

    ".line{fill:none;stroke:var(--c);stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}"
    "\n"
    ".faint{stroke-width:1;stroke-opacity:.4}.d1{stroke-dasharray:7 4}.d2{stroke-dasharray:2 "
    "4}.d3{stroke-dasharray:10 4 2 4}\n"
    ".band{fill:var(--c);fill-opacity:.16;stroke:none}.dot{fill:var(--panel);stroke:var(--c);"
    "stroke-width:1.75}.hit{fill:var(--c);fill-opacity:0}.hit:hover{fill-opacity:.35}\n"
    ".point{fill:var(--c);stroke:var(--panel);stroke-width:1.5}.ring{fill:none;stroke:var(--ink);"
    "stroke-width:1.25}\n"
    ".bar{stroke:var(--c);stroke-width:2;stroke-opacity:.55}.span{stroke:var(--c);stroke-width:5;"
    "stroke-opacity:.5}\n"
    ".share{fill:var(--c);fill-opacity:.75}.whisker{stroke:var(--ink);stroke-width:1.25}\n"
    ".arrow{fill:var(--c)}.tie{stroke:var(--c);stroke-opacity:.6;fill:none}\n"
    ".front{fill:none;stroke:var(--soft);stroke-width:1.25;stroke-dasharray:5 4}\n",
};

static const char *const page_style[] = {
    "*{box-sizing:border-box}html{color-scheme:light dark;-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.6 "
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\n"
    "main{max-width:1140px;margin:0 auto;padding:56px 28px 40px}\n"
    "code,.spec{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans "
    "Mono',monospace;font-size:.92em;overflow-wrap:anywhere}\n"
    ".above{margin:0 0 "
    "14px;max-width:none;color:var(--soft);font-size:.8rem;letter-spacing:.09em;text-transform:"
    "uppercase}\n"
    "h1{margin:0;max-width:30em;font:600 clamp(1.4rem,1rem + 1.9vw,2.1rem)/1.3 'Iowan Old "
    "Style','Palatino Linotype',Palatino,Charter,'Bitstream "
    "Charter',Georgia,serif;letter-spacing:-.005em;text-wrap:pretty}\n"
    "h1 code{font-size:.8em;font-weight:500;background:color-mix(in srgb,var(--ink) "
    "7%,transparent);padding:.06em .3em;border-radius:5px}\n"
    "h2{margin:64px 0 6px;font:600 1.3rem/1.3 'Iowan Old Style','Palatino "
    "Linotype',Palatino,Charter,'Bitstream Charter',Georgia,serif}\n"
    ".lead{margin:14px 0 0;font-size:1.06rem;max-width:46em}.lead code{font-size:.9em}\n"
    "h3{margin:28px 0 "
    "6px;font-size:1rem}p,ul{max-width:44em}h2+p{margin-top:0;color:var(--soft)}a{color:var(--c0)}"
    "\n"
    "footer{margin-top:72px;padding-top:14px;border-top:1px solid "
    "var(--line);color:var(--soft);font-size:.85rem}\n",

    ".facts{display:flex;flex-wrap:wrap;gap:10px 36px;margin:26px "
    "0;padding:0;list-style:none;max-width:none}\n"
    ".facts "
    "b{display:block;font-size:1.1rem;font-weight:600;font-variant-numeric:tabular-nums}.facts "
    "span{color:var(--soft);font-size:.82rem}\n"
    "figure,.panel{margin:18px 0 0;padding:20px 22px;background:var(--panel);border:1px solid "
    "var(--line);border-radius:12px}\n"
    ".pair{display:grid;grid-template-columns:1fr;gap:20px}.pair "
    "figure{margin:0}.pair{margin-top:18px}\n"
    "figcaption{margin:0 0 10px;color:var(--soft);font-size:.9rem;max-width:48em}figcaption "
    "b{display:block;color:var(--ink);font-size:1rem;font-weight:600}\n"
    ".wide{display:none}.narrow{max-width:520px;margin:0 auto}\n"
    "@media(min-width:760px){.wide{display:block}.narrow{display:none}}\n"
    ".half{max-width:600px;margin:0 auto}\n"
    "@media(min-width:980px){.pair{grid-template-columns:1fr 1fr}.half{max-width:none}}\n",

    ".scroll{overflow-x:auto;max-width:100%}\n"
    "table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums;line-height:"
    "1.35}\n"
    "caption{text-align:left;color:var(--soft);padding:0 0 8px;font-size:.85rem}\n"
    "th,td{padding:9px 11px;text-align:left;vertical-align:top;border-bottom:1px solid "
    "var(--line);white-space:nowrap}\n"
    "thead "
    "th{color:var(--soft);font-weight:500;font-size:.78rem;vertical-align:bottom;white-space:pre-"
    "line}\n"
    "tbody th{font-weight:500}tbody tr:last-child>*{border-bottom:0}.num{text-align:right}\n"
    "td small,th small{display:block;color:var(--soft);font-size:.76rem;font-weight:400}\n"
    ".results{padding:8px 6px}.results tbody "
    "th{white-space:normal;width:100%;min-width:13em;max-width:26em}.named{display:flex;align-"
    "items:baseline}.named .swatch{flex:none}.results table{width:100%}\n"
    ".results .verdict{white-space:normal}@media(max-width:1100px){.results th,.results "
    "td{padding:9px 7px}.results tbody th{min-width:9em}}\n"
    "@media(max-width:759px){.results tbody "
    "th{min-width:9em;max-width:9em;position:sticky;left:0;background:var(--panel);z-index:1}}\n"
    ".results summary{padding:4px 11px}.results "
    "details{border:0!important}tr.reference>*{background:color-mix(in srgb,var(--c0) "
    "6%,var(--panel))}\n"
    "th[aria-sort]{cursor:pointer}th[aria-sort]:hover{color:var(--ink)}th[aria-sort=ascending]::"
    "after{content:' ↑'}th[aria-sort=descending]::after{content:' ↓'}\n",

    ".swatch{display:inline-block;width:.72em;height:.72em;margin-right:.55em;border-radius:50%;"
    "background:var(--c)}.swatch.again{background:none;border:.2em solid var(--c)}\n"
    ".verdict{display:inline-block;padding:1px 9px;border:1px solid "
    "var(--line);border-radius:99px;font-size:.8rem;white-space:nowrap}\n"
    ".v0{background:#136c3c;border-color:#136c3c;color:#fff}.v1{border-color:var(--c0);color:var(--"
    "ink)}.v2{color:var(--soft)}.v3,.v4,.v6,.v7{border-style:dashed;border-color:var(--soft)}.v8{"
    "color:var(--soft);border-style:dotted;border-color:var(--soft)}.v5{border-color:#c2331f;color:"
    "var(--ink)}.v9{border-color:#136c3c;color:var(--ink)}.v10{border-color:var(--c0);color:var(--"
    "ink)}\n"
    ".pairs td,.pairs th{text-align:center}.pairs tbody "
    "th{text-align:left;white-space:normal;min-width:9em}\n"
    ".pairs .better{background:color-mix(in srgb,#136c3c 20%,var(--panel))}.pairs "
    ".worse{background:color-mix(in srgb,#c2331f 16%,var(--panel))}.pairs "
    ".good{background:color-mix(in srgb,var(--c0) 14%,var(--panel))}.pairs "
    ".self{color:var(--soft)}.pairs b{display:block;font-weight:600}\n"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 8px;margin:0 0 "
    "12px;padding:0;list-style:none;max-width:none;font-size:.85rem}\n"
    ".legend li{padding:3px 10px;border:1px solid "
    "var(--line);border-radius:99px;max-width:100%}.legend "
    "li[role]{cursor:pointer;user-select:none}.legend "
    "li[aria-pressed=false]{opacity:.45;text-decoration:line-through}\n"
    ".switches{display:flex;flex-wrap:wrap;gap:8px 22px;margin:0 0 "
    "12px}fieldset{display:inline-flex;flex-wrap:wrap;gap:4px "
    "14px;margin:0;padding:0;border:0;font-size:.9rem}fieldset "
    "label{cursor:pointer}legend{float:left;padding:0;margin-right:12px;color:var(--soft)}\n",

    /* propositions: a table on a wide page, one card under the other on a narrow one */
    ".claims table,.glance table{width:100%}.claims tbody th,.glance "
    "th{white-space:normal;width:100%}.claims tbody th{min-width:16em}.claims{padding:8px "
    "6px}.claims small{max-width:46em;white-space:normal}.claims .num "
    "small{white-space:nowrap}.glance th,.glance td{padding:6px "
    "4px}sub{font-size:.72em;line-height:0}\n"
    "@media(max-width:759px){.claims thead{display:none}.claims "
    "tr{display:grid;grid-template-columns:auto auto auto;gap:0 12px;padding:10px "
    "0;border-bottom:1px solid var(--line)}.claims tr:last-child{border:0}.claims "
    "tr>*{border:0;padding:3px 10px;text-align:left;white-space:normal}.claims tbody "
    "th{min-width:0}.claims tr>th,.claims tr>td:last-child{grid-column:1/-1}.claims "
    "td[data-label]::before{content:attr(data-label);display:block;color:var(--soft);font-size:."
    "74rem}.claims .num small{white-space:normal}}\n",

    "@supports "
    "selector(:has(*)){.plot{display:none}.curves:has(#valid:checked):has(#steps:checked) "
    ".p0,.curves:has(#valid:checked):has(#time:checked) "
    ".p1,.curves:has(#train:checked):has(#steps:checked) "
    ".p2,.curves:has(#train:checked):has(#time:checked) .p3{display:block}}\n"
    "section>.fold{margin-top:0;padding:14px "
    "0}.fold>summary>h2{display:inline;margin:0}.fold[open]>summary{margin-bottom:14px}.fold:last-"
    "of-type{border-bottom:0}\n"
    "details{border-top:1px solid var(--line);padding:10px "
    "0}details:last-of-type{border-bottom:1px solid var(--line)}summary{cursor:pointer}summary "
    ".aside{color:var(--soft);font-size:.88rem;margin-left:.6em}details[open]>summary{margin-"
    "bottom:10px}figure details{margin-top:14px;border-bottom:0!important}\n"
    ".columns{columns:2 24em;column-gap:36px}.columns>*{break-inside:avoid}.columns "
    "table{width:100%;table-layout:fixed;margin-bottom:18px}.columns "
    "caption{color:var(--ink);font-weight:600}.columns "
    "td{white-space:normal;overflow-wrap:anywhere;padding:5px 8px}.columns "
    "tr.same{color:var(--soft)}\n"
    "dl.method{columns:2 24em;column-gap:48px;margin:12px 0 0;font-size:.94rem}dl.method "
    "div{break-inside:avoid;padding-bottom:14px}dl.method dt{font-weight:600}dl.method "
    "dd{margin:0}\n"
    ".off{display:none}.dim{opacity:.13}\n"
    "#tip{position:fixed;z-index:9;max-width:22em;padding:6px "
    "10px;border-radius:7px;background:var(--ink);color:var(--paper);font-size:.8rem;line-height:1."
    "4;white-space:pre-line;pointer-events:none;font-variant-numeric:tabular-nums}\n"
    "@media(max-width:600px){main{padding:30px 16px}figure,.panel{padding:14px "
    "12px}.panel.results{padding:4px 0}.facts{display:grid;grid-template-columns:1fr "
    "1fr}h2{margin-top:48px}}\n"
    "@media print{main{padding:0;max-width:none}figure,.panel{break-inside:avoid}}\n",
};

static const char *const page_script[] = {
    "(function(){'use strict';\n"
    "var all=function(q,e){return Array.from((e||document).querySelectorAll(q));};\n"
    /* tooltips */
    "var "
    "tip=document.createElement('div');tip.id='tip';tip.hidden=true;document.body.append(tip);\n"
    "document.addEventListener('pointermove',function(e){\n"
    "  var t=e.target.closest&&e.target.closest('[data-tip]');tip.hidden=!t;if(!t)return;\n"
    "  tip.textContent=t.dataset.tip;\n"
    "  var x=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-8),y=e.clientY+16;\n"
    "  if(y+tip.offsetHeight>innerHeight-8)y=e.clientY-tip.offsetHeight-12;\n"
    "  tip.style.left=Math.max(8,x)+'px';tip.style.top=y+'px';});\n",
    /* one attention lifted out of the charts, or taken out of them */
    "function lift(s){all('svg "
    "[data-series]').forEach(function(e){e.classList.toggle('dim',s!==null&&e.dataset.series!==s);}"
    ");}\n"
    "all('.legend li,tr[data-series]').forEach(function(e){\n"
    "  e.addEventListener('pointerenter',function(){lift(e.dataset.series);});\n"
    "  e.addEventListener('pointerleave',function(){lift(null);});});\n"
    "all('.legend li').forEach(function(e){\n"
    "  e.tabIndex=0;e.setAttribute('role','button');e.setAttribute('aria-pressed','true');\n"
    "  function flip(){var on=e.getAttribute('aria-pressed')==='true';\n"
    "    all('.legend "
    "li[data-series=\"'+e.dataset.series+'\"]').forEach(function(l){l.setAttribute('aria-pressed',"
    "on?'false':'true');});\n"
    "    all('svg "
    "[data-series=\"'+e.dataset.series+'\"]').forEach(function(p){p.classList.toggle('off',on);});}"
    "\n"
    "  e.addEventListener('click',flip);\n"
    "  e.addEventListener('keydown',function(k){if(k.key==='Enter'||k.key===' "
    "'){k.preventDefault();flip();}});});\n",
    /* sorting */
    "all('table.sortable').forEach(function(t){var heads=all('thead th',t);\n"
    "  heads.forEach(function(h,i){h.tabIndex=0;h.setAttribute('aria-sort','none');\n"
    "    function sort(){var up=h.getAttribute('aria-sort')!=='ascending',body=t.tBodies[0];\n"
    "      heads.forEach(function(o){o.setAttribute('aria-sort','none');});\n"
    "      h.setAttribute('aria-sort',up?'ascending':'descending');\n"
    "      var key=function(r){var c=r.cells[i],v=c.dataset.v;return "
    "v===undefined?c.textContent:v===''?Infinity:+v;};\n"
    "      Array.from(body.rows).sort(function(a,b){var x=key(a),y=key(b);\n"
    "        var d=typeof x==='string'?x.localeCompare(y):x===y?0:x-y;return "
    "up?d:-d;}).forEach(function(r){body.append(r);});}\n"
    "    h.addEventListener('click',sort);\n"
    "    h.addEventListener('keydown',function(k){if(k.key==='Enter'||k.key===' "
    "'){k.preventDefault();sort();}});});});\n"
    "addEventListener('beforeprint',function(){all('details').forEach(function(d){d.open=true;});})"
    ";\n"
    "})();\n",
};

static void add_all(const char *const *pieces, size_t count, struct oa_text *out)
{
    for (size_t i = 0; i < count; i++)
        oa_text_add(out, pieces[i], strlen(pieces[i]));
}

void oa_svg_style(struct oa_text *out)
{
    add_all(chart_style, sizeof chart_style / sizeof *chart_style, out);
}

void oa_page_style(struct oa_text *out)
{
    oa_svg_style(out);
    add_all(page_style, sizeof page_style / sizeof *page_style, out);
}

void oa_page_script(struct oa_text *out)
{
    add_all(page_script, sizeof page_script / sizeof *page_script, out);
}
