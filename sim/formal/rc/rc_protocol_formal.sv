// rc_protocol keeps the rules of an RC QP, any one of them: the window, the PSNs, the timer, the end when nobody answers.
module rc_protocol_formal
  import rc_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned RcQps = 2
) (
    input logic clk,
    input logic rst,

    input logic       [7:0] limits_qp_o,
    input rc_limits_t       limits_i,
    input logic       [7:0] qp_o,

    input logic              ask_i,
    input logic              ask_ready_o,
    input logic       [ 7:0] ask_qp_i,
    input logic       [23:0] ask_psn_i,
    input rc_limits_t        ask_limits_i,
    input logic       [15:0] ask_packets_i,
    input rc_answer_e        answer_o,
    input logic       [23:0] answer_psn_o,
    input logic       [15:0] answer_skip_o,

    input rc_command_t s_axis_command_tdata,
    input logic        s_axis_command_tvalid,
    input logic        s_axis_command_tready,
    input event_t      s_axis_event_tdata,
    input logic        s_axis_event_tvalid,
    input logic        s_axis_event_tready,
    input logic        expired_valid_i,
    input logic [ 7:0] expired_qp_i,
    input logic        expired_ready_o,

    input logic             timer_write_o,
    input logic       [7:0] timer_qp_o,
    input logic             timer_run_o,
    input logic             back_o,
    input logic             arm_o,
    input logic             wake_o,
    input rc_note_e         note_o,
    input logic [RcQps-1:0] failing_o,
    input logic [      7:0] look_qp_i,
    input logic [     23:0] look_una_o,

    input logic [     81:0] memory [RcQps],
    input logic [RcQps-1:0] known_q,

    input logic [ 2:0] operation_q,
    input logic [ 7:0] qp_q,
    input logic [81:0] qp_q_state,
    input rc_limits_t  limits_q,
    input logic [23:0] psn_q,
    input logic        fresh_q,
    input logic [23:0] acked_q,
    input logic [16:0] room_q,
    input logic        arm_q,
    input event_kind_e kind_q,
    input logic [23:0] upto_q,
    input logic [23:0] news_q,
    input logic        timing_q,
    input logic [ 7:0] timing_qp_q,
    input logic        timing_run_q
);

  reset_rule u_reset (.*);

  localparam int unsigned INDEX_W = $clog2(RcQps);

  // As in the block
  typedef struct packed {
    rc_state_e   state;
    rc_reason_e  reason;
    logic [23:0] una;
    logic [23:0] nxt;
    logic [15:0] outstanding;
    logic [3:0]  retries;
    logic [2:0]  rnr_retries;
    logic [3:0]  backoff;
    logic        gone_back;
  } qp_t;

  logic [INDEX_W-1:0] any_index;
  rc_limits_t any_limits;

  always_ff @(posedge clk) begin
    any_index  <= any_index;
    any_limits <= any_limits;
  end

  qp_t qp;
  logic [23:0] outstanding, behind;
  logic [2:0] asking, commanding, hearing, ending;  // operation_e
  logic ours, asked, fresh, sends, commanded, said, ended, news, taken, runs;

  assign qp = known_q[any_index] ? memory[any_index] : '0;
  assign outstanding = qp.nxt - qp.una;
  assign {asking, commanding, hearing, ending} = {3'd1, 3'd2, 3'd3, 3'd4};
  assign ours = qp_o == 8'(any_index);
  assign asked = operation_q == asking && ours;
  assign fresh = psn_q == qp.nxt;
  assign sends = asked && answer_o == ANSWER_SEND;
  assign commanded = operation_q == commanding && ours;
  assign said = operation_q == hearing && ours;
  assign ended = operation_q == ending && ours;
  assign taken = expired_valid_i && expired_ready_o && expired_qp_i == 8'(any_index);
  assign news = upto_q != qp.una && note_o != NOTE_STALE;
  assign behind = qp.nxt - psn_q;  // packets sent since a message's first

  // What an outsider sees: PSNs given out, the timer, ends of it and times of going back that nothing answered.
  logic [23:0] next_q, una_q, nxt_q;
  logic runs_q, armed_q, goes_on_q, failing_q, woke_q, asked_q, arms_q, failed_q;
  logic [5:0] ends_q;
  logic [1:0] backs_q;
  logic asks_q;
  logic [7:0] ask_qp_q;

  // The timer, when all is written that is on its way to it, or as it was before its end, which is not decided yet
  logic timing_ours, written;

  assign timing_ours = timing_q && timing_qp_q == 8'(any_index);
  assign written = timer_write_o && timer_qp_o == 8'(any_index);
  assign runs = ended || (timing_ours ? timing_run_q : written ? timer_run_o : runs_q);

  always_ff @(posedge clk) begin
    asks_q <= ask_i && ask_ready_o && !rst;
    ask_qp_q <= ask_qp_i;
    una_q <= qp.una;
    nxt_q <= qp.nxt;
    goes_on_q <= !rst && !(arm_o && ours);
    failing_q <= failing_o[any_index];
    woke_q <= wake_o && ours && !rst;
    asked_q <= operation_q == asking;
    arms_q <= arm_o && ours && !rst;
    failed_q <= asked && answer_o == ANSWER_SKIP && fresh && !rst;
    if (arm_o && ours) begin
      next_q  <= psn_q;
      armed_q <= 1'b1;
    end else if (sends && fresh) begin
      next_q <= next_q + 24'(ask_packets_i);
    end
    if (taken) runs_q <= 1'b0;
    if (timer_write_o && timer_qp_o == 8'(any_index)) runs_q <= timer_run_o;
    if (said || commanded) ends_q <= '0;
    else if (ended && note_o != NOTE_DEFERRED) ends_q <= ends_q + 1'b1;
    if ((ended && note_o != NOTE_DEFERRED) || commanded || (said && news)) backs_q <= 2'(said && back_o);
    else if (back_o && ours) backs_q <= backs_q + 1'b1;
    if (rst) begin
      runs_q  <= 1'b0;
      armed_q <= 1'b0;
      ends_q  <= '0;
      backs_q <= '0;
    end
  end

  always_comb begin
    if (s_axis_command_tvalid) assume (9'(s_axis_command_tdata.qp) < 9'(RcQps));
    if (s_axis_event_tvalid) assume (9'(s_axis_event_tdata.qp) < 9'(RcQps));
    if (expired_valid_i) assume (9'(expired_qp_i) < 9'(RcQps));
    if (ask_i) assume (9'(ask_qp_i) < 9'(RcQps));
    assume (operation_q != asking || !ask_i);
    if (limits_qp_o == 8'(any_index)) assume (limits_i == any_limits);
    if (ask_qp_i == 8'(any_index)) assume (ask_limits_i == any_limits);
    if (s_axis_event_tvalid) assume (s_axis_event_tdata.kind <= NAK_OPERATION);
    if (expired_valid_i && expired_qp_i == 8'(any_index)) assume (runs_q);
    if (arm_o && ours) assume (qp.state == RC_ERROR);
    // A message that was sent behind ends where others begin, or at the end.
    if (asked && qp.state == RC_RUN && !fresh) begin
      assume (ask_packets_i != '0 && behind < 24'h40_0000 && 24'(ask_packets_i) <= behind);
    end
  end

  always_comb begin
    if (!rst) begin
      a_window : assert (outstanding <= 24'(any_limits.window) || qp.state == RC_ERROR);
      if (sends && fresh) begin
        a_next : assert (answer_psn_o == next_q && answer_skip_o == '0);
        a_fits : assert (outstanding + 24'(ask_packets_i) <= 24'(any_limits.window));
        a_some : assert (ask_packets_i != '0);
      end
      if (sends && !fresh) begin
        a_same : assert (answer_psn_o == psn_q + 24'(answer_skip_o) && answer_skip_o < ask_packets_i);
        a_again : assert (answer_psn_o - qp.una < next_q - qp.una);
      end
      if (asked && answer_o == ANSWER_SKIP && qp.state == RC_RUN && note_o != NOTE_FAILED) begin
        a_skipped : assert (qp.una - psn_q >= 24'(ask_packets_i) && !fresh);
      end
      if (asked && qp.state == RC_ERROR) a_nothing : assert (answer_o == ANSWER_SKIP);
      a_acked : assert (!goes_on_q || qp.una - una_q <= nxt_q - una_q);
      a_timer :
      assert (runs == (qp.state == RC_SETTLE || qp.state == RC_WAIT ||
          (qp.state == RC_RUN && outstanding != '0)));
      a_ends : assert (ends_q <= 6'(any_limits.retries) + 6'd2);
      a_once : assert (backs_q <= 2'd1);
      a_back : assert (!(back_o && ours) || (qp.state == RC_RUN || qp.state == RC_WAIT));
      a_failing : assert (failing_o[any_index] == (qp.state == RC_ERROR));

      // What rc_ring assumes besides
      a_alone :
      assert (!(operation_q == asking && (back_o || arm_o || wake_o)) && !(back_o && arm_o) &&
          (!(back_o || arm_o) || wake_o) && !(ask_i && ask_ready_o && wake_o && qp_o == ask_qp_i) &&
          !(woke_q && wake_o && ours) && (!asks_q || (operation_q == asking && qp_o == ask_qp_q)) &&
          (asks_q || operation_q != asking));
      a_moves : assert (!goes_on_q || qp.una == una_q || (woke_q && !asked_q && !failing_q));
      a_begins : assert (!goes_on_q || (failing_o[any_index] ? failing_q || woke_q || failed_q : !failing_q));
      a_armed : assert (!arms_q || !failing_o[any_index]);
      a_failed : assert (!failed_q || failing_o[any_index]);
      if (INDEX_W'(look_qp_i) == any_index && known_q[any_index]) a_look : assert (look_una_o == qp.una);

      // What was compared in the cycle before is of the QP as it is
      if (operation_q != '0) i_exists : assert (9'(qp_q) < 9'(RcQps) && operation_q <= ending);
      if (operation_q != '0 && ours) begin
        i_state : assert (qp_q_state == qp);
        i_limits : assert (limits_q == any_limits);
        if (asked) begin
          i_asked :
          assert (fresh_q == fresh && acked_q == qp.una - psn_q &&
              room_q == 17'(any_limits.window) - 17'(qp.outstanding));
        end
        if (said && known_q[any_index]) i_said : assert (news_q == upto_q - qp.una);
        if (said) i_kind : assert (kind_q <= NAK_OPERATION);
        if (ended) i_taken : assert (!runs_q && !timing_ours && !written);
      end
      i_outstanding : assert (24'(qp.outstanding) == outstanding);
      i_armed : assert (known_q[any_index] == armed_q);
      i_asks : assert (!asks_q || operation_q == asking);

      i_next : assert (!armed_q || next_q == qp.nxt);
      i_known : assert (armed_q || qp.state == RC_ERROR);
      i_zero : assert (armed_q || (qp.una == qp.nxt));
      i_error : assert (outstanding <= 24'(any_limits.window));
      i_settle : assert (qp.state != RC_SETTLE || (outstanding == '0 && ends_q == '0 && qp.retries == '0));
      i_wait : assert (qp.state != RC_WAIT || ends_q == '0);
      i_ends : assert (qp.state != RC_RUN || ends_q <= 6'(qp.retries) + 6'd1);
      i_retries : assert (qp.state == RC_ERROR || qp.retries <= any_limits.retries);
      i_back : assert (qp.state != RC_RUN || backs_q == 2'(qp.gone_back));
      i_settled : assert (qp.state != RC_SETTLE || (backs_q == '0 && !qp.gone_back));
      i_waited : assert (qp.state != RC_WAIT || !qp.gone_back || backs_q == 2'd1);
    end
  end

endmodule

bind rc_protocol rc_protocol_formal #(.RcQps(RcQps)) u_formal (
    .operation_q(3'(operation_q)),
    .*
);
