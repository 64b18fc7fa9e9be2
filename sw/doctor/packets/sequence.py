"""What breaks a message in the middle, and what refuses a right packet for what came before it."""

from framelane.doctor.cause import Cause, Kind, Placer
from framelane.receiver.transport.refusals import Refusal

NO_FIRST = Cause(
    "no-first",
    Kind.FAULT,
    "a MIDDLE or LAST follows without a gap in the PSNs, but no message is open: its FIRST was never sent",
    "look at the opcodes of the source: FIRST, MIDDLE ..., LAST, or ONLY",
    Placer.ALL,
    Refusal.SEQUENCE,
)
NO_LAST = Cause(
    "no-last",
    Kind.FAULT,
    "a message begins, without a gap in the PSNs, before the one before has ended: its LAST was never sent",
    "look at the opcodes of the source, and at the DMA length of its FIRST",
)
CUT_SHORT = Cause(
    "message-cut-short",
    Kind.NETWORK,
    "a message begins before the one before has ended: the LAST of that one was lost, its memory is half written",
    "look for the lost packets; single packets (segmentation only) lose only themselves",
)
REST_OF_MESSAGE = Cause(
    "rest-of-message",
    Kind.CONSEQUENCE,
    "a packet of a message of which a packet before was lost or came out of order",
    "look for the lost packet; single packets (segmentation only) lose only themselves",
    Placer.ALL,
    Refusal.SEQUENCE,
)
REFUSED_BEFORE = Cause(
    "message-refused",
    Kind.CONSEQUENCE,
    "a packet of a message of which a packet before was refused",
    "correct what refused the packet before",
    Placer.ALL,
    Refusal.SEQUENCE,
)
BEGUN_BEFORE = Cause(
    "begun-before-capture",
    Kind.NOTE,
    "a packet of a message that began before the capture: nothing can be said of it",
    "start the capture before the source",
    Placer.ALL,
    Refusal.SEQUENCE,
)
MIDDLE_LENGTH = Cause(
    "middle-not-mtu",
    Kind.FAULT,
    "a MIDDLE does not carry exactly the path MTU",
    "every packet of a message but the last carries exactly the mtu of the session",
    Placer.ALL,
    Refusal.LENGTH,
)
MESSAGE_LENGTH = Cause(
    "message-length",
    Kind.FAULT,
    "the packets of a message carry more or fewer bytes than the DMA length of its RETH",
    "compare the DMA length of the FIRST with the bytes of all packets up to the LAST, pads not counted",
    Placer.ALL,
    Refusal.LENGTH,
)
LATE = Cause(
    "late",
    Kind.NETWORK,
    "a packet comes after the trailer of its frame: the soft NIC refuses it, a NIC writes it into a slot that may hold "
    "another frame by now",
    "one path for each QP (a fixed UDP source port), no link-layer retry; more slots make the margin longer",
    Placer.SOFT_NIC,
    Refusal.LATE,
)
STUCK = Cause(
    "softroce-stuck",
    Kind.CONSEQUENCE,
    "SoftRoCE takes nothing any more on a UC QP that has lost the end of a message, until the QP is made again",
    "restart the receiver; or single packets (segmentation only), or the soft NIC",
    Placer.SOFT_ROCE,
)
RC_GAP = Cause(
    "rc-gap",
    Kind.CONSEQUENCE,
    "on RC nothing is placed behind a PSN that is missing: the NIC asks for it by NAK 0, once",
    "the source must send again from the missing PSN on; if it does not, use UC, or find the loss",
    Placer.ALL,
    Refusal.SEQUENCE,
)
RC_DUPLICATE = Cause(
    "rc-repeated",
    Kind.NETWORK,
    "a PSN of RC that was placed before: acknowledged again, and not written again",
    "nothing, if it is a retransmission; else the source's PSN is not that of the session",
    Placer.ALL,
    Refusal.LATE,
)
RC_ERROR = Cause(
    "rc-error",
    Kind.CONSEQUENCE,
    "the QP of RC is in the error state since a packet before was refused: nothing is placed any more",
    "correct what refused that packet, and start the receiver again: a QP in error must be made anew",
    Placer.NICS,
)
CAUSES = (
    *(NO_FIRST, NO_LAST, CUT_SHORT, REST_OF_MESSAGE, REFUSED_BEFORE, BEGUN_BEFORE, MIDDLE_LENGTH, MESSAGE_LENGTH),
    *(LATE, STUCK, RC_GAP, RC_DUPLICATE, RC_ERROR),
)
