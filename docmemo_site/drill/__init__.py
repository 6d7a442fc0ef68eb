"""The fault drill: real processes are killed under a seeded stream of events, and the end is compared with what was sent.

    generator    what is sent: documents' lives, duplicates, latecomers, crowds, poison
    producers    by which door it is sent: the outbox, or straight to the topic
    oracle       what must be true at the end, worked out from what was sent and from nothing else
    faults       what is broken, aimed at processes that are busy, with what each was doing
    brokers      Apache Kafka of one node or three
    consistency  the database and the blob store held against the oracle
    report       the figures
    course       the order of it all; `run` is its process
"""
