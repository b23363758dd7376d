/**
 * The one stylesheet of all pages: light, dark and print, from 400 px width. Colours meet WCAG AA on their backgrounds.
 */

const LIGHT = `
--page:#f3f4f6;--card:#fff;--ink:#1c2128;--faint:#59626d;--line:#d5dae1;--link:#1d57b3;--code:#eef1f4;
--good:#1a7544;--warning:#8f5400;--bad:#b3261e;--used:#2f6fde;--band:#8fb3f0;--rest:#dfe4ea;--mark:#b3261e;--alert:#fff5e0;
--fill-good:#2e9e66;--fill-warning:#d9962a;--fill-bad:#d04a40;--fill-none:#b9c1cb;
--line-1:#b3261e;--line-2:#1a7544;--line-3:#8f5400;--line-4:#7a3fb0;--line-5:#00788a;color-scheme:light`;

const DARK = `
--page:#0f1216;--card:#181c22;--ink:#e4e7eb;--faint:#9fa9b4;--line:#313944;--link:#8ab4ff;--code:#262d36;
--good:#4cc38a;--warning:#f0b04f;--bad:#ff8f87;--used:#5b93f5;--band:#34548c;--rest:#2a3038;--mark:#ff8f87;--alert:#33270f;
--fill-good:#3fb27f;--fill-warning:#d99a2b;--fill-bad:#e5635a;--fill-none:#4a545f;
--line-1:#ff8f87;--line-2:#4cc38a;--line-3:#f0b04f;--line-4:#c49bff;--line-5:#4cc9d9;color-scheme:dark`;

const PAGE = `
*{box-sizing:border-box}
html{font:15px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;background:var(--page);color:var(--ink)}
body{margin:0}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-999px}.skip:focus{left:8px;top:8px;background:var(--card);padding:8px}
header{display:flex;flex-wrap:wrap;gap:8px 20px;align-items:center;padding:8px max(20px,calc((100% - 1460px)/2));background:var(--card);border-bottom:1px solid var(--line)}
header nav{display:flex;flex-wrap:wrap;gap:4px 18px;flex:1}
header nav a{padding:4px 0;text-decoration:none;border-bottom:2px solid transparent}header nav a:hover{border-color:var(--line)}
header nav a[aria-current]{color:var(--ink);font-weight:600;border-color:var(--link)}
.brand{display:flex;gap:8px;align-items:center;font-weight:700;color:var(--ink);text-decoration:none}
header form,.filters{display:flex;flex-wrap:wrap;gap:6px;align-items:end}
main{max-width:1500px;margin:0 auto;padding:12px 20px 32px}main:focus{outline:none}
footer{padding:12px max(20px,calc((100% - 1460px)/2));color:var(--faint);font-size:13px}
h1{font-size:22px;line-height:28px;margin:8px 0;overflow-wrap:anywhere}
h2{font-size:16px;line-height:22px;margin:0 0 8px}
p.command code{display:inline-block;font-size:15px;padding:7px 11px}
p{margin:4px 0 8px;max-width:75em;overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px 16px;margin:12px 0}
.faint{color:var(--faint)}.good{color:var(--good)}.warning{color:var(--warning)}.bad{color:var(--bad)}
.alert{background:var(--alert);border-radius:6px;padding:8px 12px}ul.alert{padding-left:28px}
code{font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);border-radius:4px;padding:1px 5px;overflow-wrap:anywhere}
ul{margin:4px 0 8px;padding-left:20px}li.under{margin-left:20px}h3{font-size:15px;margin:10px 0 4px}li,dd{overflow-wrap:anywhere}
dl.pairs{display:grid;grid-template-columns:minmax(7em,max-content) 1fr;gap:3px 16px;margin:0}dl.pairs dt{color:var(--faint)}dl.pairs dd{margin:0}
dl.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:14px 24px;margin:0}
dl.tiles dt{color:var(--faint);font-size:13px}dl.tiles dd{margin:0;font-size:17px;font-weight:600;font-variant-numeric:tabular-nums}dl.tiles small{display:block;font-size:13px;font-weight:400;color:var(--faint)}dl.tiles svg{margin-top:4px}
`;

const FORMS = `
label{display:flex;flex-direction:column;font-size:13px;color:var(--faint)}
input,select,button{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--faint);border-radius:5px;padding:4px 8px;height:34px;max-width:100%}
button{background:var(--code);cursor:pointer}
::placeholder{color:var(--faint);opacity:1}
.filters input{width:10em}.filters .wide input{width:20em}
`;

const TABLES = `
.scroll{overflow-x:auto}
table{border-collapse:collapse;min-width:min(100%,36em);font-variant-numeric:tabular-nums}
.caption{color:var(--faint);font-size:13px;margin:0 0 4px}
section>.caption:first-child{color:var(--ink);font-size:16px;font-weight:600;margin:0 0 8px}
th{font-weight:400;color:var(--faint);font-size:13px;text-align:left;vertical-align:bottom;white-space:nowrap}
th,td{padding:5px 22px 5px 0;border-bottom:1px solid var(--line)}
td{max-width:18em;overflow-wrap:break-word;vertical-align:top}
td code{white-space:nowrap}td.bar{width:170px;min-width:90px}td.bar svg{margin-top:7px;min-width:80px}
.right{text-align:right}td.right,td.short{white-space:nowrap}
tbody tr:last-child td{border-bottom:0}tbody tr:hover td{background:var(--code)}
.choices{display:flex;flex-wrap:wrap;gap:6px 8px;list-style:none;padding:0;margin:6px 0 10px}
.choices a,.choices strong{display:block;padding:2px 11px;border:1px solid var(--line);border-radius:14px;text-decoration:none;font-weight:400}.choices strong{background:var(--code);border-color:var(--faint);font-weight:600}
.paging{display:flex;gap:16px;margin:8px 0 0}
.tables{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,690px),1fr));gap:0 16px}.tables section{min-width:0}.tables th,.tables td{padding-right:14px}
.halves{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:0 16px}
`;

const CHARTS = `
svg{display:block;max-width:100%}svg.plot{margin-left:72px;width:calc(100% - 72px);overflow:visible}.reading{margin-left:72px}svg.map{height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--faint);paint-order:stroke;stroke:var(--card);stroke-width:3px;stroke-linejoin:round}
svg .ink{fill:var(--ink)}svg .area{fill:var(--used);fill-opacity:.25}svg .curve{fill:none;stroke:var(--used);stroke-width:2}
svg .used{fill:var(--used)}svg .band{fill:var(--band)}svg .rest{fill:var(--rest)}
svg .fill-good{fill:var(--fill-good)}svg .fill-warning{fill:var(--fill-warning)}svg .fill-bad{fill:var(--fill-bad)}svg .fill-none{fill:var(--fill-none)}
svg .limit{stroke:var(--mark);stroke-width:2;stroke-dasharray:6 4}svg .limit-text{fill:var(--bad)}
svg .asked{fill:none;stroke:var(--faint);stroke-width:1.5;stroke-dasharray:2 2}svg .fill-asked{fill:var(--faint)}
svg .advice{stroke:var(--good);stroke-width:2;stroke-dasharray:8 3}svg .advice-text{fill:var(--good)}
svg .line-1{stroke:var(--line-1);stroke-dasharray:7 3}svg .line-2{stroke:var(--line-2);stroke-dasharray:3 2}svg .line-3{stroke:var(--line-3);stroke-dasharray:10 3 2 3}
svg .line-4{stroke:var(--line-4);stroke-dasharray:1 3}svg .line-5{stroke:var(--line-5);stroke-dasharray:14 4}
svg .typical{stroke:var(--faint);stroke-width:3;stroke-dasharray:5 5}
svg .cursor{stroke:var(--ink);stroke-width:1}svg[data-seconds]{cursor:crosshair;touch-action:pan-y;user-select:none}
.reading{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:center;font-size:13px}.reading input{flex:1 1 100%;height:auto;padding:0;margin:0}.reading output{flex:1;font-variant-numeric:tabular-nums}
svg .axis{stroke:var(--line);stroke-width:1}
.key{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px;color:var(--faint);margin:4px 0}
.key svg{display:inline-block;vertical-align:-1px;margin-right:5px}
`;

const PAPER = `
@media print{header,footer,.filters,.paging,.skip,.only-screen{display:none}body,html{background:#fff}main{padding:0;max-width:none}
section{border:0;padding:6px 0;break-inside:avoid}a{color:inherit;text-decoration:none}.scroll{overflow:visible}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
@media (max-width:620px){header,footer{padding:8px 12px}main{padding:8px 10px 24px}section{padding:10px 12px;border-radius:6px}dl.pairs{grid-template-columns:1fr;gap:0}dl.pairs dd{margin:0 0 6px}}
`;

export const STYLE = [
  `:root{${LIGHT}}`,
  `@media screen and (prefers-color-scheme:dark){:root{${DARK}}}`,
  PAGE,
  FORMS,
  TABLES,
  CHARTS,
  PAPER,
].join('\n');
