"""Attributes that hold one value at a time, by the words people state and ask them with.

Written from general knowledge of what assistants are told about people and their work. A word that also means
other things carries a `~` and votes half. A text without any of these words has no topic of its own; it may
inherit one from the company its words keep (`statements.py`).
"""

from __future__ import annotations

SINGLE_VALUED: dict[str, str] = {
    "residence": (
        "live lives living home house flat apartment city town village ~country address street "
        "reside residence ~based ~moved relocate relocated neighbourhood settled located location "
        "postcode"
    ),
    "job": (
        "job work works working profession occupation career employed employer ~position ~role "
        "hired company earn salary ~contract trade promoted promotion freelance shift quit "
        "resigned fired engineer teacher nurse lawyer accountant developer designer chef"
    ),
    "diet": (
        "diet eat eats eating food vegan vegetarian pescatarian keto halal kosher gluten cook "
        "cooking meal meals meat carbs lactose nutrition"
    ),
    "vehicle": (
        "car vehicle drive drives driving van truck motorbike motorcycle scooter garage automobile mileage"
    ),
    "phone": "phone telephone mobile ~number ~call sim dial reached reachable voicemail handset",
    "email": "email mail inbox mailbox",
    "appointment": (
        "meeting meetings sync standup appointment ~schedule ~scheduled rescheduled slot calendar agenda"
    ),
    "deadline": "deadline ~due ~delivery ~launch release milestone ~postponed",
    "budget": "budget allocated price cost costs rent fee fees quote",
    "bank": "bank banks account banking savings mortgage iban deposit",
    "physician": (
        "doctor physician dentist therapist clinic surgeon patient ~practice treats treated treatment"
    ),
    "clothing": "size wear wears clothes clothing shirt shoe shoes trousers dress ~fit ~fits",
    "instrument": (
        "instrument ~play ~plays practise ~practice piano guitar violin drums flute music orchestra"
    ),
    "software": "editor ide code coding programming program browser laptop app software terminal keyboard",
    "hosting": ("~host ~hosts hosted hosting server servers deploy deployment cloud provider cluster stack"),
    "school": "school university college ~study studies studying degree ~course enrolled student",
    "partner": "married wife husband girlfriend boyfriend engaged divorced spouse dating",
    "exercise": "gym workout ~training exercise trainer sport",
    "language": "language speak speaks spoken fluent",
    "boss": "boss supervisor department",
    "password": "password pin passcode login username",
    "age": "age birthday born",
}
"""Topic → words. A word may serve several topics; its vote is then shared among them."""
