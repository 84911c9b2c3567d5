"""Which short prompt a very small model can follow: the demo's questions over their two gold sentences.

    python -m pagerag_lab.benchmarks.small_prompts [--reader smollm2]

Prints each answer and whether it is right. This is how the examples in ``pagerag.read.prompts`` were chosen.
"""

from __future__ import annotations

import argparse
import time

from pagerag.read import reader
from pagerag.units import Candidate

CASES = (
    (
        "Which city was the composer of Interstellar born in?",
        (("Interstellar", "The score of Interstellar was composed by Hans Zimmer."),
         ("Hans Zimmer", "Zimmer was born in Frankfurt.")),
        "Frankfurt",
    ),
    (
        "Which river flows through the city where Marie Curie was born?",
        (("Marie Curie", "She was born in Warsaw in 1867 and left for Paris in 1891."),
         ("Warsaw", "It lies in the east of the country, and the Vistula flows through it.")),
        "Vistula",
    ),
    (
        "In which year did the architect who designed Park Güell die?",
        (("Park Güell", "It was designed by Antoni Gaudí for the industrialist Eusebi Güell."),
         ("Antoni Gaudí", "He was born in 1852, and he died in June 1926.")),
        "1926",
    ),
)  # fmt: skip


def main() -> None:
    """Ask every case and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reader", default="smollm2")
    made = reader(parser.parse_args().reader)
    right = 0
    for question, units, wanted in CASES:
        context = [Candidate(title, text, title=title) for title, text in units]
        started = time.perf_counter()
        answer = made.read(question, context)
        good = wanted.lower() in answer.text.lower()
        right += good
        print(f"{'right' if good else 'wrong'}  {time.perf_counter() - started:5.1f} s  {answer.text!r}")
    print(f"{right} of {len(CASES)} right")


if __name__ == "__main__":
    main()
