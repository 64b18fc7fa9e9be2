// The rules of the RC service (IBA 9.7): which PSNs a message gets, what an acknowledgement means, when to go back, when to give up.
// One operation is on one QP: a question of the ring, a command, an event, the end of a timer. It takes two cycles: in the first it
// is taken, and what it compares is subtracted; in the second it is decided, and its outputs count. One begins each cycle, on the
// same QP each second: it finds what the one before has left.
module rc_protocol
  import rc_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned RcQps = 16
) (
    input logic clk,
    input logic rst,

    // The QP of another operation that may be taken, and its limits
    output logic       [7:0] limits_qp_o,
    input  rc_limits_t       limits_i,

    // May the next message of this QP be sent? Not in two cycles in a row
    input  logic              ask_i,
    output logic              ask_ready_o,
    input  logic       [ 7:0] ask_qp_i,
    input  logic       [23:0] ask_psn_i,      // of its first packet
    input  rc_limits_t        ask_limits_i,   // of the QP
    // In the cycle after that
    input  logic       [15:0] ask_packets_i,
    output rc_answer_e        answer_o,
    output logic       [23:0] answer_psn_o,   // of the first packet to be sent
    output logic       [15:0] answer_skip_o,  // packets of the message before that one

    // Commands. A QP is armed in error only, and when none of its messages is left
    input  rc_command_t s_axis_command_tdata,
    input  logic        s_axis_command_tvalid,
    output logic        s_axis_command_tready,

    // What the receiver says; no CNP
    input  event_t s_axis_event_tdata,
    input  logic   s_axis_event_tvalid,
    output logic   s_axis_event_tready,

    // Ends of timers
    input  logic             expired_valid_i,
    input  logic       [7:0] expired_qp_i,
    output logic             expired_ready_o,
    input  logic [RcQps-1:0] under_way_i,      // packets of the QP have not left, or only since its timer started

    // What follows, for the QP of the operation that is decided
    output logic [ 7:0] qp_o,
    output logic        back_o,     // send again from the oldest message on
    output logic        arm_o,      // start anew
    output logic [23:0] arm_psn_o,
    output logic        wake_o,     // ask again; look again at what is acknowledged. No question
    output rc_note_e    note_o,
    output logic        again_o,    // the answer sends a message again

    // Two cycles later, its timer
    output logic         timer_write_o,
    output logic   [7:0] timer_qp_o,
    output logic         timer_run_o,
    output ticks_t       timer_ticks_o,

    // Looking at a QP, in the same cycle
    input  logic       [      7:0] look_qp_i,
    output logic       [     23:0] look_una_o,  // counts once it was armed
    output logic       [RcQps-1:0] failing_o,   // in error
    input  logic       [      7:0] status_qp_i,
    output rc_status_t             status_o
);

  localparam int unsigned INDEX_W = $clog2(RcQps);
  localparam logic [4:0] LONGEST = 5'd20;  // exponent of a time-out

  if (RcQps < 2 || RcQps > 256 || (RcQps & (RcQps - 1)) != 0) begin : gen_check
    $error("%m: RcQps = %0d must be a power of two, 2 to 256", RcQps);
  end

  typedef logic [INDEX_W-1:0] index_t;

  typedef struct packed {
    rc_state_e   state;
    rc_reason_e  reason;
    logic [23:0] una;
    logic [23:0] nxt;
    logic [15:0] outstanding;  // nxt - una
    logic [3:0]  retries;      // without progress
    logic [2:0]  rnr_retries;
    logic [3:0]  backoff;
    logic        gone_back;    // on a NAK, since the last progress or time-out
  } qp_t;

  typedef enum logic [2:0] {
    NOTHING,
    ASK,
    COMMAND,
    EVENT,
    EXPIRED
  } operation_e;

  qp_t memory[RcQps];
  logic [RcQps-1:0] known_q;  // armed since the reset: else as after it

  function automatic qp_t read(input index_t index);
    return known_q[index] ? memory[index] : '0;
  endfunction

  // Taking. Ends of timers and events take turns; a question waits for one of them, and then goes first.
  // A QP waits for its operation before; an end of its timer also for what that one does to the timer, which may take it back.
  operation_e other, operation, operation_q;
  logic timer_turn_q, ask_turn_q, asks, goes, meets;
  logic timing_q;
  logic [7:0] qp_q, timing_qp_q;
  index_t index;

  assign index = index_t'(qp_q);

  always_comb begin
    other = NOTHING;
    limits_qp_o = s_axis_event_tdata.qp;
    if (s_axis_command_tvalid) begin
      other = COMMAND;
      limits_qp_o = s_axis_command_tdata.qp;
    end else if (expired_valid_i && (timer_turn_q || !s_axis_event_tvalid)) begin
      other = EXPIRED;
      limits_qp_o = expired_qp_i;
    end else if (s_axis_event_tvalid) begin
      other = EVENT;
    end
  end

  assign meets = (operation_q != NOTHING && index_t'(limits_qp_o) == index) ||
      (other == EXPIRED && ((timing_q && index_t'(expired_qp_i) == index_t'(timing_qp_q)) ||
          (timer_write_o && index_t'(expired_qp_i) == index_t'(timer_qp_o))));
  assign goes = other != NOTHING && !meets && !ask_turn_q;
  assign ask_ready_o = !goes && !(operation_q != NOTHING && index_t'(ask_qp_i) == index);
  assign asks = ask_i && ask_ready_o;
  assign s_axis_command_tready = goes && other == COMMAND;
  assign s_axis_event_tready = goes && other == EVENT;
  assign expired_ready_o = goes && other == EXPIRED;

  always_comb begin
    operation = NOTHING;
    if (goes) operation = other;
    if (asks) operation = ASK;
  end

  // The QP before the operation, and what it compares.
  qp_t asked, met, qp_q_state;
  rc_limits_t limits_q;
  event_kind_e kind_q;
  logic arm_q, fresh_q;
  rc_reason_e reason_q;
  logic [4:0] value_q;
  logic [23:0] upto, upto_q, news_q, psn_q, acked_q;
  logic [16:0] room_q;  // packets that fit the window, if not negative

  assign asked = read(index_t'(ask_qp_i));
  assign met = read(index_t'(limits_qp_o));
  assign upto = s_axis_event_tdata.psn + 24'(s_axis_event_tdata.kind == ACK);

  always_ff @(posedge clk) begin
    operation_q <= operation;
    qp_q <= goes ? limits_qp_o : ask_qp_i;
    qp_q_state <= goes ? met : asked;
    limits_q <= goes ? limits_i : ask_limits_i;

    psn_q <= goes ? s_axis_command_tdata.psn : ask_psn_i;
    fresh_q <= ask_psn_i == asked.nxt;
    acked_q <= asked.una - ask_psn_i;  // of a message sent before; negative: none of it
    room_q <= 17'(ask_limits_i.window) - 17'(asked.outstanding);

    arm_q <= s_axis_command_tdata.arm;
    reason_q <= s_axis_command_tdata.reason;

    kind_q <= s_axis_event_tdata.kind;
    value_q <= s_axis_event_tdata.value;
    upto_q <= upto;
    news_q <= upto - memory[index_t'(s_axis_event_tdata.qp)].una;

    ask_turn_q <= ask_i && !ask_ready_o;
    if (expired_ready_o) timer_turn_q <= 1'b0;
    if (s_axis_event_tready) timer_turn_q <= 1'b1;
    if (rst) begin
      operation_q <= NOTHING;
      ask_turn_q <= 1'b0;
      timer_turn_q <= 1'b0;
    end
  end

  // Deciding, and the QP after it.
  qp_t qp, qp_d;
  logic fits, is_ack, in_window, is_known, has_news, is_empty, fails, starts, waits, remains, spent, rnr_spent;
  logic passed;
  rc_reason_e reason;
  logic [15:0] still;

  assign qp = qp_q_state;
  assign qp_o = qp_q;
  assign is_empty = qp.outstanding == '0;

  assign fits = ask_packets_i != '0 && ask_packets_i != PACKETS_MAX && !room_q[16] && ask_packets_i <= room_q[15:0];
  assign passed = acked_q[23:16] != '0 || acked_q[15:0] >= ask_packets_i;

  assign is_ack = kind_q == ACK;
  assign still = qp.outstanding - news_q[15:0];
  assign in_window = news_q[23:16] == '0 && (is_ack ? news_q[15:0] <= qp.outstanding : news_q[15:0] < qp.outstanding);
  assign is_known = in_window && (qp.state == RC_RUN || qp.state == RC_WAIT);
  assign has_news = news_q != '0;
  // Progress gives the retries back.
  assign spent = (has_news ? '0 : qp.retries) >= limits_q.retries;
  assign rnr_spent = limits_q.rnr_retries != RNR_FOR_EVER && (has_news ? '0 : qp.rnr_retries) >= limits_q.rnr_retries;

  always_comb begin
    qp_d = qp;
    answer_o = ANSWER_WAIT;
    answer_psn_o = psn_q;
    answer_skip_o = '0;
    back_o = 1'b0;
    note_o = NOTE_NONE;
    fails = 1'b0;
    reason = RC_CLOSED;
    starts = 1'b0;  // the time-out
    waits = 1'b0;   // the timer, for what the receiver asks
    remains = 1'b1;  // something is outstanding afterwards: else there is no time-out

    unique case (operation_q)
      ASK: begin
        if (qp.state == RC_ERROR) begin
          answer_o = ANSWER_SKIP;
        end else if (qp.state == RC_RUN && !fresh_q) begin
          answer_o = ANSWER_SEND;
          if (!acked_q[23]) begin
            answer_psn_o  = qp.una;
            answer_skip_o = acked_q[15:0];
            if (passed) answer_o = ANSWER_SKIP;
          end
        end else if (qp.state == RC_RUN && fits) begin
          answer_o = ANSWER_SEND;
          qp_d.nxt = qp.nxt + 24'(ask_packets_i);
          qp_d.outstanding = qp.outstanding + ask_packets_i;
          starts   = is_empty;
        end else if (qp.state == RC_RUN && is_empty) begin
          answer_o = ANSWER_SKIP;
          fails = 1'b1;
          reason = RC_MESSAGE;
        end
      end

      COMMAND: begin
        if (arm_q) begin
          qp_d = '0;
          qp_d.state = RC_SETTLE;
          qp_d.reason = qp.reason;
          qp_d.una = psn_q;
          qp_d.nxt = psn_q;
        end else begin
          fails  = qp.state != RC_ERROR;
          reason = reason_q;
        end
      end

      EVENT: begin
        note_o = NOTE_STALE;
        remains = !is_ack || news_q[15:0] != qp.outstanding;
        if (is_known) begin
          qp_d.una = upto_q;
          qp_d.outstanding = still;
          if (has_news) begin
            qp_d.retries = '0;
            qp_d.rnr_retries = '0;
            qp_d.backoff = '0;
            qp_d.gone_back = 1'b0;
          end
          note_o = NOTE_REPEATED;
          unique case (kind_q)
            ACK: begin
              note_o = NOTE_ACKED;
              starts = has_news && qp.state == RC_RUN;
            end
            NAK_SEQUENCE:
            if (qp.state == RC_RUN && !qp_d.gone_back) begin
              if (spent) begin
                fails  = 1'b1;
                reason = RC_SEQUENCE;
              end else begin
                note_o = NOTE_WENT_BACK;
                qp_d.retries = qp_d.retries + 1'b1;
                qp_d.gone_back = 1'b1;
                back_o = 1'b1;
                starts = 1'b1;
              end
            end
            RNR:
            if (qp.state == RC_RUN) begin
              if (rnr_spent) begin
                fails  = 1'b1;
                reason = RC_NOT_READY;
              end else begin
                note_o = NOTE_NOT_READY;
                if (limits_q.rnr_retries != RNR_FOR_EVER) qp_d.rnr_retries = qp_d.rnr_retries + 1'b1;
                qp_d.retries = '0;  // the receiver is there
                qp_d.backoff = '0;
                qp_d.state = RC_WAIT;
                waits = 1'b1;
              end
            end
            NAK_INVALID: begin
              fails  = 1'b1;
              reason = RC_INVALID;
            end
            NAK_ACCESS: begin
              fails  = 1'b1;
              reason = RC_ACCESS;
            end
            default: begin
              fails  = 1'b1;
              reason = RC_OPERATION;
            end
          endcase
        end
      end

      EXPIRED: begin
        remains = !is_empty;
        unique case (qp.state)
          RC_SETTLE: begin
            qp_d.state = RC_RUN;
            note_o = NOTE_ARMED;
          end
          RC_WAIT: begin
            qp_d.state = RC_RUN;
            qp_d.gone_back = 1'b0;
            note_o = NOTE_RESUMED;
            back_o = 1'b1;
            starts = 1'b1;
          end
          RC_RUN:
          if (!is_empty) begin
            starts = 1'b1;
            if (under_way_i[index]) begin
              note_o = NOTE_DEFERRED;
            end else if (qp.retries >= limits_q.retries) begin
              fails  = 1'b1;
              reason = RC_TIMEOUT;
            end else begin
              note_o = NOTE_TIMED_OUT;
              qp_d.retries = qp.retries + 1'b1;
              if (qp.backoff < limits_q.backoff) qp_d.backoff = qp.backoff + 1'b1;
              qp_d.gone_back = 1'b0;
              back_o = 1'b1;
            end
          end
          default: ;
        endcase
      end

      default: ;
    endcase

    if (fails) begin
      note_o = NOTE_FAILED;
      qp_d.state = RC_ERROR;
      qp_d.reason = reason;
    end
  end

  assign arm_o = operation_q == COMMAND && arm_q;
  assign again_o = operation_q == ASK && answer_o == ANSWER_SEND && !fresh_q;
  assign arm_psn_o = psn_q;
  assign wake_o = operation_q != NOTHING && operation_q != ASK;

  always_ff @(posedge clk) begin
    if (operation_q != NOTHING) begin
      memory[index] <= qp_d;
      failing_o[index] <= qp_d.state == RC_ERROR;
    end
    if (arm_o) known_q[index] <= 1'b1;
    if (rst) begin
      known_q   <= '0;
      failing_o <= '1;
    end
  end

  // The timer: its length in one cycle, in ticks in the next.
  logic timing_run_q, timing_waits_q;
  logic [4:0] timing_value_q;
  logic [5:0] exponent_q;

  always_ff @(posedge clk) begin
    timing_q <= fails || starts || waits || arm_o;
    timing_qp_q <= qp_q;
    timing_run_q <= !fails && (waits || arm_o || remains);
    timing_waits_q <= waits;
    timing_value_q <= value_q;
    exponent_q <= 6'(limits_q.timeout) + 6'(arm_o ? limits_q.backoff : qp_d.backoff);

    timer_write_o <= timing_q;
    timer_qp_o <= timing_qp_q;
    timer_run_o <= timing_run_q;
    timer_ticks_o <= timing_waits_q ? rnr_ticks(timing_value_q) :
        timeout_ticks(exponent_q > 6'(LONGEST) ? LONGEST : exponent_q[4:0]);
    if (rst) begin
      timing_q <= 1'b0;
      timer_write_o <= 1'b0;
    end
  end

  qp_t shown;

  assign shown = read(index_t'(status_qp_i));
  assign look_una_o = memory[index_t'(look_qp_i)].una;
  assign status_o = '{state: shown.state, reason: shown.reason, una: shown.una, nxt: shown.nxt};

  logic unused;
  assign unused = ^{asked, limits_q, shown, qp_q, timing_qp_q, timer_qp_o, look_qp_i, status_qp_i, s_axis_event_tdata};

endmodule
