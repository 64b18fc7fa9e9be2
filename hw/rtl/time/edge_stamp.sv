// The time of the last rising edge of a signal of any clock, less a latency, and how many there were. An edge is seen at the clock's next
// one: its time is that less half a cycle, so that it is right to half a cycle. The signal stays high, and low, for two cycles at least.
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

  logic signal, before_q;
  logic [63:0] back_q;  // 2^-16 ns

  cdc_bits u_signal (
      .clk,
      .bits_i(signal_i),
      .bits_o(signal)
  );

  // A cycle and a half from the edge to the cycle that sees it
  always_ff @(posedge clk) begin
    back_q <= {{32{latency_i[31]}}, latency_i} + 64'(own_period_i[31:8]) + 64'(own_period_i[31:9]);
    before_q <= signal;
    if (signal && !before_q) begin
      event_o.tai <= tai_i - {{16{back_q[63]}}, back_q};
      event_o.count <= event_o.count + 1'b1;
    end
    if (rst) begin
      before_q <= 1'b1;
      event_o <= '0;
    end
  end

  logic unused;
  assign unused = ^own_period_i[7:0];

endmodule
