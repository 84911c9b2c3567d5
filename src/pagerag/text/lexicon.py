"""Word lists: stop words, relation cues, answer types. Data, with a reason beside each list."""

from __future__ import annotations

QUESTION_WORDS = frozenset(["who", "whom", "whose", "what", "which", "when", "where", "why", "how"])
LISTING_WORDS = frozenset(["list", "name", "give", "enumerate"])
"""Words that open a request for several things."""

STOP_WORDS = frozenset(
    (
        "a about above after again against all also am an and any are as at be because been before being "
        "below between both but by can could did do does doing down during each few for from further had "
        "has have having he her here hers herself him himself his how i if in into is it its itself just me "
        "more most my myself no nor not now of off on once only or other our ours out over own same she "
        "should so some such than that the their theirs them themselves then there these they this those "
        "through to too under until up very was we were what when where which while who whom whose why will "
        "with would you your yours s t ll re ve d m"
    ).split()
)

# Words that may stand inside a name between two capitalised words: "Lord of the Rings", "Raja Lumu bin
# Daeng Chelak". "and" is left out: it joins two names more often than it belongs to one.
NAME_JOINERS = "of the de la le du des del della di da dos van von der den ter bin binti ibn al el y e"

# A sentence that opens with one of these speaks of what its neighbour or its title names.
PRONOUNS = frozenset(
    ["he", "she", "it", "they", "his", "her", "its", "their", "this", "these", "him", "them", "the"]
)

# What relation a word signals, in a question or in a sentence: the cues of rel_boost and of the bridge
# bonus. Kept to the relations that encyclopaedic questions chain.
RELATIONS: dict[str, str] = {
    "birth": "born birth birthplace birthdate birthday native née raised",
    "death": "died death die dies dead killed deceased burial buried assassinated murdered drowned executed "
    "suicide",
    "spouse": "married wife husband spouse wed widow marriage divorced consort marry marries wives husbands "
    "spouses",
    "parent": "father mother parent parents son daughter child children paternal maternal grandfather "
    "grandmother grandson granddaughter grandparent heir illegitimate stepmother stepfather sons daughters",
    "sibling": "brother sister sibling siblings twin half-brother stepbrother cousin uncle aunt nephew niece",
    "direct": "directed director directs directing directorial filmmaker helmed directors direct",
    "write": "wrote written writer author authored novelist novel book penned screenplay playwright "
    "screenwriter poet poem books novels write writes writers authors",
    "compose": "composed composer composers compose music score soundtrack songwriter song songs lyrics",
    "perform": "performer performed singer sang sung vocalist band album recorded recording artist musician "
    "single rapper label perform performs performers singers bands musicians artists guitarist",
    "act": "starring starred stars star actor actress cast role played portrays portrayed plays appeared "
    "character voice voiced costarred actors actresses portray roles characters",
    "produce": "produced producer producers production produces produce manufactured manufacturer maker "
    "makers",
    "found": "founded founder cofounded co-founder established founding formed created creator "
    "inventor invented developed developer started founders creators create invent develop",
    "own": "owner owned owns acquired purchased bought subsidiary parent-company belongs",
    "locate": "located location situated lies city town village county state country province district "
    "region capital headquartered headquarters based island river area neighbourhood where cities towns "
    "villages counties countries continent originate originated origin",
    "member": "member members joined belonged signed team club squad franchise teams clubs",
    "educate": "educated university college school studied graduated alumni alma attended student degree "
    "study studies graduate universities colleges schools attend doctorate",
    "employ": "worked works employed employer employee job occupation profession career",
    "lead": "president king queen emperor minister leader chairman ceo governor mayor ruled ruler reign "
    "prince duke sultan chancellor commander captain coach manager headed",
    "nation": "nationality citizenship citizen american british english french german indian italian "
    "canadian australian russian spanish chinese japanese irish scottish korean dutch swedish",
    "award": "award awards won winner prize nominated medal champion championship oscar win winners received",
    "release": "released release premiere premiered published publication issued debut aired broadcast",
    "open": "opened opening inaugurated built constructed completed construction began launched",
    "size": "population area square elevation height tall length populated largest inhabitants census",
    "name": "named called known nickname nicknamed pseudonym alias aka renamed eponymous",
    "genre": "genre species genus family breed type kind plants plant animal",
    "play-sport": "football footballer basketball baseball hockey tennis cricket guard season league player",
    "religion": "religion church religious catholic mosque christian islam bishop saint",
    "date": "year date century when time period",
}

RELATION_OF: dict[str, int] = {}
for _index, _words in enumerate(RELATIONS.values()):
    for _word in _words.split():
        for _piece in _word.replace("-", " ").split():
            RELATION_OF.setdefault(_piece, _index)

# Forms in which two things are weighed against each other by their dates.
BY_DATE = frozenset(
    "older younger elder earlier later first last "
    "sooner recently newer oldest youngest earliest latest".split()
)

# ... and by whatever it may be.
COMPARATIVES = BY_DATE | frozenset(
    (
        "longer shorter higher lower larger smaller bigger taller more less most fewer farther further "
        "closer same both either different common longest largest highest also similar share"
    ).split()
)

# The kind of thing a question word or its noun asks for.
ANSWER_WORDS: dict[str, str] = {
    "person": "who whom whose person man woman actor actress director author writer singer composer king "
    "queen president player founder father mother husband wife brother sister son daughter "
    "grandfather grandmother performer musician artist politician spouse child he she",
    "date": "when year date century decade month day",
    "place": "where city country state town county place village province island region capital district "
    "birthplace location continent river headquarters nationality",
    "number": "many much number population old long far tall percentage amount",
}
