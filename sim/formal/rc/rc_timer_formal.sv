// rc_timer: the timer of a QP, any, ends once in every start, not before its time and soon after it.
module rc_timer_formal
  import rc_pkg::*;
#(
    parameter int unsigned RcQps      = 2,
    parameter int unsigned TickClocks = 24,

    localparam int unsigned IndexW  = $clog2(RcQps),
    localparam int unsigned ClocksW = $clog2(TickClocks)
) (
    input logic clk,
    input logic rst,

    input logic         write_i,
    input logic   [7:0] write_qp_i,
    input logic         run_i,
    input ticks_t       ticks_i,
    input logic         expired_valid_o,
    input logic   [7:0] expired_qp_o,
    input logic         expired_ready_i,

    input logic [ClocksW-1:0] clocks_q,
    input logic [  TICKS_W:0] now_q,
    input logic [  TICKS_W:0] ends     [RcQps],
    input logic [  RcQps-1:0] runs_q,
    input logic [ IndexW-1:0] turn_q,
    input logic [ IndexW-1:0] expired_q,
    input logic               expired_valid_q
);

  localparam logic [4:0] PATIENCE = 5'd9;  // an end that is on offer is taken after so many cycles, if not before

  reset_rule u_reset (.*);

  logic [IndexW-1:0] any_index;
  logic ours, written, taken, ticks, overdue;
  logic running_q;
  logic [TICKS_W:0] wanted_q, elapsed_q;
  logic [4:0] age_q, waited_q;

  assign ours = expired_valid_o && expired_qp_o == 8'(any_index);
  assign written = write_i && write_qp_i == 8'(any_index);
  assign taken = ours && expired_ready_i;
  assign ticks = clocks_q == ClocksW'(TickClocks - 1);

  assign overdue = running_q && elapsed_q > wanted_q;

  always_comb begin
    assume (9'(write_qp_i) < 9'(RcQps));
    assume (!expired_valid_o || expired_ready_i || age_q < PATIENCE);
  end

  always_ff @(posedge clk) begin
    any_index <= any_index;
    age_q <= expired_valid_o && !expired_ready_i && !(write_i && write_qp_i == expired_qp_o) ? age_q + 1'b1 : '0;
    waited_q <= overdue && !taken ? waited_q + 1'b1 : '0;
    elapsed_q <= elapsed_q + (TICKS_W + 1)'(ticks);
    if (taken) running_q <= 1'b0;
    if (written) begin
      running_q <= run_i;
      wanted_q  <= (TICKS_W + 1)'(ticks_i);
      elapsed_q <= (TICKS_W + 1)'(ticks);
      waited_q  <= '0;
    end
    if (rst) begin
      running_q <= 1'b0;
      age_q <= '0;
      waited_q <= '0;
    end
  end

  always_comb begin
    if (!rst) begin
      a_early : assert (!ours || overdue);
      a_late : assert (!running_q || elapsed_q <= wanted_q + 1'b1);
      a_soon : assert (waited_q <= 5'd2 * PATIENCE + 5'd4);
      a_ticks : assert (32'(clocks_q) < TickClocks);

      i_runs : assert (runs_q[any_index] == running_q);
      i_end :
      assert (!running_q || (ends[any_index] - now_q == wanted_q + 1'b1 - elapsed_q && !wanted_q[TICKS_W]));
      i_waited : assert (!overdue || waited_q == 5'(clocks_q));
      i_begins : assert (overdue || waited_q == '0);
      i_age : assert (age_q <= PATIENCE && (expired_valid_q || age_q == '0));
      if (RcQps == 2) begin
        i_turn : assert (!expired_valid_q || expired_q != turn_q);
        if (overdue && !expired_valid_q && turn_q != any_index) i_first : assert (waited_q == '0);
        if (overdue && expired_valid_q && !ours) i_other : assert (waited_q <= 5'd1 + age_q);
        if (overdue && !expired_valid_q && turn_q == any_index) i_look : assert (waited_q <= PATIENCE + 5'd2);
        if (overdue && ours) i_offer : assert (waited_q <= PATIENCE + 5'd3 + age_q);
      end
    end
  end

endmodule

bind rc_timer rc_timer_formal #(
    .RcQps     (RcQps),
    .TickClocks(TickClocks)
) u_formal (.*);
