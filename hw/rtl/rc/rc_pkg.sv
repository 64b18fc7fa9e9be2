// Types of the RC requester (docs/decisions/gateware/0015-reliable-connection.md). "IBA" is the InfiniBand Architecture Specification,
// volume 1.
package rc_pkg;

  // What a QP does. Model: rc_protocol.RcState.
  typedef enum logic [1:0] {
    RC_ERROR = 2'd0,   // nothing is sent, all messages fail; so after reset
    RC_SETTLE = 2'd1,  // armed: acknowledgements of what was sent before are waited out
    RC_RUN = 2'd2,
    RC_WAIT = 2'd3     // the receiver was not ready
  } rc_state_e;

  // Why a QP is in error. Model: rc_protocol.RcReason.
  typedef enum logic [3:0] {
    RC_NOT_ARMED = 4'd0,
    RC_TIMEOUT = 4'd1,    // retries spent, at last by a time-out
    RC_SEQUENCE = 4'd2,   // retries spent, at last by a NAK of the sequence
    RC_NOT_READY = 4'd3,  // RNR retries spent
    RC_INVALID = 4'd4,    // NAK: invalid request
    RC_ACCESS = 4'd5,     // NAK: remote access error
    RC_OPERATION = 4'd6,  // NAK: remote operational error
    RC_MESSAGE = 4'd7,    // a message of no length, or longer than the window
    RC_REWRITTEN = 4'd8,  // its table entry was changed in what may not change, or disabled
    RC_CLOSED = 4'd9      // by command
  } rc_reason_e;

  // What an operation was. Model: rc_protocol.RcNote.
  typedef enum logic [3:0] {
    NOTE_NONE = 4'd0,
    NOTE_ACKED = 4'd1,
    NOTE_STALE = 4'd2,      // of PSNs that are not outstanding: ignored
    NOTE_WENT_BACK = 4'd3,  // NAK of the sequence
    NOTE_REPEATED = 4'd4,   // a NAK that asks for what is done already: ignored
    NOTE_NOT_READY = 4'd5,
    NOTE_TIMED_OUT = 4'd6,
    NOTE_RESUMED = 4'd7,    // the wait for a receiver is over
    NOTE_FAILED = 4'd8,     // the QP is in error now
    NOTE_DEFERRED = 4'd9,   // a time-out with packets that have not left yet
    NOTE_ARMED = 4'd10      // messages may be sent from now on
  } rc_note_e;

  // Whether a message may be sent. Model: rc_protocol.RcAnswer.
  typedef enum logic [1:0] {
    ANSWER_WAIT = 2'd0,
    ANSWER_SEND = 2'd1,
    ANSWER_SKIP = 2'd2   // acknowledged already, or failed
  } rc_answer_e;

  // Limits of a QP. Model: rc_protocol.RcLimits.
  typedef struct packed {
    logic [2:0]  rnr_retries;  // 7: without limit
    logic [3:0]  retries;
    logic [3:0]  backoff;      // doublings of the time-out
    logic [4:0]  timeout;      // 4.096 us * 2^timeout
    logic [15:0] window;       // packets
  } rc_limits_t;

  // Which of the frames that are held: as many as a frame store may have slots.
  localparam int unsigned TAG_W = 10;
  typedef logic [TAG_W-1:0] tag_t;

  // What must not change while a QP is armed. Model: rc_requester.RcContext.
  typedef struct packed {
    logic       rc;        // its messages go through the requester
    logic       usable;    // enabled, and asks for acknowledgements
    logic       message;   // segmentation FIRST, MIDDLE, LAST
    logic [3:0] mtu_log2;
  } rc_context_t;

  // A command: to put a QP into error, or, when it is there and idle, to start it anew.
  typedef struct packed {
    logic        arm;
    logic [7:0]  qp;
    rc_reason_e  reason;  // of the error
    logic [23:0] psn;     // of the start
  } rc_command_t;

  // A descriptor of an RC QP with all that belongs to it. Model: rc_ring.Entry.
  typedef struct packed {
    tag_t                    tag;      // of its frame
    logic [15:0]             packets;
    framelane_pkg::trailer_t trailer;  // counts with `last`
    framelane_pkg::bd_t      bd;
  } rc_entry_t;

  // A message for the transmitter: what is left of a descriptor. Model: rc_ring.Issue.
  typedef struct packed {
    tag_t                    tag;
    logic                    rc;
    logic [23:0]             psn;      // of the first packet that is sent
    logic [15:0]             skip;     // packets before it, which are not
    framelane_pkg::trailer_t trailer;
    framelane_pkg::bd_t      bd;
  } rc_issue_t;

  // What leaves for the transmitter: the descriptor, shortened where its first packets are not sent again, its PSN and form.
  typedef struct packed {
    tag_t               tag;
    logic               rc;      // came from a ring, else straight through: the packetizer's own PSN counts
    logic               resume;  // begins in the middle of a message: MIDDLE or LAST first
    logic [23:0]        psn;
    framelane_pkg::bd_t bd;
  } rc_item_t;

  // The end of a descriptor: acknowledged, or failed. Model: rc_ring.Retired.
  typedef struct packed {
    logic       failed;
    logic       last;
    logic [7:0] destination_index;
    tag_t       tag;
  } rc_retired_t;

  // State of a QP, to be read.
  typedef struct packed {
    rc_state_e   state;
    rc_reason_e  reason;
    logic [23:0] una;    // first PSN that is not acknowledged
    logic [23:0] nxt;    // first PSN that was not used yet
  } rc_status_t;

  // What the registers tell the core of RC.
  typedef struct packed {
    logic              limits_write;   // pulse: limits of a QP
    logic [7:0]        limits_qp;
    rc_limits_t        limits;
    logic              command_valid;  // until it is taken: to arm a QP, or to put one into error
    rc_command_t       command;
    logic [7:0]        status_qp;      // whose state is asked for
    logic [23:0]       dcqcn_burst;    // of QPs whose own is 0
    dcqcn_pkg::dcqcn_t dcqcn;
  } rc_control_t;

  // And what they are told.
  typedef struct packed {
    logic       command_ready;
    logic       command_refused;  // counts with command_ready: no such QP, or its entry in the table does not allow it
    rc_status_t status;           // of status_qp, in the same cycle
  } rc_report_t;

  localparam logic [15:0] PACKETS_MAX = 16'hffff;  // so many, or more, fit no window
  localparam logic [2:0] RNR_FOR_EVER = 3'd7;

  // Times in ticks of 1.024 us, at most 4.3 s.
  localparam int unsigned TICKS_W = 23;
  typedef logic [TICKS_W-1:0] ticks_t;

  // 4.096 us * 2^exponent
  function automatic ticks_t timeout_ticks(input logic [4:0] exponent);
    return exponent > 5'd20 ? ticks_t'(4) << 20 : ticks_t'(4) << exponent;
  endfunction

  // IBA table 45, in units of 10.24 us: 1, 2, 3, 4, 6, 8, 12, 16 ...; code 0 is what 32 would be. So from code 2 on a
  // code's half is an exponent of 2, and an odd code's time half as long again.
  function automatic ticks_t rnr_ticks(input logic [4:0] code);
    return ticks_t'(code[0] && code != 5'd1 ? 15 : 10) << (code == 5'd0 ? 5'd16 : code >> 1);
  endfunction

endpackage
