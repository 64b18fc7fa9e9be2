// One timer a QP, in ticks of 1.024 us: they are looked at in turn, one a cycle.
// A timer that has ended stays where it is until it is taken, or started anew, or stopped.
module rc_timer
  import rc_pkg::*;
#(
    parameter int unsigned RcQps      = 16,
    parameter int unsigned TickClocks = 256  // cycles of a tick; more than 2 * RcQps
) (
    input logic clk,
    input logic rst,

    // Starts the timer of a QP, or stops it
    input logic         write_i,
    input logic   [7:0] write_qp_i,
    input logic         run_i,
    input ticks_t       ticks_i,     // at least so many pass, and less than two more

    // The timer of a QP has ended
    output logic       expired_valid_o,
    output logic [7:0] expired_qp_o,
    input  logic       expired_ready_i
);

  localparam int unsigned INDEX_W = $clog2(RcQps);
  localparam int unsigned CLOCKS_W = $clog2(TickClocks);

  if (RcQps < 2 || RcQps > 256 || (RcQps & (RcQps - 1)) != 0) begin : gen_check_qps
    $error("%m: RcQps = %0d must be a power of two, 2 to 256", RcQps);
  end
  if (TickClocks <= 2 * RcQps) begin : gen_check_clocks
    $error("%m: TickClocks = %0d must be more than 2 * RcQps", TickClocks);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [TICKS_W:0] time_t;  // one bit more: before and after are told apart

  logic [CLOCKS_W-1:0] clocks_q;
  time_t now_q, overdue;
  time_t ends[RcQps];
  logic [RcQps-1:0] runs_q;
  index_t turn_q, expired_q;
  logic due, taken, expired_valid_q;

  assign overdue = now_q - ends[turn_q];
  assign due = runs_q[turn_q] && !overdue[TICKS_W] && !(write_i && index_t'(write_qp_i) == turn_q);
  assign taken = expired_valid_q && expired_ready_i;

  always_ff @(posedge clk) begin
    clocks_q <= clocks_q + 1'b1;
    if (clocks_q == CLOCKS_W'(TickClocks - 1)) begin
      clocks_q <= '0;
      now_q <= now_q + 1'b1;
    end

    if (expired_valid_q) begin
      if (taken || (write_i && index_t'(write_qp_i) == expired_q)) expired_valid_q <= 1'b0;
    end else begin
      expired_valid_q <= due;
      expired_q <= turn_q;
      turn_q <= turn_q + 1'b1;
    end

    if (taken) runs_q[expired_q] <= 1'b0;
    if (write_i) begin
      ends[index_t'(write_qp_i)]   <= now_q + time_t'(ticks_i) + 1'b1;
      runs_q[index_t'(write_qp_i)] <= run_i;
    end

    if (rst) begin
      clocks_q <= '0;
      now_q <= '0;
      runs_q <= '0;
      turn_q <= '0;
      expired_valid_q <= 1'b0;
    end
  end

  assign expired_valid_o = expired_valid_q;
  assign expired_qp_o = 8'(expired_q);

  logic unused;
  assign unused = ^write_qp_i;

endmodule
