// The rules of the RC service (IBA 9.7): which PSNs a message gets, what an acknowledgement means, when to go back, when to give up.
// One operation a cycle, on one QP: a question of the ring, a command, an event, the end of a timer. Its outputs count in that cycle.
module rc_protocol
  import rc_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned RcQps = 16
) (
    input logic clk,
    input logic rst,

    // The QP of the operation, and its limits
    output logic       [7:0] qp_o,
    input  rc_limits_t       limits_i,

    // May the next message of this QP be sent? Goes before all else: not in two cycles in a row
    input  logic              ask_i,
    input  logic       [ 7:0] ask_qp_i,
    input  logic       [23:0] ask_psn_i,      // of its first packet
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

    // What follows, for the QP of the operation
    output logic        timer_write_o,
    output logic        timer_run_o,
    output ticks_t      timer_ticks_o,
    output logic        back_o,         // send again from the oldest message on
    output logic        arm_o,          // start anew
    output logic [23:0] arm_psn_o,
    output logic        wake_o,         // ask again; look again at what is acknowledged
    output rc_note_e    note_o,
    output logic        again_o,        // the answer sends a message again

    // Looking at a QP, in the same cycle
    input  logic       [      7:0] look_qp_i,
    output logic       [     23:0] look_una_o,
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
  logic [RcQps-1:0] known_q;  // else as after reset

  function automatic qp_t read(input index_t index);
    return known_q[index] ? memory[index] : '0;
  endfunction

  // Ends of timers and events take turns.
  operation_e operation;
  logic timer_turn_q;
  index_t index;

  always_comb begin
    operation = NOTHING;
    qp_o = ask_qp_i;
    if (ask_i) begin
      operation = ASK;
    end else if (s_axis_command_tvalid) begin
      operation = COMMAND;
      qp_o = s_axis_command_tdata.qp;
    end else if (expired_valid_i && (timer_turn_q || !s_axis_event_tvalid)) begin
      operation = EXPIRED;
      qp_o = expired_qp_i;
    end else if (s_axis_event_tvalid) begin
      operation = EVENT;
      qp_o = s_axis_event_tdata.qp;
    end
  end

  assign s_axis_command_tready = !ask_i;
  assign s_axis_event_tready = operation == EVENT;
  assign expired_ready_o = operation == EXPIRED;
  assign index = index_t'(qp_o);

  // The QP before the operation, what it compares, and the QP after it.
  qp_t qp, qp_d;
  logic [23:0] outstanding, acked, upto, news, after;
  logic fresh, fits, is_ack, in_window, is_known, has_news, is_empty, fails, starts, waits;
  rc_reason_e reason;

  assign qp = read(index);
  assign outstanding = qp.nxt - qp.una;
  assign is_empty = outstanding == '0;

  assign fresh = ask_psn_i == qp.nxt;
  assign after = outstanding + 24'(ask_packets_i);
  assign fits = ask_packets_i != '0 && ask_packets_i != PACKETS_MAX && after <= 24'(limits_i.window);
  assign acked = qp.una - ask_psn_i;  // of a message sent before; negative: none of it

  assign is_ack = s_axis_event_tdata.kind == ACK;
  assign upto = s_axis_event_tdata.psn + 24'(is_ack);
  assign news = upto - qp.una;
  assign in_window = is_ack ? news <= outstanding : news < outstanding;
  assign is_known = in_window && (qp.state == RC_RUN || qp.state == RC_WAIT);
  assign has_news = news != '0;

  always_comb begin
    qp_d = qp;
    answer_o = ANSWER_WAIT;
    answer_psn_o = ask_psn_i;
    answer_skip_o = '0;
    back_o = 1'b0;
    note_o = NOTE_NONE;
    fails = 1'b0;
    reason = RC_CLOSED;
    starts = 1'b0;  // the time-out
    waits = 1'b0;   // the timer, for what the receiver asks
    timer_write_o = 1'b0;

    unique case (operation)
      ASK: begin
        if (qp.state == RC_ERROR) begin
          answer_o = ANSWER_SKIP;
        end else if (qp.state == RC_RUN && !fresh) begin
          answer_o = ANSWER_SEND;
          if (!acked[23]) begin
            answer_psn_o  = qp.una;
            answer_skip_o = acked[15:0];
            if (acked >= 24'(ask_packets_i)) answer_o = ANSWER_SKIP;
          end
        end else if (qp.state == RC_RUN && fits) begin
          answer_o = ANSWER_SEND;
          qp_d.nxt = qp.nxt + 24'(ask_packets_i);
          starts   = is_empty;
        end else if (qp.state == RC_RUN && is_empty) begin
          answer_o = ANSWER_SKIP;
          fails = 1'b1;
          reason = RC_MESSAGE;
        end
      end

      COMMAND: begin
        if (s_axis_command_tdata.arm) begin
          qp_d = '0;
          qp_d.state = RC_SETTLE;
          qp_d.reason = qp.reason;
          qp_d.una = s_axis_command_tdata.psn;
          qp_d.nxt = s_axis_command_tdata.psn;
        end else begin
          fails  = qp.state != RC_ERROR;
          reason = s_axis_command_tdata.reason;
        end
      end

      EVENT: begin
        note_o = NOTE_STALE;
        if (is_known) begin
          if (has_news) begin
            qp_d.una = upto;
            qp_d.retries = '0;
            qp_d.rnr_retries = '0;
            qp_d.backoff = '0;
            qp_d.gone_back = 1'b0;
          end
          note_o = NOTE_REPEATED;
          unique case (s_axis_event_tdata.kind)
            ACK: begin
              note_o = NOTE_ACKED;
              starts = has_news && qp.state == RC_RUN;
            end
            NAK_SEQUENCE:
            if (qp.state == RC_RUN && !qp_d.gone_back) begin
              if (qp_d.retries >= limits_i.retries) begin
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
              if (limits_i.rnr_retries != RNR_FOR_EVER && qp_d.rnr_retries >= limits_i.rnr_retries) begin
                fails  = 1'b1;
                reason = RC_NOT_READY;
              end else begin
                note_o = NOTE_NOT_READY;
                if (limits_i.rnr_retries != RNR_FOR_EVER) qp_d.rnr_retries = qp_d.rnr_retries + 1'b1;
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
            end else if (qp.retries >= limits_i.retries) begin
              fails  = 1'b1;
              reason = RC_TIMEOUT;
            end else begin
              note_o = NOTE_TIMED_OUT;
              qp_d.retries = qp.retries + 1'b1;
              if (qp.backoff < limits_i.backoff) qp_d.backoff = qp.backoff + 1'b1;
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
    timer_write_o = fails || starts || waits || arm_o;
  end

  // With nothing outstanding there is no time-out.
  logic [5:0] exponent;

  assign arm_o = operation == COMMAND && s_axis_command_tdata.arm;
  assign again_o = operation == ASK && answer_o == ANSWER_SEND && !fresh;
  assign arm_psn_o = s_axis_command_tdata.psn;
  assign wake_o = operation != NOTHING && (operation != ASK || fails);
  assign timer_run_o = !fails && (waits || arm_o || qp_d.nxt != qp_d.una);
  assign exponent = 6'(limits_i.timeout) + 6'(arm_o ? limits_i.backoff : qp_d.backoff);
  assign timer_ticks_o = waits ? rnr_ticks(s_axis_event_tdata.value) :
      timeout_ticks(exponent > 6'(LONGEST) ? LONGEST : exponent[4:0]);

  always_ff @(posedge clk) begin
    if (operation != NOTHING) begin
      memory[index] <= qp_d;
      known_q[index] <= 1'b1;
      failing_o[index] <= qp_d.state == RC_ERROR;
    end
    if (operation == EXPIRED) timer_turn_q <= 1'b0;
    if (operation == EVENT) timer_turn_q <= 1'b1;
    if (rst) begin
      known_q <= '0;
      failing_o <= '1;
      timer_turn_q <= 1'b0;
    end
  end

  qp_t looked, shown;

  assign looked = read(index_t'(look_qp_i));
  assign shown = read(index_t'(status_qp_i));
  assign look_una_o = looked.una;
  assign status_o = '{state: shown.state, reason: shown.reason, una: shown.una, nxt: shown.nxt};

  logic unused;
  assign unused = ^{looked, shown, qp_o, look_qp_i, status_qp_i, s_axis_event_tdata};

endmodule
