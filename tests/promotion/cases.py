"""The paper's examples with texts of our own: the missing hop is buried behind topical distractors."""

from __future__ import annotations

from pagerag import Candidate


def _units(*rows: tuple[str, int, str]) -> list[Candidate]:
    """(title, position, text) in retrieved order, with falling scores."""
    return [
        Candidate(
            id=f"{title}#{position}",
            text=text,
            title=title,
            source=title,
            position=position,
            score=1.0 - i * 0.03,
        )
        for i, (title, position, text) in enumerate(rows)
    ]


INTERSTELLAR_QUESTION = "Which city was the composer of Interstellar born in?"
INTERSTELLAR = _units(
    (
        "Interstellar (film)",
        0,
        "Interstellar is a 2014 science fiction film about a voyage through a wormhole.",
    ),
    (
        "Interstellar (film)",
        2,
        "The score of Interstellar was composed by Hans Zimmer, who played it on a church organ.",
    ),
    (
        "Christopher Nolan",
        0,
        "Christopher Nolan, who directed Interstellar, was born in London.",
    ),
    ("Christopher Nolan", 1, "Nolan also directed Inception and Dunkirk."),
    ("Interstellar (film)", 1, "Interstellar was directed by Christopher Nolan."),
    (
        "Kip Thorne",
        0,
        "Kip Thorne, born in Logan, advised the makers of Interstellar on physics.",
    ),
    ("Interstellar medium", 0, "The interstellar medium is the matter between the stars of a galaxy."),
    (
        "Matthew McConaughey",
        0,
        "Matthew McConaughey, who starred in Interstellar, was born in Uvalde.",
    ),
    ("London", 0, "London is the capital of England."),
    ("Film score", 0, "A film score is music written by a composer to accompany a film."),
    ("Dunkirk (film)", 0, "Dunkirk is a 2017 war film directed by Christopher Nolan."),
    ("Uvalde", 0, "Uvalde is the seat of a county in Texas that is known for its honey."),
    ("Hans Zimmer", 0, "Hans Zimmer was born in Frankfurt and moved to London as a teenager."),
    ("Logan, Utah", 0, "Logan lies in a valley in the north of Utah."),
)

HOTPOT_QUESTION = "Which team's 2013-2014 season had players including a Slovenian who plays at both point guard and shooting guard?"
HOTPOT = _units(
    ("Goran Dragic", 1, "Dragic can play both point guard and shooting guard."),
    (
        "Combo guard",
        0,
        "A combo guard combines the skills of two positions on the court.",
    ),
    ("Shooting guard", 0, "The shooting guard is one of the five positions in a basketball game."),
    ("Point guard", 0, "The point guard is often the smallest player on the court."),
    ("Guard (basketball)", 0, "Guards bring the ball up the court and set up plays."),
    ("Goran Dragic", 0, "Goran Dragic is a Slovenian professional basketball player."),
    ("Slovenia men's team", 0, "The Slovenian basketball team played several seasons of qualifying games."),
    (
        "2013-14 Phoenix Suns season",
        1,
        "Returning players for the Suns that season included Goran Dragic and P. J. Tucker.",
    ),
    ("Beno Udrih", 0, "Beno Udrih is a retired player who appeared at point guard for many teams."),
    ("2013-14 Euroleague", 0, "The 2013-14 Euroleague season had 24 teams from 14 countries."),
    ("Sixth man", 0, "The sixth man is a player who comes off the bench."),
    (
        "2013-14 Phoenix Suns season",
        0,
        "The 2013-14 Phoenix Suns season was the team's 46th season in the league.",
    ),
    ("Small forward", 0, "The small forward is often quicker than the power forward."),
)

MUSIQUE_QUESTION = "When did the first mosque open in the place where Tobolar Copra plant is located?"
MUSIQUE = _units(
    (
        "Islam in Australia",
        0,
        "The first mosque in Australia is thought to have opened at Marree in 1861, built by camel drivers.",
    ),
    (
        "Islam in England",
        0,
        "The first mosque in England opened in Liverpool in 1889, in the place of a terraced house.",
    ),
    ("Copra", 0, "Copra is the dried kernel of the coconut; a copra plant presses oil from it."),
    ("Islam in Ukraine", 0, "In Kyiv the first mosque to open after independence received visitors in 2000."),
    ("Nur ul-Ihsan Mosque", 0, "The mosque is located north of Phnom Penh and first opened in 1813."),
    ("Coconut oil", 0, "Coconut oil is pressed from copra in a plant or mill."),
    ("Wake Island", 0, "Wake Island lies north of the Marshall Islands and has an airfield."),
    ("Islam in Fiji", 0, "A mosque in Lautoka is located near a sugar plant."),
    ("Kiribati", 0, "Kiribati exports copra and fish."),
    (
        "Tobolar Copra",
        0,
        "Tobolar Copra is a processing plant in Majuro, in the Marshall Islands, that makes oil and soap.",
    ),
    ("Ebeye", 0, "Ebeye is the most populous island of Kwajalein Atoll."),
    (
        "Majuro",
        0,
        "Majuro is the capital of the Marshall Islands. Its first mosque was opened by the Ahmadiyya in September 2012.",
    ),
)

WIKI_QUESTION = "Who is Ibrahim Shah of Selangor's paternal grandfather?"
WIKI = _units(
    ("Selangor", 0, "Selangor is a state of Malaysia whose sultans have ruled since the 18th century."),
    ("Muhammad Shah of Selangor", 0, "Muhammad Shah of Selangor succeeded Ibrahim Shah as sultan."),
    ("Sultan of Selangor", 0, "The Sultan of Selangor is the head of the state and resides in Klang."),
    (
        "Abdul Samad of Selangor",
        0,
        "Abdul Samad was the fourth Sultan of Selangor and reigned for forty years.",
    ),
    ("Kuala Selangor", 0, "Kuala Selangor is an old royal town of Selangor."),
    (
        "Ibrahim Shah of Selangor",
        1,
        "He was born Raja Ibrahim bin Raja Lumu, the eldest son of Salehuddin Shah of Selangor.",
    ),
    ("Ibrahim Shah of Selangor", 0, "Ibrahim Shah of Selangor was the second Sultan of Selangor."),
    (
        "Paternal",
        0,
        "Paternal descent is traced through the father and his father, the paternal grandfather.",
    ),
    ("Bugis people", 0, "The Bugis founded several royal houses in the region."),
    ("Shah Alam", 0, "Shah Alam is the capital of Selangor."),
    ("Perak", 0, "Perak borders Selangor to the north."),
    (
        "Salehuddin Shah of Selangor",
        0,
        "Salehuddin Shah of Selangor was born Raja Lumu bin Daeng Chelak, a son of the Bugis prince Daeng Chelak.",
    ),
    ("Klang", 0, "Klang was once the seat of the sultans."),
)
