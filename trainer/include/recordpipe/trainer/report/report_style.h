// The style sheet of a report.
#pragma once

#include <string_view>

namespace recordpipe {

inline constexpr std::string_view kReportStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --text: #1c2430; --faint: #5b6675; --rule: #dfe3e8;
  --line0: #1d5fd1; --line1: #c2410c; --right: 29 95 209; --wrong: 214 84 20;
  --alert: #fff4d6; --alert-rule: #d9a400;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12161c; --card: #1b2129; --text: #e4e9f0; --faint: #9aa6b5; --rule: #333c48;
    --line0: #7db0ff; --line1: #ff9f5a; --right: 92 148 255; --wrong: 255 128 60;
    --alert: #3a3115; --alert-rule: #b98b00;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 1500px; background: var(--page); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; overflow-wrap: anywhere;
}
h1 { margin: .2rem 0 .6rem; font-size: 1.5rem; }
h2 { margin: 1.6rem 0 .3rem; font-size: 1.2rem; }
h3 { margin: 0; font-size: 1rem; }
h3 span { color: var(--faint); font-weight: normal; }
p { margin: .3rem 0 .8rem; }
figure { margin: 0; }
.note { color: var(--faint); font-size: .87rem; }
.alert { padding: .5rem .8rem; border-left: 4px solid var(--alert-rule); background: var(--alert); }
.charts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 430px), 1fr)); gap: 1rem;
}
.chart, .block, .facts {
  padding: .8rem 1rem; border: 1px solid var(--rule); border-radius: 8px; background: var(--card);
}
.chart figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0; padding: 0; list-style: none; }
.legend li::before {
  content: ""; display: inline-block; width: 1rem; height: 3px; margin-right: .4rem;
  vertical-align: middle; background: currentColor;
}
.legend b { color: var(--text); }
.legend .line0 { color: var(--line0); }
.legend .line1 { color: var(--line1); }
.plot {
  display: block; width: calc(100% - 60px); height: 200px; margin: 12px 12px 30px 48px;
  overflow: visible;
}
.plot text { fill: var(--faint); font-size: 12px; }
.plot .value { text-anchor: end; }
.plot .step { text-anchor: middle; }
.plot .grid line { stroke: var(--rule); }
.plot path { fill: none; stroke-width: 1.8px; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.plot path.line0 { stroke: var(--line0); }
.plot path.line1 { stroke: var(--line1); }
.plot circle.line0 { fill: var(--line0); }
.plot circle.line1 { fill: var(--line1); }
.bands rect { fill: var(--text); fill-opacity: 0; }
.bands rect:hover { fill-opacity: .15; }
.blocks {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 540px), 1fr)); gap: 1rem;
  margin-bottom: 1.4rem;
}
.block { min-width: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { font-weight: normal; text-align: left; }
th, td { white-space: nowrap; }
.confusion { font-size: .87rem; }
.confusion td { min-width: 2.9em; padding: .45em .3em; border: 1px solid var(--card); text-align: center; }
.confusion thead th { vertical-align: bottom; padding: .2em 0; }
.confusion thead span {
  display: inline-block; max-height: 9em; overflow: hidden; text-overflow: ellipsis;
  writing-mode: vertical-rl; transform: rotate(180deg);
}
.confusion tbody th { padding-right: .6em; text-align: right; }
tbody th { max-width: 9em; overflow: hidden; text-overflow: ellipsis; }
.classes { width: 100%; }
.classes th, .classes td { padding: .22em .5em; border-top: 1px solid var(--rule); }
.classes thead th { border-top: 0; color: var(--faint); }
.classes td, .classes th:last-child, .classes th:nth-child(2) { text-align: right; }
.classes .bar { width: 45%; }
.bar svg { display: block; width: 100%; height: .7em; background: var(--page); }
.bar rect { fill: var(--line0); }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(104px, 1fr)); gap: .9rem .6rem; }
.mistakes img { display: block; width: 96px; height: 96px; object-fit: contain; image-rendering: pixelated; }
.mistakes figcaption { margin-top: .2rem; font-size: .87rem; line-height: 1.3; }
.facts { columns: 300px; column-gap: 2rem; margin: .5rem 0; }
.facts div {
  display: flex; justify-content: space-between; gap: 1rem; padding: .12rem 0; break-inside: avoid;
  border-bottom: 1px solid var(--rule);
}
.facts dt { color: var(--faint); }
.facts dd { margin: 0; text-align: right; }
@media (max-width: 560px) {
  body { padding: .7rem; }
  .chart, .block, .facts { padding: .7rem .6rem; }
  .confusion { font-size: .74rem; }
  .confusion td { min-width: 2.35em; padding: .4em .1em; }
  .confusion tbody th { padding-right: .4em; }
  .classes { font-size: .87rem; }
  .classes th, .classes td { padding: .22em .3em; }
}
td.right { --shade: var(--right); }
td.wrong { --shade: var(--wrong); }
td.s0 { color: var(--faint); }
td.s1 { background: rgb(var(--shade) / .09); }
td.s2 { background: rgb(var(--shade) / .17); }
td.s3 { background: rgb(var(--shade) / .24); }
td.s4 { background: rgb(var(--shade) / .30); }
td.s5 { background: rgb(var(--shade) / .36); }
td.s6 { background: rgb(var(--shade) / .42); }
td.s7 { background: rgb(var(--shade) / .47); }
td.s8 { background: rgb(var(--shade) / .52); }
td.s9 { background: rgb(var(--shade) / .56); }
td.s10 { background: rgb(var(--shade) / .60); }
)css";

}  // namespace recordpipe
