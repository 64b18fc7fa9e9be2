// rc_protocol keeps the rules of an RC QP, any one of them: the window, the PSNs, the timer, the end when nobody answers.
module rc_protocol_formal
  import rc_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned RcQps = 2
) (
    input logic clk,
    input logic rst,

    input logic       [7:0] qp_o,
    input rc_limits_t       limits_i,

    input logic              ask_i,
    input logic       [ 7:0] ask_qp_i,
    input logic       [23:0] ask_psn_i,
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
    input logic             timer_run_o,
    input logic             back_o,
    input logic             arm_o,
    input logic             wake_o,
    input rc_note_e         note_o,
    input logic [RcQps-1:0] failing_o,
    input logic [      7:0] look_qp_i,
    input logic [     23:0] look_una_o,

    input logic [     65:0] memory [RcQps],
    input logic [RcQps-1:0] known_q
);

  reset_rule u_reset (.*);

  localparam int unsigned INDEX_W = $clog2(RcQps);

  // As in the block
  typedef struct packed {
    rc_state_e   state;
    rc_reason_e  reason;
    logic [23:0] una;
    logic [23:0] nxt;
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
  logic ours, asked, fresh, sends, commanded, said, ended, news;

  assign qp = known_q[any_index] ? memory[any_index] : '0;
  assign outstanding = qp.nxt - qp.una;
  assign ours = qp_o == 8'(any_index);
  assign asked = ask_i && ours;
  assign fresh = ask_psn_i == qp.nxt;
  assign sends = asked && answer_o == ANSWER_SEND;
  assign commanded = s_axis_command_tvalid && s_axis_command_tready && ours;
  assign said = s_axis_event_tvalid && s_axis_event_tready && ours;
  assign ended = expired_valid_i && expired_ready_o && ours;
  assign news = s_axis_event_tdata.psn + 24'(s_axis_event_tdata.kind == ACK) != qp.una && note_o != NOTE_STALE;
  assign behind = qp.nxt - ask_psn_i;  // packets sent since a message's first

  // What an outsider sees: PSNs given out, the timer, ends of it and times of going back that nothing answered.
  logic [23:0] next_q, una_q, nxt_q;
  logic runs_q, armed_q, goes_on_q, failing_q, woke_q, asked_q, arms_q, failed_q;
  logic [5:0] ends_q;
  logic [1:0] backs_q;

  always_ff @(posedge clk) begin
    una_q <= qp.una;
    nxt_q <= qp.nxt;
    goes_on_q <= !rst && !(arm_o && ours);
    failing_q <= failing_o[any_index];
    woke_q <= wake_o && ours;
    asked_q <= ask_i;
    arms_q <= arm_o && ours && !rst;
    failed_q <= asked && answer_o == ANSWER_SKIP && fresh && !rst;
    if (arm_o && ours) begin
      next_q  <= s_axis_command_tdata.psn;
      armed_q <= 1'b1;
    end else if (sends && fresh) begin
      next_q <= next_q + 24'(ask_packets_i);
    end
    if (ended) runs_q <= 1'b0;
    if (timer_write_o && ours) runs_q <= timer_run_o;
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
    assume (9'(qp_o) < 9'(RcQps));
    if (ours) assume (limits_i == any_limits);
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
        a_same : assert (answer_psn_o == ask_psn_i + 24'(answer_skip_o) && answer_skip_o < ask_packets_i);
        a_again : assert (answer_psn_o - qp.una < next_q - qp.una);
      end
      if (asked && answer_o == ANSWER_SKIP && qp.state == RC_RUN && note_o != NOTE_FAILED) begin
        a_skipped : assert (qp.una - ask_psn_i >= 24'(ask_packets_i) && !fresh);
      end
      if (asked && qp.state == RC_ERROR) a_nothing : assert (answer_o == ANSWER_SKIP);
      a_acked : assert (!goes_on_q || qp.una - una_q <= nxt_q - una_q);
      a_timer :
      assert (runs_q == (qp.state == RC_SETTLE || qp.state == RC_WAIT ||
          (qp.state == RC_RUN && outstanding != '0)));
      a_ends : assert (ends_q <= 6'(any_limits.retries) + 6'd2);
      a_once : assert (backs_q <= 2'd1);
      a_back : assert (!(back_o && ours) || (qp.state == RC_RUN || qp.state == RC_WAIT));
      a_failing : assert (failing_o[any_index] == (qp.state == RC_ERROR));

      // What rc_ring assumes besides
      a_alone :
      assert (!(ask_i && (back_o || arm_o)) && !(back_o && arm_o) && (!(back_o || arm_o) || wake_o) &&
          (!ask_i || qp_o == ask_qp_i));
      a_moves : assert (!goes_on_q || qp.una == una_q || (woke_q && !asked_q && !failing_q));
      a_begins : assert (!goes_on_q || (failing_o[any_index] ? failing_q || woke_q : !failing_q));
      a_armed : assert (!arms_q || !failing_o[any_index]);
      a_failed : assert (!failed_q || failing_o[any_index]);
      if (INDEX_W'(look_qp_i) == any_index) a_look : assert (look_una_o == qp.una);

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

bind rc_protocol rc_protocol_formal #(.RcQps(RcQps)) u_formal (.*);
