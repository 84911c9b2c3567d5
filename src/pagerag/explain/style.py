"""The page's style: light and dark, one typeface that every system has."""

from __future__ import annotations

__all__ = ["DRAWING", "STYLE"]

_COLOURS = """
:root{--bg:#fbfaf8;--ink:#1d2327;--soft:#5b656d;--line:#dcdad5;--card:#fff;
--core:#1f8a5b;--core-bg:#e6f5ed;--fill:#b7791f;--fill-bg:#fdf3dc;--pool:#c2453d;--pool-bg:#fbeceb;
--ask:#2f5fb3;--ask-bg:#e7eefb;--name-bg:#eceae6}
@media(prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e8e6e3;--soft:#9aa4ab;--line:#33393e;--card:#1d2226;
--core:#4cc38a;--core-bg:#16301f;--fill:#e0b252;--fill-bg:#332911;--pool:#ef8078;--pool-bg:#381c1a;
--ask:#82aaf5;--ask-bg:#1a2540;--name-bg:#2a2f34}}
"""

DRAWING = (
    _COLOURS
    + """
svg text{font-family:inherit;fill:var(--ink)}svg .strong{font-weight:650}svg .badge,svg .faint{fill:var(--soft)}
svg .badge{letter-spacing:.03em}
.card{fill:var(--card);stroke:var(--line);stroke-width:1.4}
.card.core{fill:var(--core-bg);stroke:var(--core)}.card.fill{fill:var(--fill-bg);stroke:var(--fill)}
.card.pool{fill:var(--pool-bg);stroke:var(--pool)}
.card.question{fill:var(--ask-bg);stroke:var(--ask)}.card.answer{fill:var(--core);stroke:var(--core)}
.card.answer~text{fill:#fff}
.link{stroke:var(--soft);opacity:.75}.link.kept{stroke:var(--core);opacity:1}
.link.rejected{stroke:var(--pool);stroke-dasharray:5 4;opacity:.7}
.link.asked{stroke:var(--ask);opacity:.5;stroke-dasharray:2 4}
.pill rect{fill:var(--card);stroke:var(--soft)}.pill.kept rect{stroke:var(--core);stroke-width:1.6}
.pill.rejected rect{stroke:var(--pool)}
.edge{stroke:var(--line);stroke-width:1.1}.edge.oncore{stroke:var(--core);stroke-width:2}
.edge.adjacent{stroke-dasharray:2 3;stroke:var(--soft)}.edge.shared-entity,.edge.relation{stroke:var(--pool);opacity:.45}
.node{fill:var(--card);stroke:var(--soft);stroke-width:1.4}
.node.core{fill:var(--core-bg);stroke:var(--core);stroke-width:2.4}.node.fill{fill:var(--fill-bg);stroke:var(--fill)}
.node.document{fill:var(--soft);stroke:none}
.entity rect{fill:var(--name-bg);stroke:var(--line)}.entity.asked rect{fill:var(--ask-bg);stroke:var(--ask)}
"""
)
"""What the pictures need, for a picture that stands alone."""

STYLE = (
    DRAWING
    + """
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue","DejaVu Sans",sans-serif}
main{max-width:1240px;margin:0 auto;padding:32px 28px 64px}
h1{font-size:24px;line-height:1.25;margin:0 0 10px;letter-spacing:-.01em}
h2{font-size:13px;text-transform:uppercase;letter-spacing:.08em;color:var(--soft);margin:38px 0 12px}
.answer{font-size:19px;margin:0 0 12px;padding:10px 16px;border-left:4px solid var(--core);background:var(--core-bg);
border-radius:0 8px 8px 0}
.meta,.place,figcaption{color:var(--soft);font-size:13px}
.meta{display:flex;flex-wrap:wrap;gap:10px;align-items:center;margin:0}
.state{padding:2px 10px;border-radius:99px;font-weight:600;color:#fff;background:var(--core)}
.state.ambiguous{background:var(--fill)}.state.insufficient{background:var(--pool)}
.meter{width:90px;height:7px;border-radius:9px;background:var(--line);overflow:hidden;display:inline-block}
.meter i,.bar i{display:block;height:100%;background:var(--core)}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px}
.scroll{overflow-x:auto}svg{display:block;margin:0 auto;max-width:100%;height:auto}
figcaption{display:flex;flex-wrap:wrap;gap:18px;margin-top:10px}
.key{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;border:1.5px solid var(--soft)}
.key.core{background:var(--core-bg);border-color:var(--core)}.key.fill{background:var(--fill-bg);border-color:var(--fill)}
.key.pool{background:var(--pool-bg);border-color:var(--pool)}.key.asked{background:var(--ask-bg);border-color:var(--ask)}
.key.named{background:var(--name-bg);border-color:var(--line)}
.units{list-style:none;margin:0;padding:0;display:grid;gap:10px}
.units li{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--fill);border-radius:8px;
padding:10px 16px}.units li.core{border-left-color:var(--core)}.units p{margin:4px 0 0}
.tag{font-size:12px;border-radius:99px;padding:1px 9px;margin-left:6px;background:var(--fill-bg);color:var(--fill)}
.tag.core{background:var(--core-bg);color:var(--core)}.tag.cited{background:var(--ask-bg);color:var(--ask)}
mark{background:var(--core);color:#fff;border-radius:3px;padding:0 3px}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;color:var(--soft);font-weight:600;font-size:12.5px}
th,td{padding:6px 10px;border-bottom:1px solid var(--line);vertical-align:top}
.via{font-size:12px;border:1px solid var(--pool);color:var(--pool);border-radius:99px;padding:0 8px;white-space:nowrap}
.bar{width:120px;position:relative}.bar i{height:16px;border-radius:4px;opacity:.35;background:var(--soft)}
.bar span{position:absolute;left:16px;top:4px;font-size:12.5px}
.pool tr.core .bar i{background:var(--core);opacity:.55}.pool tr.fill .bar i{background:var(--fill);opacity:.5}
.pool tr.pool{color:var(--soft)}
details{margin-top:36px}summary{cursor:pointer;color:var(--soft)}
pre{overflow:auto;max-height:480px;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px;
font-size:12px}
@media print{body{background:#fff}figure,.units li{break-inside:avoid}}
"""
)
