"""English words whose forms no rule of stemming brings together: went and gone of go, children of child."""

from __future__ import annotations

_FORMS = """
bear bore borne / beat beaten / become became / begin began begun / bend bent / bite bit bitten / bleed
bled / blow blew blown / break broke broken / breed bred / bring brought / build built / burn burnt / buy
bought / catch caught / choose chose chosen / come came / creep crept / deal dealt / dig dug / draw drew
drawn / dream dreamt / drink drank drunk / drive drove driven / eat ate eaten / fall fell fallen / feed
fed / feel felt / fight fought / find found / flee fled / fly flew flown / forbid forbade forbidden /
forget forgot forgotten / forgive forgave forgiven / freeze froze frozen / give gave given / go went gone
/ grow grew grown / hang hung / hear heard / hide hid hidden / hold held / keep kept / kneel knelt / know
knew known / lead led / lean leant / learn learnt / lend lent / light lit / lose lost / make made / mean
meant / meet met / pay paid / prove proven / ride rode ridden / ring rang rung / rise risen / run ran /
say said / see saw seen / seek sought / sell sold / send sent / sew sewn / shake shook shaken / shine
shone / shoot shot / show shown / shrink shrank shrunk / sing sang sung / sink sank sunk / sit sat / sleep
slept / slide slid / smell smelt / speak spoke spoken / spell spelt / spend spent / spill spilt / spin
spun / spoil spoilt / spring sprang sprung / stand stood / steal stole stolen / stick stuck / sting stung
/ strike struck stricken / strive strove / swear swore sworn / sweep swept / swell swollen / swim swam
swum / swing swung / take took taken / teach taught / tear tore torn / tell told / think thought / throw
threw thrown / understand understood / wake woke woken / wear wore worn / weave wove woven / weep wept /
win won / withdraw withdrew withdrawn / write wrote written / child children / foot feet / goose geese /
half halves / knife knives / loaf loaves / louse lice / man men / mouse mice / person people / shelf
shelves / thief thieves / tooth teeth / wife wives / wolf wolves / woman women
"""
BASES: dict[str, str] = {form: base for base, *forms in map(str.split, _FORMS.split("/")) for form in forms}
"""Form → the word it is a form of. Left out are forms that more often are another word: left, ground, wound,
rose, bound, lives, leaves."""
