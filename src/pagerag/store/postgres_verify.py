"""Check a whole database of a corpus: every unit, and that the indexes agree with the units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pagerag.errors import StoreError
from pagerag.store.postgres_database import Lent
from pagerag.store.postgres_schema import LONGEST
from pagerag.store.postgres_snapshot import unescaped
from pagerag.store.verify import MOST_PROBLEMS, unit_problem
from pagerag.text.keys import key_number

_AT_ONCE = 500

# What must hold of the tables as a whole, each with a statement that counts where it does not.
_AGREEMENTS = {
    "units lack a vector": """
        SELECT count(*) FROM units u WHERE NOT EXISTS (SELECT FROM vectors v WHERE v.unit = u.unit)""",
    "vectors have no unit": """
        SELECT count(*) FROM vectors v WHERE NOT EXISTS (SELECT FROM units u WHERE u.unit = v.unit)""",
    "names have no unit": """
        SELECT count(*) FROM names n WHERE NOT EXISTS (SELECT FROM units u WHERE u.unit = n.unit)""",
    "units have no document": """
        SELECT count(*) FROM units u LEFT JOIN documents d ON d.number = u.document WHERE d.number IS NULL""",
    "documents do not count their units right": """
        SELECT count(*) FROM (SELECT d.number FROM documents d LEFT JOIN units u ON u.document = d.number
        GROUP BY d.number, d.units HAVING count(u.unit) <> d.units) x""",
    "sources come twice": "SELECT count(*) - count(DISTINCT source) FROM documents",
    "units are not in the index with all of their terms": """
        SELECT count(*) FROM units u FULL JOIN (
            SELECT (e >> 32)::int4 AS unit, count(*) AS terms, min(e >> 8 & 16777215) AS low,
                   max(e >> 8 & 16777215) AS high
            FROM postings CROSS JOIN LATERAL unnest(entries) AS e GROUP BY 1) p ON p.unit = u.unit
        WHERE u.unit IS NULL OR coalesce(p.terms, 0) <> cardinality(u.terms) OR p.low <> u.length
            OR p.high <> u.length""",
    "runs of postings overlap or are not in order": """
        SELECT count(*) FROM (SELECT p.first, p.last, p.entries, lead(p.first) OVER (PARTITION BY p.term
        ORDER BY p.first) AS next FROM postings p) x WHERE x.next <= x.last OR x.first > x.entries[1] >> 32
        OR x.last < x.entries[cardinality(x.entries)] >> 32""",
    "counters do not agree with the units": """
        SELECT count(*) FROM corpus c CROSS JOIN (SELECT count(*) AS live, coalesce(sum(length), 0) AS length,
        coalesce(max(unit), -1) AS last FROM units) u WHERE c.live <> u.live OR c.length <> u.length
        OR c.next_unit <= u.last""",
}


def problems_of(lent: Lent) -> list[str]:
    """Return what is wrong with a database, one sentence each; empty when all is sound."""
    found: list[str] = []
    shown = lent.database.shown
    try:
        with lent.database.told("reading"):
            lent.connection.execute("SET LOCAL statement_timeout = 0")
            _check_units(lent.connection, found)
            for what, statement in _AGREEMENTS.items():
                (wrong,) = lent.connection.execute(statement).fetchone()
                if wrong:
                    found.append(f"{wrong} {what}")
    except StoreError as damage:
        found.append(f"it cannot be read to its end: {damage}")
    return [f"{shown}: {one}" for one in found[:MOST_PROBLEMS]]


def _check_units(connection: Any, found: list[str]) -> None:
    query = (
        "SELECT u.unit, u.id_number, u.length, u.terms, u.body, d.source, d.path, d.digest, "
        "ARRAY(SELECT n.number FROM names n WHERE n.unit = u.unit) FROM units u "
        "LEFT JOIN documents d ON d.number = u.document WHERE u.unit > %s ORDER BY u.unit LIMIT %s"
    )
    last = -1
    while len(found) < MOST_PROBLEMS:
        rows = connection.execute(query, (last, _AT_ONCE), binary=True).fetchall()
        for unit, number, length, terms, body, source, path, digest, names in rows:

            def indexed(counts: Mapping[str, int], length: int = length, terms: list[int] = terms) -> bool:
                numbers = {key_number(term) for term in counts}
                return set(terms) == numbers and length == min(sum(counts.values()), LONGEST)

            document = unescaped(source or ""), unescaped(path or ""), digest or ""
            problem = unit_problem(bytes(body), document, number, indexed, set(names).issuperset)
            if problem:
                found.append(f"unit {unit} of {source}: {problem}")
        if len(rows) < _AT_ONCE:
            return
        last = rows[-1][0]
