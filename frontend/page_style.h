// The style sheet of the page.
#pragma once

#include <string_view>

namespace weft {

inline constexpr std::string_view page_style = R"css(
:root {
  color-scheme: light dark;
  --paper: #f7f7f4; --card: #ffffff; --ink: #1c2027; --soft: #5b6472; --line: #e2e3de; --well: #f0f0ec;
  --good: #2f7d4f; --warn: #b4540a;
  --s0: #3568a8; --s1: #c2602f; --s2: #43895a; --s3: #8456a5; --s4: #a8810c; --s5: #23858e; --s6: #b0456c; --s7: #6a7280;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #13161b; --card: #1a1e25; --ink: #e5e8ec; --soft: #98a2b0; --line: #2b313a; --well: #22272f;
    --good: #6fc48f; --warn: #f0a35c;
    --s0: #7aa8e6; --s1: #ee9a6c; --s2: #7cc695; --s3: #c096e0; --s4: #dcb94a; --s5: #63c3cc; --s6: #ea87ab; --s7: #9aa3b1;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 40px; }
code, pre, .mono, svg text { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.brand { margin: 0; color: var(--soft); font-size: 13px; letter-spacing: .06em; text-transform: uppercase; }
h1 { margin: 4px 0 16px; font-size: 22px; font-weight: 600; line-height: 1.35; overflow-wrap: anywhere; }
h1.long { font-size: 16px; }
h1 code { white-space: pre-wrap; }
h2 { margin: 0 0 10px; font-size: 16px; }
h3 { margin: 16px 0 6px; font-size: 14px; }
p { margin: 0 0 8px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 18px; margin: 0 0 16px; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 0 0 16px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 10px 14px; }
.tile b { display: block; font-size: 21px; font-weight: 600; line-height: 1.25; overflow-wrap: anywhere; }
.tile span { color: var(--soft); font-size: 12.5px; }
.lead { font-size: 17px; margin-bottom: 12px; overflow-wrap: anywhere; }
.strip { display: flex; height: 26px; border-radius: 6px; overflow: hidden; background: var(--well); }
.strip i { display: block; min-width: 1px; border-right: 1px solid var(--card); background: var(--c); }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 0; padding: 0; list-style: none; font-size: 13px; }
.key li { overflow-wrap: anywhere; min-width: 0; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; background: var(--c); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th { text-align: left; color: var(--soft); font-weight: 500; font-size: 12.5px; white-space: nowrap; }
th, td { padding: 4px 10px 4px 0; vertical-align: baseline; }
tbody tr + tr td { border-top: 1px solid var(--line); }
.nest tbody tr + tr td { border-top: 0; }
.nest tbody tr.times td { border-top: 1px solid var(--line); padding-top: 8px; color: var(--soft); }
.nest tbody tr.times:first-child td { border-top: 0; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th.n { text-align: right; }
.nest td.loop { min-width: 250px; }
.nest .for { white-space: nowrap; }
.nest .how { color: var(--soft); font-size: 12.5px; margin-left: 8px; }
.nest .product { min-width: 240px; overflow-wrap: anywhere; }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 9px; padding: 0 7px; margin-left: 6px;
  font-size: 11.5px; color: var(--soft); white-space: nowrap; }
.chip.on { color: var(--warn); border-color: currentColor; }
.chip.off { color: var(--good); border-color: currentColor; }
.bar { display: block; height: 14px; min-width: 2px; border-radius: 3px; background: var(--c); }
.track { width: 190px; min-width: 120px; }
.wide .track { width: 45%; }
.hot td { font-weight: 600; }
.far { color: var(--warn); font-weight: 600; }
.picture { text-align: center; }
svg .edge { fill: none; stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 4 3; }
svg .edge.shared { stroke-width: 2.6; stroke-dasharray: none; stroke: var(--c); }
svg .edge.leaf { stroke-dasharray: none; opacity: .55; }
svg .box { fill: var(--well); stroke: var(--line); }
svg .box.product { fill: var(--c); fill-opacity: .14; stroke: var(--c); stroke-width: 1.6; }
svg text { font-size: 12.5px; fill: var(--ink); text-anchor: middle; }
svg text.small { font-size: 11px; fill: var(--soft); font-family: system-ui, sans-serif; }
svg text.halo { paint-order: stroke; stroke: var(--card); stroke-width: 6px; stroke-linejoin: round; }
.c0 { --c: var(--s0); } .c1 { --c: var(--s1); } .c2 { --c: var(--s2); } .c3 { --c: var(--s3); }
.c4 { --c: var(--s4); } .c5 { --c: var(--s5); } .c6 { --c: var(--s6); } .c7 { --c: var(--s7); }
.plain { --c: var(--s7); }
ul.why { margin: 0; padding-left: 18px; }
ul.why li { margin: 3px 0; overflow-wrap: anywhere; }
pre { margin: 8px 0 0; padding: 10px 12px; background: var(--well); border-radius: 8px;
  overflow-x: auto; font-size: 12.5px; line-height: 1.45; }
details { margin-top: 6px; }
summary { cursor: pointer; color: var(--soft); }
footer { color: var(--soft); font-size: 12.5px; }
@media print { section, .tile { break-inside: avoid; } }
)css";

}  // namespace weft
