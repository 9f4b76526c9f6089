"""Protocol constants, frozen for protocol version 2. No setting may change them: two nodes that
disagree on one of these would disagree on what is accepted.
"""

PROTOCOL_VERSION = 2

OPERATION_BYTES = 64 * 1024  # one body; a larger one ends the feed of its signer
SALT_BYTES = 16
RANGE_BYTES = 256 * 1024  # one range, by weight and by bytes: small enough to hold in memory for every link
RANGE_OPERATIONS = 4096  # bounds a fork proof, which carries 41 bytes an operation
STATEMENT_BYTES = 512 * 1024  # a fork proof of two full ranges still fits

HLC_MAX = 2**63 - 1  # fits SQLite's signed integer; the milliseconds last until the year 6429
SEQ_MAX = 2**40
EPOCH_MAX = 2**64 - 1

FUTURE_SECONDS = 300  # an operation further ahead of the corrected clock waits

TEXT_CHARS = 512  # names, reasons, keys, field names
LOG_CHARS = 64
TAGS_PER_BODY = 1024  # of one remove or one erase
HEADS_PER_REVOKE = 4096
STATEMENTS_PER_REVOKE = 8192
HEADS_PER_PAGE = 16  # named by one page operation, each by the beginning of its tag
HEAD_BYTES = 8
VALUE_DEPTH = 8  # nesting inside a record or a value
TOTAL_MAX = 2**53  # counters stay exact in every language's numbers

# What one member may cost all others: see `mesh.core.member_limits`.
FEEDS, FEEDS_A_DAY = 64, 2  # that count of one node: at first, and more for each day since its certificate
FEEDS_MOST = HEADS_PER_REVOKE  # or a revocation could not name them all
QUOTA_BYTES = 64 * 1024 * 1024  # that a node may add in a day; a statement of root or an admin raises it
QUOTA_MOST = 2**53
THROW_AWAY_BYTES = 4 * 1024 * 1024  # that a throw-away node may add, and again after so many days
THROW_AWAY_DAYS = 30  # longer than one lives; without an end, a difference in what was erased would last for ever
ERASED_WEIGHT = (
    4096  # what an erased operation counts towards the quota: it costs everyone a statement, perhaps a long one
)
