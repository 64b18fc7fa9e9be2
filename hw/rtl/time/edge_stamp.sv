// The time of the last rising edge of a signal of any clock, less a latency, and how many there were. The signal is sampled at both edges
// of clk, so that it is known in which half of a cycle it rose: its time is the middle of that half, right to a quarter of a cycle where
// clk is high for half of it. The signal stays high, and low, for two cycles at least.
module edge_stamp
  import time_pkg::*;
(
    input logic clk,
    input logic rst,

    input  logic        signal_i,
    input  tai_t        tai_i,
    input  logic [31:0] own_period_i,  // of clk, 2^-24 ns
    input  logic [31:0] latency_i,     // 2^-16 ns, signed
    output event_t      event_o
);

  logic signal, earlier, before_q, rose_q;
  logic signed [33:0] least_q, back_q;  // 2^-16 ns

  cdc_twice u_signal (
      .clk,
      .bit_i (signal_i),
      .rise_o(signal),
      .fall_o(earlier)
  );

  // From the middle of the half in which it rose to the cycle that stamps: two cycles and a quarter, or half a cycle more
  always_ff @(posedge clk) begin
    least_q <= 34'(signed'(latency_i)) + 34'(own_period_i[31:7]) + 34'(own_period_i[31:10]);
    back_q <= least_q + (earlier ? 34'(own_period_i[31:9]) : '0);
    before_q <= signal;
    rose_q <= signal && !before_q;
    if (rose_q) begin
      event_o.tai <= tai_i - 80'(back_q);
      event_o.count <= event_o.count + 1'b1;
    end
    if (rst) begin
      before_q <= 1'b1;
      rose_q <= 1'b0;
      event_o <= '0;
    end
  end

  logic unused;
  assign unused = ^own_period_i[6:0];

endmodule
