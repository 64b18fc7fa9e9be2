// event_fence lets no event pass before the completion of its own fence, or the reason why there is none, and never keeps one for longer than the
// limit. `fenced` says that the fence of the event that is next is over, and `said` how.
module event_fence_formal
  import pcie_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic        fence_i,
    input logic [23:0] limit_i,
    input logic        completion_i,
    input logic [ 4:0] completion_tag_i,
    input logic        completion_bad_i,
    input logic        ready_i,
    input logic        sent_i,
    input logic        ended_i,
    input status_e     ended_status_i,
    input logic        over_i,
    input logic        asks_o,
    input logic [ 4:0] tag_o,
    input logic        waits_o,
    input logic        passes_o,
    input status_e     status_o,
    input logic        unanswered_o,
    input logic        refused_o,
    input logic        unexpected_o,

    // Inside
    input logic        under_way_q,
    input logic        is_ask,
    input logic        is_answer,
    input logic [23:0] left_q,
    input status_e     status_q
);

  reset_rule u_reset (.*);

  // What event_queue does. A fence is sent where it is asked for, ends as a descriptor once, and an event goes where it may.
  always_comb assume (!sent_i || asks_o);
  always_comb assume (!ended_i || under_way_q);
  always_comb assume (!over_i || (ready_i && !waits_o && !asks_o));

  logic open_q, fenced_q;  // a fence waits; the fence of this event is over
  status_e said_q;
  logic [4:0] tag_q, last_tag_q;
  logic [23:0] waited_q, any_limit;
  logic had_q;  // a fence

  always_ff @(posedge clk) any_limit <= any_limit;
  always_comb assume (limit_i == any_limit);

  logic answered, failed, late;
  assign answered = open_q && completion_i && completion_tag_i == tag_q;
  assign failed = open_q && ended_i && ended_status_i != OK;
  assign late = open_q && waited_q == any_limit;

  always_ff @(posedge clk) begin
    if (sent_i) begin
      open_q <= 1'b1;
      tag_q <= tag_o;
      waited_q <= '0;
    end else if (open_q) begin
      waited_q <= waited_q + 1'b1;
    end
    if (answered || failed || late) begin
      open_q <= 1'b0;
      fenced_q <= 1'b1;
      said_q <= answered ? (completion_bad_i ? FENCE_REFUSED : OK) : failed ? ended_status_i : UNANSWERED;
      last_tag_q <= tag_q;
      had_q <= 1'b1;
    end
    if (over_i) fenced_q <= 1'b0;
    if (rst) begin
      open_q <= 1'b0;
      fenced_q <= 1'b0;
      had_q <= 1'b0;
    end
  end

  always_comb begin
    if (!rst) begin
      if (passes_o && fence_i) a_fenced : assert (fenced_q && status_o == said_q);
      if (passes_o && !fenced_q) a_plain : assert (!fence_i && status_o == OK);
      if (ready_i && !fence_i) a_free : assert (passes_o);
      if (open_q) a_bounded : assert (waited_q <= any_limit);
      if (asks_o && had_q) a_tag : assert (tag_o != last_tag_q);
      if (asks_o) a_one : assert (!open_q && !under_way_q);
      a_pulses : assert (unexpected_o == (completion_i && !answered) && refused_o == (answered && completion_bad_i));
      a_late : assert (unanswered_o == (late && !answered && !failed));

      // For the induction: what the registers are.
      i_open : assert (open_q == waits_o && fenced_q == is_answer && is_ask == (!waits_o && !is_answer));
      if (open_q) i_left : assert (waited_q + left_q == any_limit && waited_q <= any_limit && tag_q == tag_o);
      if (fenced_q) i_said : assert (said_q == status_q);
      if (had_q) i_tag : assert (tag_o == last_tag_q + 1'b1);
      if (is_answer) i_had : assert (had_q);
    end
  end

endmodule

bind event_fence event_fence_formal u_formal (
    .is_ask(state_q == ASK),
    .is_answer(state_q == ANSWER),
    .*
);
